//! Simulated runs of random workloads, with several seeds each.

use super::plan::Drawn;
use super::{figures::Run, files, record};
use crate::tree::root;
use crate::twin::OUT;
use crate::{Failure, cargo};
use std::path::PathBuf;
use std::process::Command;

/// Simulated runs of each workload under each scheduler: the seeds from 1 on.
pub(super) const SEEDS: u64 = 10;

/// What rt-app itself executes each time after it has kept a CPU busy: it reads the clock about every 40 us, then
/// writes its log and turns to the next event. From recordings of tasks that have a CPU to themselves in an otherwise
/// idle guest: 20.05 ms if you ask for 20, 10.1 to 10.2 if you ask for 10.
///
/// Its start is taken from recordings of the open half under eevdf, ule, o1, mq and goodness. Its main thread works for
/// 19.5 to 22.9 ms and waits for 7.7 to 10.5, mostly for the console. Then it makes a thread every 0.9 to 1.1 ms. All
/// of these work meanwhile, so they share the emulator's one thread: 0.58 ms of each millisecond are the main thread's,
/// of which 0.48 are the kernel's. A new thread runs for 0.4 ms before it waits, writes to the console in turn, and
/// waits for all others. On two to eight CPUs, hogs begin their work 28 to 196 ms after their thread starts. These
/// figures give 29 to 200 ms.
///
/// A forked process takes 3.5 to 5 ms more than requested (workload 33). Two thirds of that are the other CPUs' turns.
pub(super) const RT_APP: files::RtApp = files::RtApp {
    between_us: 60,
    main_us: 21_500,
    main_waits_us: 9_000,
    apart_us: 100,
    before_us: 300,
    after_us: 800,
    child_us: 1400,
};

/// The guest's activity besides the workload, with a stopper for each CPU (`tests/twin/background.json`).
const BACKGROUND: &str = "tests/twin/background.json";

/// A scheduler, and the arguments with which `keel sim` loads it.
pub(super) struct Scheduler {
    pub(super) name: String,
    words: Vec<String>,
    keel: PathBuf,
}

impl Scheduler {
    pub(super) fn new(name: &str) -> Result<Self, Failure> {
        let words = record::scheduler_words(name)?;
        Ok(Self { name: name.to_owned(), words, keel: cargo::built("keel")? })
    }
}

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
        ("workload.json", files::simulated(&drawn.workload, RT_APP)),
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

/// A run with a seed. Returns the path of its trace. The files must exist.
pub(super) fn trace(drawn: &Drawn, scheduler: &Scheduler, seed: u64) -> Result<PathBuf, Failure> {
    let folder = folder(drawn);
    let trace = format!("{folder}/{}.{seed}.trc", scheduler.name);
    let output = Command::new(&scheduler.keel)
        .arg("sim")
        .args(&scheduler.words)
        .args(["--workload", &format!("{folder}/workload.json+{folder}/background.json")])
        .args(["--machine", &format!("{folder}/machine.toml")])
        .args(["--duration", &format!("{}s", files::RUN_S), "--seed", &seed.to_string()])
        .args(["--trace", &trace])
        .current_dir(root())
        .output()
        .map_err(|e| format!("cannot run keel: {e}"))?;
    match output.status.success() {
        true => Ok(root().join(trace)),
        false => Err(format!(
            "{} under {} with seed {seed}: keel sim failed: {}",
            drawn.name,
            scheduler.name,
            String::from_utf8_lossy(&output.stderr).trim()
        )),
    }
}

/// The figures of the runs of all seeds. Their traces are deleted.
pub(super) fn runs(drawn: &Drawn, scheduler: &Scheduler) -> Result<Vec<Run>, Failure> {
    let one = |seed| {
        let trace = trace(drawn, scheduler, seed)?;
        let run = Run::of(&trace, &drawn.workload);
        std::fs::remove_file(&trace).ok();
        run
    };
    (1..=SEEDS).map(one).collect()
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
