//! `mq`: the HP multiqueue patch for Linux 2.4.

use crate::harness::{Spec, affinity, repeat, run, run_up_to, sleep, task};
use crate::scene::{
    Scene, Seen, check_affinity, check_hogs_share_alike, check_shares, check_ten_thousand_forks,
    coming_and_going, hog, under,
};
use keel_abi::Span;
use keel_abi::task::Step;

/// Hogs of four nice values: names and values.
const NICE: [(&str, i8); 4] = [("n0", 0), ("n5", 5), ("n10", 10), ("n19", 19)];

#[test]
fn shares_are_as_counters() {
    let scene = NICE.iter().fold(under("mq"), |scene, &(name, nice)| scene.task(hog(name).nice(nice)));
    let seen = scene.millis(10_000).run();
    // (20 - nice) / 4 + 1 ticks.
    check_shares(&seen.shares(&NICE.map(|(name, _)| name)), &[6.0, 4.0, 3.0, 1.0], 0.1);
    seen.assert_nobody_starves();
}

#[test]
fn hogs_share_alike_on_any_number_of_cpus() {
    check_hogs_share_alike("mq");
}

#[test]
fn ten_thousand_forks() {
    check_ten_thousand_forks("mq");
}

fn light_beside_hogs(scheduler: &str, cpus: u32, hogs: u32) -> Seen {
    let light = repeat("light", [run(1000), sleep(20_000)]).after_ms(100);
    let seen = under(scheduler).cpus(cpus).task(hog("h").instances(hogs)).task(light).millis(5000).run();
    seen.assert_nobody_starves();
    seen
}

#[test]
fn a_light_task_beside_hogs_waits_for_their_turns_to_end_as_it_does_not_under_goodness() {
    for cpus in [1, 2, 8, 64] {
        let seen = light_beside_hogs("mq", cpus, cpus * 3);
        let (median, slowest) = (seen.delay_us("light", 50), seen.delay_us("light", 99));
        // The running task's 15 outdo what the counters can differ by: no task is preempted.
        assert!(median > 2000, "{cpus} CPUs: {median} us");
        assert!(slowest < 125_000, "{cpus} CPUs: {slowest} us, more than two turns");
    }
    let median = light_beside_hogs("goodness", 8, 24).delay_us("light", 50);
    assert!(median < 100, "{median} us");
    let median = light_beside_hogs("mq", 8, 7).delay_us("light", 99);
    assert!(median < 100, "with a CPU for it: {median} us");
}

#[test]
fn tasks_keep_to_their_cpus() {
    let seen = check_affinity("mq", 2000);
    assert_eq!(seen.cpus("a"), [3, 80]);
}

/// One hog more than CPUs.
fn one_too_many(cpus: u32) -> Scene {
    under("mq").cpus(cpus).task(hog("h").instances(cpus + 1)).millis(6000)
}

fn least_and_most_ms(seen: &Seen, name: &str) -> (u64, u64) {
    let times = seen.judgement.summary.tasks.iter().filter(|t| t.name == name);
    let times: Vec<u64> = times.map(|t| t.cpu.as_ns() / 1_000_000).collect();
    (*times.iter().min().unwrap(), *times.iter().max().unwrap())
}

#[test]
fn theft_comes_before_recalculation() {
    for cpus in [2, 8] {
        // A task alone on its CPU would get a new counter before the two that share theirs had used theirs up.
        let (least, most) = least_and_most_ms(&one_too_many(cpus).run(), "h");
        assert!(least * 100 > most * 85, "{cpus} CPUs: {least} to {most} ms");
        let (least, most) = least_and_most_ms(&one_too_many(cpus).set("steal", 0).run(), "h");
        assert!(least * 100 < most * 60, "without theft, {cpus} CPUs: {least} to {most} ms");
    }
}

/// A task whose last CPU is now another's waits for that one or CPU 2.
fn waits_for_2(name: &str, cpu: u32) -> Spec {
    task(name, [run(100), affinity([cpu, 2]), sleep(10_000), run(5_000_000)]).on([cpu])
}

#[test]
fn a_thief_takes_the_best_of_all_lists() {
    let taken = |cpu: u32| hog(&format!("h{cpu}")).on([cpu]).nice(-10).after_ms(3);
    let owner = repeat("owner", [run(50_000), sleep(20_000)]).on([2]).nice(-20).after_ms(3);
    let scene = under("mq").cpus(3).task(taken(0)).task(taken(1)).task(owner);
    let scene = scene.task(waits_for_2("worse", 0).nice(5)).task(waits_for_2("better", 1));
    let seen = scene.millis(200).run();
    // The worse one waits in the list that comes first.
    let [better, worse] = ["better", "worse"].map(|name| seen.stints(name).get(1).copied());
    let better = better.expect("it is stolen when the owner sleeps");
    assert_eq!(better.cpu.0, 2);
    assert!(worse.is_none_or(|worse| worse.from > better.from), "{worse:?}");
}

#[test]
fn a_wakeup_hops_to_the_cpu_that_has_idled_longest() {
    // CPUs 1 and 2 idle, 2 for longer; a hog has the wakee's own. A task that hops need not be stolen.
    let steps = [run(100), affinity([0, 1, 2]), sleep(50_500), run(100), sleep(10_000)];
    let scene =
        under("mq").cpus(3).set("steal", 0).task(task("w", steps).on([0])).task(hog("h").on([0]).after_ms(5));
    let seen = scene.task(repeat("t", [run(100), sleep(1900)]).on([1])).millis(60).run();
    assert_eq!(seen.stints("w").last().unwrap().cpu.0, 2, "{:?}", seen.stints("w"));
}

/// How many wakeups of a task that last ran on `home` were followed by running at once, and how many there were. CPU 0
/// has a hog that weighs less than the task, CPU 1 one that weighs more and seldom sleeps.
fn at_once(scheduler: &str, home: u32) -> (usize, usize) {
    let good = repeat("good", [run(45_000), sleep(5000)]).nice(-15).on([1]);
    let scene = under(scheduler).cpus(2).task(hog("bad").nice(15).on([0])).task(good);
    let wakes = [affinity([home]), run(200), affinity([0, 1]), sleep(30_000), run(200)];
    let seen = scene.task(repeat("w", wakes).after_ms(5)).millis(6000).run();
    let delays = seen.delays("w");
    (delays.iter().filter(|(_, delay)| *delay < Span::from_us(100)).count(), delays.len())
}

#[test]
fn a_wakeup_preempts_on_its_own_cpu_alone() {
    // Nice 0 against 15: 6 and 20 against 2, 5 and 15.
    let (soon, all) = at_once("mq", 0);
    assert!(soon * 10 > all * 8, "its own CPU: {soon} of {all}");
    let (soon, all) = at_once("mq", 1);
    assert!(soon * 10 < all * 4, "the other is reported, and does not find it in its list: {soon} of {all}");
    let (soon, all) = at_once("goodness", 1);
    assert!(soon * 10 > all * 8, "one list for both: {soon} of {all}");
}

#[test]
fn with_the_bonus_of_24_a_wakeup_preempts_a_hog_that_has_less_time_left() {
    let soon = |bonus: u32| {
        let light = repeat("light", [run(200), sleep(30_000)]).after_ms(5);
        let scene = under("mq").task(hog("h")).task(light).set("bonus", bonus);
        let delays = scene.millis(6000).run().delays("light");
        delays.iter().filter(|(_, delay)| *delay < Span::from_us(100)).count() * 100 / delays.len()
    };
    let (without, with) = (soon(0), soon(1));
    assert!(without < 30 && with > 60, "at once: {without} % without, {with} % with");
}

#[test]
fn a_yield_gives_way_once() {
    let yields = repeat("y", [run(100), Step::Yield]);
    let seen = under("mq").task(yields.clone().instances(2)).millis(500).run();
    let switches = seen.judgement.summary.switches;
    assert!(switches > 4000, "two that yield take turns: {switches} switches");
    let alone = under("mq").task(yields.clone()).millis(500).run();
    assert!(alone.judgement.summary.switches < 10, "with nobody else nothing happens");
    // A task that yields and continues gets no new counter. Otherwise the first of two hogs elsewhere would never stop.
    let scene = under("mq").cpus(2).task(yields.clone().on([0])).task(hog("h").on([1]).instances(2));
    let (least, most) = least_and_most_ms(&scene.millis(2000).run(), "h");
    assert!(least * 100 > most * 85, "{least} to {most} ms");
    // A CPU whose task yields steals instead of continuing it.
    let scene =
        under("mq").cpus(2).task(yields.on([0])).task(hog("bound").on([1])).task(hog("free").on([1, 0]));
    let seen = scene.millis(500).run();
    assert!(seen.cpus("free").contains(&0) && seen.cpu_ms("y") < 50, "{} ms", seen.cpu_ms("y"));
}

/// Instructions of the scheduler per switch, with hundreds of waiting tasks.
fn instructions_per_switch(one_list: bool) -> f64 {
    let works = repeat("w", [run_up_to(400), sleep(3000)]).instances(400);
    let scene = under("mq").cpus(8).set("global_queue", u32::from(one_list)).task(works);
    let [early, late] = [300, 600].map(|ms| scene.clone().millis(ms).run().outcome);
    let insns = late.overhead.instructions - early.overhead.instructions;
    insns as f64 / (late.counters.switches - early.counters.switches) as f64
}

#[test]
fn a_list_for_each_cpu_is_shorter() {
    let (own, one) = (instructions_per_switch(false), instructions_per_switch(true));
    assert!(one > 2.5 * own, "{own:.0} instructions with a list a CPU, {one:.0} with one for all");
}

#[test]
fn no_core_is_wasted_while_others_have_tasks_to_steal() {
    for cpus in [2, 8, 64] {
        let scene = coming_and_going("mq", cpus);
        let waste = scene.clone().run().longest_waste();
        assert!(waste < Span::from_ms(3), "{cpus} CPUs: {waste:?}");
        let waste = scene.set("steal", 0).run().longest_waste();
        assert!(waste > Span::from_ms(5), "{cpus} CPUs, without theft: {waste:?}");
    }
}
