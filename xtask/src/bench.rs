//! `./x bench`: million switches plus wakeups a second, and memory, of `fifo` on three machines
//! with run-and-sleep mixes, jittered, at 80 % and 125 % of capacity, for 10 virtual seconds.
//!
//! Figures for people, on a machine that does nothing else; never a test that fails by time.

use crate::{Failure, cargo};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// One machine and how many tasks it has.
struct Size {
    cpus: u32,
    tasks: u32,
    /// What we want to reach, in million events a second.
    goal: f64,
}

const SIZES: &[Size] = &[
    Size { cpus: 4, tasks: 16, goal: 10.0 },
    Size { cpus: 8, tasks: 1_000, goal: 8.0 },
    Size { cpus: 64, tasks: 10_000, goal: 5.0 },
];
/// Load as a share of the machine, in percent.
const LOADS_PERCENT: &[u32] = &[80, 125];
/// How far run and sleep times lie from their middle, in percent.
const JITTER_PERCENT: u32 = 40;
/// Each figure is the median of so many runs.
const RUNS: usize = 3;

/// Builds keel for speed, measures, prints a table. `extra` goes to `keel sim`.
pub(crate) fn run(extra: &[String]) -> Result<(), Failure> {
    cargo::run(&["build", "-q", "--release", "-p", "keel-cli"])?;
    let keel = cargo::built("keel")?;
    println!("{:>5} {:>7} {:>6} {:>10} {:>6} {:>9}", "CPUs", "tasks", "load", "Mev/s", "goal", "MiB");
    for size in SIZES {
        for &load in LOADS_PERCENT {
            let workload = format!("mix:{}:{load}:{JITTER_PERCENT}", size.tasks);
            let (mev, mib) = measure(&keel, size, &workload, extra)?;
            println!(
                "{:>5} {:>7} {load:>5}% {mev:>10.2} {:>6.0} {mib:>9.1}",
                size.cpus, size.tasks, size.goal
            );
        }
    }
    Ok(())
}

/// Medians of events a second (in millions) and of peak memory (in MiB).
fn measure(keel: &Path, size: &Size, workload: &str, extra: &[String]) -> Result<(f64, f64), Failure> {
    let mut mev = Vec::new();
    let mut mib = Vec::new();
    for seed in 1..=RUNS {
        let output = Command::new(keel)
            .args(["sim", "fifo", "--json", "--duration", "10s"])
            .args(["--machine", &size.cpus.to_string(), "--seed", &seed.to_string()])
            .args(["--workload", workload])
            .args(extra)
            .output()
            .map_err(|e| format!("keel cannot be run: {e}"))?;
        if !output.status.success() {
            return Err(format!("keel failed: {}", String::from_utf8_lossy(&output.stderr).trim()));
        }
        let run: Value =
            serde_json::from_slice(&output.stdout).map_err(|e| format!("keel's --json is none: {e}"))?;
        let number = |field: &str| run[field].as_f64().ok_or(format!("--json lacks {field}"));
        mev.push((number("switches")? + number("wakeups")?) * 1e3 / number("wall_ns")?);
        mib.push(number("peak_rss_bytes")? / f64::from(1 << 20));
    }
    Ok((median(mev), median(mib)))
}

fn median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    of[of.len() / 2]
}

#[cfg(test)]
mod tests {
    #[test]
    fn one_wild_run_moves_no_median() {
        let check = |of: &[f64], expected| assert_eq!(super::median(of.to_vec()), expected);
        check(&[3.0, 900.0, 2.0], 3.0);
        check(&[1.0], 1.0);
    }
}
