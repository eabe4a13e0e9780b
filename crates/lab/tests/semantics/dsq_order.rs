//! The order of queues.

use crate::harness::*;

/// Returns the order in which three tasks run that arrive while one runs and wait in the scheduler's DSQ.
fn order(change: impl Fn(Scenario) -> Scenario) -> Vec<String> {
    let base = with("tracer").set("slice_ns", 10_000_000).set("select_default", 0).millis(60);
    let base = base.task(task("x", [run(6000)]));
    let late = |name, ms| task(name, [run(1000)]).after_ms(ms);
    let base = base.task(late("a", 1)).task(late("b", 2)).task(late("c", 3));
    let run = change(base).survives();
    let mut names = ["a", "b", "c"].map(|name| (run.first(name, "running").at, name.to_owned()));
    names.sort();
    names.map(|(_, name)| name).into()
}

#[test]
fn fifo_by_default_and_the_head_by_flag() {
    assert_eq!(order(|s| s), ["a", "b", "c"]);
    for flag in [1u64 << 16, 1 << 32] {
        assert_eq!(order(|s| s.set("enqueue_flags", flag)), ["c", "b", "a"], "{flag:#x}");
    }
}

#[test]
fn by_vtime_across_the_wrap_and_equal_ones_in_turn() {
    let by_vtime = |step: i64, flags: u64| {
        move |s: Scenario| {
            let s = s.set("enqueue_by_vtime", 1).set("first_vtime", 15).set("vtime_step", step);
            s.set("enqueue_flags", flags)
        }
    };
    assert_eq!(order(by_vtime(-10, 0)), ["c", "b", "a"], "5, then below 0");
    assert_eq!(order(by_vtime(10, 0)), ["a", "b", "c"]);
    assert_eq!(order(by_vtime(0, 0)), ["a", "b", "c"]);
    assert_eq!(order(by_vtime(10, 1 << 16)), ["a", "b", "c"], "HEAD says nothing there");
}

#[test]
fn no_vtime_in_the_kernels_queues() {
    for dsq in [LOCAL, GLOBAL] {
        let base = with("tracer").set("enqueue_by_vtime", 1).set("enqueue_dsq", dsq).task(hog("a"));
        base.fails("cannot use vtime ordering for built-in DSQs");
    }
}

#[test]
fn one_order_at_a_time() {
    let base = |special: u32| {
        let base = with("tracer").set("slice_ns", 50_000_000).set("enqueue_by_vtime", 1);
        let base = base.set("only_pid", special).set("select_default", 0);
        base.task(hog("x")).task(hog("a").after_ms(1)).task(hog("b").after_ms(2))
    };
    base(4).fails("DSQ ID 0x0000000000000001 already had FIFO-enqueued tasks");
    base(3).fails("DSQ ID 0x0000000000000001 already had PRIQ-enqueued tasks");
    // Each finds the queue empty.
    let base = with("tracer").set("enqueue_by_vtime", 1).set("only_pid", 3);
    base.task(task("x", [run(100)]))
        .task(task("a", [run(100)]).after_ms(1))
        .task(task("b", [run(100)]).after_ms(2))
        .survives();
}
