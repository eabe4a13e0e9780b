//! `./x demo` shows keel's main use at once: the scheduler that most Linux machines ran for a decade, on a larger
//! machine than you have at home. It runs with its four bugs, then with one of them fixed, and shows two verdicts and
//! two pictures.

use crate::tree::root;
use crate::{Failure, cargo};
use std::process::Command;

/// A build and two statistics programs, each started from a terminal of its own, on 8 nodes of 8 cores: 'group
/// imbalance' from the Wasted Cores paper.
const SCENE: &str = "--workload make:64:640+r+r --machine opteron-6272 --duration 1s --seed 1 --noise none --set tell_policy=1";
/// All four bugs, and all except that one. Alone, it wastes almost nothing, since a fixed wakeup path finds the idle
/// cores.
const RUNS: [&str; 2] = [
    "group-imbalance+group-construction+overload-on-wakeup+missing-domains",
    "group-construction+overload-on-wakeup+missing-domains",
];

/// Builds keel, runs both, and draws both.
pub(crate) fn run() -> Result<(), Failure> {
    eprintln!("x: building keel (some minutes the first time)");
    cargo::run(&["build", "-q", "--release", "-p", "keel-cli"])?;
    std::fs::create_dir_all(root().join("out")).map_err(|e| format!("cannot create the folder out: {e}"))?;
    let [with, fixed] = ["out/demo-bug.svg", "out/demo-fixed.svg"];
    for args in runs([with, fixed]) {
        keel(&args)?;
        println!();
    }
    println!(
        "The pictures are {with}, with the paper's four bugs: a node idles (hatched) while threads wait elsewhere; and {fixed}, \
         without 'group imbalance'."
    );
    Ok(())
}

/// keel's arguments. It writes the pictures to these paths, from the root.
pub(crate) fn runs(pictures: [&str; 2]) -> [String; 2] {
    let run = |at: usize| format!("sim cfs --set bug={} {SCENE} --report {}", RUNS[at], pictures[at]);
    [run(0), run(1)]
}

/// Runs the keel that was just built. Shows the command first, so that you can repeat it.
fn keel(args: &str) -> Result<(), Failure> {
    println!("$ keel {args}");
    let status = Command::new(cargo::built("keel")?)
        .args(args.split(' '))
        .current_dir(root())
        .status()
        .map_err(|e| format!("cannot run keel: {e}"))?;
    match status.success() {
        true => Ok(()),
        false => Err("keel failed; see its message above".into()),
    }
}
