//! The first waiter of a mutex with priority inheritance spins as long as the owner has a CPU.

use crate::harness::*;
use crate::parts::*;
use keel_abi::task::{ObjectId, Policy, Step};
use keel_trace::What;
use keel_trace::event::Why;

/// This many CPUs, and four mutexes with or without priority inheritance.
fn scene(cpus: u32, spin: bool, inherit: bool) -> Scenario {
    with("tracer").on(machine(cpus, &format!("spin = {spin}"))).millis(60).workload(|w| {
        w.mutexes = 4;
        w.inheriting = (0..4).filter(|_| inherit).map(ObjectId).collect();
    })
}

/// Works for 10 ms with mutex 0 on CPU 0.
fn owner(policy: Policy) -> Spec {
    task("owner", [lock(0), run(10_000), unlock(0), run(1000)]).policy(policy).on([0])
}

/// Wants mutex 0 on this CPU from 1 ms on.
fn waiter(name: &str, priority: u8, cpu: u32) -> Spec {
    task(name, [lock(0), run(1000), unlock(0)]).policy(fifo(priority)).on([cpu]).after_ms(1)
}

/// When and why a task gave up its CPU, in microseconds.
fn leaves(seen: &Run, name: &str) -> Vec<(u64, Why)> {
    let id = seen.id(name);
    seen.events_of(|e| match e.what {
        What::Switch { prev, why, .. } if prev == id => Some((e.at.as_ns() / 1000, why)),
        _ => None,
    })
}

/// Like `leaves`, with nearby times rounded to these.
fn check(seen: &Run, name: &str, expected: &[(u64, Why)]) {
    let found = leaves(seen, name);
    let is_near = |(a, b): (&(u64, Why), &(u64, Why))| a.0.abs_diff(b.0) <= 150 && a.1 == b.1;
    let all = found.len() == expected.len() && found.iter().zip(expected).all(is_near);
    assert!(all, "{name}: {found:?}, and not {expected:?}");
}

#[test]
fn the_first_waiter_keeps_its_cpu() {
    for policy in [fifo(5), fifo(50), Policy::Other] {
        let run = |spin, inherit| {
            let x = hog("x").on([1]);
            scene(2, spin, inherit).task(owner(policy)).task(waiter("w", 20, 1)).task(x).survives()
        };
        let seen = run(true, true);
        check(&seen, "w", &[(11_000, Why::Exited)]);
        assert_eq!(seen.cpu_ms("w"), 10, "{policy:?}: it spins for 9 ms");
        let asleep = [(1000, Why::Blocked), (11_000, Why::Exited)];
        check(&run(false, true), "w", &asleep);
        check(&run(true, false), "w", &asleep);
        assert_eq!(run(false, true).cpu_ms("w"), 1);
        // None of that time counts as its own work.
        let own = |seen: &Run| seen.outcome.counters.user_time.as_ns() / 1_000_000;
        assert!(own(&run(false, true)) - own(&seen) >= 8, "x has 9 ms less");
    }
}

#[test]
fn it_gets_the_mutex_sooner_than_one_that_sleeps() {
    let taken_at = |spin| {
        let seen = scene(2, spin, true).task(owner(fifo(5))).task(waiter("w", 20, 1)).survives();
        seen.stops("w").last().expect("it ends").as_ns()
    };
    let [spinning, asleep] = [true, false].map(taken_at);
    assert!(spinning + 1000 < asleep, "{spinning} {asleep}");
}

#[test]
fn ordinary_tasks_do_so_too() {
    let w = waiter("w", 0, 1).policy(Policy::Other);
    let seen = scene(2, true, true).task(owner(Policy::Other)).task(w).survives();
    check(&seen, "w", &[(11_000, Why::Exited)]);
}

#[test]
fn the_second_waiter_sleeps_and_a_more_urgent_one_sends_the_first_to_sleep() {
    let second = waiter("second", 10, 2).after_ms(2);
    let seen = scene(3, true, true).task(owner(fifo(5))).task(waiter("w", 20, 1)).task(second).survives();
    check(&seen, "w", &[(11_000, Why::Exited)]);
    check(&seen, "second", &[(2000, Why::Blocked), (12_000, Why::Exited)]);
    let urgent = waiter("urgent", 30, 2).after_ms(4);
    let seen = scene(3, true, true).task(owner(fifo(5))).task(waiter("w", 20, 1)).task(urgent).survives();
    check(&seen, "w", &[(4000, Why::Blocked), (12_000, Why::Exited)]);
    check(&seen, "urgent", &[(11_000, Why::Exited)]);
}

#[test]
fn another_s_priority_may_send_it_to_sleep() {
    // `second` comes first once an urgent task waits for what it has.
    let second = task("second", [lock(1), lock(0), run(1000), unlock(0), unlock(1)]);
    let second = second.policy(fifo(10)).on([2]).after_ms(2);
    let urgent = task("urgent", [lock(1), run(1000), unlock(1)]).policy(fifo(60)).on([3]).after_ms(5);
    let base = scene(4, true, true).task(owner(fifo(5))).task(waiter("w", 20, 1));
    let seen = base.task(second).task(urgent).survives();
    check(&seen, "w", &[(5000, Why::Blocked), (12_000, Why::Exited)]);
    // If it is asleep when it becomes first, it stays asleep. A task that waits for it also sleeps.
    check(&seen, "second", &[(2000, Why::Blocked), (11_000, Why::Exited)]);
    check(&seen, "urgent", &[(5000, Why::Blocked), (12_000, Why::Exited)]);
}

#[test]
fn it_sleeps_once_the_owner_has_lost_its_cpu() {
    let other = task("other", [run(2000)]).policy(fifo(70)).on([0]).after_ms(3);
    let seen = scene(2, true, true).task(owner(fifo(5))).task(waiter("w", 20, 1)).task(other).survives();
    check(&seen, "w", &[(3000, Why::Blocked), (13_000, Why::Exited)]);
    // Or has gone to sleep while holding it.
    let steps = [lock(0), run(4000), sleep(4000), run(4000), unlock(0)];
    let owner = task("owner", steps).policy(fifo(5)).on([0]);
    let seen = scene(2, true, true).task(owner).task(waiter("w", 20, 1)).survives();
    check(&seen, "w", &[(4000, Why::Blocked), (13_000, Why::Exited)]);
}

#[test]
fn once_preempted_it_goes_on_when_it_has_its_cpu_again() {
    let other = |ms| task("other", [run(2000)]).policy(fifo(70)).on([1]).after_ms(ms);
    let base = || scene(2, true, true).task(owner(fifo(5))).task(waiter("w", 20, 1));
    let seen = base().task(other(3)).survives();
    check(&seen, "w", &[(3000, Why::Preempted), (11_000, Why::Exited)]);
    // The mutex becomes free meanwhile. Then it takes it.
    let seen = base().task(other(9)).survives();
    check(&seen, "w", &[(9000, Why::Preempted), (12_000, Why::Exited)]);
    // The owner loses its CPU meanwhile. Then it sleeps.
    let third = task("third", [run(4000)]).policy(fifo(70)).on([0]).after_ms(4);
    let seen = base().task(other(3)).task(third).survives();
    check(&seen, "w", &[(3000, Why::Preempted), (5000, Why::Blocked), (15_000, Why::Exited)]);
}

#[test]
fn a_chain_of_waiters_may_all_spin() {
    // Each holds a mutex and wants the one before.
    let link = |n: u32| {
        let steps = [lock(n), run(500 + u64::from(n)), lock(n - 1), run(1000), unlock(n - 1), unlock(n)];
        task(&format!("t{n}"), steps).policy(fifo(10 + n as u8)).on([n])
    };
    let seen = scene(4, true, true).task(owner(fifo(5))).task(link(1)).task(link(2)).task(link(3)).survives();
    for (name, end) in [("t1", 11_000), ("t2", 12_000), ("t3", 13_000)] {
        check(&seen, name, &[(end, Why::Exited)]);
    }
}

#[test]
fn ticks_and_turns_reach_a_spinning_task() {
    // Under SCHED_RR, a task of equal priority on its CPU gets its turn.
    let w = waiter("w", 20, 1).policy(Policy::RoundRobin(20));
    let equal = task("equal", [run(20_000)]).policy(Policy::RoundRobin(20)).on([1]).after_ms(2);
    let owner = task("owner", [lock(0), run(150_000), unlock(0)]).policy(fifo(5)).on([0]);
    let seen = scene(2, true, true).task(owner).task(w).task(equal).millis(200).survives();
    let turns = leaves(&seen, "w");
    assert_eq!(turns.iter().map(|turn| turn.1).collect::<Vec<_>>(), [Why::Preempted, Why::Exited]);
    assert!(turns[0].0.abs_diff(101_000) < 2000 && turns[1].0.abs_diff(151_000) < 500, "{turns:?}");
}

/// Random tasks over a few mutexes, always taken in the same order.
#[test]
fn no_waiter_is_left_waiting_or_woken_from_another_sleep() {
    const SLEEP_US: u64 = 700;
    for seed in 1..=24u64 {
        let mut draw = draws(seed * 0x9e37_79b9 + 1);
        let mut base = scene(2 + (seed % 3) as u32, true, true).millis(400);
        for n in 0..6u8 {
            let (a, b) = (draw(2) as u32, 2 + draw(2) as u32);
            let parts = [lock(a), run(draw(300)), lock(b), run(draw(300)), unlock(b), unlock(a)];
            let mut steps = parts.to_vec();
            steps.extend([sleep(SLEEP_US), run(draw(50)), Step::Loop { to: 0, times: Some(40), slot: 0 }]);
            let policy = if n < 2 { Policy::Other } else { fifo(10 * n) };
            base = base.task(task(&format!("t{n}"), steps).policy(policy));
        }
        let noise = repeat("noise", [run(400), sleep(900)]).policy(fifo(35)).instances(2);
        let seen = base.task(noise).survives();
        let exits = seen.events_of(|e| match e.what {
            What::Exit { task } => Some(task),
            _ => None,
        });
        assert_eq!(exits.len(), 6, "seed {seed}: all come to their end");
        let mut slept = std::collections::BTreeMap::new();
        for event in &seen.events {
            match event.what {
                What::Switch { prev, why: Why::Blocked, .. } => {
                    slept.insert(prev, event.at);
                }
                // Timers wake no task on behalf of another task.
                What::Wakeup { task, waker, .. } if waker.is_idle() && task != keel_abi::TaskId(0) => {
                    let span = slept.get(&task).map_or(u64::MAX, |&at| event.at.since(at).as_ns() / 1000);
                    assert!(span + 10 >= SLEEP_US, "seed {seed}: {task:?} slept {span} us at {:?}", event.at);
                }
                What::Wakeup { task, waker, .. } if !waker.is_idle() => {
                    assert!(slept.contains_key(&task), "seed {seed}: only who sleeps is woken");
                }
                _ => {}
            }
        }
    }
}
