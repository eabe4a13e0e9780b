//! Switches from and to idle may have other costs than switches between tasks.
#![forbid(unsafe_code)]

mod common;

use common::{Collector, collect, fifo, machine, spec, workload};
use keel_abi::Instant;
use keel_trace::{Class, What};

/// A task that works and sleeps, alone on its CPU, which has these constants.
fn alone(constants: &str) -> Collector {
    let text = format!(
        "name = 'm'\nhz = 10\n[topology]\nnodes = 1\ncores_per_llc = 1\n\
         [costs]\nschedule_ns = {{ value = 9000, source = 'a test' }}\n{constants}"
    );
    let machine = machine(&text);
    let workload = workload(r#"{"tasks": {"a": {"run": 1000, "sleep": 3000}}}"#, &machine);
    collect(&spec(fifo(), workload, machine, 30, 1), Class::CORE)
}

/// How long a wakeup takes until its task runs, and a switch to idle until the CPU sees the next wakeup, in
/// nanoseconds.
fn delay_ns(constants: &str) -> u64 {
    let run = alone(constants);
    let woken =
        run.events.iter().rposition(|event| matches!(event.what, What::Wakeup { .. })).expect("it wakes");
    let comes = |what: &What| matches!(what, What::Switch { next, .. } if !next.is_idle());
    let runs = run.events[woken..].iter().find(|event| comes(&event.what)).expect("it runs");
    runs.at.since(run.events[woken].at).as_ns()
}

/// When the task left its CPU the first time.
fn first_left(constants: &str) -> Instant {
    let run = alone(constants);
    let left =
        |what: &What| matches!(what, What::Switch { prev, next, .. } if !prev.is_idle() && next.is_idle());
    run.events.iter().find(|event| left(&event.what)).expect("it leaves").at
}

#[test]
fn a_cpu_that_leaves_idle_may_take_less_for_its_choice() {
    let given = "schedule_from_idle_ns = { value = 4000, source = 'a test' }";
    assert_eq!(delay_ns("") - delay_ns(given), 5000);
    let same = "schedule_from_idle_ns = { value = 9000, source = 'a test' }";
    assert_eq!(delay_ns(same), delay_ns(""));
}

#[test]
fn a_cpu_that_goes_idle_may_take_less_or_more_for_its_choice() {
    let check = |to_idle_ns: u64| {
        let given = format!("schedule_to_idle_ns = {{ value = {to_idle_ns}, source = 'a test' }}");
        first_left(&given).as_ns() as i64 - first_left("").as_ns() as i64
    };
    assert_eq!([check(2000), check(9000), check(10_000)], [-7000, 0, 1000]);
}
