//! `scx_bpf_reenqueue_local()`: a local queue's tasks go to `ops.enqueue` once more.

use crate::harness::*;
use keel_abi::task::{ObjectId, Step};

/// `SCX_ENQ_REENQ`.
const REENQ: u64 = 1 << 40;

fn gives_back() -> Scenario {
    with("tracer").set("enqueue_dsq", LOCAL).set("reenqueues", 1)
}

#[test]
fn what_is_in_the_local_queue_comes_back() {
    let run = gives_back().task(repeat("a", [run(100), sleep(100)])).millis(10).survives();
    let flags = run.values("a", "enqueue");
    assert!(flags.len() > 20, "{}", run.log());
    let in_turn = flags.iter().enumerate().all(|(i, flags)| (*flags == REENQ) == (i % 2 == 1));
    assert!(in_turn, "each is enqueued, then given back: {flags:x?}");
    let own_queue = 0xc000_0000_0000_0000;
    assert_eq!(run.queues("a")[..2], [own_queue, OWN_DSQ]);
    let (left, back) = (run.count("a", "dequeue"), flags.len() / 2);
    assert!(left.abs_diff(back) <= 1, "only the second queue is in its custody: {left} of {back}");
}

#[test]
fn all_tasks_of_the_queue_come_back_in_order() {
    // `a`, `b` and `c` are put into CPU 0's queue while `x` runs; when its slice is over `a` is next, and the others
    // come back with `x`, whose enqueue asks for it.
    let base = gives_back().cpus(2).set("select_this", 0).set("select_dsq", LOCAL).set("slice_ns", 5_000_000);
    let waits = |name: &str, ms| task(name, [run(500)]).after_ms(ms);
    let run = base.task(hog("x").on([0])).task(waits("a", 1)).task(waits("b", 2)).task(waits("c", 3));
    let run = run.millis(8).survives();
    let came_back = |name: &str| {
        let calls = run.of(name).filter(|c| c.op == "enqueue" && c.value == REENQ);
        calls.map(|c| c.at).find(|at| at.as_ns() > 4_000_000)
    };
    assert_eq!(came_back("a"), None, "{}", run.log());
    let others =
        ["b", "c", "x"].map(|name| came_back(name).unwrap_or_else(|| panic!("{name}: {}", run.log())));
    assert!(others.is_sorted(), "{}", run.log());
}

#[test]
fn reenqueue_local_uses_the_locked_runqueue() {
    // `b` on CPU 1 wakes `a`, which may use CPU 0 only: its enqueue runs on CPU 1, under CPU 0's lock.
    let a = repeat("a", [run(10), Step::Wait { condition: ObjectId(0), mutex: ObjectId(0) }]).on([0]);
    let b = repeat("b", [run(500), Step::Broadcast(ObjectId(0))]).on([1]);
    let base = gives_back().cpus(2).task(a).task(b).workload(|w| (w.mutexes, w.conditions) = (1, 1));
    let run = base.millis(10).survives();
    let woken: Vec<_> = run.of("a").filter(|c| c.op == "enqueue" && c.cpu == 1).collect();
    assert!(woken.len() > 5, "{}", run.log());
    let back = run.of("a").filter(|c| c.op == "enqueue" && c.value == REENQ).count();
    assert!(back >= woken.len() / 2, "{}", run.log());
}
