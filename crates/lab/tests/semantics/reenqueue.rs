//! `scx_bpf_reenqueue_local()` and `scx_bpf_dsq_reenq()`: a queue's tasks go to `ops.enqueue` again.

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
    // `a`, `b` and `c` are put into CPU 0's queue while `x` runs. When its slice is over, `a` is next, and the others
    // come back with `x`, whose enqueue requests it.
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

/// Two tasks wait in the scheduler's own queue while another runs. Each of its ticks requests that a queue's tasks come
/// back.
fn asks_for(queue: u64, flags: u64) -> Scenario {
    let base = with("tracer").set("tick_reenqueues", queue).set("tick_reenqueue_flags", flags);
    let base = base.set("slice_ns", 50_000_000).millis(20).task(hog("x"));
    base.task(task("a", [run(500)]).after_ms(2)).task(task("b", [run(500)]).after_ms(3))
}

#[test]
fn all_tasks_of_an_own_queue_come_back_once_each_time_and_in_order() {
    // `SCX_REENQ_ANY` also applies without a flag.
    for flags in [0, 1] {
        let run = asks_for(OWN_DSQ, flags).survives();
        let ticks: Vec<_> = run.of("x").filter(|c| c.op == "tick").map(|c| c.at).collect();
        let back = run.calls.iter().filter(|c| c.op == "enqueue" && c.value & REENQ != 0);
        let back: Vec<_> = back.map(|c| (c.at, c.pid)).collect();
        let (a, b) = (run.pid("a"), run.pid("b"));
        let late: Vec<_> = ticks.iter().filter(|at| at.as_ns() > 4_000_000).collect();
        assert!(late.len() > 3, "{}", run.log());
        for &&tick in &late {
            let soon = |at: keel_abi::Instant| at >= tick && at.since(tick).as_ns() < 100_000;
            let pids: Vec<u32> = back.iter().filter(|(at, _)| soon(*at)).map(|(_, pid)| *pid).collect();
            assert_eq!(pids, [a, b], "{}", run.log());
        }
        // The scheduler requested it, and the tasks were in its custody all the time.
        assert!(run.values("a", "why_again").iter().all(|why| *why == 1 << 12));
        assert_eq!(run.count("a", "dequeue"), 0, "{}", run.log());
    }
}

#[test]
fn only_local_and_own_queues_can_be_asked_for() {
    const GLOBAL: u64 = 0x8000_0000_0000_0001;
    const LOCAL_ON: u64 = 0xc000_0000_0000_0000;
    let check = |queue, flags, words| drop(asks_for(queue, flags).fails(words));
    check(GLOBAL, 0, "DSQ 0x8000000000000001 not allowed for reenq");
    check(0x63, 0, "non-existent DSQ 0x63");
    check(LOCAL_ON | 9, 0, "invalid CPU 9 in SCX_DSQ_LOCAL_ON dispatch verdict");
    check(OWN_DSQ, 2, "invalid SCX_REENQ flags 0x2");
    asks_for(0x8000_0000_0000_0002, 0).survives();
}
