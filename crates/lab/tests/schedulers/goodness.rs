//! `goodness`: Linux 2.4.

use crate::harness::{affinity, repeat, run, sleep, task};
use crate::scene::{check_cpus, check_hogs_share_alike, check_shares, hog, under};
use keel_abi::Span;
use keel_abi::task::Step;

/// Hogs of four nice values: names and values.
const NICE: [(&str, i8); 4] = [("n0", 0), ("n5", 5), ("n10", 10), ("n19", 19)];

#[test]
fn shares_are_as_counters() {
    let scene = NICE.iter().fold(under("goodness"), |scene, &(name, nice)| scene.task(hog(name).nice(nice)));
    let seen = scene.millis(10_000).run();
    // (20 - nice) / 4 + 1 ticks.
    check_shares(&seen.shares(&NICE.map(|(name, _)| name)), &[6.0, 4.0, 3.0, 1.0], 0.1);
    seen.assert_nobody_starves();
}

#[test]
fn hogs_share_alike_on_any_number_of_cpus() {
    check_hogs_share_alike("goodness");
}

#[test]
fn a_light_task_beside_hogs_runs_soon() {
    for cpus in [1, 2, 8] {
        let light = repeat("light", [run(1000), sleep(20_000)]).after_ms(100);
        let scene = under("goodness").cpus(cpus).task(hog("h").instances(cpus * 3)).task(light);
        let seen = scene.millis(5000).run();
        assert!(seen.delay_us("light", 50) < 100, "{cpus} CPUs: {} us", seen.delay_us("light", 50));
    }
}

#[test]
fn tasks_keep_to_their_cpus() {
    let seen = check_cpus("goodness", 3000);
    assert_eq!(seen.cpus("a"), [3, 80]);
}

/// As in 2.4: CPU 1 fills all counters again every 10 ms, so that of the task on CPU 0 never gets to 0.
#[test]
fn a_bound_task_waits_while_other_cpus_fill_the_counters() {
    let check = |nice, expected: &[f64]| {
        let scene =
            under("goodness").cpus(2).task(hog("first").on([0])).task(hog("other").nice(nice).on([1]));
        let seen = scene.task(hog("bound").on([0]).after_ms(5)).millis(10_000).run();
        check_shares(&seen.shares(&["first", "bound"]), expected, 0.1);
    };
    check(19, &[1.0, 0.0]);
    // With turns of the same length, the counters of both CPUs run out.
    check(0, &[1.0, 1.0]);
}

#[test]
fn a_long_sleeper_has_up_to_twice_the_time() {
    let sleeper = task("s", [sleep(2_000_000), run(500_000)]);
    let seen = under("goodness").task(hog("h").instances(2)).task(sleeper).millis(3000).run();
    let first = seen.stints("s").into_iter().find(|s| s.from.as_ns() > 1_000_000_000).unwrap();
    // 6 ticks, half of them kept at each recalculation: 11 in the end.
    assert!(first.length > Span::from_ms(90) && first.length < Span::from_ms(115), "{:?}", first.length);
}

#[test]
fn parent_and_child_share_the_counter() {
    let scene = under("goodness").task(task("p", [Step::Fork(1), run(1_000_000)]));
    let seen = scene.task(hog("c").instances(0)).task(hog("h")).millis(500).run();
    // 6 ticks minus those that passed, halved: no more than 3 for the parent's first turn.
    let first: u64 = seen.stints("p").iter().take(1).map(|s| s.length.as_ns() / 1_000_000).sum();
    assert!(first <= 31, "{first} ms");
}

#[test]
fn a_wakeup_preempts_the_task_it_outweighs_most() {
    let scene = under("goodness").cpus(2).task(hog("bad").nice(15).on([0])).task(hog("good").on([1]));
    let seen = scene.task(repeat("w", [run(500), sleep(30_000)]).after_ms(5)).millis(2000).run();
    let on_bad = seen.stints("w").iter().filter(|s| s.cpu.0 == 0).count();
    assert!(on_bad * 10 > seen.stints("w").len() * 8, "{on_bad} of {}", seen.stints("w").len());
}

#[test]
fn a_wakeup_goes_to_the_cpu_that_has_idled_longest() {
    // CPUs 1 and 2 idle, 2 for longer; a hog has the wakee's own.
    let steps = [run(100), affinity([0, 1, 2]), sleep(50_500), run(100), sleep(10_000)];
    let scene = under("goodness").cpus(3).task(task("w", steps).on([0])).task(hog("h").on([0]));
    let seen = scene.task(repeat("t", [run(100), sleep(1900)]).on([1])).millis(60).run();
    assert_eq!(seen.stints("w").last().unwrap().cpu.0, 2, "{:?}", seen.stints("w"));
}

#[test]
fn a_yield_gives_way_once() {
    let yields = repeat("y", [run(100), Step::Yield]);
    let seen = under("goodness").task(yields.clone().instances(2)).millis(500).run();
    let switches = seen.judgement.summary.switches;
    assert!(switches > 4000, "two that yield take turns: {switches} switches");
    let alone = under("goodness").task(yields).millis(500).run();
    assert!(alone.judgement.summary.switches < 10, "with nobody else nothing happens");
    let insns = alone.outcome.overhead.instructions;
    assert!(insns < 5000 * 60, "not even a recalculation: {insns} instructions for 5000 yields");
}

#[test]
fn a_yield_counts_no_task_running_elsewhere_as_a_waiter() {
    let yields = repeat("y", [run(100), Step::Yield]);
    let seen = under("goodness").cpus(2).task(yields.instances(2)).millis(500).run();
    assert!(
        seen.judgement.summary.switches < 20,
        "nobody waits: {} switches",
        seen.judgement.summary.switches
    );
    let insns = seen.outcome.overhead.instructions;
    assert!(insns < 10_000 * 120, "no decision either: {insns} instructions for 10000 yields");
}

#[test]
fn a_yielder_that_may_not_run_the_waiters_takes_no_turn() {
    // The hogs share CPU 0. On CPU 1 the yielder repeatedly finds no task to yield to.
    for scheduler in ["goodness", "mq"] {
        let hogs = ["a", "b"].map(|name| hog(name).on([0]));
        let scene = under(scheduler).cpus(2).task(repeat("y", [run(100), Step::Yield]).on([1]));
        let seen = hogs.into_iter().fold(scene, crate::scene::Scene::task).millis(10_000).run();
        check_shares(&seen.shares(&["a", "b"]), &[1.0, 1.0], 0.05);
    }
}

/// More hogs than CPUs, whose slices end at different times.
fn uneven(scheduler: &str) -> crate::scene::Scene {
    under(scheduler).cpus(8).task(hog("h").instances(12)).millis(3000)
}

#[test]
fn used_up_tasks_bounce_between_cpus_as_they_do_not_in_o1() {
    let (old, new) = (uneven("goodness").run(), uneven("o1").run());
    assert!(old.migrations("h") > 50, "{}", old.migrations("h"));
    assert!(new.migrations("h") <= 8, "{}", new.migrations("h"));
}

#[test]
fn the_squeeze_is_seen_where_recalculation_waits_for_all() {
    let seen = uneven("goodness").set("squeeze", 1).run();
    assert!(seen.wasted_percent() > 5.0, "{}", seen.wasted_percent());
    assert!(seen.longest_waste() > Span::from_ms(20), "{:?}", seen.longest_waste());
    for innocent in [uneven("goodness"), uneven("o1")] {
        assert_eq!(innocent.run().judgement.waste.episodes, 0);
    }
}

#[test]
fn waiting_for_the_one_lock_delays_no_other_task() {
    let yields = repeat("y", [run(1), Step::Yield]).instances(14);
    // Two CPUs of eight have one task each, which never asks for the lock.
    let apart = [2, 3].map(|cpu| repeat("apart", [run(100)]).on([cpu]));
    let scene = under("goodness").cpus(8).task(yields.on([0, 1, 4, 5, 6, 7]));
    let [a, b] = apart;
    let seen = scene.task(a).task(b).millis(100).run();
    let machine_ns = 8.0 * 100e6;
    let waited = seen.outcome.overhead.lock_wait.as_ns() as f64 / machine_ns;
    assert!(waited > 0.1, "six CPUs and one lock: {waited} of the machine waits for it");
    let apart = seen.judgement.summary.tasks.iter().filter(|t| t.name == "apart");
    for task in apart {
        assert!(task.cpu > Span::from_ms(99), "{:?} of 100 ms", task.cpu);
    }
}

#[test]
fn an_idle_cpu_is_notified_of_a_child_before_its_parent_goes_on() {
    // The parent is busy in the kernel for milliseconds after the fork.
    let parent = task("p", [Step::Spawn(1), Step::Write(20_000), run(1000)]);
    let seen = under("goodness").cpus(2).task(parent).task(hog("c").instances(0)).millis(50).run();
    let (parent, child) = (seen.stints("p")[0], seen.stints("c")[0]);
    assert_ne!(child.cpu, parent.cpu);
    let after = child.from.since(parent.from);
    assert!(parent.length > Span::from_ms(2), "{:?}", parent.length);
    assert!(after < Span::from_us(500), "{after} after the parent");
}
