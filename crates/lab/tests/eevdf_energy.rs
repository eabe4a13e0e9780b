//! Task placement by `eevdf` on a machine with an energy model (`find_energy_efficient_cpu()`).
#![forbid(unsafe_code)]

mod common;

use common::{collect, spec, workload};
use keel_abi::{Instant, Span};
use keel_lab::{RunSpec, machines, schedulers};
use keel_trace::{Class, What};

/// How much of the CPU time of tasks went to the small CPUs, in percent, with or without the energy model.
fn on_small_cpus(text: &str, has_model: bool) -> u64 {
    let mut machine = machines::built_in("biglittle-4").expect("it is built in");
    if !has_model {
        machine.energy.clear();
    }
    let source = schedulers::source(schedulers::EEVDF).expect("eevdf is built in");
    let spec = spec(source, workload(text, &machine), machine, 2000, 1);
    let [small, big] = busy(&spec);
    small.as_ns() * 100 / (small + big).as_ns()
}

/// The time that tasks ran on CPUs 0 and 1, and on CPUs 2 and 3. The first half of the run is left out.
fn busy(spec: &RunSpec) -> [Span; 2] {
    let mut busy = [Span::ZERO; 2];
    let mut since = [None; 4];
    for event in &collect(spec, Class::CORE).events {
        if let What::Switch { next, .. } = event.what {
            let cpu = event.cpu.index();
            let begun: Option<Instant> = since[cpu].take();
            let begun = begun.map(|at| at.max(Instant::from_ns(1_000_000_000)));
            if let Some(begun) = begun.filter(|&begun| begun < event.at) {
                busy[cpu / 2] += event.at.since(begun);
            }
            since[cpu] = (!next.is_idle()).then_some(event.at);
        }
    }
    busy
}

fn periodic(name: &str, instances: u32, run_us: u32) -> String {
    format!(
        r#""{name}": {{ "instance": {instances}, "loop": -1, "run": {run_us},
            "timer": {{ "ref": "unique", "period": 16000 }} }}"#
    )
}

fn check(tasks: &str, has_model: bool, expected: std::ops::RangeInclusive<u64>) {
    let found = on_small_cpus(&format!(r#"{{ "tasks": {{ {tasks} }} }}"#), has_model);
    assert!(expected.contains(&found), "{tasks}, model: {has_model}: {found} % on small CPUs");
}

#[test]
fn light_tasks_run_where_they_take_least() {
    let light = periodic("light", 4, 600);
    check(&light, true, 95..=100);
    check(&light, false, 0..=70);
}

#[test]
fn a_task_that_is_too_much_for_a_small_cpu_runs_on_a_big_one() {
    check(&periodic("heavy", 1, 9000), true, 0..=5);
}

#[test]
fn an_overused_machine_uses_all_cpus() {
    check(&periodic("crowd", 8, 9000), true, 20..=50);
}
