//! What goes on beside a workload, as a scheduler and a tracer see it.
#![forbid(unsafe_code)]

mod common;

use common::{fifo, spec, workload};
use keel_abi::{CpuId, Instant, Noise, Span, TaskId};
use keel_lab::{Outcome, RunSpec, machines, run};
use keel_trace::{Class, Event, Meta, Sink, What};

const SECONDS: u64 = 5;

/// All that a run emits.
#[derive(Default)]
struct Collector {
    events: Vec<Event>,
    metas: Vec<(Instant, Meta)>,
}

impl Sink for Collector {
    fn wants(&self) -> Class {
        Class::CORE
    }
    fn events(&mut self, events: &[Event]) {
        self.events.extend_from_slice(events);
    }
    fn meta(&mut self, at: Instant, meta: &Meta) {
        self.metas.push((at, meta.clone()));
    }
}

/// One task that only computes on the first of two CPUs.
fn hog(noise: Noise) -> (Collector, Outcome) {
    let machine = machines::of_cpus(2);
    let work = workload(r#"{"tasks": {"hog": {"loop": -1, "run": 1000, "cpus": [0]}}}"#, &machine);
    let spec = RunSpec { noise, ..spec(fifo(), work, machine, SECONDS * 1000, 1) };
    let mut collector = Collector::default();
    let outcome = run(&spec, &mut collector, &mut |_| {}).expect("it runs");
    (collector, outcome)
}

/// The tasks of a name, with the CPUs that each may use.
fn tasks(run: &Collector, wanted: &str) -> Vec<(TaskId, Vec<CpuId>)> {
    let infos = run.metas.iter().filter_map(|(_, meta)| match meta {
        Meta::Task(info) if info.name == wanted => Some((info.task, info.cpus.iter().collect())),
        _ => None,
    });
    infos.collect()
}

/// Where and when a task came to a CPU.
fn runs(run: &Collector, task: TaskId) -> Vec<(Instant, CpuId)> {
    let switches = run.events.iter().filter_map(|event| match event.what {
        What::Switch { next, .. } if next == task => Some((event.at, event.cpu)),
        _ => None,
    });
    switches.collect()
}

#[test]
fn workers_of_a_cpu_run_there_alone_and_not_while_it_idles() {
    let (run, _) = hog(Noise::Quiet);
    let workers = tasks(&run, "kworker");
    assert_eq!(
        workers.iter().map(|(_, cpus)| cpus.clone()).collect::<Vec<_>>(),
        [vec![CpuId(0)], vec![CpuId(1)]]
    );
    let after_start = |task| {
        let all = runs(&run, task);
        let own = workers.iter().find(|(worker, _)| *worker == task).map(|(_, cpus)| cpus[0]);
        assert!(all.iter().all(|&(_, cpu)| Some(cpu) == own), "{all:?}");
        all.iter().filter(|(at, _)| at.as_ns() > 100_000_000).count() as u64
    };
    let [busy, idle] = [0, 1].map(|cpu| after_start(workers[cpu].0));
    assert!((SECONDS / 2..=SECONDS * 2).contains(&busy), "{busy} times beside the hog");
    assert_eq!(idle, 0, "an idle CPU is not woken");
}

#[test]
fn noise_takes_some_time_from_the_work() {
    let user = |noise| hog(noise).1.counters.user_time;
    let [none, quiet, busy] = Noise::ALL.map(user);
    assert!(none > quiet && quiet > busy, "{none:?}, {quiet:?}, {busy:?}");
    let least = Span::from_ns(none.as_ns() / 1000 * 985);
    assert!(busy > least, "{busy:?} of {none:?}: more than a server's devices take");
}

#[test]
fn a_trace_has_the_seed_and_the_noise_unless_there_is_none() {
    let chance = |noise| {
        let (run, _) = hog(noise);
        run.metas.into_iter().find(|(_, meta)| matches!(meta, Meta::Chance { .. })).map(|(_, meta)| meta)
    };
    assert_eq!(chance(Noise::None), None);
    assert_eq!(chance(Noise::Busy), Some(Meta::Chance { seed: 1, noise: Noise::Busy }));
}
