//! The memory bus: a task that fetches a working set waits longer while other CPUs of its node run.

use crate::harness::*;
use keel_abi::task::Step;
use keel_lab::{Machine, machines};

/// Two nodes of two CPUs; one CPU may draw all, the second costs both a fifth.
fn machine() -> Machine {
    let text = r#"
        name = "bus"
        [topology]
        nodes = 2
        cores_per_llc = 2
        [costs]
        bus_free_cpus = { value = 1, source = "test" }
        bus_loss_per_mille = { value = 200, source = "test" }
        memory_kb_ns = { value = 100, source = "test" }
    "#;
    machines::read("bus.toml", text).expect("the machine is right")
}

/// How long it takes on CPU 0 to go over 80 MiB, more than any cache holds, alongside a hog on another CPU.
fn check(hog_on: Option<u32>, expected_us: u64) {
    let walk = task("walk", [Step::Touch(80 << 20)]).on([0]);
    let mut scenario = with("tracer").on(machine()).millis(50).task(walk);
    if let Some(cpu) = hog_on {
        scenario = scenario.task(hog("hog").on([cpu]));
    }
    let run = scenario.survives();
    let (from, to) = (run.starts("walk")[0].0, *run.stops("walk").last().expect("it ends"));
    let took_us = to.since(from).as_ns() / 1000;
    assert!(took_us.abs_diff(expected_us) * 50 <= expected_us, "{hog_on:?}: {took_us} us");
}

#[test]
fn tasks_on_the_same_node_slow_it() {
    check(None, 8192);
    check(Some(1), 10_240);
    check(Some(2), 8192);
}
