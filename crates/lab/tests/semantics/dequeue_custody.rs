//! `ops.dequeue`: once for every task that leaves the scheduler's custody.

use crate::harness::*;

const SCHED_CHANGE: u64 = 1 << 33;

/// Repeatedly wakes up beside a task that keeps the only CPU from being idle.
fn busy() -> Scenario {
    let base = with("tracer").set("slice_ns", 1_000_000).set("select_default", 0).millis(30);
    base.task(hog("x")).task(repeat("a", [run(100), sleep(1000)]))
}

/// Callbacks end when a run does: the last stay may be open.
fn once_each(run: &Run, entries: usize) {
    let left = run.values("a", "dequeue");
    assert!(left.iter().all(|&flags| flags == 0), "{left:x?}");
    assert!(left.len() == entries || left.len() + 1 == entries, "{entries} in, {} out", left.len());
    assert!(left.len() >= 5, "{}", run.log());
}

#[test]
fn from_a_queue_of_the_schedulers_own() {
    let run = busy().survives();
    once_each(&run, run.count("a", "enqueue"));
}

#[test]
fn from_the_schedulers_hands() {
    let run = busy().set("enqueue_dsq", 0).set("dispatch_moves", 0).survives();
    once_each(&run, run.count("a", "enqueue"));
}

#[test]
fn from_select_cpu_into_a_queue_of_its_own() {
    let base = with("tracer").cpus(2).set("slice_ns", 1_000_000).set("select_dsq", 1).set("only_pid", 2);
    let run = base
        .task(repeat("a", [run(100), sleep(1000)]))
        .task(hog("x").instances(2).after_ms(1))
        .millis(30)
        .survives();
    once_each(&run, run.count("a", "select_cpu") + run.count("a", "enqueue"));
}

#[test]
fn never_after_a_direct_insert() {
    for dsq in [LOCAL, GLOBAL, &local_on(0)] {
        let run = busy().set("enqueue_dsq", dsq).survives();
        assert_eq!(run.count("a", "dequeue"), 0, "{dsq}");
        assert!(run.count("a", "running") >= 5, "{dsq}");
    }
}

#[test]
fn it_is_called_inside_the_call_that_ends_custody() {
    let run = busy().survives();
    let at = run.calls.iter().rposition(|c| c.op == "dequeue").expect("some");
    let next = run.calls[at..].iter().find(|c| c.op == "move_to_local").expect("the call returns");
    let before = run.calls[..at].iter().rfind(|c| c.op == "dispatch" || c.op == "move_to_local").unwrap();
    assert_eq!((before.op.as_str(), next.value), ("dispatch", 1), "{}", run.log());
}

#[test]
fn not_on_a_move_between_the_schedulers_own_queues() {
    // From OWN_DSQ to OTHER_DSQ, and from there to the CPU.
    let base = busy().set("dispatch_iterates", 1).set("dispatch_moves", 0);
    let run = base.set("move_dsq", 2).set("consume_dsq", 2).survives();
    assert!(run.queues("a").contains(&2));
    once_each(&run, run.count("a", "enqueue"));
}

#[test]
fn an_ending_scheduler_is_notified_of_a_change() {
    let base = with("tracer").set("enqueue_dsq", 0).set("only_pid", 2).set("dispatch_only_on", 5);
    let base = base.set("ends_at_enqueue", 2).set("ends_by", 1);
    let run = base.task(hog("a")).task(hog("b").after_ms(1)).run();
    assert_eq!(
        run.trace("a", &["dequeue", "quiescent", "disable"]),
        [
            // First as bypassing begins, then out of the class.
            format!("dequeue={:x}", SCHED_CHANGE | 0xe),
            "quiescent=20000000e".into(),
            "quiescent=20000004e".into(),
            "disable".into()
        ]
    );
}
