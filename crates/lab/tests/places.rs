//! Who listens only to where tasks wait hears everything about queues, except that a waiting task leaves one. Who listens
//! only to sums of units hears them later, and all of them.
#![forbid(unsafe_code)]

mod common;

use common::{built_in, collect, spec, two_nodes, workload};
use keel_abi::TaskId;
use keel_trace::{Class, Event, What};
use std::collections::{BTreeMap, BTreeSet};

/// These events without those of waiting tasks that leave a queue.
fn without_waiting(events: &[Event]) -> Vec<Event> {
    let mut running = BTreeSet::<TaskId>::new();
    let mut heard = |event: &Event| {
        match event.what {
            What::Switch { prev, next, .. } => {
                running.remove(&prev);
                running.insert(next);
            }
            What::Unqueued { task, .. } => return running.contains(&task),
            _ => {}
        }
        true
    };
    events.iter().copied().filter(|event| heard(event)).collect()
}

#[test]
fn only_that_a_waiting_task_leaves_a_queue_is_left_out() {
    let mut left_out = 0;
    for name in ["fifo", "percpu", "o1", "cfs", "ule"] {
        let machine = two_nodes();
        let eventful = workload(include_str!("data/eventful.json"), &machine);
        let spec = spec(built_in(name), eventful, machine, 200, 42);
        let all = collect(&spec, Class::CORE.with(Class::QUEUES)).events;
        let some = collect(&spec, Class::CORE.with(Class::PLACES)).events;
        let expected = without_waiting(&all);
        let parted = some.iter().zip(&expected).position(|(a, b)| a != b);
        assert_eq!((parted, some.len()), (None, expected.len()), "{name}");
        left_out += all.len() - some.len();
    }
    assert!(left_out > 1000, "{left_out}");
}

/// What each task has done, and the events without that. No task does anything after its exit.
fn without_counts(events: &[Event]) -> (BTreeMap<TaskId, u64>, Vec<Event>) {
    let (mut units, mut gone, mut others) = (BTreeMap::new(), BTreeSet::new(), Vec::new());
    for event in events {
        match event.what {
            What::Count { task, units: more } => {
                assert!(!gone.contains(&task), "{event:?}");
                *units.entry(task).or_default() += u64::from(more);
                continue;
            }
            What::Exit { task } => drop(gone.insert(task)),
            _ => {}
        }
        others.push(*event);
    }
    (units, others)
}

#[test]
fn sums_of_units_need_fewer_events_than_counts() {
    let machine = two_nodes();
    let cpus = machine.topology.cpus();
    let eventful = workload(include_str!("data/eventful.json"), &machine);
    let loads =
        [("fifo", keel_workload::mix(20, cpus, 90, 50)), ("percpu", keel_workload::mix(20, cpus, 130, 0))];
    let mut left_out = 0;
    for (name, tasks) in loads.into_iter().chain([("o1", eventful)]) {
        let spec = spec(built_in(name), tasks, machine.clone(), 200, 42);
        let each = collect(&spec, Class::CORE.with(Class::COUNTS)).events;
        let sums = collect(&spec, Class::CORE.with(Class::UNITS)).events;
        assert!(without_counts(&each) == without_counts(&sums), "{name}");
        left_out += each.len() - sums.len();
    }
    assert!(left_out > 300, "{left_out}");
}
