//! `ops.dispatch`: when it is called, what it may insert, and how the kernel handles the inserts.

use crate::harness::*;
use keel_abi::Instant;
use keel_abi::scx::ExitKind;
use keel_trace::What;

/// A scheduler whose BPF program holds tasks, and dispatches them from there.
fn by_hand() -> Scenario {
    with("tracer").set("enqueue_dsq", 0).set("dispatch_moves", 0).set("select_default", 0)
}

#[test]
fn the_global_queue_comes_first() {
    let base = with("tracer").set("enqueue_dsq", GLOBAL).set("select_default", 0);
    let run = base.task(task("a", [run(100)])).survives();
    let enqueued = run.first("a", "enqueue").at;
    let running = run.first("a", "running").at;
    assert!(run.global("dispatch").iter().all(|c| c.at < enqueued || c.at > running), "{}", run.log());
}

#[test]
fn prev_is_kept_where_dispatch_gives_it_time_whatever_else_is_there() {
    // Inserting a running task has no effect except on its slice.
    let base = with("tracer").set("only_pid", 2).set("dispatch_prev_dsq", 1).set("slice_ns", 2_000_000);
    let run = base.task(hog("a")).task(hog("b").after_ms(1)).survives();
    let moved = run.first("b", "dequeue").at;
    let stopped = run.first("a", "stopping").at;
    let more_us = stopped.since(moved).as_ns() / 1000;
    assert!((2000..3100).contains(&more_us), "{}", run.log());
    assert!(run.first("b", "running").at > stopped, "though it was local");
    let asked = run.calls.iter().filter(|c| c.op == "dispatch" && c.at > moved && c.at < stopped);
    assert_eq!(asked.count(), 0, "its second slice ends with something local");
}

#[test]
fn it_is_called_again_while_it_dispatches_and_nothing_is_local() {
    let base = || by_hand().set("dispatch_dsq", 2);
    let one = base().task(hog("a")).survives();
    let after = one.first("a", "enqueue").at;
    assert_eq!(one.global("dispatch").iter().filter(|c| c.at > after).count(), 2, "{}", one.log());
}

#[test]
fn it_is_called_32_times_at_most_for_one_pick_and_then_the_cpu_kicks_itself() {
    let x = task("x", [run(5000)]);
    let base = by_hand().set("enqueue_local_pid", 2).set("slice_ns", 50_000_000);
    // All of them arrive while the first runs.
    let base = base.task(x).task(hog("a").instances(40).after_ms(1)).set("dispatch_only_on", 0);
    let run = base.set("dispatch_dsq", 2).survives();
    // They go to a queue that nothing takes from: this many calls in a row, a pause, and the rest.
    let calls: Vec<_> = run.calls.iter().filter(|c| c.op == "dispatch").map(|c| c.at).collect();
    let kicks = run.events_of(|e| matches!(e.what, What::Kick { .. }).then_some(e.at));
    assert_eq!(kicks.len(), 1, "{}", run.log());
    let before = calls.iter().filter(|&&at| at > Instant::from_ns(1_000_000) && at < kicks[0]).count();
    let after = calls.iter().filter(|&&at| at > kicks[0]).count();
    assert_eq!((before, after), (32, 9), "the last finds nothing: {}", run.log());
}

#[test]
fn what_is_stale_is_ignored() {
    let run =
        by_hand().set("dispatch_times", 2).task(repeat("a", [run(100), sleep(100)])).millis(5).survives();
    assert_eq!(run.count("a", "running"), run.queues("a").len(), "one queue entry a dispatch");
    assert!(run.count("a", "running") > 10);
}

#[test]
fn the_buffer_has_an_end() {
    let slots = |batch: &str, times: u32| {
        let base = with(batch).set("enqueue_dsq", 0).set("dispatch_moves", 0).set("dispatch_times", times);
        base.task(task("a", [run(100)]))
    };
    assert_eq!(slots("tracer", 1).survives().values("a", "slots"), [31]);
    assert_eq!(slots("small_batch", 3).survives().values("a", "slots"), [1]);
    slots("tracer", 32).survives();
    slots("tracer", 33).fails("dispatch buffer overflow");
    slots("small_batch", 5).fails("dispatch buffer overflow");
    let run = slots("tracer", 1).set("dispatch_cancels", 1).survives();
    assert_eq!(run.count("a", "running"), 0, "the insert was taken back");
    slots("tracer", 1).set("dispatch_cancels", 2).fails("dispatch buffer underflow");
}

#[test]
fn an_insert_into_another_cpus_local_queue() {
    let base = || by_hand().cpus(2).set("select_this", 0).set("dispatch_dsq", local_on(1));
    let run = base().task(task("a", [run(100)])).survives();
    assert_eq!(run.starts("a")[0].1.0, 1);
    let words = "SCX_DSQ_LOCAL[_ON] target CPU 1 not allowed for a[2]";
    let run = base().task(hog("a").on([0])).fails(words);
    assert_eq!(run.queues("a")[0], 0x8000_0000_0000_0001, "the global queue serves");
}

#[test]
fn an_insert_into_no_queue_is_an_error_and_the_global_one_serves() {
    let run = by_hand().set("dispatch_dsq", 99).task(hog("a")).fails("non-existent DSQ 0x63");
    assert_eq!(run.queues("a")[0], 0x8000_0000_0000_0001);
    let run = with("tracer").set("consume_dsq", 99).task(hog("a")).run();
    assert_eq!(run.outcome.exit, ExitKind::Error);
    assert_eq!(run.outcome.message, "invalid DSQ ID 0x0000000000000063");
}

#[test]
fn move_to_local_passes_over_tasks_that_may_not_run_there() {
    let base = with("tracer").cpus(2).set("slice_ns", 50_000_000).task(hog("busy").on([0]));
    let run = base.task(hog("x").on([0]).after_ms(1)).task(hog("y").after_ms(2)).survives();
    assert_eq!(run.starts("y").first().map(|(_, cpu)| cpu.0), Some(1), "{}", run.log());
    assert_eq!(run.outcome.message, "");
}

#[test]
fn prev_is_the_running_task_or_null() {
    let run = with("tracer").set("slice_ns", 2_000_000).task(hog("a")).task(hog("b")).survives();
    let dispatches: Vec<_> = run.calls.iter().filter(|c| c.op == "dispatch").collect();
    assert!(dispatches.iter().any(|c| c.pid == run.pid("a") && c.value == 1), "queued still");
    assert_eq!(dispatches[0].pid, 0, "the CPU was idle");
}
