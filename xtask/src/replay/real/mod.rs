//! `./x replay --real` records loads on a real kernel and replays them on the machine that was captured there.
//!
//! Each load is recorded several times under each scheduler. Recordings under the kernel's own scheduler are replayed
//! under all schedulers: under the same one to measure how exact a replay is, under the others to measure how well it
//! predicts.

mod figures;
mod guest;
mod loads;
mod store;
mod table;

use crate::tree::root;
use crate::{Failure, cargo, document, programs};
use figures::Figures;
use loads::{LOADS, Load};
use std::path::{Path, PathBuf};
use std::process::Command;
use store::Runs;

/// The folder for recordings and traces, from the root.
const OUT: &str = "out/replay";
/// The folder with the loads and the figures of real runs, from the root.
const FOLDER: &str = "tests/replay";
const PAGE: &str = "docs/explanation/replay.md";
const KERNEL: &str = "7.2";
/// The schedulers that are recorded and replayed. Predictions are made from the first.
const SCHEDULERS: [&str; 6] = ["eevdf", "o1", "ule", "fifo", "scx_bpfland", "scx_cosmos"];
/// Real runs of each.
const RUNS: u32 = 4;
/// A replay under another scheduler may take this many times longer than the recording.
const LONGER: f64 = 4.0;

/// Records what is missing unless `keep` is set, replays, and updates the figures and tables.
///
/// # Errors
/// If a guest, a replay or a file fails.
pub(super) fn run(keep: bool) -> Result<(), Failure> {
    let keel = cargo::program("keel")?;
    std::fs::create_dir_all(root().join(OUT).join(KERNEL))
        .map_err(|e| format!("{OUT} cannot be created: {e}"))?;
    let others = SCHEDULERS.iter().filter(|name| name.starts_with("scx_"));
    let others = others.map(|name| Ok(((*name).to_owned(), programs::installed(name)?)));
    let others: Vec<(String, PathBuf)> = others.collect::<Result<_, Failure>>()?;
    let wanted: Vec<_> = SCHEDULERS.iter().map(|name| (*name, guest::missing(KERNEL, name))).collect();
    let wanted: Vec<_> = wanted.into_iter().filter(|(_, runs)| !runs.is_empty()).collect();
    if !keep && !wanted.is_empty() {
        guest::record(&keel, KERNEL, &wanted, &others)?;
    }
    let mut real = store::read(KERNEL)?;
    take_in(&mut real)?;
    store::write(KERNEL, &real)?;
    let replays = replays(&keel, &others);
    let same = table::same(&real, &replays, SCHEDULERS[0]);
    let predictions = table::predictions(&real, &replays, SCHEDULERS[0], &SCHEDULERS);
    print!("{same}\n{predictions}");
    document::renew(PAGE, "replay --real", &same)?;
    document::renew(PAGE, "replay --real (predictions)", &predictions)
}

/// The path of a real run's recording.
fn recording(kernel: &str, load: &str, scheduler: &str, run: u32) -> PathBuf {
    root().join(format!("{OUT}/{kernel}/{load}.{scheduler}.{run}.trc"))
}

/// The figures of the existing recordings.
fn take_in(real: &mut Runs) -> Result<(), Failure> {
    for load in &LOADS {
        for scheduler in SCHEDULERS {
            for run in 1..=RUNS {
                let trace = recording(KERNEL, load.name, scheduler, run);
                if trace.exists() {
                    let key = (load.name.to_owned(), scheduler.to_owned(), run);
                    real.insert(key, Figures::of(&trace, load)?);
                }
            }
        }
    }
    Ok(())
}

/// Replays each recording of each load under each scheduler.
fn replays(keel: &Path, others: &[(String, PathBuf)]) -> Runs {
    let mut replays = Runs::new();
    let all = LOADS.iter().flat_map(|load| (1..=RUNS).map(move |run| (load, run)));
    for (load, run) in all {
        if !recording(KERNEL, load.name, SCHEDULERS[0], run).exists() {
            println!("run {run} of {} has not been recorded on this machine: it is left out", load.name);
            continue;
        }
        for scheduler in SCHEDULERS {
            let program = others.iter().find(|(name, _)| name == scheduler).map(|(_, path)| path.as_path());
            match replay(keel, load, run, scheduler, program) {
                Ok(figures) => {
                    replays.insert((load.name.to_owned(), scheduler.to_owned(), run), figures);
                }
                Err(why) => println!("run {run} of {} under {scheduler}: {why}", load.name),
            }
        }
    }
    replays
}

fn replay(
    keel: &Path,
    load: &Load,
    run: u32,
    scheduler: &str,
    program: Option<&Path>,
) -> Result<Figures, Failure> {
    let trace = recording(KERNEL, load.name, SCHEDULERS[0], run);
    let machine = root().join(OUT).join(KERNEL).join("machine.toml");
    let made = root().join(format!("{OUT}/{KERNEL}/{}.{scheduler}.replay{run}.trc", load.name));
    let recorded_ms = Figures::of(&trace, load)?.took_ms;
    let mut command = Command::new(keel);
    if let Some(folder) = program.and_then(Path::parent) {
        // A name that is found there is a scheduler that is a program.
        let old = std::env::var_os("PATH").unwrap_or_default();
        let all = std::iter::once(folder.to_owned()).chain(std::env::split_paths(&old));
        command.env("PATH", std::env::join_paths(all).map_err(|e| format!("PATH: {e}"))?);
    }
    let output = command
        .arg("replay")
        .arg(&trace)
        .arg(scheduler)
        .arg("--machine")
        .arg(&machine)
        .args(["--duration", &format!("{}ms", (recorded_ms * LONGER) as u64 + 2000)])
        .arg("--trace")
        .arg(&made)
        .current_dir(root())
        .output()
        .map_err(|e| format!("cannot run keel: {e}"))?;
    // Findings in a replay are not failures.
    match Figures::of(&made, load) {
        Ok(figures) => Ok(figures),
        Err(why) => Err(format!("{why}: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}
