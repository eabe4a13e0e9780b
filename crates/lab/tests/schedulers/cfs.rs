//! `cfs`: Linux's CFS, as the Wasted Cores paper describes it, without its bugs.

use crate::harness::{Spec, affinity, repeat, run, run_up_to, sleep, task};
use crate::scene::{Scene, check_shares, check_ten_thousand_forks, hog, under};
use keel_abi::Span;
use keel_abi::cgroup::{Bandwidth, Cgroup, CgroupId};
use keel_abi::task::Step;

/// The time that a balancing interval of the largest machine here, and a tick, may take.
const WASTE_MAX: Span = Span::from_ms(64 + 12);

#[test]
fn shares_are_as_weights() {
    // Nice values, and their weights in the kernel.
    let nice =
        [("m5", -5, 3121.0), ("n0", 0, 1024.0), ("n3", 3, 526.0), ("n10", 10, 110.0), ("n19", 19, 15.0)];
    let scene = nice
        .iter()
        .fold(under("cfs").set("autogroup", 0), |scene, &(name, nice, _)| scene.task(hog(name).nice(nice)));
    let seen = scene.millis(20_000).run();
    check_shares(&seen.shares(&nice.map(|(name, ..)| name)), &nice.map(|(.., weight)| weight), 0.1);
    seen.assert_nobody_starves();
}

/// Balancing moves the lightest from CPU to CPU, more often than the others run while it is ahead of them.
#[test]
fn a_task_that_is_moved_again_and_again_gets_its_turn() {
    let hogs = hog("h").instances(4).after_ms(50);
    let scene = under("cfs").cpus(4).ticks_per_s(250).set("autogroup", 0);
    let seen = scene.task(hog("kind").nice(19)).task(hogs).millis(12_000).run();
    // 15/1039 of a CPU, plus the 50 ms in which it had one to itself.
    assert!(seen.cpu_ms("kind") > 50 + 120, "{} ms", seen.cpu_ms("kind"));
}

#[test]
fn hogs_share_alike_on_any_number_of_cpus() {
    // All start at once, so that some choose the same CPU; on 64 CPUs busy ones balance every 2 s.
    for (cpus, ms, slack) in [(1, 3000, 0.05), (2, 3000, 0.05), (8, 6000, 0.15), (64, 20_000, 0.35)] {
        let seen = under("cfs").cpus(cpus).task(hog("h").instances(cpus * 2)).millis(ms).run();
        let times = seen.judgement.summary.tasks.iter().filter(|t| t.name == "h").map(|t| t.cpu.as_ns());
        let (least, most) = (times.clone().min().unwrap(), times.max().unwrap());
        assert!(least as f64 > (1.0 - slack) * most as f64, "{cpus} CPUs: {least} to {most} ns");
        assert!(seen.judgement.summary.busy_share > 0.99, "{cpus} CPUs");
        seen.assert_nobody_starves();
    }
}

#[test]
fn turns_are_a_part_of_the_period() {
    // Two on one CPU: 6 ms, halved, as ticks of 4 ms see it; so a turn is one tick.
    let seen = under("cfs").task(hog("h").instances(2)).millis(1000).run();
    let turns = seen.stints("h");
    let mean = turns.iter().map(|s| s.length.as_ns()).sum::<u64>() / turns.len() as u64;
    assert!((3_500_000..=8_500_000).contains(&mean), "{mean} ns");
}

/// The least time of three hogs on two CPUs, as a share of the most.
fn least_of_three(take_turns: u32) -> f64 {
    let seen =
        under("cfs").cpus(2).task(hog("h").instances(3)).set("take_turns", take_turns).millis(20_000).run();
    let times = seen.judgement.summary.tasks.iter().filter(|t| t.name == "h").map(|t| t.cpu.as_ns());
    times.clone().min().unwrap() as f64 / times.max().unwrap() as f64
}

#[test]
fn three_hogs_on_two_cpus_take_turns() {
    assert!(least_of_three(1) > 0.65, "{}", least_of_three(1));
    assert!(least_of_three(0) < 0.55, "where no task moves between uneven CPUs: {}", least_of_three(0));
}

#[test]
fn a_cpu_that_runs_dry_takes_no_task_that_is_cache_hot() {
    let moves = |gate: u32| {
        let yields = repeat("y", [run(100), Step::Yield]).on([0]);
        let mut steps = vec![run(100), affinity([0, 1])];
        (0..6000).for_each(|_| steps.extend([run(100), Step::Yield]));
        let dry = repeat("dry", [run(3000), sleep(3000)]).on([1]);
        let scene = under("cfs").cpus(2).task(yields).task(task("free", steps).on([0])).task(dry);
        let scene = scene.set("newidle_gate", gate).set("nohz_balance", 0).set("periodic_balance", 0);
        scene.millis(1000).run().migrations("free")
    };
    let (gated, open) = (moves(1), moves(0));
    assert!(gated < open, "{gated} moves with the gate, {open} without");
}

#[test]
fn a_light_task_beside_hogs_runs_at_once() {
    for cpus in [1, 2, 8] {
        let light = repeat("light", [run(1000), sleep(20_000)]);
        let scene = under("cfs").cpus(cpus).task(hog("h").instances(cpus * 4)).task(light);
        let seen = scene.millis(4000).run();
        assert!(seen.delay_us("light", 90) < 100, "{cpus} CPUs: {} us", seen.delay_us("light", 90));
        seen.assert_nobody_starves();
    }
}

#[test]
fn a_wakeup_preempts_only_tasks_with_more_vruntime() {
    let delay = |granularity_ns: u64| {
        let scene = under("cfs").set("wakeup_granularity_ns", granularity_ns);
        let seen = scene.task(hog("h")).task(repeat("w", [run(200), sleep(10_000)])).millis(2000).run();
        seen.delay_us("w", 90)
    };
    assert!(delay(1_000_000) < 100, "{} us", delay(1_000_000));
    // A sleeper is ahead by at most half a period. With a larger granularity, it waits for a tick.
    assert!(delay(8_000_000) > 500, "{} us", delay(8_000_000));
}

#[test]
fn a_sleeper_does_not_save_its_sleep_up() {
    let sleeper = task("s", [sleep(5_000_000), run(3_000_000)]);
    let seen = under("cfs").task(hog("h")).task(sleeper).millis(8000).run();
    // From its wakeup on they share: it does not run for the 5 s that it did not before.
    let longest = seen.stints("s").iter().map(|s| s.length).max().unwrap();
    assert!(longest < Span::from_ms(20), "{longest}");
    assert!((1300..=1700).contains(&seen.cpu_ms("s")), "{} ms", seen.cpu_ms("s"));
}

#[test]
fn tasks_keep_to_their_cpus() {
    let scene = under("cfs").cpus(96).task(hog("h").instances(100));
    let scene = scene.task(repeat("a", [run(500), sleep(700)]).on([3, 80]).instances(4));
    let moves = [run(300), affinity([90]), run(300), affinity([70, 2]), sleep(100)];
    let seen = scene.task(repeat("b", moves).on([90])).millis(1000).run();
    assert!(seen.cpus("a").iter().all(|cpu| [3, 80].contains(cpu)), "{:?}", seen.cpus("a"));
    assert!(seen.cpus("b").iter().all(|cpu| [2, 70, 90].contains(cpu)), "{:?}", seen.cpus("b"));
    seen.assert_nobody_starves();
}

#[test]
fn idle_class_tasks_have_what_is_left() {
    let lesser = hog("lesser").policy(keel_abi::task::Policy::Idle);
    let seen = under("cfs").set("autogroup", 0).task(lesser).task(hog("h")).millis(10_000).run();
    check_shares(&seen.shares(&["lesser", "h"]), &[3.0, 1024.0], 0.5);
}

#[test]
fn a_yield_lets_another_run() {
    let yields = repeat("y", [run(100), Step::Yield]);
    let seen = under("cfs").task(yields.clone().instances(2)).millis(500).run();
    assert!(seen.judgement.summary.switches > 4000, "{} switches", seen.judgement.summary.switches);
    let alone = under("cfs").task(yields).millis(500).run();
    assert!(alone.judgement.summary.switches < 10, "with nobody else it goes on");
}

/// Cgroups `/a` and `/b` of these weights, and `/a/x` and `/a/y` within.
fn tree(a: u32, b: u32) -> Vec<Cgroup> {
    let cgroup = |path: &str, parent, weight| Cgroup {
        path: path.to_owned(),
        parent,
        is_there: true,
        weight,
        bandwidth: Bandwidth::default(),
        idle: false,
    };
    vec![
        cgroup("/a", CgroupId::ROOT, a),
        cgroup("/b", CgroupId::ROOT, b),
        cgroup("/a/x", CgroupId(1), 300),
        cgroup("/a/y", CgroupId(1), 100),
    ]
}

fn in_session(mut task: Spec, session: u32, process: u32) -> Spec {
    (task.0.session, task.0.process) = (session, process);
    task
}

#[test]
fn sessions_share_alike_however_many_tasks_they_have() {
    let run = |autogroup: u32| {
        let scene = under("cfs").set("autogroup", autogroup).task(in_session(hog("one"), 1, 1));
        scene.task(in_session(hog("many").instances(9), 2, 2)).millis(10_000).run()
    };
    check_shares(&run(1).shares(&["one", "many"]), &[1.0, 1.0], 0.05);
    check_shares(&run(0).shares(&["one", "many"]), &[1.0, 9.0], 0.05);
}

#[test]
fn a_process_that_begins_a_session_gets_its_share() {
    let leaves = task("leaves", [run(1_000_000), Step::Setsid, run(20_000_000)]);
    let scene = under("cfs").task(in_session(hog("many").instances(9), 1, 1)).task(in_session(leaves, 1, 2));
    let seen = scene.millis(20_000).run();
    // A tenth of the first 10 s, then half.
    assert!((5700..=6300).contains(&seen.cpu_ms("leaves")), "{} ms", seen.cpu_ms("leaves"));
}

fn within(mut task: Spec, cgroup: u32) -> Spec {
    task.0.cgroup = Some(CgroupId(cgroup));
    task
}

#[test]
fn cgroups_share_by_their_weights() {
    let scene = under("cfs").cgroups(tree(200, 100));
    let scene = scene.task(within(hog("a"), 1)).task(within(hog("b").instances(5), 2));
    let seen = scene.millis(10_000).run();
    check_shares(&seen.shares(&["a", "b"]), &[200.0, 100.0], 0.1);
    seen.assert_nobody_starves();
}

#[test]
fn nested_cgroups_share_what_their_parent_has() {
    let scene = under("cfs").cgroups(tree(100, 100)).task(within(hog("b").instances(2), 2));
    let seen = scene.task(within(hog("x").instances(3), 3)).task(within(hog("y"), 4)).millis(20_000).run();
    check_shares(&seen.shares(&["x", "y", "b"]), &[37.5, 12.5, 50.0], 0.1);
}

#[test]
fn cgroups_share_over_several_cpus() {
    let scene = under("cfs").cpus(2).cgroups(tree(100, 100));
    let scene = scene.task(within(hog("a").instances(2), 1)).task(within(hog("b").instances(8), 2));
    let seen = scene.millis(10_000).run();
    check_shares(&seen.shares(&["a", "b"]), &[1.0, 1.0], 0.1);
}

#[test]
fn high_priority_threads_that_crowd_a_queue_spread() {
    // 003: one queue has one low-priority thread and another ten high-priority ones.
    let many = task("high", [run(20_000), affinity([0, 1]), run(20_000_000)]).on([0]).nice(-5).instances(10);
    let few = task("low", [run(20_000), affinity([0, 1]), run(20_000_000)]).on([1]).nice(5);
    let seen = under("cfs").cpus(2).set("autogroup", 0).task(many).task(few).millis(10_000).run();
    // Each has 3121 of 31545 parts of two CPUs.
    let each = seen.cpu_ms("high") / 10;
    assert!((1800..=2010).contains(&each), "{each} ms of 10000, expected about 1979");
    assert!(seen.cpu_ms("low") < 700, "{} ms, expected about 212", seen.cpu_ms("low"));
}

#[test]
fn a_sleeping_task_is_not_load() {
    // 003: two queues of the same weight, one high-priority thread and nine low-priority ones; the one often sleeps.
    let weights = |scene: Scene| {
        let high = repeat("high", [run(2000), sleep(18_000)]).nice(-5).on([0]);
        let low = task("low", [run(2000), affinity([0, 1]), run(20_000_000)]).on([1]).nice(5).instances(9);
        scene.cpus(2).set("autogroup", 0).task(high).task(low).millis(5000).run()
    };
    let seen = weights(under("cfs"));
    assert!(seen.judgement.summary.busy_share > 0.98, "{}", seen.judgement.summary.busy_share);
    assert!(seen.longest_waste() < WASTE_MAX);
    assert!(seen.delay_us("high", 95) < 100, "{} us", seen.delay_us("high", 95));
}

/// Tasks that come and go at random on machines of every size, with a few that may not move.
fn coming_and_going(cpus: u32) -> Scene {
    let some = repeat("t", [run_up_to(40_000), sleep(30_000), run_up_to(3000), sleep(3000)]);
    let scene = under("cfs").cpus(cpus).task(some.instances(cpus * 2));
    let one: Spec = repeat("pinned", [run_up_to(5000), sleep(7000)]);
    scene.task(one.on([cpus - 1]).instances(2)).millis(2000)
}

#[test]
fn no_core_is_wasted_for_longer_than_a_balancing_interval() {
    for cpus in [1, 2, 8, 64] {
        let seen = coming_and_going(cpus).run();
        assert!(seen.longest_waste() < WASTE_MAX, "{cpus} CPUs: {}", seen.longest_waste());
        seen.assert_nobody_starves();
    }
}

#[test]
fn a_task_bound_to_two_far_cpus_is_brought_to_the_other() {
    let pair = task("p", [run(20_000), affinity([1, 62]), run(5_000_000)]).on([1]).instances(2);
    let seen = under("cfs").cpus(64).task(pair).millis(2000).run();
    assert!(seen.longest_waste() < WASTE_MAX * 2, "{}", seen.longest_waste());
    assert_eq!(seen.cpus("p"), [1, 62]);
}

#[test]
fn ten_thousand_forks_lose_no_task() {
    check_ten_thousand_forks("cfs");
}
