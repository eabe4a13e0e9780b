//! `o1`: Molnar's O(1).

use crate::harness::{repeat, run, sleep, task};
use crate::scene::{
    Scene, Seen, check_affinity, check_hogs_share_alike, check_shares, coming_and_going_beside_some_pinned,
    hog, under,
};
use keel_abi::Span;
use keel_abi::task::Step;

/// A balancing interval, which begins and ends with a tick.
const WASTE_MAX: Span = Span::from_ms(12);

#[test]
fn shares_are_as_timeslices() {
    let nice = [("m10", -10), ("n0", 0), ("n5", 5), ("n10", 10), ("n19", 19)];
    let scene = nice.iter().fold(under("o1"), |scene, &(name, nice)| scene.task(hog(name).nice(nice)));
    let seen = scene.millis(20_000).run();
    // 5 ms for each nice value below 20.
    check_shares(&seen.shares(&nice.map(|(name, _)| name)), &[30.0, 20.0, 15.0, 10.0, 1.0], 0.1);
    seen.assert_nobody_starves();
}

#[test]
fn hogs_share_alike_on_any_number_of_cpus() {
    check_hogs_share_alike("o1");
}

#[test]
fn a_light_task_beside_hogs_runs_at_once() {
    for cpus in [1, 2, 8, 64] {
        let light = repeat("light", [run(1000), sleep(20_000)]).after_ms(1000);
        let scene = under("o1").cpus(cpus).task(hog("h").instances(cpus * 4)).task(light);
        let seen = scene.millis(4000).run();
        assert!(seen.delay_us("light", 99) < 100, "{cpus} CPUs: {} us", seen.delay_us("light", 99));
        seen.assert_nobody_starves();
    }
}

#[test]
fn a_light_task_beside_a_thousand_hogs_runs_at_once() {
    // It starts as they do, and sleeps until each of them has run.
    let mut steps = vec![sleep(3_000_000)];
    (0..1200).for_each(|_| steps.extend([run(1000), sleep(20_000)]));
    let scene = under("o1").cpus(8).task(hog("h").instances(1000)).task(task("light", steps));
    let seen = scene.millis(30_000).run();
    let late: Vec<_> =
        seen.delays("light").into_iter().filter(|(_, delay)| *delay > Span::from_ms(1)).collect();
    assert_eq!(late, []);
}

#[test]
fn no_task_starves_beside_endless_forking() {
    // The last children outlive their part of the parent's timeslice, get one of their own, and leave most of it.
    let mut steps = vec![run(300)];
    (0..10).for_each(|_| steps.push(Step::Fork(1)));
    steps.push(sleep(30_000));
    let child = task("child", [run(3000)]).instances(0);
    let scene = under("o1").task(repeat("shell", steps)).task(child).task(hog("h").instances(2));
    let seen = scene.millis(8000).run();
    seen.assert_nobody_starves();
}

/// For how long after its work a task that was a hog for 3 s still waits for others, in milliseconds.
fn ill_fame_ms(history: &[(&str, u64)]) -> u64 {
    let mut steps = vec![run(3_000_000)];
    for _ in 0..300 {
        steps.extend([run(500), sleep(20_000)]);
    }
    let scene = history.iter().fold(under("o1"), |scene, &(name, value)| scene.set(name, value));
    // Its rival keeps the CPU busy for half of the time: what weighs less preempts it.
    let rival = repeat("rival", [run(50_000), sleep(50_000)]);
    let seen = scene.task(rival).task(task("t", steps)).millis(17_000).run();
    let delays = seen.delays("t");
    let began = delays.first().expect("it slept").0;
    let late = delays.iter().filter(|(_, delay)| *delay > Span::from_ms(5)).map(|(at, _)| *at).max();
    late.map_or(0, |late| late.since(began).as_ns() / 1_000_000)
}

#[test]
fn load_is_remembered_for_as_long_as_the_history_is() {
    let (long, short) = (ill_fame_ms(&[]), ill_fame_ms(&[("history_interval_ns", 100_000_000)]));
    let more = ill_fame_ms(&[("history_entries", 8)]);
    assert!(short < 500 && long > 1000 && more > long + 500, "{long} ms, {short} ms, {more} ms");
}

#[test]
fn a_hog_sinks_by_a_third_of_all_levels() {
    let delay_us = |announced: u32| {
        // It starts when the hog's history is full. Otherwise it would wait at first, and waiting counts as load.
        let worse = repeat("worse", [run(1000), sleep(50_000)]).nice(13).after_ms(5000);
        let scene = under("o1").task(hog("h")).task(worse).set("announced_load", announced);
        scene.millis(12_000).run().delay_us("worse", 50)
    };
    let (announced, ours) = (delay_us(1), delay_us(0));
    assert!(announced < 100, "21 levels: a light task of nice 13 preempts, and not after {announced} us");
    assert!(ours > 1000, "by our rule 12: it waits its turn, not {ours} us");
}

#[test]
fn the_penalty_is_bounded() {
    // Both are hogs; the better one stays above the other, and preempts it each time that it wakes.
    let better = repeat("better", [run(190_000), sleep(10_000)]).nice(-15);
    let seen = under("o1").task(hog("h")).task(better).millis(8000).run();
    assert!(seen.delay_us("better", 50) < 100, "{} us", seen.delay_us("better", 50));
    // A task that is lighter, but has a much worse level, does not preempt a hog.
    let worse = repeat("worse", [run(20_000), sleep(20_000)]).nice(10);
    let seen = under("o1").task(hog("h").nice(-10)).task(worse).millis(8000).run();
    assert!(seen.delay_us("worse", 50) > 1000, "{} us", seen.delay_us("worse", 50));
}

#[test]
fn tasks_keep_to_their_cpus() {
    check_affinity("o1", 1000);
}

#[test]
fn batch_runs_long_and_in_turn_but_only_a_little_beside_others() {
    let seen = under("o1").task(hog("b").nice(19).instances(2)).millis(8000).run();
    let switches = seen.judgement.summary.switches;
    assert!((15..=25).contains(&switches), "400 ms each: {switches} switches");
    let beside = under("o1").task(hog("b").nice(19).instances(2)).task(hog("h")).millis(4000).run();
    assert!((90..97).contains(&(beside.cpu_ms("h") / 40)), "{} ms of 4000", beside.cpu_ms("h"));
    beside.assert_nobody_starves();
}

#[test]
fn a_yield_goes_to_the_end_of_its_level() {
    let yields = repeat("y", [run(100), Step::Yield]);
    let seen = under("o1").task(yields.clone().instances(2)).millis(500).run();
    assert!(seen.judgement.summary.switches > 4000, "two that yield take turns");
    let alone = under("o1").task(yields).millis(500).run();
    assert!(alone.judgement.summary.switches < 10, "with nobody else it goes on");
}

fn forking(child_first: u32) -> Seen {
    let parent = repeat("p", [run(2000), Step::Fork(1), run(300), sleep(10_000)]);
    let child = task("c", [run(500)]).instances(0);
    let scene = under("o1").cpus(4).set("child_first", child_first).set("first_slice_ns", 100_000_000);
    scene.task(parent).task(child).millis(200).run()
}

#[test]
fn children_run_first_and_where_their_parents_are() {
    let check = |seen: &Seen, expected: bool| {
        let mut forks = seen.forks("p");
        // The last one's child may not have come to run.
        forks.pop();
        assert!(forks.len() > 10);
        for (at, cpu, child) in forks {
            let (first, where_first) = seen.first_run(child);
            assert_eq!(cpu, where_first);
            // Otherwise the parent continues for 300 µs.
            let is_first = first.since(at) < Span::from_us(20);
            assert_eq!(is_first, expected, "child {child} at {first}");
        }
    };
    check(&forking(1), true);
    check(&forking(0), false);
}

#[test]
fn parent_and_child_share_the_timeslice() {
    let seen = under("o1").task(task("p", [Step::Fork(1), run(1_000_000)])).task(hog("c").instances(0));
    let seen = seen.millis(500).run();
    let turns: Vec<u64> = seen.stints("p").iter().map(|s| s.length.as_ns() / 1_000_000).collect();
    assert!(turns.iter().any(|turn| (4..=6).contains(turn)), "{turns:?} ms");
}

#[test]
fn no_core_is_wasted_beyond_a_balancing_interval() {
    for cpus in [1, 2, 8, 64] {
        let seen = coming_and_going_beside_some_pinned("o1", cpus).run();
        assert!(seen.longest_waste() < WASTE_MAX, "{cpus} CPUs: {}", seen.longest_waste());
        seen.assert_nobody_starves();
    }
}

#[test]
fn without_the_balancer_cores_are_wasted() {
    for cpus in [2, 8, 64] {
        let seen = coming_and_going_beside_some_pinned("o1", cpus).set("balance", 0).run();
        assert!(seen.longest_waste() > WASTE_MAX, "{cpus} CPUs: {}", seen.longest_waste());
    }
}

/// A pair of tasks that yield to each other, or one that sleeps and wakes, on each of this many CPUs out of eight.
fn pairs(pairs: u32, sleeps: bool) -> Scene {
    let steps = if sleeps { [run(50), sleep(100)] } else { [run(50), Step::Yield] };
    let pair =
        |cpu: u32| repeat(&format!("y{cpu}"), steps.clone()).on([cpu]).instances(2 - u32::from(sleeps));
    (0..pairs).fold(under("o1").cpus(8), |scene, cpu| scene.task(pair(cpu)))
}

/// The scheduler's own time per switch, in nanoseconds.
fn per_switch(scene: &Scene) -> f64 {
    // Without the time to create the tasks.
    let [early, late] = [100, 300].map(|ms| scene.clone().millis(ms).run().outcome);
    let time = late.overhead.callback - early.overhead.callback;
    time.as_ns() as f64 / (late.counters.switches - early.counters.switches) as f64
}

#[test]
fn cpus_share_no_lock_and_no_line() {
    for sleeps in [false, true] {
        // Idle CPUs ask every other CPU. Without the balancer, no CPU looks at another's runqueue.
        let quiet = |n: u32| pairs(n, sleeps).set("balance", 0);
        let (one, eight) = (per_switch(&quiet(1)), per_switch(&quiet(8)));
        let alike = (eight / one - 1.0).abs() < 0.02;
        assert!(alike, "sleeps {sleeps}: a switch takes {one:.1} ns on one CPU and {eight:.1} ns on eight");
        // Once all tasks are created, their waits are the kernel's.
        let wait = |ms: u64| quiet(8).millis(ms).run().outcome.overhead.lock_wait;
        assert_eq!(wait(300), wait(100));
        let shared = per_switch(&quiet(8).set("global_queue", 1));
        assert!(shared > 1.5 * eight, "sleeps {sleeps}: one queue for all takes {shared:.1} ns");
        let locked = |ms: u64| quiet(8).set("one_lock", 1).millis(ms).run().outcome.overhead.lock_wait;
        assert!(locked(300) > locked(100), "sleeps {sleeps}: CPUs wait for one lock for all");
    }
}

#[test]
fn a_choice_is_as_quick_beside_many_tasks_unless_it_scans_them() {
    let yields = |tasks: u32, scan: u32| {
        let tasks = repeat("y", [run(50), Step::Yield]).instances(tasks);
        per_switch(
            &under("o1").cpus(2).task(tasks).set("one_lock", 1).set("scan", scan).set("announced_load", 1),
        )
    };
    let check = |scan, expected: std::ops::Range<f64>| {
        let ratio = yields(400, scan) / yields(8, scan);
        assert!(expected.contains(&ratio), "scan {scan}: a switch takes {ratio:.2} times as long");
    };
    check(0, 0.95..1.05);
    check(1, 2.0..100.0);
}

#[test]
fn one_queue_for_all_still_schedules() {
    let seen = under("o1").cpus(8).set("global_queue", 1).mix(32, 80).millis(1000).run();
    assert!(seen.judgement.summary.busy_share > 0.7, "{}", seen.judgement.summary.busy_share);
    let pinned = under("o1").cpus(8).set("global_queue", 1).task(hog("h").instances(16));
    let seen = pinned.task(repeat("a", [run(500), sleep(700)]).on([3]).instances(2)).millis(2000).run();
    assert_eq!(seen.cpus("a"), [3]);
    seen.assert_nobody_starves();
}
