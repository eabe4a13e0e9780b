//! Real-time tasks in rt-app's notation, and what the judge finds for tasks that wait for them.

mod common;

use common::{fifo, spec};
use keel_abi::TaskId;
use keel_check::{Finding, Judge, Kind};
use keel_lab::{machines, workloads};

/// The findings if `first` starts on CPU 0, `high` takes that CPU for 50 of every 100 ms, and CPU 1 idles.
fn findings(first: &str) -> Vec<Finding> {
    let machine = machines::of_cpus(2);
    let high = r#""high": { "policy": "SCHED_FIFO", "priority": 20, "cpus": [0], "delay": 10000,
                            "run": 50000, "timer": { "ref": "t", "period": 100000 } }"#;
    let text = format!("{{ \"tasks\": {{ \"first\": {{ {first} }}, {high} }} }}");
    let (workload, warnings) = workloads::read("w.json", &text, &machine).expect("it can be read");
    assert_eq!(warnings, []);
    let mut judge = Judge::default();
    let outcome = keel_lab::run(&spec(fifo(), workload, machine, 1000, 1), &mut judge, &mut |_| {}).unwrap();
    assert!(!outcome.exit.is_failure(), "{}", outcome.message);
    judge.judgement().findings
}

fn check(first: &str, wastes: bool) {
    let found = findings(first);
    assert_eq!(!found.is_empty(), wastes, "{found:?}");
    assert!(found.iter().all(|f| f.kind == Kind::WastedCore && f.tasks == [TaskId(1)]), "{found:?}");
}

#[test]
fn a_wait_for_a_real_time_task_beside_an_idle_core_is_found() {
    // One of the scheduler's tasks waits in the CPU's local queue, where no other CPU can fetch it.
    check(r#""run": 1000"#, true);
    // A real-time task is pushed to the idle CPU.
    check(r#""policy": "SCHED_FIFO", "priority": 10, "run": 1000"#, false);
    // The higher of two goes first.
    check(r#""policy": "SCHED_RR", "priority": 30, "run": 1000, "sleep": 500"#, false);
    // A task that may run nowhere else waits for a good reason.
    check(r#""cpus": [0], "run": 1000"#, false);
    check(r#""cpus": [0], "policy": "SCHED_RR", "priority": 20, "run": 1000"#, false);
}
