//! All disturbances at once, at random: real-time tasks, policy changes, migration-disabled sections, cgroups, hotplug,
//! masks and nice values changed from outside.
//!
//! Whatever the mix, no task is lost, none runs where it may not, and both engines agree.
#![forbid(unsafe_code)]

#[allow(dead_code, reason = "this test makes its own mixes")]
#[path = "semantics/harness.rs"]
mod harness;
#[path = "together/mix.rs"]
mod mix;

use harness::Run;
use keel_abi::scx::ExitKind;
use keel_abi::{CpuSet, TaskId};
use keel_lab::Engine;
use keel_trace::What;
use mix::{END_MS, Rng, mixed};
use std::collections::BTreeMap;

/// Runs a mix with native code and with the interpreter, and checks all invariants.
fn check(source: &str, seed: u64) {
    let mut rng = Rng::new(seed);
    let scenario = mixed(source, &mut rng);
    let run = scenario.clone().run();
    let names = run.names();
    let other = scenario.engine(Engine::Interpreter).run();
    let parted = run.events.iter().zip(&other.events).position(|(a, b)| a != b);
    assert_eq!(parted, None, "{source} {seed}: the engines part");
    assert_eq!(run.outcome, other.outcome, "{source} {seed}");
    if run.outcome.exit != ExitKind::None {
        // Some mixes send tasks to a CPU that they may not use. fifo exits when CPUs come or go.
        let words = &run.outcome.message;
        let meant = ["not allowed for", "cannot move migration disabled", "line, exiting scheduler"];
        let is_meant = meant.iter().any(|meant| words.contains(meant));
        assert!(is_meant, "{source} {seed}: {words}");
        return;
    }
    assert_eq!(on_cpus_that_are_off(&run), [""; 0], "{source} {seed}");
    let misplaced = run.misplaced().into_iter().filter(|(_, task, ..)| !may_be_anywhere(&names[task]));
    assert_eq!(misplaced.collect::<Vec<_>>(), [], "{source} {seed}");
    assert_eq!(lost(&run, &names), [""; 0], "{source} {seed}");
}

/// A migration-disabled section keeps a task on a CPU that is no longer in its mask.
fn may_be_anywhere(name: &str) -> bool {
    name.contains("spell")
}

/// Tasks that get an offline CPU, or are sent to one.
fn on_cpus_that_are_off(run: &Run) -> Vec<String> {
    let mut off = CpuSet::new();
    let mut found = Vec::new();
    for event in &run.events {
        let used = match event.what {
            What::Online { target, up } => {
                match up {
                    true => drop(off.remove(target)),
                    false => drop(off.insert(target)),
                }
                continue;
            }
            What::Switch { next, .. } if !next.is_idle() => event.cpu,
            What::Callback { .. } => event.cpu,
            What::Wakeup { target, .. } | What::Fork { target, .. } => target,
            What::Migrate { to, .. } => to,
            _ => continue,
        };
        if off.contains(used) {
            found.push(format!("{event:?}"));
        }
    }
    let still_off = off.iter().map(|cpu| format!("{cpu:?} never came back"));
    found.extend(still_off);
    found
}

/// Tasks that never end and did not run again after the disturbances.
fn lost(run: &Run, names: &BTreeMap<TaskId, String>) -> Vec<String> {
    let mut last: BTreeMap<TaskId, u64> = BTreeMap::new();
    for event in &run.events {
        let ms = event.at.as_ns() / 1_000_000;
        match event.what {
            What::Switch { prev, next, .. } => {
                last.extend([prev, next].into_iter().filter(|task| !task.is_idle()).map(|task| (task, ms)));
            }
            // A task that is still being created at the end has no such event. A task created a moment ago need not
            // have run.
            What::Fork { child, .. } => drop(last.insert(child, ms)),
            What::Exit { task } => drop(last.remove(&task)),
            _ => {}
        }
    }
    let mut running: Vec<TaskId> = Vec::new();
    for event in &run.events {
        if let What::Switch { prev, next, .. } = event.what {
            running.retain(|&task| task != prev);
            running.push(next);
        }
    }
    let is_lost = |(task, ms): &(TaskId, u64)| *ms + 100 < END_MS && !running.contains(task);
    let reported = |(task, ms)| format!("{} {task:?} ran last at {ms} of {END_MS} ms", names[&task]);
    last.into_iter().filter(is_lost).map(reported).collect()
}

fn check_all(source: &str, runs: u64) {
    (0..runs).for_each(|seed| check(source, seed));
}

#[test]
fn the_tracer_loses_no_task() {
    check_all("tests/sim/semantics/together", 60);
}

#[test]
fn fifo_loses_no_task() {
    check_all("schedulers/fifo", 20);
}

#[test]
fn bsd_loses_no_task() {
    check_all("schedulers/bsd", 20);
}

#[test]
fn goodness_loses_no_task() {
    check_all("schedulers/goodness", 20);
}

#[test]
fn mq_loses_no_task() {
    check_all("schedulers/mq", 20);
}

#[test]
fn o1_loses_no_task() {
    check_all("schedulers/o1", 20);
}

#[test]
fn ule_loses_no_task() {
    check_all("schedulers/ule", 20);
}
