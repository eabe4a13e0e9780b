//! CPUs that an emulator executes by turns: work and the kernel's paths take as many times longer as CPUs are busy.
#![forbid(unsafe_code)]

mod common;

use common::{Collector, collect, fifo, machine, spec, workload};
use keel_trace::{Class, What, Why};

/// A run on three CPUs without ticks to speak of, with turns of a millisecond or none. Task `a` works for 6 ms and ends; so many hogs keep other CPUs busy.
fn run(turn_ns: u64, hogs: u32) -> Collector {
    let text = format!(
        "name = 'm'\nhz = 10\n[topology]\nnodes = 1\ncores_per_llc = 3\n\
         [costs]\nturn_ns = {{ value = {turn_ns}, source = 'a test' }}\n"
    );
    let machine = machine(&text);
    let tasks = format!(
        r#"{{"tasks": {{"a": {{"loop": 1, "delay": 20000, "cpus": [0], "run": 6000}},
            "hog": {{"instance": {hogs}, "cpus": [1, 2], "runtime": 1000000}}}}}}"#
    );
    let workload = workload(&tasks, &machine);
    collect(&spec(fifo(), workload, machine, 60, 1), Class::CORE)
}

/// How long `a` ran until it ended, in tenths of a millisecond.
fn took(turn_ns: u64, hogs: u32) -> u64 {
    let run = run(turn_ns, hogs);
    let ended = run.events.iter().rev().find_map(|event| match event.what {
        What::Switch { prev, why: Why::Exited, .. } => Some((event.at, prev)),
        _ => None,
    });
    let (ended, task) = ended.expect("it ends");
    let began = run.events.iter().filter(|event| event.at < ended);
    let began = began.rev().find(|event| matches!(event.what, What::Switch { next, .. } if next == task));
    ended.since(began.expect("it runs").at).as_ns() / 100_000
}

#[test]
fn work_takes_as_many_times_longer_as_cpus_are_busy() {
    assert_eq!([took(0, 0), took(0, 2)], [60, 60]);
    assert_eq!(took(1_000_000, 0), 60);
    // Its end waits for the CPU's next turn, which may be two others' turns away.
    assert!((120..=150).contains(&took(1_000_000, 1)), "{}", took(1_000_000, 1));
    assert!((180..=220).contains(&took(1_000_000, 2)), "{}", took(1_000_000, 2));
}
