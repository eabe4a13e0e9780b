//! The effects of the workload's steps on the scheduler.

use crate::harness::*;
use keel_abi::task::Step;

#[test]
fn a_timers_first_expiry_counts_from_the_tasks_start() {
    let a = task("a", [run(3000), timer(0, 5000), run(100), timer(0, 5000), run(100)]).after_ms(10);
    let run = with("tracer").task(a).workload(|w| w.timers = 1).survives();
    let starts: Vec<u64> = run.starts("a").iter().map(|(at, _)| at.as_ns() / 1000).collect();
    let expected = [10_000, 15_000, 20_000];
    assert!(starts.iter().zip(expected).all(|(at, e)| at.abs_diff(e) < 200), "{starts:?}");
}

#[test]
fn a_timer_in_the_past_restarts_from_now() {
    let a = task("a", [run(7000), timer(0, 5000), run(100), timer(0, 5000), run(100)]);
    let run = with("tracer").task(a).workload(|w| w.timers = 1).survives();
    let starts: Vec<u64> = run.starts("a").iter().map(|(at, _)| at.as_ns() / 1000).collect();
    assert!(starts.len() == 2 && starts[1].abs_diff(12_000) < 200, "{starts:?}");
}

#[test]
fn timers_beyond_the_workloads_own_are_shared() {
    let wakes = |own: u32| {
        let a = |name| task(name, [timer(0, 5000), run(100)]);
        let run = with("tracer").cpus(2).task(a("a")).task(a("b")).workload(|w| w.timers = own).survives();
        let mut ms = ["a", "b"].map(|name| run.starts(name).last().unwrap().0.as_ns() / 1_000_000);
        ms.sort_unstable();
        ms
    };
    assert_eq!(wakes(1), [5, 5], "each its own");
    assert_eq!(wakes(0), [5, 10], "the second's period follows the first's");
}

#[test]
fn an_empty_affinity_lifts_the_limits() {
    let a = task("a", [run(100), affinity([2]), run(100), affinity([]), run(100)]);
    let run = with("tracer").cpus(4).task(a).survives();
    assert_eq!(run.values("a", "set_cpumask"), [0b100, 0b1111]);
}

#[test]
fn what_changes_nothing_costs_nothing() {
    let steps = [run(100), Step::Nice(3), affinity([0, 1]), affinity([]), run(100)];
    let run = with("tracer").cpus(2).task(task("a", steps).nice(3)).survives();
    assert_eq!(run.count("a", "set_weight"), 1, "of the fork");
    assert_eq!(run.count("a", "set_cpumask") + run.count("a", "runnable"), 1);
}

#[test]
fn an_affinity_without_the_present_cpu_moves_the_task() {
    for cpus in [vec![1], vec![1, 2]] {
        let a = task("a", [run(100), affinity(cpus), run(100)]);
        let run = with("tracer").cpus(3).set("select_this", 0).task(a).survives();
        let places: Vec<u32> = run.starts("a").iter().map(|(_, cpu)| cpu.0).collect();
        assert_eq!(places, [0, 1], "{}", run.log());
        assert_eq!(run.count("a", "enqueue"), 2, "enqueued afresh");
        assert_eq!(run.count("a", "exit_task"), 1, "and went on to its end");
    }
}

#[test]
fn a_pinned_task_stays() {
    let run = with("tracer")
        .cpus(4)
        .task(repeat("a", [run(100), sleep(100)]).on([2]))
        .task(hog("x").instances(6))
        .survives();
    assert!(run.starts("a").len() > 3 && run.starts("a").iter().all(|(_, cpu)| cpu.0 == 2));
}
