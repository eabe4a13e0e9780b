//! Faults planted in a scheduler are found and named on every readable example of Debian's rt-app package. Without a
//! planted fault, nothing is found. Skipped if the package is not installed.

mod common;

use common::{fifo, object, spec};
use keel_check::{Judge, Judgement, Kind};
use keel_lab::{Outcome, SchedulerSource, machines, workloads};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "/usr/share/doc/rt-app/examples";

fn json_files(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        match path.is_dir() {
            true => json_files(&path, found),
            false if path.extension().is_some_and(|e| e == "json") => found.push(path),
            false => {}
        }
    }
}

/// Runs the scheduler on every example, on 8 CPUs, and hands each judgement to `check`.
fn each_example(scheduler: &SchedulerSource, check: impl Fn(&str, &Outcome, &Judgement)) {
    let mut files = Vec::new();
    json_files(Path::new(EXAMPLES), &mut files);
    let machine = machines::of_cpus(8);
    let mut read = 0;
    for path in &files {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{name}: {e}"));
        let Ok((workload, _)) = workloads::read(&name, &text, &machine) else { continue };
        // No scheduler is to blame for what happens to the kernel's own real-time tasks.
        if workload.tasks.iter().all(|task| task.policy.rt_priority() > 0) {
            continue;
        }
        let spec = spec(scheduler.clone(), workload, machine.clone(), 4000, 1);
        let mut judge = Judge::default();
        let outcome = keel_lab::run(&spec, &mut judge, &mut |_| {}).unwrap_or_else(|e| panic!("{name}: {e}"));
        check(&name, &outcome, &judge.judgement());
        read += 1;
    }
    assert!(files.is_empty() || read >= 15, "only {read} examples could be read");
}

fn findings(judgement: &Judgement, kind: Kind) -> usize {
    judgement.findings.iter().filter(|finding| finding.kind == kind).count()
}

#[test]
fn fifo_is_innocent() {
    each_example(&fifo(), |name, outcome, judgement| {
        assert!(!outcome.exit.is_failure(), "{name}: {}", outcome.message);
        let found: u64 = judgement.found.iter().map(|(_, count)| count).sum();
        assert_eq!(found, judgement.of_programs, "{name}: {:?}", judgement.findings);
    });
}

#[test]
fn a_scheduler_that_leaves_cores_idle_beside_waiters_is_found_to_waste_them() {
    each_example(&object("tardy"), |name, outcome, judgement| {
        assert!(!outcome.exit.is_failure(), "{name}: {}", outcome.message);
        assert!(findings(judgement, Kind::WastedCore) > 0, "{name}");
        assert!(judgement.findings[0].text.contains(" idled for "), "{name}: {:?}", judgement.findings[0]);
    });
}

#[test]
fn a_scheduler_that_forgets_threads_is_ended_and_found_to_starve_them() {
    each_example(&object("stall"), |name, outcome, judgement| {
        assert_eq!(outcome.exit.reason(), "runnable task stall", "{name}");
        assert!(outcome.message.contains(" failed to run for "), "{name}: {}", outcome.message);
        assert!(findings(judgement, Kind::Starvation) > 0, "{name}");
    });
}
