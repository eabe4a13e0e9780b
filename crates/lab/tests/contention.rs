//! A queue that all CPUs share serves only as many of them as its lock allows; with their own queues, each CPU is
//! served. Also: the names of locks in a run.

use keel_abi::Span;
use keel_abi::task::Workload;
use keel_lab::locks::LockOf;
use keel_lab::{Engine, Machine, Outcome, RunSpec, SchedulerSource, machines, run, schedulers, workloads};
use keel_trace::NullSink;

/// Switches in 10 ms with as many pairs as CPUs, which send four bytes back and forth.
fn switches(scheduler: &str, cpus: u32) -> u64 {
    pairs(scheduler, cpus).counters.switches
}

fn pairs(scheduler: &str, cpus: u32) -> Outcome {
    let machine = machines::of_cpus(cpus);
    let workload = workloads::made(&format!("context1:{cpus}"), &machine).expect("made").expect("right");
    outcome(scheduler, workload, machine)
}

fn outcome(scheduler: &str, workload: Workload, machine: Machine) -> Outcome {
    let bytes = schedulers::built_in(scheduler).expect("it is built in").into();
    let spec = RunSpec {
        scheduler: SchedulerSource { name: scheduler.into(), bytes, recipe: keel_recipe::Recipe::default() },
        settings: Vec::new(),
        workload,
        machine,
        duration: Span::from_ms(10),
        seed: 1,
        noise: keel_abi::Noise::None,
        engine: Engine::Native,
        order: None,
        checked: false,
    };
    run(&spec, &mut NullSink, &mut |_| {}).expect("it runs")
}

/// The cost of these locks.
fn lock<'o>(outcome: &'o Outcome, name: &str) -> Option<&'o LockOf> {
    outcome.locks.iter().find(|lock| lock.name == name)
}

#[test]
fn one_queue_gets_slower_with_more_cpus_and_queues_of_their_own_do_not() {
    let check = |scheduler: &str, is_expected: fn(u64, u64) -> bool| {
        let (few, many) = (switches(scheduler, 8), switches(scheduler, 32));
        assert!(is_expected(few, many), "{scheduler}: {few} on 8 CPUs, {many} on 32");
    };
    check("fifo", |few, many| many < few);
    check("percpu", |few, many| many * 10 > few * 4 * 8);
}

/// No wait is counted twice, and none is left out.
#[test]
fn the_waits_by_lock_are_all_waits() {
    for scheduler in ["fifo", "o1", "ule", "cfs", "mq", "goodness"] {
        let outcome = pairs(scheduler, 2);
        let is_lock = |lock: &&LockOf| !lock.name.starts_with("kernel: idle masks");
        let waits = outcome.locks.iter().filter(is_lock).map(|lock| lock.uses.wait);
        let waited = waits.fold(Span::ZERO, |sum, wait| sum + wait);
        assert!(outcome.locks.len() < 16, "{scheduler}: none is left out");
        assert_eq!(waited, outcome.overhead.lock_wait, "{scheduler}: {:?}", outcome.locks);
        for LockOf { name, uses } in &outcome.locks {
            assert!(uses.contended <= uses.taken && uses.most_waiters <= uses.contended, "{name}: {uses:?}");
            assert_eq!(uses.contended > 0, uses.wait > Span::ZERO, "{name}: {uses:?}");
            assert!(uses.held.as_ns() <= 10_000_000, "{name} has one holder at a time: {uses:?}");
        }
    }
}

#[test]
fn locks_have_the_names_that_the_source_has() {
    let check = |scheduler: &str, name: &str| {
        let outcome = pairs(scheduler, 8);
        let found = lock(&outcome, name);
        assert!(
            found.is_some_and(|lock| lock.uses.taken > 10),
            "{scheduler}: no {name} in {:?}",
            outcome.locks
        );
    };
    check("fifo", "kernel: dispatch queue 0x1");
    check("fifo", "kernel: runqueue of CPU 3");
    check("fifo", "kernel: idle masks");
    check("cfs", "idle_lock");
}

/// Two threads that share a mutex, or have one each.
fn threads(same: bool) -> Outcome {
    let machine = machines::of_cpus(2);
    let task = |cpu: u32| {
        let mutex = if same { 0 } else { cpu };
        format!(
            "'t{cpu}': {{ 'cpus': [{cpu}], 'lock': 'm{mutex}', 'run': 20, 'unlock': 'm{mutex}', 'run1': 5 }}"
        )
    };
    let text = format!("{{ 'tasks': {{ {}, {} }} }}", task(0), task(1)).replace('\'', "\"");
    let workload = workloads::read("w.json", &text, &machine).unwrap_or_else(|e| panic!("{e}")).0;
    outcome("percpu", workload, machine)
}

#[test]
fn a_task_that_sleeps_for_a_mutex_takes_its_bucket_and_the_word_moves() {
    let word = |outcome: &Outcome| {
        let found = outcome.lines.iter().find(|lines| lines.name == "kernel: mutexes and their futexes");
        found.map_or(0, |lines| lines.uses.moves)
    };
    let (shared, own) = (threads(true), threads(false));
    let bucket = lock(&shared, "kernel: futex of mutex 0").expect("somebody slept");
    assert!(bucket.uses.taken > 100 && bucket.uses.held > Span::ZERO, "{bucket:?}");
    assert!(lock(&own, "kernel: futex of mutex 0").is_none(), "nobody slept");
    assert!(word(&shared) > 100 && word(&own) <= 2, "{} and {} moves", word(&shared), word(&own));
}
