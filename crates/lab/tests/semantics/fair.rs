//! The fair class next to a sched_ext scheduler: shares, slices, wakeups, placement.

use crate::harness::*;
use crate::outside::{at, confine, every};
use keel_abi::Span;
use keel_abi::task::{Policy, Step};
use keel_abi::timeline::Change;
use keel_trace::What;

/// A machine whose tasks are nearly all the kernel's own.
fn fair(cpus: u32) -> Scenario {
    with("tracer").recipe("[ops]\nflags = ['SCX_OPS_SWITCH_PARTIAL']\n").cpus(cpus)
}

#[test]
fn time_goes_by_weight() {
    let share = |first: Spec, second: Spec| {
        let run = fair(1).task(first).task(second).millis(1000).survives();
        run.cpu_ms("a") as f64 / run.cpu_ms("b") as f64
    };
    let check =
        |ratio: f64, expected: f64| assert!((ratio / expected - 1.0).abs() < 0.03, "{ratio} {expected}");
    check(share(hog("a"), hog("b")), 1.0);
    check(share(hog("a"), hog("b").nice(5)), 1024.0 / 335.0);
    check(share(hog("a").nice(-5), hog("b").policy(Policy::Batch)), 3121.0 / 1024.0);
    let idle = share(hog("a"), hog("b").policy(Policy::Idle));
    assert!(idle > 100.0, "{idle}");
}

#[test]
fn a_nice_value_counts_from_its_change_on() {
    let change = at(500_000, Change::Nice { spec: 1, nice: 19 });
    let base = fair(1).task(hog("a")).task(hog("b")).millis(1000);
    let run = base.workload(|w| w.timeline.push(change)).survives();
    assert!(
        (735..=750).contains(&run.cpu_ms("a")),
        "half of the first half, then 1024 of 1039: {}",
        run.cpu_ms("a")
    );
}

#[test]
fn turns_are_slices_of_the_machine() {
    // 0.7 ms on one CPU, where a timer ends it between ticks; 2.8 ms on eight.
    let turn = |cpus: u32| {
        let run = fair(cpus).task(hog("a").on([0])).task(hog("b").on([0])).millis(300).survives();
        let turns = run.starts("a").len() as u64;
        run.cpu_ms("a") * 1000 / turns
    };
    assert!((650..=750).contains(&turn(1)), "{}", turn(1));
    assert!((2700..=2900).contains(&turn(8)), "{}", turn(8));
}

#[test]
fn a_sleeper_gets_the_cpu_soon_and_no_more_than_its_share() {
    let run =
        fair(1).task(hog("x")).task(repeat("a", [run(200), sleep(5000)]).after_ms(3)).millis(400).survives();
    let wakeups =
        run.events_of(|e| matches!(e.what, What::Wakeup { task, .. } if task == run.id("a")).then_some(e.at));
    let starts = run.starts("a");
    let waited = |at| starts.iter().find(|(start, _)| *start >= at).map(|(start, _)| start.since(at).as_ns());
    let mut waits: Vec<u64> = wakeups.iter().filter_map(|&at| waited(at)).collect();
    waits.sort_unstable();
    assert!(waits.len() > 50 && waits[waits.len() / 2] < 100_000, "{waits:?}");
}

#[test]
fn wakeups_of_batch_tasks_preempt_nothing() {
    let waits = |policy| {
        let a = repeat("a", [run(200), sleep(5000)]).policy(policy).after_ms(3);
        let run = fair(1).task(hog("x")).task(a).millis(400).survives();
        let woken = run.events_of(|e| {
            matches!(e.what, What::Wakeup { task, .. } if task == run.id("a")).then_some(e.at)
        });
        let starts = run.starts("a");
        let is_at_once =
            |at| starts.iter().any(|(start, _)| *start >= at && start.since(at) < Span::from_us(20));
        (woken.iter().filter(|&&at| is_at_once(at)).count(), woken.len())
    };
    let (at_once, times) = waits(Policy::Other);
    assert!(at_once * 2 > times, "{at_once} of {times}");
    let (at_once, times) = waits(Policy::Batch);
    // The end of the other's slice lets them in.
    assert!(times > 40 && at_once * 5 < times, "{at_once} of {times}");
}

#[test]
fn any_runnable_task_goes_before_sched_idle() {
    let base = fair(1).task(hog("x").policy(Policy::Idle)).task(repeat("a", [run(3000), sleep(2000)]));
    let run = base.millis(100).survives();
    assert!((55..=61).contains(&run.cpu_ms("a")), "{}", run.cpu_ms("a"));
}

#[test]
fn a_yield_lets_others_first() {
    let base = fair(1).task(repeat("a", [run(50), Step::Yield])).task(hog("b"));
    let run = base.millis(100).survives();
    // Each turn of `a` is one step, each of `b` a slice.
    assert!(run.cpu_ms("b") > 80, "{}", run.cpu_ms("b"));
}

#[test]
fn new_tasks_go_to_idle_cpus() {
    // All are children of one task.
    let forks = (0..3).map(|_| Step::Fork(0)).chain([run(50_000)]);
    let run = fair(4).task(hog("a").instances(0)).task(task("parent", forks)).millis(50).survives();
    let mut on = [0; 4];
    on[run.starts("parent")[0].1.index()] += 1;
    for id in run.ids("a") {
        on[run.starts_of(id)[0].1.index()] += 1;
    }
    assert_eq!(on, [1; 4]);
}

#[test]
fn the_more_cpus_are_looked_at_the_longer_a_fork_takes() {
    let forks = || (0..20).map(|_| Step::Fork(0));
    let done_ns = |cpus| {
        let base =
            fair(cpus).task(task("a", [run(10)]).instances(0)).task(task("parent", forks())).millis(20);
        base.survives().stops("parent")[0].as_ns()
    };
    let (few, many) = (done_ns(2), done_ns(64));
    assert!(many > few + 20 * 100, "{few} {many}");
}

#[test]
fn a_waking_task_goes_to_an_idle_cpu_near_where_it_was() {
    let base = fair(2).task(repeat("a", [run(100), sleep(900)])).task(hog("x").on([0]).after_ms(5));
    let run = base.millis(50).survives();
    let late: Vec<u32> =
        run.starts("a").iter().filter(|(at, _)| at.as_ns() > 6_000_000).map(|(_, cpu)| cpu.0).collect();
    assert!(late.len() > 20 && late.iter().all(|&cpu| cpu == 1), "{late:?}");
}

#[test]
fn a_cpu_without_work_takes_what_waits_elsewhere() {
    // Both begin on CPU 0, and may go anywhere from 10 ms on.
    let both = |name: &str| hog(name).on([0]);
    let free = |spec| at(10_000, confine(spec, [0, 1]));
    let base = fair(2).task(both("a")).task(both("b")).millis(50);
    let base = base.workload(|w| w.timeline.extend([free(0), free(1)]));
    let run = base.survives();
    let moved = run.events_of(|e| matches!(e.what, What::Migrate { .. }).then_some(e.at));
    assert_eq!(moved.len(), 1, "{moved:?}");
    // Ticks of CPU 0 make the idle CPU balance after 1, 5 and 13 ms, less and less often while all tasks are pinned;
    // and 2 ms later, since the waiting task had just run.
    assert!((15_000_000..15_010_000).contains(&moved[0].as_ns()), "{moved:?}");
    // Earlier if it has just run out of work: at once, or as an idle CPU at the other's next tick, if the waiting task
    // has just run.
    let short = task("short", [run_us(20_000)]).on([1]);
    let base = fair(2).task(both("a")).task(both("b")).task(short).millis(50);
    let base = base.workload(|w| w.timeline.extend([free(0), free(1)]));
    let run = base.survives();
    let moved = run.events_of(|e| matches!(e.what, What::Migrate { .. }).then_some(e.at));
    assert_eq!(moved.len(), 1, "{moved:?}");
    assert!(
        moved[0].since(run.stops("short")[0]) < Span::from_us(1010),
        "{moved:?} {:?}",
        run.stops("short")
    );
}

fn run_us(us: u64) -> Step {
    run(us)
}

#[test]
fn busy_cpus_balance_now_and_then() {
    // Three on CPU 0, one on CPU 1: a quarter of the time later two on each.
    let base = fair(2).task(hog("a").on([0]).instances(3)).task(hog("b").on([1])).millis(300);
    let run = base.workload(|w| w.timeline.push(at(5000, confine(0, [0, 1])))).survives();
    let moved = run.events_of(|e| matches!(e.what, What::Migrate { .. }).then_some(e.at));
    assert_eq!(moved.len(), 1, "{moved:?}");
}

#[test]
fn tasks_leave_cpus_that_they_may_not_use_any_more() {
    let a = task("a", [run(1000), affinity([1]), run(1000)]).on([0]);
    let run = fair(2).task(a).task(hog("x").on([1])).millis(10).survives();
    let mut cpus: Vec<_> = run.starts("a").iter().map(|(_, cpu)| cpu.0).collect();
    cpus.dedup();
    assert_eq!(cpus, [0, 1]);
    assert!(run.misplaced().is_empty());
    // Also if another task changes it: waiting, running, asleep.
    let base = fair(3).task(hog("a").instances(4)).task(repeat("b", [run_us(70), sleep(50)]).instances(5));
    let base = base.millis(100).workload(|w| {
        w.timeline.extend([every(130, confine(0, [0, 1])), every(170, confine(0, [1, 2]))]);
        w.timeline.extend([every(110, confine(1, [0])), every(190, confine(1, [0, 2]))]);
    });
    let run = base.survives();
    assert!(run.misplaced().is_empty(), "{:?}", run.misplaced());
}

#[test]
fn cpus_come_and_go_beneath_them() {
    let base = with("hotplug").recipe("[ops]\nflags = ['SCX_OPS_SWITCH_PARTIAL']\n").cpus(4).millis(100);
    let base = base.task(hog("a").instances(6)).task(repeat("b", [run(70), sleep(50)]).instances(6));
    let run = base.workload(|w| {
        w.timeline.push(every(9000, Change::Offline(set([1, 2]))));
        w.timeline.push(every(13_000, Change::Online(set([1, 2]))));
    });
    let run = run.survives();
    let off = run.events_of(|e| matches!(e.what, What::Online { up: false, .. }).then_some((e.at, e.cpu)));
    assert!(off.len() > 4, "{off:?}");
    let mut down = [false; 4];
    for event in &run.events {
        match event.what {
            What::Online { target, up } => down[target.index()] = !up,
            What::Switch { next, .. } if !next.is_idle() => assert!(!down[event.cpu.index()], "{event:?}"),
            _ => {}
        }
    }
}

#[test]
fn real_time_tasks_cannot_starve_it_for_ever() {
    let endless = |name: &str| repeat(name, [run(1_000_000)]);
    let run = fair(1).task(endless("rt").policy(Policy::Fifo(9))).task(endless("x")).millis(4200).survives();
    assert!((195..=210).contains(&run.cpu_ms("x")), "{}", run.cpu_ms("x"));
}

#[test]
fn no_cpu_idles_while_they_wait() {
    // Twelve tasks for four CPUs: every CPU is busy nearly all the time.
    let run = fair(4).task(repeat("a", [run_up_to(900), sleep(100)]).instances(12)).millis(200).survives();
    let busy: u64 = run.ids("a").iter().map(|&id| run.busy_ms(id)).sum();
    assert!(busy > 780, "{busy} of 800");
}
