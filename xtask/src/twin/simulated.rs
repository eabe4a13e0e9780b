//! Runs on the simulated kernel.

use super::{BACKGROUND, OUT, SCENARIOS, scenario_file};
use crate::tree::root;
use crate::{Failure, cargo};
use std::path::PathBuf;
use std::process::Command;

/// How long each workload lasts, as its file says.
const DURATION: &str = "10s";

/// The trace of a run.
pub(super) fn trace(scenario: &str, scheduler: &str) -> Result<PathBuf, Failure> {
    let trace = format!("{OUT}/{scenario}.{scheduler}.sim.trc");
    simulate(scenario, scheduler, &["--duration", DURATION], trace)
}

/// The trace of a run with a seed and a level of noise.
pub(super) fn spread(
    scenario: &str,
    scheduler: &str,
    duration_s: u64,
    seed: u64,
    noise: &str,
) -> Result<PathBuf, Failure> {
    let trace = format!("{OUT}/spread.sim.trc");
    let (seed, duration) = (seed.to_string(), format!("{duration_s}s"));
    simulate(scenario, scheduler, &["--duration", &duration, "--seed", &seed, "--noise", noise], trace)
}

fn simulate(scenario: &str, scheduler: &str, options: &[&str], trace: String) -> Result<PathBuf, Failure> {
    let workload = format!("{}+{}", scenario_file(scenario), scenario_file(BACKGROUND));
    let machine = format!("{SCENARIOS}/guest.toml");
    let (name, setting) = scheduler.split_once(':').unzip();
    let output = Command::new(cargo::built("keel")?)
        .args(["sim", name.unwrap_or(scheduler)])
        .args(setting.iter().flat_map(|setting| ["--set", setting]))
        .args(["--workload", &workload, "--machine", &machine])
        .args(options)
        .args(["--trace", &trace])
        .current_dir(root())
        .output()
        .map_err(|e| format!("keel cannot be run: {e}"))?;
    match output.status.success() {
        true => Ok(root().join(trace)),
        false => Err(format!("keel sim failed: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}
