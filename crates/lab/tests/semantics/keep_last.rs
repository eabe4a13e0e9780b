//! The last runnable task is kept.

use crate::harness::*;

#[test]
fn where_nothing_is_found_prev_goes_on_with_a_new_slice() {
    let run = with("tracer").set("slice_ns", 1_000_000).task(hog("a")).survives();
    assert!(run.values("a", "tick").iter().any(|&left| left > 15_000_000), "20 ms: {}", run.log());
    assert_eq!(run.count("a", "running"), 1);
    assert_eq!(run.stops("a").len(), 0);
}

#[test]
fn dispatch_is_not_called_where_something_is_local() {
    let base = with("tracer").set("enqueue_dsq", LOCAL).set("slice_ns", 2_000_000).set("select_default", 0);
    let run = base.task(hog("a")).task(hog("b")).survives();
    let first = run.first("b", "running").at;
    assert_eq!(run.calls.iter().filter(|c| c.op == "dispatch" && c.at > first).count(), 0, "{}", run.log());
    assert!(run.count("b", "running") > 5);
}

#[test]
fn a_preempted_task_with_time_left_goes_to_the_head_of_the_local_queue() {
    let base = with("tracer").set("slice_ns", 2_000_000).set("stopping_slice", 1_000_000);
    let run = base.task(hog("a")).task(hog("b")).survives();
    assert_eq!(run.count("a", "enqueue"), 1, "{}", run.log());
    assert!(run.count("a", "running") > 5);
}
