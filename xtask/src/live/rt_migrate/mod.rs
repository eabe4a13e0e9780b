//! `./x live --rt-migrate` runs real-time threads that share locks, on a real kernel without the project's schedulers,
//! and shows them beside what `keel lab` finds with the current rule.
//!
//! The guest's time is counted in instructions, so a busy host does not matter. Its threads run as long as those in
//! `experiments/rt-migrate.toml`.

mod counts;
mod experiment;

use super::args::Args;
use super::guest::Script;
use super::seen::Seen;
use super::{OUT, write};
use crate::tree::root;
use crate::{Failure, cargo};
use counts::Run;
use std::process::Command;
use std::time::Duration;

const THREADS: u32 = 8;
const LOCKS: u32 = 4;
/// How long the threads run, as in the experiments.
const MS: u32 = 3550;
/// The source of the guest's program.
const SOURCE: &str = "tests/live/rt_migrate.c";
/// 4 CPUs, one instruction per nanosecond.
const GUEST: &[&str] = &["--cpus", "4", "--icount=0"];

/// With plain locks, and with priority inheritance.
const KINDS: [(&str, bool); 2] = [("plain", false), ("pi", true)];

/// Runs the program on each kernel and prints its tables. Returns what went wrong.
pub(super) fn run(args: &Args) -> Result<Vec<String>, Failure> {
    let folder = format!("{OUT}/rt-migrate");
    std::fs::create_dir_all(root().join(&folder)).map_err(|e| format!("{folder}: {e}"))?;
    build(&format!("{folder}/rt_migrate"))?;
    let mut faults = Vec::new();
    for kernel in &args.kernels {
        println!("Linux {kernel}: {} runs of {MS} ms with plain locks, {0} with inheritance", args.runs);
        let seen = real(&folder, kernel, args.runs)?;
        for (kind, inherits) in KINDS {
            match counted(&seen, kind) {
                Ok(runs) => {
                    let text = beside(&folder, kernel, kind, inherits, &runs)?;
                    print!("{text}");
                    write(&root().join(format!("{folder}/{kernel}-{kind}.txt")), text.as_bytes())?;
                }
                Err(fault) => faults.push(format!("rt_migrate on Linux {kernel}, {kind}: {fault}")),
            }
        }
    }
    Ok(faults)
}

/// Compiles the program so that it runs in any guest.
fn build(program: &str) -> Result<(), Failure> {
    let status = Command::new("cc")
        .args(["-O2", "-static", "-pthread", "-o", program, SOURCE])
        .current_dir(root())
        .status()
        .map_err(|e| format!("cannot run cc ({e}); install gcc"))?;
    if status.success() { Ok(()) } else { Err(format!("cc refuses {SOURCE}")) }
}

/// The output of all runs, made in one guest.
fn real(folder: &str, kernel: &str, runs: u32) -> Result<Vec<Seen>, Failure> {
    let turns = KINDS.iter().flat_map(|(kind, _)| (1..=runs).map(move |run| format!("{kind}-{run}")));
    let script = Script {
        kernel,
        guest: GUEST,
        script: "tests/live/rt_migrate.sh",
        out: format!("{folder}/{kernel}"),
        first: Some(MS.to_string()),
        // A guest's second takes several seconds of the host.
        turn: Duration::from_secs(300),
    };
    script.run(&turns.collect::<Vec<_>>())
}

/// The counts of the runs of one kind, or what went wrong in one.
fn counted(seen: &[Seen], kind: &str) -> Result<Vec<Run>, Failure> {
    let of_kind = seen.iter().filter(|seen| seen.turn.starts_with(&format!("{kind}-")));
    of_kind
        .map(|seen| match (seen.trouble(), seen.fact("code")) {
            (Some(trouble), _) => Err(trouble),
            (None, "0") => Run::read(&seen.said),
            (None, _) => Err(seen.said.trim().to_owned()),
        })
        .collect()
}

/// The real kernel's mean beside the simulated one, and how much the real runs differ.
fn beside(folder: &str, kernel: &str, kind: &str, inherits: bool, runs: &[Run]) -> Result<String, Failure> {
    let id = format!("rt-migrate-{kind}");
    let file = format!("{folder}/{kernel}-{kind}.toml");
    let experiment = experiment::text(&id, kernel, inherits, runs.len() as u32, &counts::mean(runs));
    write(&root().join(&file), experiment.as_bytes())?;
    let output = Command::new(cargo::built("keel")?)
        .args(["lab", &format!("./{file}")])
        .current_dir(root())
        .output()
        .map_err(|e| format!("cannot run keel: {e}"))?;
    if !output.status.success() {
        return Err(format!("keel lab failed: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    let lab = String::from_utf8_lossy(&output.stdout);
    Ok(format!(
        "{lab}\n{kind} on Linux {kernel}, the least and the most of {} runs:\n{}\n",
        runs.len(),
        counts::spread(runs)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The settings of both sides are in two places.
    #[test]
    fn the_published_experiments_are_the_same_work() {
        for (kind, inherits) in KINDS {
            let file = if inherits { "rt-migrate-pi" } else { "rt-migrate" };
            let published = std::fs::read_to_string(root().join(format!("experiments/{file}.toml"))).unwrap();
            let workload =
                format!("workload = \"rt-migrate:{THREADS}:{LOCKS}{}\"", if inherits { ":1" } else { "" });
            for line in [workload, format!("duration_ms = {MS}")] {
                assert!(published.lines().any(|has| has == line), "{kind}: {line}");
            }
        }
    }
}
