use super::*;
use crate::{TaskInfo, What, Why};
use keel_abi::{CpuId, CpuSet, DsqId, Pid, Span, TaskId, Topology};

/// Records the events it receives.
#[derive(Default)]
struct Collector(Vec<String>);

impl Sink for Collector {
    fn wants(&self) -> Class {
        Class::CORE.with(Class::QUEUES).with(Class::POLICY)
    }

    fn events(&mut self, events: &[Event]) {
        self.0.extend(events.iter().map(|e| format!("{} {} {:?}", e.at.as_ns(), e.cpu.0, e.what)));
    }

    fn meta(&mut self, at: Instant, meta: &Meta) {
        let word = match meta {
            Meta::Start { .. } => "start".to_owned(),
            Meta::Task(info) => format!("task {}", info.name),
            Meta::Unknown(unknown) => format!("{unknown:?}"),
            Meta::Clock { ns } => format!("clock {ns}"),
            Meta::Chance { seed, noise } => format!("seed {seed} noise {noise}"),
            Meta::Queue { id, name } => format!("queue {} {name}", id.0),
            Meta::Member { task, .. } => format!("member {task}"),
            Meta::Asks { task, .. } => format!("{task} asks"),
            Meta::Group(info) => format!("group {} {}", info.group, info.name),
            Meta::Scheduled { task, policy, group } => format!("{task} by policy {policy} in {group}"),
            Meta::SchedulerExit { .. } => "scheduler's exit".to_owned(),
            Meta::Policy(policy) => format!("{:?} by CPU {}", policy.kind, policy.cpu.0),
            Meta::End => "end".to_owned(),
        };
        self.0.push(format!("{} {word}", at.as_ns()));
    }
}

const A: TaskId = TaskId(0);
const B: TaskId = TaskId(1);
const C: TaskId = TaskId(2);
const IDLE: TaskId = TaskId::IDLE;

fn at(ns: u64) -> Instant {
    Instant::ZERO + Span::from_ns(ns)
}

/// A runs and B waits in a DSQ from 20 on; they change places at 30; C appears and exits before 15; CPU 2 is offline
/// between 12 and 32.
fn whole(sink: &mut dyn Sink) {
    let topology = Topology::flat(3);
    let start = Meta::Start { topology, scheduler: "s".into(), workload: "w".into(), unit: String::new() };
    sink.meta(at(0), &start);
    for (task, name) in [(A, "a"), (B, "b"), (C, "c")] {
        let cpus = CpuSet::first(3);
        sink.meta(at(0), &Meta::Task(TaskInfo { task, pid: Pid(9), name: name.into(), nice: 0, cpus }));
    }
    let (cpu, dsq) = (CpuId(1), DsqId(7));
    let why = Why::Preempted;
    let events = [
        (0, What::Fork { child: C, target: cpu, parent: IDLE }),
        (10, What::Switch { prev: IDLE, why: Why::WasIdle, next: C }),
        (11, What::Exit { task: C }),
        (11, What::Switch { prev: C, why: Why::Exited, next: IDLE }),
        (12, What::Online { target: CpuId(2), up: false }),
        (15, What::Wakeup { task: A, target: cpu, waker: IDLE }),
        (16, What::Switch { prev: IDLE, why: Why::WasIdle, next: A }),
        (20, What::Wakeup { task: B, target: cpu, waker: A }),
        (20, What::Queued { task: B, dsq, len: 1 }),
        (30, What::Unqueued { task: B, dsq, len: 0 }),
        (30, What::Switch { prev: A, why, next: B }),
        (32, What::Online { target: CpuId(2), up: true }),
    ];
    sink.events(&events.map(|(ns, what)| Event { at: at(ns), cpu, what }));
    sink.meta(at(40), &Meta::End);
}

fn check(from: u64, until: u64, expected: &[&str]) {
    let mut collector = Collector::default();
    let mut cut = Cut::new(at(from)..at(until), &mut collector);
    whole(&mut cut);
    assert_eq!(cut.has_begun(), !expected.is_empty());
    assert_eq!(collector.0, expected, "{from}..{until}");
}

#[test]
fn a_part_begins_with_what_is_so_and_ends_in_time() {
    check(
        25,
        31,
        &[
            "25 start",
            "25 task a",
            "25 task b",
            "25 2 Online { target: CpuId(2), up: false }",
            "25 1 Switch { next: TaskId(0), prev: TaskId(4294967295), why: WasIdle }",
            "25 1 Fork { child: TaskId(1), target: CpuId(1), parent: TaskId(1) }",
            "25 1 Queued { task: TaskId(1), dsq: DsqId(7), len: 1 }",
            "30 1 Unqueued { task: TaskId(1), dsq: DsqId(7), len: 0 }",
            "30 1 Switch { next: TaskId(1), prev: TaskId(0), why: Preempted }",
            "31 end",
        ],
    );
}

#[test]
fn a_part_ends_with_the_stream_at_the_latest() {
    let opening = [
        "33 start",
        "33 task a",
        "33 task b",
        "33 1 Switch { next: TaskId(1), prev: TaskId(4294967295), why: WasIdle }",
        "33 1 Fork { child: TaskId(0), target: CpuId(1), parent: TaskId(0) }",
    ];
    check(33, 99, &[&opening[..], &["40 end"]].concat());
    check(33, 36, &[&opening[..], &["36 end"]].concat());
    check(41, 99, &[]);
}

#[test]
fn throttled_tasks_and_reserved_cpus_are_emitted_at_the_beginning() {
    let mut collector = Collector::default();
    let mut cut = Cut::new(at(5)..at(9), &mut collector);
    let unknown = crate::Unknown { affinity: false, throttling: true };
    cut.meta(at(0), &Meta::Unknown(unknown));
    cut.meta(at(0), &Meta::Clock { ns: 77 });
    cut.meta(at(0), &Meta::Chance { seed: 3, noise: keel_abi::Noise::Quiet });
    cut.meta(at(0), &Meta::Queue { id: DsqId(9), name: "shared".into() });
    for (ns, name) in [(0, "web"), (1, "www")] {
        let group = crate::GroupInfo { group: 4, name: name.into(), ..crate::GroupInfo::default() };
        cut.meta(at(ns), &Meta::Group(Box::new(group)));
        cut.meta(at(ns), &Meta::Scheduled { task: A, policy: ns as u32, group: 4 });
    }
    let events = [
        (1, What::Throttled { task: A, on: true, group: 0 }),
        (1, What::Throttled { task: B, on: true, group: 0 }),
        (1, What::Throttled { task: C, on: true, group: 0 }),
        (1, What::Reserved { target: CpuId(1), on: true }),
        (1, What::Reserved { target: CpuId(2), on: true }),
        (2, What::Throttled { task: B, on: false, group: 0 }),
        (3, What::Switch { prev: IDLE, why: Why::WasIdle, next: C }),
        (4, What::Reserved { target: CpuId(1), on: false }),
        (6, What::Throttled { task: A, on: false, group: 0 }),
    ];
    cut.events(&events.map(|(ns, what)| Event { at: at(ns), cpu: CpuId(0), what }));
    let expected = [
        "5 Unknown { affinity: false, throttling: true }",
        "5 clock 77",
        "5 seed 3 noise quiet",
        "5 queue 9 shared",
        "5 group 4 www",
        "5 0 by policy 1 in 4",
        "5 0 Switch { next: TaskId(2), prev: TaskId(4294967295), why: WasIdle }",
        "5 0 Throttled { task: TaskId(0), on: true, group: 0 }",
        "5 2 Reserved { target: CpuId(2), on: true }",
        "6 0 Throttled { task: TaskId(0), on: false, group: 0 }",
    ];
    assert_eq!(collector.0, expected);
}

#[test]
fn decisions_of_the_part_are_emitted() {
    let policy = crate::Policy::of(crate::policy::Kind::Fork, CpuId(2));
    let mut collector = Collector::default();
    let mut cut = Cut::new(at(5)..at(9), &mut collector);
    for ns in [1, 5, 8, 9] {
        cut.meta(at(ns), &Meta::Policy(Box::new(policy.clone())));
    }
    assert_eq!(collector.0, ["5 Fork by CPU 2", "8 Fork by CPU 2", "9 end"]);
}
