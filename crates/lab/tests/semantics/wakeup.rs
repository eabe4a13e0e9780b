//! Which CPU is woken when a task is put into a queue.

use crate::harness::*;
use keel_abi::task::{ObjectId, Step};

/// CPU 0 is busy for 50 ms. A task is placed there after 2 ms and inserted into `dsq`. Returns when and where it runs.
fn placed_on_the_busy(dsq: &str) -> (u64, u32) {
    let base = with("tracer").cpus(2).set("slice_ns", 20_000_000).set("only_pid", 3).set("select_this", 0);
    let base = base.set("enqueue_dsq", dsq).task(hog("x").on([0])).task(task("a", [run(100)]).after_ms(2));
    let run = base.survives();
    let (at, cpu) = run.starts("a")[0];
    (at.as_ns() / 1_000_000, cpu.0)
}

#[test]
fn an_enqueue_on_an_idle_cpus_runqueue_wakes_it_whatever_the_queue() {
    for dsq in [LOCAL, GLOBAL, "1"] {
        let base = with("tracer").cpus(2).set("select_this", 1).set("enqueue_dsq", dsq);
        let run = base.task(task("a", [run(100)])).survives();
        let (at, cpu) = run.starts("a")[0];
        assert!(cpu.0 == 1 && at.as_ns() < 1_000_000, "{dsq}");
    }
}

#[test]
fn a_queue_that_all_share_wakes_no_other_cpu() {
    for dsq in ["1", GLOBAL] {
        let (at_ms, _) = placed_on_the_busy(dsq);
        assert!((19..=22).contains(&at_ms), "{dsq}: only when the busy CPU's slice ends, at {at_ms} ms");
    }
}

#[test]
fn a_foreign_local_queue_wakes_an_idle_cpu_at_once() {
    assert_eq!(placed_on_the_busy(&local_on(1)), (2, 1));
}

#[test]
fn a_foreign_local_queue_does_not_preempt_unless_asked() {
    let base = |flags: u64| {
        let base =
            with("tracer").cpus(2).set("slice_ns", 20_000_000).set("only_pid", 3).set("select_this", 0);
        let base = base.set("enqueue_dsq", local_on(1)).set("enqueue_flags", flags);
        let run = base.task(hog("x").on([1])).task(task("a", [run(100)]).after_ms(2)).survives();
        run.starts("a")[0].0.as_ns() / 1_000_000
    };
    assert!((19..=22).contains(&base(0)), "{}", base(0));
    assert_eq!(base(1 << 32), 2);
}

#[test]
fn no_wakeup_is_lost_beside_a_task_that_goes_to_sleep() {
    // It is woken at every moment of that.
    let sleeper =
        repeat("a", [run_up_to(4), Step::Wait { condition: ObjectId(0), mutex: ObjectId(0) }]).on([0, 2]);
    let waker = repeat("b", [run_up_to(6), Step::Broadcast(ObjectId(0))]).on([1]);
    let base =
        with("tracer").cpus(3).task(sleeper).task(waker).workload(|w| (w.mutexes, w.conditions) = (1, 1));
    let run = base.millis(5).survives();
    assert!(run.outcome.end.since(run.starts("a").last().unwrap().0).as_ns() < 200_000);
}

#[test]
fn no_task_is_lost_beside_a_cpu_that_goes_idle() {
    // Tasks sleep at every moment of the CPU to which others are moved.
    for by_dispatch in [false, true] {
        let base = with("tracer").cpus(4).set("slice_ns", 300_000).set("select_default", 0);
        let base = base.set("dispatch_moves", !by_dispatch as u32).set("dispatch_dsq", local_on(2));
        let base = base.set("enqueue_dsq", if by_dispatch { "0".into() } else { local_on(2) });
        let base = base
            .task(repeat("a", [run_up_to(20), sleep(11)]).instances(3))
            .task(repeat("b", [run_up_to(10), sleep(5)]));
        let run = base.millis(20).survives();
        let end = run.outcome.end;
        for task in run.ids("a").into_iter().chain(run.ids("b")) {
            let last = run.starts_of(task).last().unwrap().0;
            assert!(end.since(last).as_ns() < 1_000_000, "{task:?} sleeps for ever");
        }
    }
}
