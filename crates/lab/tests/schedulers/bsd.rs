//! `bsd`: FreeBSD's scheduler before ULE.

use crate::harness::{repeat, run, sleep, task};
use crate::scene::{
    Seen, check_affinity, check_hogs_share_alike, check_shares, check_ten_thousand_forks, coming_and_going,
    hog, under,
};
use keel_abi::task::Step;
use keel_abi::{Instant, Span};

#[test]
fn shares_follow_nice_as_use_and_decay_balance() {
    let nice = [("n0", 0), ("n5", 5), ("n10", 10)];
    let scene = nice.iter().fold(under("bsd"), |scene, &(name, nice)| scene.task(hog(name).nice(nice)));
    let seen = scene.millis(300_000).run();
    // Under a load of L hogs 256 L charges last, 8 to a priority: each has 32 priorities' worth, more or less by its
    // nice value.
    check_shares(&seen.shares(&nice.map(|(name, _)| name)), &[37.0, 32.0, 27.0], 0.07);
    // While the load average is still near zero, each second's decay forgets all use. Then only use within one second
    // raises a priority number, and a nice task waits until each of the others has 8 charges for each nice value
    // between them.
    seen.assert_nobody_starves_from(Instant::from_ns(10_000_000_000));
}

#[test]
fn no_task_starves_whatever_its_nice_value() {
    let nice = [("best", -20), ("plain", 0), ("worst", 19)];
    let scene = nice.iter().fold(under("bsd"), |scene, &(name, nice)| scene.task(hog(name).nice(nice)));
    let seen = scene.millis(120_000).run();
    let shares = seen.shares(&nice.map(|(name, _)| name));
    assert!(shares[0] > shares[1] && shares[1] > shares[2] && shares[2] > 1.0, "{shares:?}");
}

#[test]
fn hogs_share_alike_on_any_number_of_cpus() {
    check_hogs_share_alike("bsd");
}

#[test]
fn ten_thousand_forks() {
    check_ten_thousand_forks("bsd");
}

#[test]
fn equals_take_turns_each_quantum() {
    let switches = |quantum_ms: u64| {
        let scene = under("bsd").set("quantum_ns", quantum_ms * 1_000_000).task(hog("h").instances(2));
        scene.millis(10_000).run().judgement.summary.switches
    };
    let (long, short) = (switches(100), switches(20));
    assert!((90..=110).contains(&long), "every 100 ms for 10 s: {long} switches");
    assert!((400..=520).contains(&short), "every 20 ms: {short} switches");
}

fn beside_hogs(cpus: u32, name: &str, steps: [Step; 2], waking_priority: u32) -> Seen {
    let scene = under("bsd").cpus(cpus).set("waking_priority", waking_priority);
    let scene = scene.task(hog("h").instances(cpus * 3)).task(repeat(name, steps).after_ms(100));
    let seen = scene.millis(5000).run();
    seen.assert_nobody_starves();
    seen
}

#[test]
fn a_light_task_beside_hogs_runs_at_once() {
    for cpus in [1, 2, 8, 64] {
        for waking_priority in [1, 0] {
            let seen = beside_hogs(cpus, "light", [run(1000), sleep(20_000)], waking_priority);
            // Without the kernel's priority it begins as one of them, and is the better one after a second or two.
            let delay = seen.delay_us("light", if waking_priority == 1 { 99 } else { 50 });
            assert!(delay < 100, "{cpus} CPUs: {delay} us");
        }
    }
}

#[test]
fn a_woken_task_goes_first_whatever_it_used() {
    let heavy = [run(20_000), sleep(2000)];
    let seen = beside_hogs(1, "heavy", heavy.clone(), 1);
    assert!(seen.delay_us("heavy", 90) < 100, "{} us", seen.delay_us("heavy", 90));
    let seen = beside_hogs(1, "heavy", heavy, 0);
    assert!(seen.delay_us("heavy", 90) > 10_000, "its own priority: {} us", seen.delay_us("heavy", 90));
}

/// How much of 0.4 s of work a task gets done in the 0.5 s after it has slept for 20 s. Before that, it was a hog like
/// its rival.
fn share_after_sleep(decay: u32) -> f64 {
    let steps = [run(40_000_000), sleep(20_000_000), run(400_000), sleep(90_000_000)];
    let seen =
        under("bsd").set("decay", decay).task(task("t", steps)).task(hog("rival")).millis(110_000).run();
    let woken = seen.delays("t").first().expect("it slept").0;
    let stints = seen.stints("t").into_iter().filter(|stint| stint.from >= woken);
    let soon = stints.filter(|stint| stint.from < woken + Span::from_ms(500));
    soon.map(|stint| stint.length.as_ns()).sum::<u64>() as f64 / 400e6
}

#[test]
fn a_sleeper_is_forgiven() {
    let (forgiven, never) = (share_after_sleep(1), share_after_sleep(0));
    assert!(forgiven > 0.95, "{forgiven} of its work");
    assert!(never < 0.8, "where nothing is forgotten: {never} of its work");
}

#[test]
fn forking_does_not_evade_the_penalty() {
    let forks = repeat("parent", [Step::Spawn(1), Step::WaitChild]);
    let scene = under("bsd").task(forks).task(task("child", [run(40_000)]).instances(0)).task(hog("h"));
    let seen = scene.millis(60_000).run();
    let share = seen.shares(&["parent", "child", "h"]);
    // A child begins with its parent's use, and hands its own back, the inherited part included.
    assert!(share[2] > 45.0, "the hog has {:.1} %", share[2]);
}

#[test]
fn tasks_go_wherever_a_cpu_is_free_first() {
    let uneven = |scheduler| under(scheduler).cpus(8).task(hog("h").instances(12)).millis(3000).run();
    let (bsd, o1) = (uneven("bsd"), uneven("o1"));
    assert!(bsd.migrations("h") > 60, "{}", bsd.migrations("h"));
    assert!(o1.migrations("h") <= 8, "{}", o1.migrations("h"));
}

#[test]
fn tasks_keep_to_their_cpus() {
    let seen = check_affinity("bsd", 2000);
    assert_eq!(seen.cpus("a"), [3, 80]);
}

#[test]
fn a_yield_lets_equals_by() {
    let yields = repeat("y", [run(100), Step::Yield]);
    let seen = under("bsd").task(yields.clone().instances(2)).millis(500).run();
    assert!(seen.judgement.summary.switches > 4000, "two that yield take turns");
    let alone = under("bsd").task(yields).millis(500).run();
    assert!(alone.judgement.summary.switches < 10, "with nobody else it goes on");
}

#[test]
fn no_core_is_wasted() {
    for cpus in [1, 2, 8, 64] {
        let seen = coming_and_going("bsd", cpus).run();
        assert!(seen.longest_waste() < Span::from_ms(1), "{cpus} CPUs: {}", seen.longest_waste());
        seen.assert_nobody_starves();
    }
}
