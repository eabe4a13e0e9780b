//! The programs of `keel_workload::programs`: each does the work that it counts, and the finite ones end.
#![forbid(unsafe_code)]

mod common;

use common::{fifo, source, spec, trace};
use keel_abi::Instant;
use keel_abi::task::Workload;
use keel_lab::{Engine, Machine, RunSpec, SchedulerSource, machines, schedulers, workloads};
use keel_trace::{Class, Event, Meta, Sink, What};

#[derive(Default)]
struct Counts {
    units: u64,
    forks: u64,
    exits: u64,
    last_exit: Instant,
    hotplugs: u64,
}

impl Sink for Counts {
    fn wants(&self) -> Class {
        Class::CORE.with(Class::COUNTS)
    }

    fn events(&mut self, events: &[Event]) {
        for event in events {
            match event.what {
                What::Count { units, .. } => self.units += u64::from(units),
                What::Fork { .. } => self.forks += 1,
                What::Online { .. } => self.hotplugs += 1,
                What::Exit { .. } => {
                    self.exits += 1;
                    self.last_exit = event.at;
                }
                _ => {}
            }
        }
    }

    fn meta(&mut self, _: Instant, _: &Meta) {}
}

/// The arguments that a name contains.
fn named(name: &str, machine: &Machine) -> Workload {
    let part = |part: &str| {
        let (own, settings) = workloads::settings(part, |_| false).expect(part);
        let mut made = workloads::made(own, machine).expect(own).expect(own);
        workloads::apply(own, &mut made, &settings, machine).expect(part);
        made
    };
    let parts = workloads::parts(name, |_| false).expect(name);
    workloads::join(name, parts.into_iter().map(part).collect()).expect(name)
}

fn counts(program: &str, machine: &str, ms: u64) -> Counts {
    counts_under(fifo(), program, machine, ms)
}

fn counts_under(scheduler: SchedulerSource, program: &str, machine: &str, ms: u64) -> Counts {
    let machine = machines::built_in(machine).expect(machine);
    let cpus = u64::from(machine.topology.cpus());
    let workload = named(program, &machine);
    let mut counts = Counts::default();
    let outcome =
        keel_lab::run(&spec(scheduler, workload, machine, ms, 1), &mut counts, &mut |_| {}).expect(program);
    assert_eq!(outcome.exit, keel_abi::scx::ExitKind::None, "{program}: {}", outcome.message);
    assert!(outcome.counters.user_time.as_ns() <= ms * 1_000_000 * cpus, "{program}");
    counts
}

/// A program that ends: units, tasks, and the range in milliseconds of the last exit.
fn check(program: &str, machine: &str, ms: u64, units: u64, tasks: u64, ends: std::ops::Range<u64>) {
    let counts = counts(program, machine, ms);
    assert_eq!((counts.units, counts.forks, counts.exits), (units, tasks, tasks), "{program} on {machine}");
    let last = counts.last_exit.as_ns() / 1_000_000;
    assert!(ends.contains(&last), "{program} on {machine} ends at {last} ms");
}

#[test]
fn what_ends_has_done_all_of_it() {
    check("chat:2:3:5", "p3-2", 1_000, 2 * 3 * 3 * 5, 24, 1..20);
    check("chat:2:3:5:19", "p3-1", 1_000, 2 * 3 * 3 * 5, 24, 1..20);
    check("chat:1:10:40", "xeon-8", 2_000, 10 * 10 * 40, 40, 5..200);
    check("make:2:6", "p3-2", 4_000, 6, 1 + 6 * 3 + 1, 900..2_500);
    check("make:0:6", "xeon-8", 4_000, 6, 1 + 6 * 3 + 1, 700..2_000);
    check("make:1:6", "p3-2", 6_000, 6, 1 + 6 * 3 + 1, 1_700..3_000);
    // 39 files in 11 directories: a make and a link each, and mkdep and three programs per file.
    check("buildworld:4:1", "p3-2", 20_000, 39, 1 + 11 * 2 + 39 * 4, 5_000..12_000);
}

#[test]
fn what_the_wasted_cores_paper_ran_ends() {
    // A step of LU is 2 s of work. A thread of eight has at most 13 of its 100 rows.
    check("lu:8:2", "xeon-8", 2_000, 2, 8, 500..700);
    check("lu:1:1", "p3-1", 3_000, 1, 1, 1_950..2_100);
    // 64 workers and 8 kernel threads; a block is 64 x 32 batches of 2.3 ms.
    check("tpch:1:1", "opteron-6272", 1_000, 64 * 32, 72, 73..130);
    check("tpch:18:1", "opteron-6272", 1_000, 64 * 32, 72, 73..200);
    check("tpch:0:1", "opteron-6272", 8_000, 64 * 32 * 22, 72, 1_600..4_000);
    check("r:1", "p3-1", 3_000, 100, 1, 1_000..1_100);
}

#[test]
fn threads_that_spin_on_too_few_cpus_wait_for_each_others_slices() {
    let ms = |program: &str| {
        let counts = counts(program, "opteron-6272", 60_000);
        assert_eq!((counts.units, counts.exits), (1, 16), "{program}");
        counts.last_exit.as_ns() / 1_000_000
    };
    let (two_nodes, one_node) = (ms("lu:16:1@nodes=1,2"), ms("lu:16:1@nodes=1"));
    // A thread has 7 rows of 100 at most, at 80 % of speed next to its sibling: 0.175 s, and the pipelines' beginnings
    // and ends.
    assert!((175..210).contains(&two_nodes), "{two_nodes} ms");
    // Twice as long would be half of the CPUs. The rest is spinning.
    assert!(one_node > 5 * two_nodes, "{one_node} ms against {two_nodes} ms");
    assert_eq!(ms("lu:16:1@after_ms=300@nodes=1,2") / 100, (two_nodes + 300) / 100);
}

#[test]
fn a_cpu_goes_and_comes_before_the_rest_begins() {
    let ule = source("ule", schedulers::built_in("ule").expect("it is built in"));
    let counts = counts_under(ule, "lu:8:1@after_ms=200+hotplug:5", "xeon-8", 2_000);
    assert_eq!((counts.units, counts.hotplugs, counts.exits), (1, 2, 9));
    assert!((450..600).contains(&(counts.last_exit.as_ns() / 1_000_000)), "{:?}", counts.last_exit);
}

#[test]
fn spinning_is_the_same_every_time_and_by_either_engine() {
    let machine = machines::built_in("p3-2").expect("it is built in");
    let run = spec(fifo(), named("lu:4:1", &machine), machine, 2_000, 3);
    let (first, outcome) = trace(&run);
    assert!(outcome.counters.switches > 50, "{:?}", outcome.counters);
    assert!(trace(&run).0 == first, "again");
    for engine in [Engine::Interpreter, Engine::Cranelift] {
        assert!(trace(&RunSpec { engine, ..run.clone() }).0 == first, "{engine:?}");
    }
}

#[test]
fn what_goes_on_for_ever_counts() {
    // `fifo` lets the crowd's wakers wait for every other task's slice, and LU's threads spin for each other.
    let never_waits = |form: &str| !form.starts_with("crowd") && !form.starts_with("lu:");
    for keel_workload::Generator { example: program, .. } in
        keel_workload::programs().filter(|program| never_waits(program.form))
    {
        let one = counts(program, "p3-1", 2_000);
        assert!(one.units > 3, "{program} does {} in 2 s", one.units);
    }
}
