//! A stopped run is a prefix of the requested run.

use keel_abi::{Instant, Noise, Span, Stop};
use keel_lab::run::{run, run_or_stop, run_to_end_or_stop};
use keel_lab::{Engine, Outcome, RunSpec, SchedulerSource, machines, schedulers, workloads};
use keel_trace::{Class, Event, Meta, Sink, What};

fn spec(scheduler: &str, workload: &str, cpus: u32, duration: Span) -> RunSpec {
    let machine = machines::of_cpus(cpus);
    let bytes = schedulers::built_in(scheduler).expect("it is built in").into();
    RunSpec {
        scheduler: SchedulerSource { name: scheduler.into(), bytes, recipe: keel_recipe::Recipe::default() },
        settings: Vec::new(),
        workload: workloads::made(workload, &machine).expect("it is made").expect("it is right"),
        machine,
        duration,
        seed: 7,
        noise: keel_abi::Noise::None,
        engine: Engine::Native,
        order: None,
        checked: false,
    }
}

/// Keeps all events, and requests a stop after a given number.
#[derive(Default)]
struct Collector {
    events: Vec<Event>,
    metas: Vec<(Instant, Meta)>,
    stop_after: Option<(usize, Stop)>,
}

impl Sink for Collector {
    fn wants(&self) -> Class {
        Class::ALL
    }

    fn events(&mut self, events: &[Event]) {
        self.events.extend(events);
        if let Some((many, stop)) = &self.stop_after
            && self.events.len() >= *many
        {
            stop.ask();
        }
    }

    fn meta(&mut self, at: Instant, meta: &Meta) {
        self.metas.push((at, meta.clone()));
    }
}

fn stopped(spec: &RunSpec, after: usize) -> (Collector, Outcome) {
    let stop = Stop::default();
    let mut collector = Collector { stop_after: Some((after, stop.clone())), ..Collector::default() };
    let outcome = run_or_stop(spec, &mut collector, &mut |_| {}, &stop).expect("it runs");
    (collector, outcome)
}

#[test]
fn a_stopped_run_is_the_beginning_of_the_whole() {
    let check = |scheduler: &str, workload: &str, cpus: u32, after: usize| {
        let place = format!("{scheduler}, {workload}, {cpus} CPUs, {after} events");
        let spec = spec(scheduler, workload, cpus, Span::from_s(2));
        let (collector, outcome) = stopped(&spec, after);
        assert!(outcome.stopped && outcome.end > Instant::ZERO, "{place}: {:?}", outcome.end);
        assert!(outcome.end < Instant::ZERO + spec.duration, "{place}: {:?}", outcome.end);
        let mut whole = Collector::default();
        run(&spec, &mut whole, &mut |_| {}).expect("it runs");
        let sums = sums(&collector.events, outcome.end);
        let (same, _) = collector.events.split_at(collector.events.len() - sums);
        assert!(same.len() >= after, "{place}");
        assert_eq!(same, &whole.events[..same.len()], "{place}");
        assert!(whole.events[same.len()].at >= outcome.end, "{place}: nothing before the end is left out");
        assert_eq!(collector.metas.last(), Some(&(outcome.end, Meta::End)), "{place}");
        let (_, metas) = collector.metas.split_last().expect("there is an end");
        assert_eq!(metas, &whole.metas[..metas.len()], "{place}");
    };
    for after in [1, 500, 3_000] {
        check("fifo", "mix:20:90", 4, after);
        check("cfs", "chat:2:4:50", 8, after);
    }
    check("fifo", "mix:20:90", 4, 40_000);
    check("o1", "hogs:3", 1, 200);
    check("ule", "mix:300:120", 64, 50_000);
}

/// The number of events that a run emits only at its end: counts and work that were not emitted yet.
fn sums(events: &[Event], end: Instant) -> usize {
    let is_sum =
        |event: &&Event| event.at == end && matches!(event.what, What::Count { .. } | What::Worked { .. });
    events.iter().rev().take_while(is_sum).count()
}

/// How long a run lasts changes nothing before its end, however ties are broken: horizons are at the instants of events
/// and just before them.
#[test]
fn a_longer_run_begins_with_the_shorter_one() {
    let check_with = |noise: Noise, scheduler: &str, workload: &str, cpus: u32, seed: u64| {
        let whole = RunSpec { seed, noise, ..spec(scheduler, workload, cpus, Span::from_ms(20)) };
        let mut long = Collector::default();
        run(&whole, &mut long, &mut |_| {}).expect("it runs");
        let instants: Vec<_> = long.events.iter().map(|event| event.at.as_ns()).collect();
        let ends = (1..4).map(|nth| instants[instants.len() * nth / 4]);
        for end in ends.flat_map(|at| [at - 1, at]) {
            let place =
                format!("{scheduler}, {workload}, {cpus} CPUs, seed {seed}, noise {noise}, until {end} ns");
            let mut short = Collector::default();
            let cut = RunSpec { duration: Span::from_ns(end), ..whole.clone() };
            run(&cut, &mut short, &mut |_| {}).expect("it runs");
            let same = short.events.len() - sums(&short.events, Instant::from_ns(end));
            let parted = (0..same).find(|&at| short.events[at] != long.events[at]);
            assert_eq!(parted.map(|at| (&short.events[at], &long.events[at])), None, "{place}");
            assert!(long.events[same].at.as_ns() >= end, "{place}: nothing before the end is left out");
        }
    };
    let check = |scheduler, workload, cpus, seed| {
        let levels = if seed == 0 { &Noise::ALL[..] } else { &[Noise::None][..] };
        levels.iter().for_each(|&noise| check_with(noise, scheduler, workload, cpus, seed));
    };
    for seed in 0..3 {
        check("fifo", "mix:20:150", 4, seed);
        check("fifo", "chat:2:4:50", 8, seed);
        check("goodness", "mix:30:150", 16, seed);
        check("ule", "mix:90:120", 72, seed);
        check("cfs", "chat:2:4:50", 8, seed);
        check("o1", "mix:12:150", 3, seed);
    }
}

/// A year of a lone task, which emits almost nothing. A virtual month is too long to wait for.
#[test]
fn a_long_quiet_run_stops_soon() {
    let year = spec("fifo", "hogs:1", 1, Span::from_s(365 * 24 * 3600));
    let stop = Stop::default();
    stop.ask();
    struct Deaf;
    impl Sink for Deaf {
        fn wants(&self) -> Class {
            Class::NONE
        }
        fn events(&mut self, _: &[Event]) {}
        fn meta(&mut self, _: Instant, _: &Meta) {}
    }
    for run in [run_or_stop, run_to_end_or_stop] {
        let outcome = run(&year, &mut Deaf, &mut |_| {}, &stop).expect("it runs");
        assert!(outcome.stopped, "it ended at {:?}", outcome.end);
        assert!(outcome.end < Instant::ZERO + Span::from_s(1), "it ended at {:?}", outcome.end);
    }
    let begun = std::time::Instant::now();
    let stop = Stop::default();
    let asks = std::thread::spawn({
        let stop = stop.clone();
        move || {
            std::thread::sleep(std::time::Duration::from_millis(200));
            stop.ask();
        }
    });
    let outcome = run_or_stop(&year, &mut Deaf, &mut |_| {}, &stop).expect("it runs");
    asks.join().expect("it asks");
    assert!(outcome.stopped);
    assert!(begun.elapsed() < std::time::Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[test]
fn a_run_that_came_to_its_end_is_whole() {
    let whole = spec("fifo", "mix:5:90", 2, Span::from_ms(50));
    let (all, outcome) = stopped(&whole, usize::MAX);
    assert!(!outcome.stopped);
    // The last events come with the end. Then it is too late.
    let (_, outcome) = stopped(&whole, all.events.len());
    assert!(!outcome.stopped);
}
