//! `ops.select_cpu`: when it is called, with which arguments, and what it may return.

use crate::harness::*;
use keel_abi::task::{ObjectId, Step};
use keel_trace::What;
use keel_trace::event::Chooser;

/// The callback that placed a task, each time it was placed.
fn choosers(run: &Run, name: &str) -> Vec<Chooser> {
    let task = run.id(name);
    run.events_of(|e| match e.what {
        What::Placed { task: t, by, .. } if t == task => Some(by),
        _ => None,
    })
}

#[test]
fn it_is_called_on_fork_and_on_wakeup_with_their_flags() {
    let run = with("tracer").cpus(2).task(task("a", [run(100), sleep(100), run(100)])).survives();
    assert_eq!(run.values("a", "select_cpu"), [4, 8]);
    assert_eq!(run.values("a", "enqueue"), [0, 1 | 1 << 20], "CPU_SELECTED on wakeups only");
}

#[test]
fn it_is_not_called_for_a_task_with_one_cpu() {
    let run = with("tracer").cpus(2).task(task("a", [run(100), sleep(100), run(100)]).on([1])).survives();
    assert_eq!(run.count("a", "select_cpu"), 0);
    assert_eq!(choosers(&run, "a"), [Chooser::OnlyOne; 2]);
    assert_eq!(run.values("a", "enqueue"), [0, 1], "no CPU_SELECTED");
    assert!(run.starts("a").iter().all(|(_, cpu)| cpu.0 == 1));
}

#[test]
fn prev_cpu_is_the_cpu_it_was_placed_on_last() {
    let a = task("a", [run(100), sleep(100), run(100)]);
    let run = with("tracer").cpus(4).set("select_this", 3).task(a).survives();
    assert_eq!(run.values("a", "prev_cpu"), [0, 3]);
}

#[test]
fn an_invalid_cpu_is_an_error_and_prev_serves() {
    for bad in [99, -5] {
        let base = with("tracer").cpus(2).task(task("a", [run(100), sleep(100), run(100)]));
        let run = base.set("select_this", bad).fails(&format!("invalid CPU {bad} from ops.select_cpu()"));
        assert_eq!(choosers(&run, "a")[0], Chooser::SelectCpu);
    }
}

#[test]
fn a_cpu_that_is_not_allowed_falls_back_without_an_error() {
    let a = task("a", [run(100), sleep(100), run(100)]).on([1, 2]);
    let run = with("tracer").cpus(4).set("select_this", 3).task(a).survives();
    assert_eq!(choosers(&run, "a"), [Chooser::Fallback; 2]);
    assert!(run.starts("a").iter().all(|(_, cpu)| cpu.0 == 1), "the first of its node");
}

#[test]
fn without_it_an_idle_cpu_gets_the_task_directly_with_a_new_slice() {
    let a = repeat("a", [run(100), sleep(100)]);
    let run = with("no_select").cpus(2).task(a).millis(10).survives();
    assert_eq!(run.count("a", "enqueue"), 0);
    assert!(run.values("a", "running").iter().all(|&slice| slice == 20_000_000));
    assert!(choosers(&run, "a").iter().all(|&by| by == Chooser::Default));
}

#[test]
fn without_it_and_without_an_idle_cpu_enqueue_is_asked() {
    let hogs = hog("x").instances(2);
    let a = task("a", [run(100), sleep(100), run(100)]).after_ms(5);
    let run = with("no_select").cpus(2).task(hogs).task(a).survives();
    assert_eq!(run.values("a", "enqueue")[0], 0);
    assert_eq!(run.count("a", "enqueue"), 2);
}

#[test]
fn a_waker_waits_until_the_wakee_is_off_its_cpu_before_it_asks() {
    // One repeatedly goes to sleep, and another wakes it at every moment of that.
    let sleeper =
        repeat("a", [run_up_to(4), Step::Wait { condition: ObjectId(0), mutex: ObjectId(0) }]).on([0, 2]);
    let waker = repeat("b", [run_up_to(6), Step::Broadcast(ObjectId(0))]).on([1]);
    let base =
        with("tracer").cpus(3).task(sleeper).task(waker).workload(|w| (w.mutexes, w.conditions) = (1, 1));
    let run = base.millis(3).survives();
    let on_cpu = run.values("a", "on_cpu");
    assert!(on_cpu.len() > 100 && on_cpu.iter().all(|&on| on == 0), "{on_cpu:?}");
}

#[test]
fn exec_is_no_reason_to_ask() {
    let a = task("a", [run(100), keel_abi::task::Step::Exec, run(100), keel_abi::task::Step::Exec, run(100)]);
    let run = with("tracer").cpus(2).task(a).millis(10).survives();
    let asked: Vec<_> = run.values("a", "select_cpu");
    assert_eq!((asked, run.starts("a").len()), (vec![4], 1), "at its fork only: {}", run.log());
}
