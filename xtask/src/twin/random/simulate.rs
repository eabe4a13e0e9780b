//! Simulated runs of drawn workloads, with several seeds each.

use super::plan::Drawn;
use super::{Options, figures::Run, files, record};
use crate::Failure;
use crate::tree::root;
use crate::twin::OUT;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Simulated runs of each workload under each scheduler: the seeds from 1 on.
pub(super) const SEEDS: u64 = 10;

/// What a guest does beside the workload, with a stopper for each CPU (`tests/twin/background.json`).
const BACKGROUND: &str = "tests/twin/background.json";

/// The folder of the files that simulated runs read and write.
fn folder(drawn: &Drawn) -> String {
    format!("{OUT}/random/simulated/{}", drawn.name)
}

/// Writes the workload and its machine for the simulated kernel.
pub(super) fn prepare(drawn: &Drawn) -> Result<(), Failure> {
    let folder = root().join(folder(drawn));
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let shape = drawn.workload.shape;
    let texts = [
        ("workload.json", files::simulated(&drawn.workload)),
        ("machine.toml", shape.machine()?),
        ("background.json", background(shape.cpus)?),
    ];
    for (name, text) in texts {
        std::fs::write(folder.join(name), text).map_err(|e| format!("{name}: {e}"))?;
    }
    Ok(())
}

/// The guest's background with as many stoppers as there are CPUs.
fn background(cpus: u32) -> Result<String, Failure> {
    let text = std::fs::read_to_string(root().join(BACKGROUND)).map_err(|e| format!("{BACKGROUND}: {e}"))?;
    let (stoppers, others): (Vec<&str>, Vec<&str>) =
        text.lines().partition(|line| line.trim_start().starts_with("\"migration/"));
    let stopper = |cpu: u32| {
        let line = *stoppers.get(cpu as usize % stoppers.len().max(1))?;
        let own = line
            .replace(&format!("migration/{}", cpu as usize % stoppers.len()), &format!("migration/{cpu}"));
        let (before, after) = own.split_once("\"cpus\": [")?;
        let (_, after) = after.split_once(']')?;
        Some(format!("{before}\"cpus\": [{cpu}]{}", after.trim_end_matches(',')))
    };
    let lines: Option<Vec<String>> = (0..cpus).map(stopper).collect();
    let lines = lines
        .ok_or_else(|| format!("{BACKGROUND}: write each stopper as a line of its own, with its CPU"))?;
    let end = others.iter().position(|line| line.trim() == "}").unwrap_or(others.len());
    let mut all: Vec<String> = others[..end].iter().map(|line| (*line).to_owned()).collect();
    all.push(lines.join(",\n"));
    all.extend(others[end..].iter().map(|line| (*line).to_owned()));
    Ok(all.join("\n"))
}

/// A run with a seed: where its trace is. The files are there.
pub(super) fn trace(keel: &Path, drawn: &Drawn, scheduler: &str, seed: u64) -> Result<PathBuf, Failure> {
    let folder = folder(drawn);
    let trace = format!("{folder}/{scheduler}.{seed}.trc");
    let output = Command::new(keel)
        .arg("sim")
        .args(record::scheduler_words(scheduler)?)
        .args(["--workload", &format!("{folder}/workload.json+{folder}/background.json")])
        .args(["--machine", &format!("{folder}/machine.toml")])
        .args(["--duration", &format!("{}s", files::RUN_S), "--seed", &seed.to_string()])
        .args(["--trace", &trace])
        .current_dir(root())
        .output()
        .map_err(|e| format!("keel cannot be run: {e}"))?;
    match output.status.success() {
        true => Ok(root().join(trace)),
        false => Err(format!(
            "{} under {scheduler} with seed {seed}: keel sim failed: {}",
            drawn.name,
            String::from_utf8_lossy(&output.stderr).trim()
        )),
    }
}

/// The figures of the runs of all seeds. Their traces are not kept.
pub(super) fn runs(keel: &Path, drawn: &Drawn, scheduler: &str) -> Result<Vec<Run>, Failure> {
    let one = |seed| {
        let trace = trace(keel, drawn, scheduler, seed)?;
        let run = Run::of(&trace, &drawn.workload);
        std::fs::remove_file(&trace).ok();
        run
    };
    (1..=SEEDS).map(one).collect()
}

pub(super) fn judge(_options: &Options, _drawn: &[Drawn]) -> Result<(), Failure> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cpu_has_its_stopper() {
        for cpus in [2, 4, 8] {
            let text = background(cpus).unwrap();
            let json: String = text.lines().filter(|line| !line.starts_with("//")).collect();
            let parsed: serde_json::Value = serde_json::from_str(&json).unwrap();
            let tasks = parsed["tasks"].as_object().unwrap();
            for cpu in 0..cpus {
                assert_eq!(tasks[&format!("migration/{cpu}")]["cpus"], serde_json::json!([cpu]));
            }
            assert_eq!(tasks.len() as u32, cpus + 2);
        }
    }
}
