//! Runs on a real kernel: one guest that runs rt-app under one scheduler after another and records each run.

use super::{OUT, SCENARIOS, args::Args, recording, scenario_file};
use crate::tree::root;
use crate::{Failure, programs};
use std::path::Path;
use std::process::{Command, ExitStatus};

/// CPUs of the guest, as in `tests/twin/guest.toml`.
const CPUS: &str = "4";

/// Arguments for a kernel that does less by itself: it neither makes large pages nor watches which pages are used.
pub(crate) const QUIET: &str = "transparent_hugepage=never damon_stat.enabled=0";

/// Makes all recordings.
pub(super) fn record(keel: &Path, args: &Args) -> Result<(), Failure> {
    // Guests of several kernels may run at once.
    let script = format!("{OUT}/{}/guest.sh", args.kernel);
    let text = script_text(&keel.display().to_string(), &programs(&args.schedulers)?, args);
    std::fs::write(root().join(&script), text).map_err(|e| format!("{script}: {e}"))?;
    for (scenario, scheduler, run) in runs(args) {
        std::fs::remove_file(recording(&args.kernel, &scenario, &scheduler, run)).ok();
    }
    boot(keel, args, &script)
}

/// Boots the guest, which runs a script.
pub(super) fn boot(keel: &Path, args: &Args, script: &str) -> Result<(), Failure> {
    run_guest(keel, &args.kernel, &["--cpus", CPUS, "--append", QUIET], script, OUT)
}

/// Boots a guest whose clock counts instructions. It runs a script, which leaves its logs in a folder.
pub(crate) fn run_guest(
    keel: &Path,
    kernel: &str,
    guest: &[&str],
    script: &str,
    logs: &str,
) -> Result<(), Failure> {
    let status = guest_status(keel, kernel, guest, script)?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("the guest failed ({status}); its messages are above, and logs in {logs}")),
    }
}

/// The same, but returns how it ended.
pub(super) fn guest_status(
    keel: &Path,
    kernel: &str,
    guest: &[&str],
    script: &str,
) -> Result<ExitStatus, Failure> {
    Command::new(keel)
        .args(["vm", "--kernel", kernel, "--icount=3"])
        .args(guest)
        .args(["--", "sh", script])
        .current_dir(root())
        .status()
        .map_err(|e| format!("cannot run keel: {e}"))
}

/// A function of the script that prints the command of a scheduler that is a program, and nothing for others.
fn programs(schedulers: &[String]) -> Result<String, Failure> {
    let mut cases = String::new();
    for scheduler in schedulers {
        if let Some(command) = programs::command(scheduler)? {
            cases += &format!("        {scheduler}) echo '{}' ;;\n", command.join(" "));
        }
    }
    Ok(format!("program() {{\n    case $1 in\n{cases}        *) ;;\n    esac\n}}\n"))
}

fn runs(args: &Args) -> impl Iterator<Item = (String, String, u32)> {
    args.scenarios.iter().flat_map(move |scenario| {
        args.schedulers.iter().flat_map(move |scheduler| {
            (1..=args.runs).map(move |run| (scenario.clone(), scheduler.clone(), run))
        })
    })
}

/// Also loads a scheduler that is a program. `unload` ends both kinds.
const LOAD_PROGRAM: &str = r#"load_any() {
    command=$(program $1)
    [ -n "$command" ] || { load $1; return; }
    mkdir -p /var/run/scx
    $command > $out/$1.run.log 2>&1 &
    loader=$!
    until_state enabled
}
"#;

/// The beginning of every guest script: `load SCHEDULER`, `unload`, and paths.
pub(super) fn prelude(keel: &str) -> String {
    format!(
        r#"# rt-app writes its logs where it stands.
keel={keel}
home=$PWD
out=$home/{OUT}
cd /tmp || exit 1
# The kernel does not move pages together, either.
echo 0 > /proc/sys/vm/compaction_proactiveness
state() {{ cat /sys/kernel/sched_ext/state; }}
until_state() {{
    # The kernel's verifier may take minutes for a program's BPF half.
    for i in $(seq 3000); do
        [ "$(state)" = "$1" ] && return
        sleep 0.1
    done
    echo "the scheduler is $(state), not $1"
    exit 1
}}
# The kernel's own scheduler needs no loading.
load() {{
    case $1 in
        eevdf) return ;;
        *:*) setting="--set ${{1#*:}}" ;;
        *) setting= ;;
    esac
    $keel run ${{1%%:*}} $setting > $out/$1.run.log 2>&1 &
    loader=$!
    until_state enabled
}}
# Fails if the scheduler has exited by itself.
unload() {{
    [ "$1" = eevdf ] && return
    kill -INT $loader 2> /dev/null
    wait $loader && until_state disabled
}}
"#
    )
}

/// The guest's script.
fn script_text(keel: &str, programs: &str, args: &Args) -> String {
    let mut script = prelude(keel) + programs + LOAD_PROGRAM;
    script += &format!(
        r#"run() {{
    echo "$1.$2.$3"
    load_any $2
    at=$out/{kernel}/$1.$2.$3
    $keel record -o $at.trc -- rt-app $home/{SCENARIOS}/$1.json > $at.log 2>&1
    echo "rt-app ended with $?"
    unload $2 || {{ tail -n 1 $out/$2.run.log; exit 1; }}
}}
"#,
        kernel = args.kernel
    );
    for (scenario, scheduler, run) in runs(args) {
        debug_assert!(root().join(scenario_file(&scenario)).exists());
        script += &format!("run {scenario} {scheduler} {run}\n");
    }
    script
}
