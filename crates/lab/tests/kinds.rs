//! The kinds of findings in whole runs: schedulers on their usual workloads have no false findings.

mod common;

use common::{source, spec};
use keel_abi::task::Workload;
use keel_check::{Judge, Kind};
use keel_lab::{Machine, SchedulerSource, machines, schedulers, workloads};

fn built_in(name: &str) -> SchedulerSource {
    source(name, schedulers::built_in(name).expect("it is built in"))
}

fn made(name: &str, machine: &Machine) -> Workload {
    workloads::made(name, machine).expect("it can be made").unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// The kinds of findings that a run has, except wasted cores, and their texts.
fn found(
    scheduler: SchedulerSource,
    workload: Workload,
    machine: Machine,
    ms: u64,
) -> (Vec<&'static str>, String) {
    let mut judge = Judge::default();
    let spec = spec(scheduler, workload, machine, ms, 1);
    keel_lab::run(&spec, &mut judge, &mut |_| {}).unwrap_or_else(|e| panic!("{e}"));
    let judgement = judge.judgement();
    let there = |kind: Kind| judgement.found.iter().any(|&(each, n)| each == kind && n > 0);
    let kinds = Kind::ALL.into_iter().filter(|&kind| kind != Kind::WastedCore && there(kind));
    let reported: Vec<_> = judgement.findings.iter().map(|finding| finding.text.as_str()).collect();
    (kinds.map(Kind::name).collect(), reported.join("\n"))
}

#[test]
fn schedulers_on_their_usual_workloads_have_none_that_is_not_there() {
    let check = |scheduler: &str, workload: &str, cpus: u32, ms: u64, expected: &[&str]| {
        let machine = machines::of_cpus(cpus);
        let (kinds, reported) = found(built_in(scheduler), made(workload, &machine), machine, ms);
        assert_eq!(kinds, expected, "{scheduler}, {workload}: {reported}");
    };
    for scheduler in ["fifo", "o1", "cfs"] {
        check(scheduler, "mix:16:80", 8, 1000, &[]);
        check(scheduler, "make:8:40", 8, 2000, &[]);
        check(scheduler, "hogs:9", 4, 2500, &[]);
    }
    check("ule", "hogs:9", 4, 2500, &[]);
    // Four real-time threads on four CPUs take turns with two mutexes, and one holds its own for long.
    check("fifo", "rt-migrate:4:2", 4, 1000, &["lock_wait"]);
}
