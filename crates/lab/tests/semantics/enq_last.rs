//! `SCX_OPS_ENQ_LAST`: the scheduler is also asked about the last runnable task.

use crate::harness::*;
use keel_abi::scx::ExitKind;
use keel_trace::What;

const LAST: u64 = 1 << 41;

#[test]
fn without_the_flag_there_is_no_callback() {
    let run = with("tracer").set("slice_ns", 2_000_000).task(hog("a")).task(hog("b")).survives();
    assert!(run.values("a", "enqueue").iter().all(|flags| flags & LAST == 0));
}

#[test]
fn the_last_task_is_enqueued_as_such_and_others_are_not() {
    let one = with("enq_last").set("slice_ns", 2_000_000).task(hog("a")).survives();
    assert_eq!(one.values("a", "enqueue"), [0, LAST], "and then it is in a queue: {}", one.log());
    assert_eq!(one.starts("a").len(), 1, "nobody reschedules the CPU");
    let two = with("enq_last").set("slice_ns", 2_000_000).task(hog("a")).task(hog("b")).millis(20).survives();
    assert!(two.values("a", "enqueue").iter().all(|flags| flags & LAST == 0));
}

#[test]
fn on_its_own_local_queue_the_cpu_goes_idle_and_comes_back_at_once() {
    let base = with("enq_last").set("slice_ns", 2_000_000).set("enqueue_dsq", LOCAL);
    let run = base.task(hog("a")).millis(50).survives();
    let lasts = run.values("a", "enqueue").iter().filter(|&&flags| flags == LAST).count();
    assert!(lasts > 5, "{}", run.log());
    let idles = run.global("update_idle");
    let ins = idles.iter().filter(|c| c.value == 1).count();
    assert!(ins >= lasts && idles.len() - ins >= lasts, "{}", run.log());
    assert!(run.cpu_ms("a") >= 48, "it is away for moments only: {} ms", run.cpu_ms("a"));
    let to_idle =
        run.events_of(|e| matches!(e.what, What::Switch { next, .. } if next.is_idle()).then_some(()));
    assert_eq!(to_idle.len(), lasts, "a real switch each time");
}

#[test]
fn it_wants_ops_enqueue() {
    let words = "SCX_OPS_ENQ_LAST requires ops.enqueue() to be implemented";
    with("enq_last_bare").task(hog("a")).ends(ExitKind::Error, words);
}
