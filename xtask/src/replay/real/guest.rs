//! Records what is missing, in one guest whose machine is captured first: each load under each scheduler in turn.

use super::loads::{LOADS, Load};
use super::{OUT, RUNS, recording};
use crate::Failure;
use crate::tree::root;
use crate::twin::real::{QUIET, run_guest};
use std::fmt::Write;
use std::path::Path;

/// CPUs of the guest.
const CPUS: &str = "4";
/// A hanging host must not block the other guests.
const LIMIT: &str = "60m";

/// Records those of `wanted` that are missing.
pub(super) fn record(
    keel: &Path,
    kernel: &str,
    wanted: &[(&str, Vec<(Load, u32)>)],
    programs: &[(String, std::path::PathBuf)],
) -> Result<(), Failure> {
    let script = format!("{OUT}/{kernel}/guest.sh");
    let text = text(keel, kernel, wanted, programs);
    std::fs::write(root().join(&script), text).map_err(|e| format!("{script}: {e}"))?;
    let guest = ["--cpus", CPUS, "--timeout", LIMIT, "--append", QUIET];
    run_guest(keel, kernel, &guest, &script, &format!("{OUT}/{kernel}"))
}

const FUNCTIONS: &str = r#"
echo 0 > /proc/sys/vm/compaction_proactiveness
until_state() {
    for i in $(seq 600); do
        [ "$(cat /sys/kernel/sched_ext/state)" = "$1" ] && return
        sleep 0.1
    done
    echo "the scheduler is not $1: $(tail -n 1 $out/$scheduler.run.log)"
    return 1
}
# Takes a scheduler's name, and the command that runs it until Ctrl-C.
attach() {
    scheduler=$1
    shift
    [ "$scheduler" = eevdf ] && return
    "$@" > $out/$scheduler.run.log 2>&1 &
    loader=$!
    until_state enabled
}
detach() {
    [ "$scheduler" = eevdf ] && return
    kill -INT $loader 2> /dev/null
    wait $loader
    until_state disabled
}
# Takes a load and a run's number. The run counts only if the scheduler is still active.
one() {
    echo "$1 $scheduler $2"
    at=$out/$1.$scheduler.$2
    $keel record --pipes -o $at.part -- sh $loads $1 > $at.log 2>&1 || { echo "it failed: $(tail -n 1 $at.log)"; return; }
    [ "$scheduler" = eevdf ] || until_state enabled && mv $at.part $at.trc
}
# A program's first start reads it from the host, which can take seconds.
warm() {
    echo "$1"
    sh $loads $1 > $out/$1.warm.log 2>&1
}
"#;

/// The guest's script.
fn text(
    keel: &Path,
    kernel: &str,
    wanted: &[(&str, Vec<(Load, u32)>)],
    programs: &[(String, std::path::PathBuf)],
) -> String {
    let (keel, root) = (keel.display(), root());
    let mut text = format!(
        "keel={keel}\nout={}/{OUT}/{kernel}\nloads={}/loads.sh\n{FUNCTIONS}",
        root.display(),
        super::FOLDER
    );
    let mut line = |words: std::fmt::Arguments<'_>| writeln!(text, "{words}").expect("a string takes all");
    // The real runs are recorded too, which makes their switches and wakeups slower.
    line(format_args!(
        "[ -e $out/machine.toml ] || $keel record -o $out/capture.trc -- $keel machine capture --measure -o \
         $out/machine.toml"
    ));
    for load in
        LOADS.iter().filter(|load| wanted.iter().any(|(_, runs)| runs.iter().any(|run| run.0 == **load)))
    {
        line(format_args!("warm {}", load.name));
    }
    for (scheduler, runs) in wanted {
        let program = programs.iter().find(|(name, _)| name == scheduler);
        let words = program.map_or(format!("$keel run {scheduler}"), |(_, path)| path.display().to_string());
        line(format_args!("attach {scheduler} {words} && {{"));
        for (load, run) in runs {
            line(format_args!("    one {} {run}", load.name));
        }
        line(format_args!("    :\n}}\ndetach"));
    }
    text
}

/// The runs that are not recorded yet.
pub(super) fn missing(kernel: &str, scheduler: &str) -> Vec<(Load, u32)> {
    let all = LOADS.iter().flat_map(|load| (1..=RUNS).map(|run| (*load, run)));
    all.filter(|(load, run)| !recording(kernel, load.name, scheduler, *run).exists()).collect()
}
