//! `ule`: Roberson's ULE, as posted and balanced.

use crate::harness::{affinity, repeat, run, sleep, task};
use crate::scene::{
    Scene, check_affinity, check_hogs_share_alike, check_shares, coming_and_going_beside_some_pinned, hog,
    under,
};
use keel_abi::Span;
use keel_abi::task::Step;

/// How long an idle CPU may take to notice waiting tasks elsewhere.
const WASTE_MAX: Span = Span::from_ms(12);

#[test]
fn shares_are_as_slices() {
    let nice = [("m20", -20), ("n0", 0), ("n10", 10), ("n19", 19)];
    let scene = nice.iter().fold(under("ule"), |scene, &(name, nice)| scene.task(hog(name).nice(nice)));
    let seen = scene.millis(20_000).run();
    // Evenly from 100 ms at -20 to 10 ms at 19.
    check_shares(&seen.shares(&nice.map(|(name, _)| name)), &[100.0, 53.8, 30.8, 10.0], 0.1);
    seen.assert_nobody_starves();
}

/// A maximum slice below the minimum, which a search may try: nice levels swap places, and no slice is longer than
/// both.
#[test]
fn slices_stay_between_their_bounds_in_either_order() {
    let scene = under("ule").set("least_slice_ns", "20000000").set("greatest_slice_ns", "10000000");
    let seen = scene.task(hog("m20").nice(-20)).task(hog("n19").nice(19)).millis(3000).run();
    check_shares(&seen.shares(&["m20", "n19"]), &[10.0, 20.0], 0.1);
    seen.assert_nobody_starves();
}

#[test]
fn hogs_share_alike_on_any_number_of_cpus() {
    check_hogs_share_alike("ule");
}

#[test]
fn a_light_task_beside_hogs_runs_at_once() {
    for cpus in [1, 2, 8, 64] {
        let light = repeat("light", [run(1000), sleep(20_000)]);
        let scene = under("ule").cpus(cpus).task(hog("h").instances(cpus * 4)).task(light);
        let seen = scene.millis(4000).run();
        assert!(seen.delay_us("light", 99) < 100, "{cpus} CPUs: {} us", seen.delay_us("light", 99));
        seen.assert_nobody_starves();
    }
}

#[test]
fn a_task_that_runs_more_than_it_sleeps_waits_for_its_turn() {
    let busy = repeat("busy", [run(6000), sleep(5000)]);
    let seen = under("ule").task(hog("h")).task(busy).millis(8000).run();
    assert!(seen.delay_us("busy", 50) > 20_000, "{} us", seen.delay_us("busy", 50));
    seen.assert_nobody_starves();
}

/// Light tasks that together want more than a CPU, so that it always has one of them; and a hog.
fn filled_by_light_tasks() -> Scene {
    let light = repeat("light", [run(3000), sleep(9000)]).instances(8);
    under("ule").task(light).task(hog("h")).millis(6000)
}

#[test]
fn light_tasks_that_fill_a_cpu_starve_no_task() {
    let seen = filled_by_light_tasks().run();
    seen.assert_nobody_starves();
    assert!(seen.cpu_ms("h") > 300, "{} ms of 6000", seen.cpu_ms("h"));
    let without = filled_by_light_tasks().set("patience", 0).run();
    assert!(without.cpu_ms("h") < 100, "without patience {} ms of 6000", without.cpu_ms("h"));
}

/// It sleeps a tick more than it runs, for 40 s, and then only runs. A hog that was busy elsewhere arrives a little
/// before that.
fn drifting(settings: &[(&str, u32)]) -> (u64, u64) {
    let mut steps = Vec::new();
    (0..8000).for_each(|_| steps.extend([run(2000), sleep(3000)]));
    steps.push(run(5_000_000));
    let scene = settings.iter().fold(under("ule"), |scene, &(name, value)| scene.set(name, value));
    let hog = task("h", [run(39_000_000), affinity([0]), run(60_000_000)]).on([1]);
    let seen = scene.cpus(2).task(task("drifter", steps).on([0])).task(hog).millis(62_000).run();
    // How long it finally continued without giving way, in milliseconds, and how long its earlier wakeups waited, in
    // microseconds.
    let longest = seen.stints("drifter").iter().map(|s| s.length.as_ns() / 1_000_000).max();
    let delays = seen.delays("drifter");
    let late = delays.iter().rev().take(100).map(|(_, delay)| delay.as_ns() / 1000).max();
    (longest.expect("it ran"), late.expect("it woke"))
}

#[test]
fn where_slices_do_not_halve_it_a_task_that_sleeps_a_tick_more_than_it_runs_becomes_interactive() {
    let check = |settings: &[(&str, u32)], expected: std::ops::RangeInclusive<u64>| {
        let (longest, late) = drifting(settings);
        assert!(late < 100, "{settings:?}: it reached the top, and waited for {late} us");
        assert!(expected.contains(&longest), "{settings:?}: it hogged the CPU for {longest} ms");
    };
    // From the 5 s that it had saved to the 3.5 s at which it is interactive no more.
    check(&[("ratio", 0), ("patience", 0)], 1400..=1600);
    // From 2 s to the 0.25 s below which it goes to the next queue.
    check(&[("posted", 1), ("halve", 0)], 1650..=1850);
    let (longest, late) = drifting(&[("posted", 1)]);
    assert!(late > 20_000, "halved at each slice, its sleep never adds up: it waits for {late} us");
    assert!(longest <= 100, "and it has a slice: {longest} ms");
    let (longest, late) = drifting(&[]);
    assert!(late > 20_000, "by the ratio it waits for the hog's slice: {late} us");
    assert!(longest < 70, "by the ratio it has a slice: {longest} ms");
}

#[test]
fn tasks_keep_to_their_cpus() {
    check_affinity("ule", 1000);
}

#[test]
fn a_task_keeps_its_cpu() {
    let scene = under("ule").cpus(8).task(hog("h").instances(12));
    let seen = scene.task(repeat("light", [run(500), sleep(5000)])).millis(3000).run();
    // Once placed there are 12 hogs on 8 CPUs, and a difference of one moves no task.
    assert!(seen.migrations("h") <= 8, "{}", seen.migrations("h"));
}

#[test]
fn idle_class_tasks_have_what_is_left() {
    let lesser = |scene: Scene| scene.task(hog("lesser").nice(19).instances(2)).set("idle_nice", 19);
    let seen = lesser(under("ule")).task(repeat("t", [run(30_000), sleep(30_000)])).millis(12_000).run();
    // A task that waits for an idle task's CPU preempts it.
    assert!(seen.delay_us("t", 95) < 100, "{} us", seen.delay_us("t", 95));
    assert!(seen.cpu_ms("lesser") > 5000, "{} ms", seen.cpu_ms("lesser"));
    let beside = lesser(under("ule")).task(hog("h")).millis(20_000).run();
    // A slice of 10 ms every 2.5 s, so that each has one in 5 s.
    let got = beside.cpu_ms("lesser");
    assert!((50..=120).contains(&got), "{got} ms of 20000");
}

#[test]
fn a_yield_uses_the_slice_up() {
    let yields = repeat("y", [run(100), Step::Yield]);
    let seen = under("ule").task(yields.clone().instances(2)).millis(500).run();
    assert!(seen.judgement.summary.switches > 4000, "two that yield take turns");
    let alone = under("ule").task(yields).millis(500).run();
    assert!(alone.judgement.summary.switches < 10, "with nobody else it goes on");
}

/// Where three children that only compute, and their parent, first ran on four CPUs.
fn check_children(settings: &[(&str, u64)], expected: [u32; 4]) {
    let parent = task("p", [Step::Fork(1), Step::Fork(1), Step::Fork(1), run(200_000)]);
    let scene = settings.iter().fold(under("ule").cpus(4), |scene, &(name, value)| scene.set(name, value));
    let seen = scene.task(parent).task(hog("c").instances(0)).millis(2000).run();
    let mut cpus: Vec<u32> =
        seen.forks("p").into_iter().map(|(_, _, child)| seen.first_run(child).1.0).collect();
    cpus.push(seen.stints("p")[0].cpu.0.min(seen.forks("p")[0].1.0));
    cpus.sort_unstable();
    assert_eq!(cpus, expected, "{settings:?}");
}

#[test]
fn children_go_to_the_least_loaded_cpu_and_as_posted_to_the_first() {
    check_children(&[("steal", 0), ("push", 0)], [0, 1, 2, 3]);
    check_children(&[("posted", 1)], [0; 4]);
    check_children(&[("place", 0), ("steal", 0), ("push", 0)], [0; 4]);
}

/// Two hogs and two that soon sleep: placed by load at their forks, the hogs share one of two CPUs in the end.
fn misplaced() -> Scene {
    let brief = |name| task(name, [run(40_000)]).instances(0);
    let hogs = hog("h").instances(0);
    // CPU 1 gets a short task, CPU 0 a hog. Then CPU 1 has the smaller load, whatever happens to it later.
    let parent = task(
        "p",
        [Step::Fork(1), run(500), Step::Fork(2), run(500), Step::Fork(1), run(500), Step::Fork(2), run(500)],
    );
    under("ule").cpus(2).task(parent).task(brief("brief")).task(hogs).millis(2000)
}

#[test]
fn as_posted_cores_are_wasted_and_the_balancer_fixes_it() {
    let posted = misplaced().set("posted", 1).run();
    let wasted = posted.longest_waste();
    assert!(wasted > Span::from_ms(1500), "{wasted}");
    let neither = misplaced().set("steal", 0).set("push", 0).run();
    assert!(neither.longest_waste() > Span::from_ms(1500), "{}", neither.longest_waste());
    // The push alone comes within half a second, and stealing at once.
    let pushed = misplaced().set("steal", 0).run().longest_waste();
    assert!(pushed > WASTE_MAX && pushed < Span::from_ms(600), "{pushed}");
    assert_eq!(misplaced().run().judgement.waste.episodes, 0);
}

#[test]
fn the_push_evens_loads_that_are_busy_everywhere() {
    // Six that were pinned to CPU 0, and two others.
    let freed = repeat("f", [run(300_000), affinity([0, 1]), run(10_000_000)]).on([0]).instances(6);
    let scene = || under("ule").cpus(2).task(freed.clone()).task(hog("h").on([1]).instances(2)).millis(8000);
    let (with, without) = (scene().run(), scene().set("push", 0).run());
    assert_eq!(with.cpus("f"), [0, 1]);
    assert_eq!(without.cpus("f"), [0], "nobody idles, so nobody steals");
    assert!(with.cpu_ms("h") < without.cpu_ms("h") - 1500);
}

#[test]
fn no_core_is_wasted_for_long() {
    for cpus in [1, 2, 8, 64] {
        let seen = coming_and_going_beside_some_pinned("ule", cpus).run();
        assert!(seen.longest_waste() < WASTE_MAX, "{cpus} CPUs: {}", seen.longest_waste());
        seen.assert_nobody_starves();
    }
}

#[test]
fn ten_thousand_forks_lose_no_task() {
    let mut steps = Vec::new();
    (0..100).for_each(|_| steps.push(Step::Fork(1)));
    steps.push(sleep(4000));
    let child = task("child", [run(50)]).instances(0);
    let scene = under("ule").cpus(2).task(repeat("shell", steps)).task(child).task(hog("h")).millis(3000);
    let seen = scene.run();
    let forks = seen.forks("shell");
    assert!(forks.len() >= 10_000, "{} forks", forks.len());
    for (_, _, child) in forks.iter().take(10_000) {
        seen.first_run(*child);
    }
    seen.assert_nobody_starves();
}
