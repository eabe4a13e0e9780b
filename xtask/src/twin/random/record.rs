//! Records what is missing. Boots one guest for two neighbouring workloads at a time, reads their recordings, and
//! stores the figures at once, so that an interrupted run loses little.

use super::plan::{Drawn, WAVES, missing};
use super::{Options, figures::Run, files, store};
use crate::Failure;
use crate::tree::root;
use crate::twin::{OUT, real};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of recipes for schedulers that are not built in.
const RECIPES: &str = "tests/corpus";

/// The kernel must not move pages and tasks by where memory is used, either.
const APPEND: &str = "numa_balancing=disable";

/// A hanging host must not block the other guests.
const LIMIT: &str = "60m";

/// Makes all missing recordings, the first wave of schedulers for all workloads before the second.
pub(super) fn all(options: &Options, keel: &Path, drawn: &[Drawn]) -> Result<(), Failure> {
    for wave in options.waves() {
        for pair in drawn.chunk_by(|a, b| a.workload.shape == b.workload.shape) {
            for some in pair.chunks(2) {
                boot(options, keel, some, &wave)?;
            }
        }
    }
    Ok(())
}

/// The requested schedulers of each wave.
pub(super) fn waves(wanted: &[String]) -> Vec<Vec<String>> {
    let known = WAVES.map(|wave| {
        let of_wave = wave.iter().filter(|name| wanted.iter().any(|other| other == *name));
        of_wave.map(|name| (*name).to_owned()).collect()
    });
    known.into_iter().filter(|wave: &Vec<String>| !wave.is_empty()).collect()
}

/// Boots one guest for everything that is missing for these workloads.
fn boot(options: &Options, keel: &Path, drawn: &[Drawn], schedulers: &[String]) -> Result<(), Failure> {
    let mut wanted = Vec::new();
    for drawn in drawn {
        let keys = missing(&take_in(options, drawn, schedulers)?, schedulers);
        if !keys.is_empty() {
            prepare(options, drawn)?;
            wanted.push((drawn, keys));
        }
    }
    if wanted.is_empty() {
        return Ok(());
    }
    let names: Vec<_> = wanted.iter().map(|(drawn, _)| drawn.name.as_str()).collect();
    let shape = wanted[0].0.workload.shape;
    println!("recording {} on {}: {}", names.join(" and "), shape.text(), schedulers.join(" "));
    let script = format!("{OUT}/random-{}.sh", names.join("-"));
    let text = script_text(options, keel, &wanted, schedulers)?;
    std::fs::write(root().join(&script), text).map_err(|e| format!("{script}: {e}"))?;
    let append = format!("{} {APPEND}", real::QUIET);
    let shape = shape.guest_args();
    let guest = ["--timeout", LIMIT, "--append", &append].into_iter().chain(shape.iter().map(AsRef::as_ref));
    let guest: Vec<&str> = guest.collect();
    let status = real::guest_status(keel, &options.kernel, &guest, &script)?;
    for (drawn, keys) in &wanted {
        let left = missing(&take_in(options, drawn, schedulers)?, schedulers);
        if !left.is_empty() {
            println!("{}: {} of {} runs could not be recorded", drawn.name, left.len(), keys.len());
        }
    }
    match status.code() {
        Some(0 | 3) => Ok(()),
        _ => Err(format!("the guest failed ({status}); its messages are above, and logs in {OUT}/random")),
    }
}

/// The folder of a workload's files and recordings.
pub(super) fn folder(options: &Options, drawn: &Drawn) -> String {
    format!("{OUT}/random/{}/{}", options.kernel, drawn.name)
}

pub(super) fn recording(options: &Options, drawn: &Drawn, scheduler: &str, run: u32) -> PathBuf {
    root().join(folder(options, drawn)).join(format!("{scheduler}.{run}.trc"))
}

/// Stores the figures of new complete recordings, and prints what is stored so far.
fn take_in(options: &Options, drawn: &Drawn, schedulers: &[String]) -> Result<store::Runs, Failure> {
    let mut runs = store::read(&options.kernel, drawn)?;
    let mut is_new = false;
    for (scheduler, run) in missing(&runs, schedulers) {
        let trace = recording(options, drawn, &scheduler, run);
        let done = trace.with_extension("done");
        if !is_of(&done, drawn) {
            continue;
        }
        match Run::of(&trace, &drawn.workload) {
            Ok(figures) => {
                runs.insert((scheduler, run), figures);
                is_new = true;
            }
            Err(why) => {
                println!("{why}");
                std::fs::remove_file(&done).map_err(|e| format!("{}: {e}", done.display()))?;
            }
        }
    }
    if is_new {
        store::write(&options.kernel, drawn, &runs)?;
    }
    Ok(runs)
}

/// Whether a finished recording is of this very workload.
fn is_of(done: &Path, drawn: &Drawn) -> bool {
    std::fs::read_to_string(done).is_ok_and(|text| text.trim() == format!("{:08x}", drawn.fingerprint))
}

/// Writes the guest's files.
fn prepare(options: &Options, drawn: &Drawn) -> Result<(), Failure> {
    let folder = root().join(folder(options, drawn));
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    for (name, text) in files::real(&drawn.workload, &format!("{}/player", root().join(OUT).display())) {
        std::fs::write(folder.join(&name), text).map_err(|e| format!("{name}: {e}"))?;
    }
    Ok(())
}

/// Compiles the program that plays pipes and forks.
pub(super) fn build_player() -> Result<(), Failure> {
    let status = Command::new("cc")
        .args(["-O2", "-o", &format!("{OUT}/player"), "tests/twin/random/player.c"])
        .current_dir(root())
        .status()
        .map_err(|e| format!("cannot run cc ({e}); install gcc"))?;
    if status.success() { Ok(()) } else { Err("cc refuses tests/twin/random/player.c".into()) }
}

/// The arguments of `keel run` or `keel sim` that load a scheduler.
pub(super) fn scheduler_words(scheduler: &str) -> Result<Vec<String>, Failure> {
    if !scheduler.starts_with("scx_") {
        return Ok(vec![scheduler.to_owned()]);
    }
    let mut words = vec![crate::corpus::object(scheduler)?.display().to_string()];
    let recipe = root().join(format!("{RECIPES}/{scheduler}.keel.toml"));
    if recipe.exists() {
        words.extend(["--host".to_owned(), recipe.display().to_string()]);
    }
    Ok(words)
}

const FUNCTIONS: &str = r#"
# A program's first start reads it from the host, which can take seconds.
rt-app > /dev/null 2>&1
# The cpu controller gives cgroups their shares.
echo +cpu > /sys/fs/cgroup/cgroup.subtree_control
# Takes a scheduler's name, and the arguments that load it.
attach() {
    scheduler=$1
    shift
    [ "$scheduler" = eevdf ] && return
    $keel run "$@" > $out/$scheduler.run.log 2>&1 &
    loader=$!
    for i in $(seq 100); do
        [ "$(state)" = enabled ] && return
        sleep 0.1
    done
    echo "$scheduler cannot be attached: $(tail -n 1 $out/$scheduler.run.log)"
    return 1
}
detach() {
    [ "$scheduler" = eevdf ] && return
    kill -INT $loader 2> /dev/null
    wait $loader
    until_state disabled
}
# Takes a workload's name, its fingerprint and a run's number. The run counts only if the scheduler is still active.
one() {
    at=$folder/$1
    echo "$1 $scheduler $3"
    $keel record -o $at/$scheduler.$3.trc -- sh $at/start.sh > $at/$scheduler.$3.log 2>&1 || return
    if [ "$scheduler" != eevdf ] && [ "$(state)" != enabled ]; then
        echo "$scheduler has gone: $(tail -n 1 $out/$scheduler.run.log)"
        return 1
    fi
    echo $2 > $at/$scheduler.$3.done
}
"#;

/// The guest's script: one scheduler after another, with all of its runs while it is attached.
fn script_text(
    options: &Options,
    keel: &Path,
    wanted: &[(&Drawn, Vec<(String, u32)>)],
    schedulers: &[String],
) -> Result<String, Failure> {
    let mut script = real::prelude(&keel.display().to_string());
    script += &format!("folder=$out/random/{}\n{FUNCTIONS}", options.kernel);
    for scheduler in schedulers {
        let runs = wanted.iter().flat_map(|(drawn, keys)| {
            let own = keys.iter().filter(|(name, _)| name == scheduler);
            own.map(|(_, run)| format!("one {} {:08x} {run}", drawn.name, drawn.fingerprint))
        });
        let runs: Vec<String> = runs.collect();
        if !runs.is_empty() {
            let words = scheduler_words(scheduler)?.join(" ");
            // If the scheduler exits, its other runs are left for later.
            script += &format!("attach {scheduler} {words} && {}\ndetach\n", runs.join(" &&\n"));
        }
    }
    Ok(script)
}
