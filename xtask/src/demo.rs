//! `./x demo`: the main job in one go. The scheduler that most Linux machines ran for a decade, on a machine larger
//! than you have at home, with the four bugs that it had, then with one of them fixed: two verdicts, two pictures.

use crate::tree::root;
use crate::{Failure, cargo};
use std::process::Command;

/// A build and two statistics programs, each started from a terminal of its own, on 8 nodes of 8 cores: 'group imbalance' of the
/// Wasted Cores paper.
const SCENE: &str = "--workload make:64:640+r+r --machine opteron-6272 --duration 1s --seed 1 --noise none --set tell_policy=1";
/// All four bugs, and all but that one: alone it wastes next to nothing, since a fixed wakeup finds the idle cores.
const RUNS: [&str; 2] = [
    "group-imbalance+group-construction+overload-on-wakeup+missing-domains",
    "group-construction+overload-on-wakeup+missing-domains",
];

/// Builds keel, runs both, draws both.
pub(crate) fn run() -> Result<(), Failure> {
    eprintln!("x: building keel (some minutes the first time)");
    cargo::run(&["build", "-q", "--release", "-p", "keel-cli"])?;
    std::fs::create_dir_all(root().join("out"))
        .map_err(|e| format!("the folder out cannot be created: {e}"))?;
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

/// What keel is asked for, the pictures to be drawn there, from the root.
pub(crate) fn runs(pictures: [&str; 2]) -> [String; 2] {
    let run = |at: usize| format!("sim cfs --set bug={} {SCENE} --report {}", RUNS[at], pictures[at]);
    [run(0), run(1)]
}

/// Runs the keel that was just built, its command shown first so that it can be repeated.
fn keel(args: &str) -> Result<(), Failure> {
    println!("$ keel {args}");
    let status = Command::new(cargo::built("keel")?)
        .args(args.split(' '))
        .current_dir(root())
        .status()
        .map_err(|e| format!("keel cannot be run: {e}"))?;
    match status.success() {
        true => Ok(()),
        false => Err("keel failed; its message is above".into()),
    }
}
