//! The budget of the real-time class in kernels that have one instead of deadline servers: a part of each period, on
//! each CPU; the rest is for other tasks.

use crate::harness::*;
use crate::parts::{draws, fifo, lock, unlock};
use keel_abi::task::ObjectId;
use keel_abi::timeline::{Change, Happening};
use keel_abi::{CpuId, Instant, Span};
use keel_lab::{Machine, machines};
use keel_trace::What;

/// The lateness of a tick, and the time of a switch.
const TICK_US: u64 = 1050;

/// A machine whose real-time tasks may use 95 of every 100 ms, or as given.
fn machine(cpus: u32, throttle: &str) -> Machine {
    let text = format!(
        "name = 'm'\nhz = 1000\n[topology]\nnodes = 1\ncores_per_llc = {cpus}\n[realtime]\n{throttle}\n"
    );
    machines::read("m.toml", &text).unwrap()
}

const OF_100: &str = "throttle = { runtime_us = 95000, period_us = 100000 }";
const SPARING: &str = "throttle = { runtime_us = 95000, period_us = 100000, spares_boosted = true }";
const NO_LIMIT: &str = "throttle = { runtime_us = 100000, period_us = 100000 }";

fn on(cpus: u32, throttle: &str) -> Scenario {
    with("tracer").on(machine(cpus, throttle))
}

/// A task that never stops working.
fn endless(name: &str) -> Spec {
    repeat(name, [run(1_000_000)])
}

/// When a task had a CPU, in microseconds.
fn turns_us(seen: &Run, name: &str) -> Vec<(u64, u64)> {
    let us = |at: Instant| at.as_ns() / 1000;
    let stops = seen.stops(name).into_iter().chain([seen.outcome.end]);
    seen.starts(name).into_iter().zip(stops).map(|((from, _), to)| (us(from), us(to))).collect()
}

/// Like `turns_us`, without what ended before the real-time tasks begin.
fn served_us(seen: &Run, name: &str) -> Vec<(u64, u64)> {
    turns_us(seen, name).into_iter().filter(|(_, to)| *to > 1000).collect()
}

/// Whether these are the ends of the periods that began at `first_us`. The last period may not be over.
fn check_ends_of_periods(turns: &[(u64, u64)], first_us: u64, count: usize) {
    assert_eq!(turns.len(), count, "{turns:?}");
    for (period, &(from, to)) in turns.iter().enumerate() {
        let begins = first_us + 100_000 * period as u64;
        // The first tick's lateness is subtracted at once, so no later one is later.
        assert!((begins + 94_000..=begins + 95_000 + TICK_US).contains(&from), "{period}: {turns:?}");
        assert!(to.abs_diff(begins + 100_000) <= 100, "{period}: {turns:?}");
    }
}

#[test]
fn a_spinning_task_leaves_others_the_end_of_each_period() {
    let base = || on(1, OF_100).task(endless("rt").policy(fifo(99))).millis(1000);
    let seen = base().task(endless("x")).survives();
    check_ends_of_periods(&served_us(&seen, "x"), 0, 10);
    assert!((45..=55).contains(&seen.cpu_ms("x")), "5 of 100: {} ms", seen.cpu_ms("x"));
    // The same for fair tasks, which share what is left.
    let partial = base().recipe("[ops]\nflags = ['SCX_OPS_SWITCH_PARTIAL']\n").task(endless("x")).survives();
    check_ends_of_periods(&served_us(&partial, "x"), 0, 10);
    let two = base().recipe("[ops]\nflags = ['SCX_OPS_SWITCH_PARTIAL']\n");
    let two = two.task(endless("x")).task(endless("y")).survives();
    for name in ["x", "y"] {
        assert!((20..=30).contains(&two.cpu_ms(name)), "{name}: {} ms", two.cpu_ms(name));
    }
    assert!(two.cpu_ms("rt") > 945, "{}", two.cpu_ms("rt"));
}

#[test]
fn a_cpu_with_only_throttled_tasks_idles() {
    let seen = on(1, OF_100).task(endless("rt").policy(fifo(99))).millis(1000).survives();
    assert!((948..=955).contains(&seen.cpu_ms("rt")), "{} ms", seen.cpu_ms("rt"));
    let idle = seen.events_of(|e| match e.what {
        What::Switch { next, .. } if next.is_idle() => Some(e.at.as_ns() / 100_000_000),
        _ => None,
    });
    assert!((0..10).all(|period| idle.contains(&period)), "{idle:?}");
}

#[test]
fn the_first_period_begins_with_the_first_real_time_task_after_none() {
    let brief = task("brief", [run(10_000)]).policy(fifo(5)).after_ms(30);
    let rt = endless("rt").policy(fifo(5)).after_ms(452);
    let seen = on(1, OF_100).task(brief).task(rt).task(endless("x")).millis(1000).survives();
    let served: Vec<_> = served_us(&seen, "x").into_iter().filter(|(from, _)| *from > 452_000).collect();
    check_ends_of_periods(&served, 452_000, 5);
}

#[test]
fn a_task_below_the_limit_never_waits() {
    // 90 of every 100 ms, if others want the rest of the CPU.
    let rt = repeat("rt", [run(9000), timer(0, 10_000)]).policy(fifo(50));
    let seen = on(1, OF_100).task(rt).task(endless("x")).millis(1000).survives();
    let late = turns_us(&seen, "rt").into_iter().filter(|(from, to)| to - from > 9300 || from % 10_000 > 300);
    assert_eq!(late.collect::<Vec<_>>(), []);
    assert!(seen.cpu_ms("rt") > 890);
}

#[test]
fn each_cpu_has_its_own_budget_and_tasks_that_wait_for_it_stay() {
    // CPU 1 has time left, which CPUs do not lend to each other. `rt` might go there.
    let rt = task("rt", [affinity([0]), affinity([0, 1]), run(10_000_000)]).policy(fifo(50));
    let half = repeat("half", [run(500), sleep(500)]).policy(fifo(60)).on([1]);
    let seen = on(2, OF_100).task(rt).task(half).task(endless("x").on([0])).millis(1000).survives();
    check_ends_of_periods(&served_us(&seen, "x"), 0, 10);
    assert!((945..=955).contains(&seen.cpu_ms("rt")), "{} ms", seen.cpu_ms("rt"));
    assert!(
        seen.starts("rt").iter().skip_while(|start| start.1 == CpuId(1)).all(|start| start.1 == CpuId(0))
    );
    let (from, to) = *turns_us(&seen, "half").iter().max_by_key(|(from, to)| to - from).expect("it runs");
    assert!(to - from < 600, "nobody keeps it from its CPU");
}

#[test]
fn a_task_that_wakes_meanwhile_waits_for_the_next_period_too() {
    let urgent = task("urgent", [run(1000)]).policy(fifo(99)).after_ms(97);
    let seen = on(1, OF_100).task(endless("rt").policy(fifo(5))).task(urgent).task(endless("x")).millis(200);
    let seen = seen.survives();
    assert!(near(seen.starts("urgent")[0].0, 100_000, 100), "{:?}", seen.starts("urgent"));
    // And if it may go elsewhere, it need not wait.
    let free = task("free", [run(1000)]).policy(fifo(3)).after_ms(97);
    let busy = endless("rt").policy(fifo(5)).on([0]);
    let seen = on(2, OF_100).task(busy).task(free.on([1])).task(endless("x")).millis(200).survives();
    assert!(near(seen.starts("free")[0].0, 97_000, 100), "{:?}", seen.starts("free"));
}

/// The owner of a mutex holds it for this long; from 50 ms on an urgent task waits.
fn inherited(throttle: &str, ms: u64) -> Run {
    let owner = task("owner", [lock(0), run(ms * 1000), unlock(0), run(500_000)]).policy(fifo(5)).on([0]);
    let high = task("high", [lock(0), run(100), unlock(0)]).policy(fifo(50)).on([1]).after_ms(50);
    let scenario = on(2, throttle).task(owner).task(high).task(endless("x").on([0])).millis(300);
    scenario
        .workload(|w| {
            w.mutexes = 1;
            w.inheriting = vec![ObjectId(0)];
        })
        .survives()
}

/// When CPU 0 becomes another's for the first time, and when the urgent task ends.
fn check_inherited(throttle: &str, ms: u64, served: u64, ends: u64) {
    let seen = inherited(throttle, ms);
    let turns = served_us(&seen, "x");
    let high = turns_us(&seen, "high").last().expect("it ends").1;
    let late =
        |us: u64, expected_ms: u64| (expected_ms * 1000..=expected_ms * 1000 + 2 * TICK_US).contains(&us);
    assert!(late(turns[0].0, served) && late(high, ends), "{throttle} {ms}: {turns:?}, {high}");
}

#[test]
fn an_inherited_priority_is_not_throttled_where_the_kernel_spares_it() {
    // Others get the CPU once it has released the mutex.
    check_inherited(SPARING, 97, 97, 97);
    // The time beyond its budget is subtracted in the second period.
    check_inherited(SPARING, 110, 190, 110);
    // Without group scheduling, no task is exempt: others get 5 ms before it ends.
    check_inherited(OF_100, 97, 95, 101);
    check_inherited(OF_100, 110, 95, 114);
}

#[test]
fn a_runtime_as_long_as_the_period_is_no_limit_and_no_server_stands_in() {
    let seen = on(1, NO_LIMIT).task(endless("rt").policy(fifo(5))).task(endless("x")).millis(2500).survives();
    assert_eq!(served_us(&seen, "x"), []);
    let with_servers =
        on(1, "").task(endless("rt").policy(fifo(5))).task(endless("x")).millis(2500).survives();
    assert_eq!(served_us(&with_servers, "x").len(), 2);
}

#[test]
fn a_waiter_on_a_cpu_going_offline_runs_elsewhere_at_once() {
    let rt = task("rt", [affinity([1]), affinity([0, 1]), run(10_000_000)]).policy(fifo(50));
    let change =
        |ms, change| Happening { at: Span::from_ms(ms), every: None, times: None, follows: false, change };
    let scenario = with("hotplug").on(machine(2, OF_100)).task(rt).task(endless("x").on([0])).millis(400);
    let scenario = scenario.workload(|w| {
        w.timeline.push(change(97, Change::Offline(set([1]))));
        w.timeline.push(change(250, Change::Online(set([1]))));
    });
    let seen = scenario.survives();
    // It is picked where it was, and pushed away.
    let after = seen.starts("rt").into_iter().filter(|(at, _)| at.as_ns() > 96_000_000);
    let moved = after.clone().find(|(_, cpu)| *cpu == CpuId(0)).expect("it goes on");
    assert!(near(moved.0, 97_000, 100), "{:?}", after.collect::<Vec<_>>());
}

#[test]
fn each_cpu_s_share_holds_whichever_tasks_come_and_go() {
    for seed in 1..=8u64 {
        let mut draw = draws(seed * 0x9e37_79b9 + 1);
        let cpus = 1 + (seed % 4) as u32;
        let mut scenario = on(cpus, "throttle = { runtime_us = 8000, period_us = 10000 }").millis(400);
        for n in 0..8 {
            let steps = [run(20 + draw(2500)), sleep(10 + draw(6000))];
            let one = repeat(&format!("t{n}"), steps).policy(fifo(10 + draw(80) as u8));
            scenario = scenario.task(if draw(3) == 0 { one.on([draw(u64::from(cpus)) as u32]) } else { one });
        }
        for cpu in 0..cpus {
            scenario = scenario.task(endless(&format!("rt{cpu}")).policy(fifo(1)).on([cpu]));
            scenario = scenario.task(endless(&format!("x{cpu}")).on([cpu]));
        }
        let seen = scenario.survives();
        for cpu in 0..cpus {
            let got = seen.cpu_ms(&format!("x{cpu}"));
            assert!((74..=84).contains(&got), "seed {seed}, CPU {cpu}: {got} ms of 400, and not 80");
        }
    }
}

#[test]
fn every_engine_and_every_run_is_the_same() {
    let scene = |engine| {
        let tasks = [("a", 5), ("b", 50)].map(|(name, priority)| {
            repeat(name, [run_up_to(4000), sleep(300)]).policy(fifo(priority)).instances(3)
        });
        let [a, b] = tasks;
        on(3, OF_100).task(a).task(b).task(endless("x").instances(4)).millis(400).engine(engine).survives()
    };
    let first = scene(keel_lab::Engine::Native);
    for engine in [keel_lab::Engine::Native, keel_lab::Engine::Interpreter] {
        assert_eq!(scene(engine).events, first.events);
    }
}
