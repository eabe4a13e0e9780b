//! The stall watchdog: its timeout is one second here, checked every half second.

use crate::harness::*;
use keel_abi::scx::ExitKind;

#[test]
fn a_task_that_waits_too_long_ends_the_scheduler() {
    // The BPF program keeps holding it.
    let base = with("impatient").cpus(2).millis(5000).set("only_pid", 2).set("enqueue_dsq", 0);
    let run = base.set("dispatch_only_on", 7).task(hog("a").after_ms(100)).run();
    assert_eq!(run.outcome.exit, ExitKind::ErrorStall, "{}", run.log());
    assert_eq!(run.outcome.message, "a[2] failed to run for 1.399s");
    assert!(near(run.outcome.end, 1_500_000, 1000), "at the third look: {:?}", run.outcome.end);
}

#[test]
fn only_running_counts() {
    // It circulates between two queues all the time.
    let base =
        with("impatient").millis(5000).set("only_pid", 3).set("slice_ns", 1_000_000).set("select_default", 0);
    let base = base.set("dispatch_moves", 0).set("dispatch_iterates", 1).set("move_dsq", 2);
    let run = base.task(task("a", [run(100)])).task(hog("b").after_ms(1)).run();
    assert_eq!(run.outcome.exit, ExitKind::ErrorStall);
    let run =
        with("impatient").millis(3000).set("slice_ns", 900_000_000).task(hog("a").instances(2)).survives();
    assert!(run.outcome.end.as_ns() == 3_000_000_000);
}

#[test]
fn a_sleeper_is_not_watched() {
    with("impatient").millis(4000).task(task("a", [run(100), sleep(3_500_000), run(100)])).survives();
}
