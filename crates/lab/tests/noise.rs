//! Activity besides a workload, as a scheduler and a tracer see it.
#![forbid(unsafe_code)]

mod common;

use common::{Collector, collect, fifo, spec, workload};
use keel_abi::{CpuId, Instant, Noise, TaskId};
use keel_lab::{RunSpec, machines};
use keel_trace::{Class, Event, Meta, What};

const SECONDS: u64 = 5;

/// One task that only computes on the first of two CPUs.
fn hog(noise: Noise) -> Collector {
    let machine = machines::of_cpus(2);
    let work = workload(r#"{"tasks": {"hog": {"loop": -1, "run": 1000, "cpus": [0]}}}"#, &machine);
    let spec = RunSpec { noise, ..spec(fifo(), work, machine, SECONDS * 1000, 1) };
    collect(&spec, Class::CORE)
}

/// The tasks with a name, and the CPUs that each may use.
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
    let run = hog(Noise::Quiet);
    let mut workers = tasks(&run, "kworker");
    workers.sort_by_key(|(_, cpus)| cpus[0]);
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
fn kernel_threads_sleep_when_the_scheduler_is_attached() {
    let run = hog(Noise::Quiet);
    let names = ["rcu_preempt", "kworker/u", "kcompactd", "kworker"];
    let threads: Vec<TaskId> =
        names.iter().flat_map(|name| tasks(&run, name)).map(|(task, _)| task).collect();
    assert_eq!(threads.len(), 5);
    for thread in threads {
        let made = |event: &&Event| matches!(event.what, What::Fork { child, .. } if child == thread);
        assert_eq!(run.events.iter().find(made), None, "it was there before");
        let first = runs(&run, thread).first().map(|&(at, _)| at);
        assert!(first.is_none_or(|at| at > Instant::from_ns(500_000_000)), "{thread} runs at {first:?}");
    }
}

#[test]
fn noise_takes_some_time_from_the_work() {
    let ends_ns = |noise| {
        let machine = machines::of_cpus(1);
        let work = workload(r#"{"tasks": {"worker": {"loop": 2000, "run": 1000}}}"#, &machine);
        let spec = RunSpec { noise, ..spec(fifo(), work, machine, 3_000, 1) };
        let collector = collect(&spec, Class::CORE);
        let worker = tasks(&collector, "worker")[0].0;
        let exit = |event: &&Event| matches!(event.what, What::Exit { task } if task == worker);
        collector.events.iter().find(exit).expect("it ends").at.as_ns()
    };
    let (none, busy) = (ends_ns(Noise::None), ends_ns(Noise::Busy));
    assert!(busy > none + none / 1000, "{none} and {busy} ns: threads and interrupts take time");
    assert!(busy < none + none / 50, "{none} and {busy} ns: more than a server's devices take");
}

#[test]
fn a_trace_has_the_seed_and_the_noise_unless_there_is_none() {
    let chance = |noise| {
        let run = hog(noise);
        run.metas.into_iter().find(|(_, meta)| matches!(meta, Meta::Chance { .. })).map(|(_, meta)| meta)
    };
    assert_eq!(chance(Noise::None), None);
    assert_eq!(chance(Noise::Busy), Some(Meta::Chance { seed: 1, noise: Noise::Busy }));
}
