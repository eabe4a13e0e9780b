//! Threads that a main thread starts, as in rt-app: which task creates them, with which settings, and from when their
//! timers count.
#![forbid(unsafe_code)]

mod common;

use common::{Collector, collect, fifo, machine, spec, workload};
use keel_abi::{Instant, Span, TaskId};
use keel_trace::{Class, Meta, What};

const TWO_CPUS: &str = "name = 'two'\n[topology]\nnodes = 1\nllcs_per_node = 1\ncores_per_llc = 2\n";

const STARTED: &str = r#"{
    "evenkeel": { "starter": { "main_us": 1000, "apart_us": 100, "before_us": 200, "after_us": 300 } },
    "tasks": {
        "nicer": { "instance": 2, "priority": 5, "cpus": [1], "loop": -1, "run": 50, "timer": { "ref": "unique", "period": 7000 } },
        "last": { "loop": -1, "run": 50, "sleep": 5000 }
    }
}"#;

/// A task's properties, each time it changes.
fn told(seen: &Collector, task: TaskId) -> Vec<(Instant, String, i8, Vec<u32>)> {
    let of = |(at, meta): &(Instant, Meta)| match meta {
        Meta::Task(info) if info.task == task => {
            Some((*at, info.name.clone(), info.nice, info.cpus.iter().map(|cpu| cpu.0).collect()))
        }
        _ => None,
    };
    seen.metas.iter().filter_map(of).collect()
}

#[test]
fn a_main_thread_makes_the_others_and_they_take_their_own_cpus_later() {
    let machine = machine(TWO_CPUS);
    let spec = spec(fifo(), workload(STARTED, &machine), machine, 60, 1);
    let seen = collect(&spec, Class::ALL);
    let forks = seen.events.iter().filter_map(|event| match event.what {
        What::Fork { child, parent, .. } if !parent.is_idle() => Some((event.at, child, parent)),
        _ => None,
    });
    let made: Vec<_> = forks.collect();
    assert_eq!(made.len(), 3, "{made:?}");
    assert!(made.iter().all(|(_, _, parent)| told(&seen, *parent)[0].1 == "rt-app"), "{made:?}");
    assert!(made[0].0 >= Instant::from_ns(1_000_000), "{made:?}");
    assert!(made.windows(2).all(|two| two[1].0.since(two[0].0) >= Span::from_us(100)), "{made:?}");
    for (_, child, _) in &made[..2] {
        let states = told(&seen, *child);
        let (_, name, nice, cpus) = &states[0];
        assert_eq!((name.as_str(), *nice, cpus.as_slice()), ("nicer", 0, &[0, 1][..]));
        let (took, _, nice, cpus) = states.last().unwrap();
        assert_eq!((*nice, cpus.as_slice()), (5, &[1][..]));
        assert!(*took > made[2].0, "it waits until all are there");
        // Its first timer counts from there: the next wakeup is a period later.
        let woken = seen.events.iter().find(|event| {
            event.at > *took && matches!(event.what, What::Wakeup { task, .. } if task == *child)
        });
        let after = woken.expect("its timer expires").at.since(*took);
        assert!((6_900_000..7_600_000).contains(&after.as_ns()), "{after}");
    }
}
