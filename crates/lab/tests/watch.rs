//! Schedulers' own counters, read during the run: the array switches of `o1`, the recalculations of `goodness` and
//! `mq`, and the dispatches in which they happen.
#![forbid(unsafe_code)]

mod common;

use common::{fifo, source, spec};
use keel_abi::scx::{ExitKind, Op};
use keel_abi::{Instant, Span, Stop};
use keel_check::CountedCalls;
use keel_lab::watch::{Counted, declares, run_counted};
use keel_lab::{LabError, Outcome, RunSpec, machines, schedulers, workloads};
use keel_trace::{Class, Event, Meta, Sink};

/// Keeps the first and the last reading.
struct Collector {
    calls: CountedCalls,
    first: Option<u64>,
    last: u64,
    readings: u64,
}

impl Sink for Collector {
    fn wants(&self) -> Class {
        self.calls.wants()
    }

    fn events(&mut self, events: &[Event]) {
        self.calls.events(events);
    }

    fn meta(&mut self, _: Instant, _: &Meta) {}
}

impl Counted for Collector {
    fn counts(&mut self, counts: &[u64]) -> bool {
        let sum = counts.iter().sum();
        assert!(sum >= self.last, "a counter never falls");
        self.first.get_or_insert(sum);
        (self.last, self.readings) = (sum, self.readings + 1);
        self.calls.read(counts);
        true
    }
}

/// 64 hogs with turns of 10 ms on eight CPUs: a round every 80 ms.
fn hogs(scheduler: &str) -> RunSpec {
    let machine = machines::of_cpus(8);
    let workload = workloads::made("hogs:64:18", &machine).expect("a name").expect("right numbers");
    spec(source(scheduler, schedulers::built_in(scheduler).expect(scheduler)), workload, machine, 2_000, 1)
}

fn check(scheduler: &str, counter: &str, rounds: std::ops::RangeInclusive<u64>) {
    let spec = hogs(scheduler);
    assert!(declares(&spec, counter).unwrap());
    let from = Instant::ZERO + Span::from_ms(500);
    let calls = CountedCalls::of(Op::Dispatch, from);
    let mut collector = Collector { calls, first: None, last: 0, readings: 0 };
    let outcome =
        run_counted(&spec, counter, from, Span::from_us(20), &mut collector, &Stop::default()).unwrap();
    assert_eq!((outcome.exit, outcome.message.as_str()), (ExitKind::None, ""));
    assert_eq!(collector.readings, 1 + 1_500_000 / 20);
    let rose = collector.last - collector.first.unwrap();
    assert!(rounds.contains(&rose), "{scheduler}: {counter} rose by {rose}");
    // Each rise belongs to one dispatch, except for the few in doubt.
    let reported = collector.calls.calls();
    assert!(
        reported <= rose && reported + collector.calls.unclear() >= rose && reported * 10 >= rose * 9,
        "{reported} of {rose}"
    );
}

#[test]
fn each_exchange_of_arrays_is_one_dispatch() {
    // Each of eight CPUs, about every 80 ms for 1.5 s.
    check("o1", "array_switches", 100..=200);
}

#[test]
fn each_exchange_of_queues_is_one_dispatch() {
    // The same with slices of 12 ms.
    check("ule", "queue_switches", 80..=160);
}

#[test]
fn each_recalculation_is_one_dispatch() {
    // All CPUs together, and sometimes several at once.
    check("goodness", "recalculations", 15..=100);
    check("mq", "recalculations", 15..=100);
}

#[test]
fn looking_changes_no_decision() {
    let spec = hogs("o1");
    let calls = || CountedCalls::of(Op::Dispatch, Instant::ZERO);
    let mut collector = Collector { calls: calls(), first: None, last: 0, readings: 0 };
    let watched = run_counted(
        &spec,
        "array_switches",
        Instant::ZERO,
        Span::from_us(20),
        &mut collector,
        &Stop::default(),
    )
    .unwrap();
    let run = keel_lab::run(&spec, &mut calls(), &mut |_| {}).unwrap();
    // A callback is interrupted at each reading, so waits for locks are split differently.
    let reported = |outcome: &Outcome| {
        (outcome.counters.switches, outcome.counters.callbacks, outcome.overhead.instructions)
    };
    assert_eq!(reported(&run), reported(&watched));
}

#[test]
fn a_scheduler_without_the_counter_is_refused() {
    let spec = RunSpec { scheduler: fifo(), ..hogs("o1") };
    assert!(!declares(&spec, "array_switches").unwrap());
    let mut collector =
        Collector { calls: CountedCalls::of(Op::Dispatch, Instant::ZERO), first: None, last: 0, readings: 0 };
    let refused = run_counted(
        &spec,
        "array_switches",
        Instant::ZERO,
        Span::from_ms(1),
        &mut collector,
        &Stop::default(),
    );
    assert_eq!(refused, Err(LabError::BadInput("no counter is called 'array_switches'".to_owned())));
}
