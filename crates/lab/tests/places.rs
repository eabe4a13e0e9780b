//! Who listens only to where tasks wait hears everything about queues, except that a waiting task leaves one.
#![forbid(unsafe_code)]

mod common;

use common::{built_in, collect, spec, two_nodes, workload};
use keel_abi::TaskId;
use keel_trace::{Class, Event, What};
use std::collections::BTreeSet;

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
