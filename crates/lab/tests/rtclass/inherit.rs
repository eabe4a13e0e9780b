//! Priority inheritance: the owner of a mutex is as urgent as its most urgent waiter, through chains of owners, for as
//! long as it holds the mutex.

use crate::harness::*;
use crate::parts::*;
use keel_abi::task::{ObjectId, Policy, Step};
use keel_lab::Engine;
use keel_trace::What;
use std::fmt::Write as _;

/// This many mutexes, with or without priority inheritance.
fn mutexes(scenario: Scenario, count: u32, inherit: bool) -> Scenario {
    scenario.workload(|w| {
        w.mutexes = count;
        w.inheriting = (0..count).filter(|_| inherit).map(ObjectId).collect();
    })
}

/// When each task that was switched to first ran after this, in milliseconds, in order.
fn ends_ms(run: &Run, name: &str) -> Vec<u64> {
    run.stops(name).iter().map(|at| at.as_ns().div_ceil(1_000_000)).collect()
}

/// Low holds the mutex and high wants it. Middle would keep low off its CPU for 30 ms.
fn inversion(inherit: bool, low: Policy) -> Run {
    let low = task("low", [lock(0), run(5000), unlock(0), run(5000)]).policy(low);
    let high = task("high", [lock(0), run(1000), unlock(0)]).policy(fifo(50)).after_ms(2);
    let middle = task("middle", [run(30_000)]).policy(fifo(20)).after_ms(3);
    mutexes(with("tracer").task(low).task(high).task(middle), 1, inherit).millis(60).survives()
}

#[test]
fn an_inversion_lasts_as_long_as_the_owner_needs_and_no_longer() {
    for low in [fifo(5), Policy::RoundRobin(5), Policy::Other] {
        let end = |inherit| *ends_ms(&inversion(inherit, low), "high").last().unwrap();
        assert!((6..=7).contains(&end(true)), "{low:?}: {} ms", end(true));
        assert!(end(false) >= 35, "{low:?}: {} ms", end(false));
    }
}

#[test]
fn the_owner_comes_down_when_it_gives_the_mutex_back() {
    let run = inversion(true, fifo(5));
    let low = ends_ms(&run, "low");
    // It ends only after middle: it still has 5 ms of work when its priority drops at 5 ms.
    assert_eq!(*low.last().unwrap() / 10, 4, "{low:?}");
    assert!(ends_ms(&run, "middle")[0] >= 35);
}

/// Tasks 0 to `length - 1` each hold a mutex and want the one before. The last is urgent.
fn chain(length: u32, inherit: bool) -> Run {
    let mut scenario = with("tracer").cpus(1);
    for n in 0..length {
        let mut steps = vec![lock(n), run(200)];
        steps.extend((n > 0).then(|| lock(n - 1)));
        steps.push(run(2000));
        steps.extend((n > 0).then(|| unlock(n - 1)));
        steps.push(unlock(n));
        let one = task(&format!("t{n}"), steps).policy(fifo(1 + n as u8)).after_ms(u64::from(n));
        scenario = scenario.task(one);
    }
    let urgent = task("urgent", [lock(length - 1), run(100), unlock(length - 1)]).policy(fifo(90));
    let middle = task("middle", [run(100_000)]).policy(fifo(60)).after_ms(u64::from(length) + 1);
    let scenario = scenario.task(urgent.after_ms(u64::from(length))).task(middle);
    mutexes(scenario, length, inherit).millis(400).survives()
}

#[test]
fn a_chain_hands_the_priority_on_to_its_end() {
    for length in [2, 3, 8] {
        let end = |inherit| *ends_ms(&chain(length, inherit), "urgent").last().unwrap();
        let needed = u64::from(length) * 3 + 3;
        assert!(end(true) <= needed, "{length}: {} ms, {needed} would do", end(true));
        assert!(end(false) > 100, "{length}: {} ms", end(false));
    }
}

#[test]
fn tasks_that_wait_for_each_other_wait_for_ever_and_nothing_else_does() {
    let one = task("one", [lock(0), sleep(2000), lock(1), run(100)]).policy(fifo(5));
    let two = task("two", [lock(1), sleep(3000), lock(0), run(100)]).policy(fifo(6));
    let third = task("third", [lock(0), run(100)]).policy(fifo(7)).after_ms(5);
    let scenario = with("tracer").task(one).task(two).task(third).task(task("x", [run(20_000)]));
    let run = mutexes(scenario, 2, true).millis(60).survives();
    let exits = run.events_of(|e| match e.what {
        What::Exit { task } => Some(task),
        _ => None,
    });
    assert_eq!(exits, [run.id("x")]);
}

/// The callbacks for an ordinary task that a mutex makes a real-time task and back.
const CALLBACKS: &[&str] = &[
    "stopping",
    "quiescent",
    "dequeue",
    "disable",
    "enable",
    "set_weight",
    "set_cpumask",
    "runnable",
    "enqueue",
    "running",
];

fn boosted(engine: Engine, waits: bool) -> Run {
    let low = task("low", [lock(0), run(5000), unlock(0), run(3000)]);
    // Which task has the CPU when the priority arrives: `low`, or another while the scheduler holds `low`.
    let other = task("other", [run(20_000)]).after_ms(1);
    let high =
        task("high", [lock(0), run(1000), unlock(0)]).policy(fifo(50)).after_ms(if waits { 3 } else { 2 });
    let slice_ns = if waits { 1_500_000 } else { 20_000_000 };
    let scenario = with("tracer").engine(engine).set("slice_ns", slice_ns).task(low).task(other).task(high);
    mutexes(scenario, 1, true).millis(60).survives()
}

#[test]
fn a_boosted_task_leaves_the_scheduler_and_comes_back() {
    for engine in [Engine::Native, Engine::Cranelift, Engine::Interpreter] {
        let run = boosted(engine, false);
        let trace = run.trace("low", CALLBACKS);
        let names: Vec<_> = trace.iter().map(|line| line.split('=').next().unwrap()).collect();
        let text = names.join(" ");
        // High preempts it. Then it is taken out of the local queue, where the kernel had put it back.
        let out = "running stopping quiescent disable enable set_weight set_cpumask runnable";
        assert!(text.contains(out), "{text}\n{}", run.log());
        assert_eq!(
            names.iter().filter(|&&n| n == "disable").count(),
            2,
            "once by the mutex, once by death: {text}"
        );
    }
}

#[test]
fn a_task_in_the_scheduler_s_hands_is_taken_out_of_them() {
    for engine in [Engine::Native, Engine::Cranelift, Engine::Interpreter] {
        let run = boosted(engine, true);
        let mut text = String::new();
        for line in run.trace("low", CALLBACKS) {
            write!(text, "{} ", line.split('=').next().unwrap()).unwrap();
        }
        assert!(text.contains("enqueue dequeue quiescent disable"), "{text}\n{}", run.log());
    }
}

#[test]
fn both_engines_see_the_same() {
    for waits in [false, true] {
        let [native, interpreted] =
            [Engine::Native, Engine::Interpreter].map(|engine| boosted(engine, waits));
        assert_eq!(native.calls, interpreted.calls);
        assert_eq!(native.events, interpreted.events);
    }
}

#[test]
fn nice_and_cpus_may_change_meanwhile() {
    let steps = [lock(0), run(4000), Step::Nice(7), affinity([1]), run(2000), unlock(0), run(3000)];
    let low = task("low", steps);
    let high = task("high", [lock(0), run(1000), unlock(0)]).policy(fifo(50)).after_ms(2);
    let scenario = with("tracer").cpus(2).task(low).task(high).task(hog("x").instances(2));
    let run = mutexes(scenario, 1, true).millis(40).survives();
    // Back in the scheduler it gets the weight of the new nice value.
    let weights = run.values("low", "set_weight");
    assert_eq!(weights.last(), Some(&21), "{weights:?}");
    assert_eq!(run.starts("low").last().map(|(_, cpu)| cpu.0), Some(1));
    assert_eq!(run.misplaced(), []);
}

#[test]
fn its_own_policy_counts_once_it_has_given_the_mutex_back() {
    let steps = [lock(0), run(4000), Step::Policy(fifo(20)), run(1000), unlock(0), run(3000)];
    let low = task("low", steps);
    let high = task("high", [lock(0), run(1000), unlock(0)]).policy(fifo(50)).after_ms(2);
    let middle = task("middle", [run(30_000)]).policy(fifo(30)).after_ms(3);
    let under = task("under", [run(1000)]).policy(fifo(10)).after_ms(3);
    let scenario = with("tracer").task(low).task(high).task(middle).task(under);
    let run = mutexes(scenario, 1, true).millis(60).survives();
    let last = |name| *ends_ms(&run, name).last().unwrap();
    let ends = ["high", "middle", "low", "under"].map(last);
    assert!(ends.is_sorted() && ends[0] <= 8, "{ends:?}");
}

#[test]
fn an_exiting_owner_leaves_its_mutex_to_the_next() {
    let low = task("low", [lock(0), run(3000)]);
    let high = task("high", [lock(0), run(1000), unlock(0)]).policy(fifo(50)).after_ms(2);
    let run = mutexes(with("tracer").task(low).task(high), 1, true).millis(20).survives();
    assert_eq!(ends_ms(&run, "high").last(), Some(&5));
}

#[test]
fn waiters_come_by_priority_then_in_turn_and_no_plain_mutex_is_kept_for_anybody() {
    for inherit in [false, true] {
        let waiter =
            |name: &str, policy, ms| task(name, [lock(0), run(1000), unlock(0)]).policy(policy).after_ms(ms);
        let owner = task("owner", [lock(0), run(10_000), unlock(0), run(1000)]).policy(fifo(90)).on([0]);
        let scenario = with("tracer").cpus(8).task(owner);
        let scenario =
            scenario.task(waiter("first", Policy::Other, 1)).task(waiter("second", Policy::Other, 2));
        let scenario = scenario.task(waiter("low", fifo(5), 3)).task(waiter("high", fifo(50), 4));
        let seen = mutexes(scenario.task(waiter("equal", fifo(5), 5)), 1, inherit).millis(40).survives();
        let ends =
            ["high", "low", "equal", "first", "second"].map(|name| *ends_ms(&seen, name).last().unwrap());
        assert_eq!(ends, [12, 13, 14, 15, 16], "{inherit}");
        // A task that arrives just when the mutex becomes free takes a plain one before the woken task. Otherwise, only
        // a more urgent task does.
        let low = task("low", [lock(0), run(1000), unlock(0)]).policy(fifo(5)).on([0]).after_ms(1);
        let owner = task("owner", [lock(0), run(3000), unlock(0), lock(0), run(500), unlock(0)]);
        let owner = owner.policy(fifo(10)).on([1]);
        let scenario = with("tracer").cpus(2).task(owner).task(low);
        let run = mutexes(scenario, 1, inherit).millis(40).survives();
        assert_eq!(*ends_ms(&run, "low").last().unwrap(), 5, "{inherit}: the owner was quicker");
    }
}

/// Random tasks over a few mutexes, always taken in the same order.
#[test]
fn a_waiter_is_delayed_by_less_urgent_tasks_only_for_its_mutex() {
    for seed in 1..=12u64 {
        let mut draw = draws(seed * 0x9e37_79b9 + 1);
        let mut scenario = with("tracer").cpus(1 + (seed % 3) as u32);
        for n in 0..6 {
            let (a, b) = (draw(2) as u32, 2 + draw(2) as u32);
            let steps = [
                run(draw(900)),
                lock(a),
                run(300),
                lock(b),
                run(200),
                unlock(b),
                unlock(a),
                sleep(500 + draw(3000)),
            ];
            let policy = if n < 2 { Policy::Other } else { fifo(10 * n) };
            scenario = scenario.task(repeat(&format!("t{n}"), steps).policy(policy));
        }
        // Those that would delay a task that inherits nothing.
        scenario = scenario.task(repeat("hog", [run(20_000), sleep(15_000)]).policy(fifo(35)).instances(3));
        let run = mutexes(scenario, 4, true).millis(300).survives();
        // The most urgent task waits for at most the sections of the five others, twice 500 µs each and what they cost.
        let starts = run.starts("t5");
        let wakes = run.events_of(|e| match e.what {
            What::Wakeup { task, .. } if task == run.id("t5") => Some(e.at),
            _ => None,
        });
        assert!(wakes.len() > 20, "seed {seed}");
        let stops = run.stops("t5");
        let mut gaps = stops.iter().map(|stop| {
            let next = starts.iter().find(|(at, _)| at > stop).map_or(run.outcome.end, |(at, _)| *at);
            next.since(*stop).as_ns() / 1000
        });
        assert!(gaps.all(|us| us < 3500 + 2 * 5 * 500 + 500), "seed {seed}");
    }
}
