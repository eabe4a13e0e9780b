//! Runs on the simulated kernel.

use super::{BACKGROUND, KERNEL, OUT, SCENARIOS, scenario_file};
use crate::tree::root;
use crate::vm::version_of;
use crate::{Failure, programs};
use std::path::{Path, PathBuf};
use std::process::Command;

/// How long each workload lasts, as in its file.
const DURATION: &str = "10s";

/// The trace of a run, under the rules of a kernel.
pub(super) fn trace(keel: &Path, kernel: &str, scenario: &str, scheduler: &str) -> Result<PathBuf, Failure> {
    let trace = format!("{OUT}/{kernel}/{scenario}.{scheduler}.sim.trc");
    let mut options = vec!["--duration", DURATION];
    if scheduler == KERNEL {
        options.extend(rules(kernel).iter().flat_map(|rule| ["--set", rule]));
    }
    simulate(keel, scenario, scheduler, &options, trace)
}

/// How an older kernel's own scheduler differs from 7.2's, as settings of `eevdf`.
fn rules(kernel: &str) -> Vec<&'static str> {
    let Some(version) = version_of(kernel) else { return Vec::new() };
    let mut rules = Vec::new();
    if version < (7, 1) {
        rules.push("hrtick=0");
    }
    if version < (6, 15) {
        // 0.75 ms instead of 0.7, three times that on four CPUs.
        rules.push("base_slice_ns=2250000");
    }
    rules
}

/// The trace of a run with a seed and a level of noise.
pub(super) fn spread(
    keel: &Path,
    scenario: &str,
    scheduler: &str,
    duration_s: u64,
    seed: u64,
    noise: &str,
) -> Result<PathBuf, Failure> {
    let trace = format!("{OUT}/spread.sim.trc");
    let (seed, duration) = (seed.to_string(), format!("{duration_s}s"));
    let options = ["--duration", &duration, "--seed", &seed, "--noise", noise];
    simulate(keel, scenario, scheduler, &options, trace)
}

fn simulate(
    keel: &Path,
    scenario: &str,
    scheduler: &str,
    options: &[&str],
    trace: String,
) -> Result<PathBuf, Failure> {
    let workload = format!("{}+{}", scenario_file(scenario), scenario_file(BACKGROUND));
    let machine = format!("{SCENARIOS}/guest.toml");
    let mut keel = Command::new(keel);
    keel.args(["sim", "--workload", &workload, "--machine", &machine, "--trace", &trace]).args(options);
    match programs::command(scheduler)? {
        Some(command) => keel.arg("--").args(command),
        None => {
            let (name, setting) = scheduler.split_once(':').unzip();
            keel.arg(name.unwrap_or(scheduler)).args(setting.iter().flat_map(|setting| ["--set", setting]))
        }
    };
    let output = keel.current_dir(root()).output().map_err(|e| format!("cannot run keel: {e}"))?;
    match output.status.success() {
        true => Ok(root().join(trace)),
        false => Err(format!("keel sim failed: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}

#[cfg(test)]
mod tests {
    use super::rules;

    #[test]
    fn older_kernels_have_other_rules() {
        let check = |kernel, expected: &[&str]| assert_eq!(rules(kernel), expected, "{kernel}");
        check("7.2", &[]);
        check("7.1", &[]);
        check("7.0", &["hrtick=0"]);
        check("6.18", &["hrtick=0"]);
        check("6.12", &["hrtick=0", "base_slice_ns=2250000"]);
        check("next", &[]);
    }
}
