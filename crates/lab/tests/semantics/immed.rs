//! `SCX_ENQ_IMMED`: a task in a local queue runs at once, or it goes back to `ops.enqueue`.

use crate::harness::*;
use keel_abi::task::{ObjectId, Policy, Step};

const IMMED: u64 = 1 << 33;
const REENQ: u64 = 1 << 40;
const WAKEUP: u64 = 1;
/// The reason, from `p->scx.flags`.
const BECAUSE_IMMED: u64 = 2 << 12;
const BECAUSE_PREEMPTED: u64 = 3 << 12;
const BECAUSE_ASKED: u64 = 1 << 12;

/// Wakeups go into the local queue from `ops.enqueue`. A task that comes back goes into the scheduler's own queue.
fn scene() -> Scenario {
    let base = with("tracer").set("select_default", 0).set("enqueue_dsq", LOCAL).set("enqueue_flags", IMMED);
    base.set("again_to_own", 1).set("slice_ns", 20_000_000)
}

fn again(run: &Run, name: &str) -> usize {
    run.values(name, "enqueue").iter().filter(|flags| *flags & REENQ != 0).count()
}

#[test]
fn on_an_idle_cpu_it_runs() {
    let run = scene().task(repeat("a", [run(100), sleep(100)])).millis(10).survives();
    assert_eq!(again(&run, "a"), 0, "{}", run.log());
    assert!(run.count("a", "running") > 20);
}

#[test]
fn behind_a_running_task_it_comes_back_with_the_reason() {
    let run = scene().task(hog("x")).task(task("a", [run(100)]).after_ms(5)).millis(40).survives();
    assert_eq!(run.values("a", "enqueue"), [0, REENQ], "{}", run.log());
    assert_eq!(run.values("a", "why_again"), [BECAUSE_IMMED]);
    // The second arrives at the same instant, before the waker releases the runqueue's lock.
    let calls: Vec<_> = run.of("a").filter(|c| c.op == "enqueue").map(|c| c.at).collect();
    assert!(calls[1].since(calls[0]).as_ns() < 2000);
    assert_eq!(run.queues("a"), [0xc000_0000_0000_0000, OWN_DSQ, 0xc000_0000_0000_0000]);
}

#[test]
fn two_on_an_idle_cpu_both_come_back() {
    // Both go to idle CPU 1 before it could pick. With the first there, it is no longer open, even for the first.
    let base = scene().cpus(2).set("select_this", 1);
    let a = task("a", [run(5000)]).after_ms(5);
    let run = base.task(Spec(keel_abi::task::TaskSpec { instances: 2, ..a.0 })).millis(40).survives();
    let enqueues: Vec<_> = run.calls.iter().filter(|c| c.op == "enqueue").map(|c| (c.pid, c.value)).collect();
    let back = enqueues.iter().filter(|(_, flags)| flags & REENQ != 0).count();
    assert_eq!((enqueues.len(), back), (4, 2), "{}", run.log());
}

#[test]
fn with_preempt_it_takes_the_cpu() {
    let base = scene().set("enqueue_flags", IMMED | 1 << 32).task(hog("x"));
    let run = base.task(task("a", [run(100)]).after_ms(5)).millis(40).survives();
    assert_eq!(again(&run, "a"), 0, "{}", run.log());
    assert!(near(run.first("a", "running").at, 5000, 300));
}

#[test]
fn one_that_runs_comes_back_when_a_higher_class_takes_its_cpu() {
    let rt = task("rt", [run(1000)]).policy(Policy::Fifo(1)).after_ms(5);
    let run = scene().task(hog("x")).task(rt).millis(20).survives();
    assert_eq!(run.values("x", "enqueue"), [0, REENQ], "{}", run.log());
    assert_eq!(run.values("x", "why_again"), [BECAUSE_PREEMPTED]);
    // Without the flag it stays at the head of the local queue.
    let plain = scene().set("enqueue_flags", 0).task(hog("x"));
    let plain = plain.task(task("rt", [run_us()]).policy(Policy::Fifo(1)).after_ms(5)).millis(20).survives();
    assert_eq!(plain.values("x", "enqueue"), [0]);
}

fn run_us() -> keel_abi::task::Step {
    run(1000)
}

#[test]
fn the_flag_ends_when_the_task_is_enqueued_again() {
    // `a` came back and went through the scheduler's own queue. Then a higher class may keep it waiting.
    let rt = task("rt", [run(1000)]).policy(Policy::Fifo(1)).after_ms(22);
    let run = scene().task(hog("x")).task(task("a", [run(5000)]).after_ms(5)).task(rt).millis(40).survives();
    assert!(run.of("a").any(|c| c.op == "stopping" && near(c.at, 22_000, 300)), "{}", run.log());
    assert_eq!(run.values("a", "enqueue"), [0, REENQ]);
}

#[test]
fn one_that_waits_comes_back_when_a_higher_class_wakes_there() {
    // `x` on CPU 0 wakes `a` and the real-time task on idle CPU 1, one just after the other.
    let waits = Step::Wait { condition: ObjectId(0), mutex: ObjectId(0) };
    let rt = task("rt", [waits.clone(), run(1000)]).policy(Policy::Fifo(1)).on([1]).after_ms(1);
    let a = task("a", [waits, run(100)]).on([1]);
    let x = task("x", [run(5000), Step::Broadcast(ObjectId(0)), run(100_000)]).on([0]);
    let base = scene().cpus(2).task(x).task(a).task(rt).workload(|w| (w.mutexes, w.conditions) = (1, 1));
    let run = base.millis(20).survives();
    let last = |name: &str| run.starts(name).last().expect("it runs").0;
    assert_eq!((again(&run, "a"), last("rt") < last("a")), (1, true), "{}", run.log());
    assert_eq!(run.values("a", "why_again"), [BECAUSE_IMMED]);
}

#[test]
fn a_cpu_of_a_higher_class_is_never_open() {
    let rt = task("rt", [run(10_000)]).policy(Policy::Fifo(1)).after_ms(1);
    let run = scene().task(rt).task(task("a", [run(100)]).after_ms(5)).millis(20).survives();
    assert_eq!(run.values("a", "why_again"), [BECAUSE_IMMED], "{}", run.log());
}

#[test]
fn a_scheduler_that_always_reinserts_it_is_ended() {
    let base = scene().set("again_to_own", 0).task(hog("x")).task(task("a", [run(100)]).after_ms(5));
    let run = base.millis(40).fails("SCX_ENQ_REENQ on SCX_DSQ_LOCAL repeated 257 times");
    assert_eq!(again(&run, "a"), 257);
}

#[test]
fn only_local_queues_know_it() {
    let words = "SCX_ENQ_IMMED on a non-local DSQ 0x1";
    with("tracer").set("enqueue_flags", IMMED).task(hog("a")).fails(words);
}

#[test]
fn a_scheduler_can_want_it_of_all() {
    let base = with("always_immed").set("select_default", 0).set("enqueue_dsq", LOCAL).set("again_to_own", 1);
    let base = base.set("slice_ns", 20_000_000).task(hog("x"));
    let run = base.task(task("a", [run(100)]).after_ms(5)).millis(40).survives();
    assert_eq!(run.values("a", "why_again"), [BECAUSE_IMMED], "{}", run.log());
}

#[test]
fn one_moved_behind_another_comes_back() {
    // Two wait in the scheduler's own queue; ops.dispatch moves both into the local one.
    let base = with("always_immed").set("dispatch_moves", 0).set("dispatch_iterates", 1);
    let base = base.set("move_dsq", LOCAL).set("slice_ns", 5_000_000).task(hog("x"));
    let wait = |name: &str| task(name, [run(500)]).after_ms(1);
    let run = base.task(wait("a")).task(wait("b")).millis(30).survives();
    let why: Vec<_> = ["x", "a", "b"].iter().flat_map(|name| run.values(name, "why_again")).collect();
    assert!(!why.is_empty() && why.iter().all(|&why| why == BECAUSE_IMMED), "{}", run.log());
}

#[test]
fn a_reenqueued_task_has_the_flag() {
    let base = with("tracer").set("enqueue_dsq", LOCAL).set("reenqueues", 1);
    let run = base.task(repeat("a", [run(100), sleep(100)])).millis(10).survives();
    let why = run.values("a", "why_again");
    assert!(why.len() > 10 && why.iter().all(|&why| why == BECAUSE_ASKED), "{}", run.log());
    assert!(run.values("a", "enqueue").iter().all(|flags| flags & WAKEUP == 0 || flags & REENQ == 0));
}
