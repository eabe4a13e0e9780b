//! Where `eevdf` puts tasks: which CPUs new ones get, and which CPUs are used when there is too much or too little
//! work.
#![forbid(unsafe_code)]

mod common;

use common::{spec, workload};
use keel_abi::Topology;
use keel_check::{Figures, Judge, TaskFigures};
use keel_lab::{machines, schedulers};

/// The figures of each task after a run on a machine of this topology.
fn tasks(topology: Topology, text: &str, ms: u64) -> Vec<TaskFigures> {
    let machine = keel_kernel::machine::Machine { topology, ..machines::of_cpus(1) };
    let source = schedulers::source(schedulers::EEVDF).expect("eevdf is built in");
    let spec = spec(source, workload(text, &machine), machine, ms, 1);
    let mut judge = Judge::new(Figures::default());
    let outcome = keel_lab::run(&spec, &mut judge, &mut |_| {}).unwrap_or_else(|e| panic!("{e}"));
    assert!(!outcome.exit.is_failure(), "{}", outcome.message);
    judge.judgement().summary.tasks.clone()
}

fn hogs(number: u32, more: &str) -> String {
    format!(r#"{{ "tasks": {{ "hog": {{ "instance": {number}, "loop": -1, "run": 1000000{more} }} }} }}"#)
}

/// CPU time of each task in percent of the run, ascending.
fn percents(topology: Topology, text: &str, ms: u64) -> Vec<u64> {
    let all = tasks(topology, text, ms);
    let mut percents: Vec<u64> = all.iter().map(|task| task.cpu.as_ns() / (10_000 * ms)).collect();
    percents.sort_unstable();
    percents
}

/// `sched_balance_find_dst_group()`: a new task goes to an idle CPU if there is one.
#[test]
fn as_many_tasks_as_cpus_get_a_cpu_each() {
    let check = |topology: Topology| {
        let cpus = topology.cpus();
        let least = percents(topology, &hogs(cpus, ""), 500)[0];
        assert!(least >= 97, "{cpus} CPUs: {least} %");
    };
    check(Topology::flat(4));
    check(Topology::regular(1, 2, 4, 1));
    check(Topology::regular(2, 1, 4, 1));
    check(Topology::regular(2, 2, 2, 2));
}

/// `calculate_imbalance()`, `detach_tasks()`: three equal tasks on two CPUs take turns at being two.
#[test]
fn tasks_that_share_too_few_cpus_get_equal_parts() {
    let check = |topology: Topology, number: u32, seconds: u64| {
        let cpus = topology.cpus();
        let part = u64::from(100 * cpus / number);
        let found = percents(topology, &hogs(number, ""), seconds * 1000);
        let is_even = found.iter().all(|&percent| percent.abs_diff(part) <= part / 6);
        assert!(is_even, "{number} tasks on {cpus} CPUs: {found:?}, not {part} each");
    };
    check(Topology::flat(2), 3, 10);
    check(Topology::flat(4), 6, 10);
}

/// `sched_balance_newidle()`: a CPU that runs out of tasks takes a waiting task from a CPU to which others are
/// confined.
#[test]
fn a_cpu_that_runs_out_of_tasks_takes_a_waiting_one() {
    let text = r#"{ "tasks": {
        "short": { "loop": 1, "run": 100000, "cpus": [1] },
        "stays": { "loop": -1, "run": 1000000, "cpus": [0] },
        "moves": { "loop": 1, "phases": {
            "there": { "loop": 1, "run": 100, "cpus": [0] },
            "anywhere": { "loop": -1, "run": 1000000, "cpus": [0, 1] } } } } }"#;
    let all = tasks(Topology::flat(2), text, 1000);
    let of =
        |name: &str| all.iter().find(|task| task.name == name).expect("it is there").cpu.as_ns() / 1_000_000;
    assert!(of("moves") >= 850 && of("stays") >= 850, "{} {}", of("moves"), of("stays"));
}

/// `scale_rt_capacity()`: if a real-time task uses a CPU for most of the time, fewer tasks share it.
#[test]
fn a_cpu_that_real_time_tasks_use_gets_less_load() {
    let text = r#"{ "tasks": {
        "urgent": { "policy": "SCHED_FIFO", "loop": -1, "run": 6000, "cpus": [0],
                    "timer": { "ref": "unique", "period": 10000 } },
        "hog": { "instance": 4, "loop": -1, "run": 1000000 } } }"#;
    let all = tasks(Topology::flat(2), text, 4000);
    let hogs = all.iter().filter(|task| task.name == "hog");
    let least = hogs.map(|task| task.cpu.as_ns() / 40_000_000).min();
    // Two and two would leave 20 % to each of the first CPU's.
    assert!(least.is_some_and(|percent| percent >= 26), "{all:?}");
}
