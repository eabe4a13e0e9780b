//! Channels, children, hints: what the scheduler sees of the steps beyond rt-app's.

use crate::harness::*;
use keel_abi::task::{Channel, ChannelKind, Hint, HintPolicy, ObjectId, Step};

const FIRST: ObjectId = ObjectId(0);

fn send(bytes: u32) -> Step {
    Step::Send { channel: FIRST, bytes }
}

fn receive(bytes: u32) -> Step {
    Step::Receive { channel: FIRST, bytes }
}

/// Start times of `a` in milliseconds, on two CPUs beside `b`, with a pipe of 100 bytes.
fn check(a: &[Step], b: &[Step], expected: &[u64]) {
    let channel = Channel { kind: ChannelKind::Pipe, capacity_bytes: 100 };
    let run = with("tracer")
        .cpus(2)
        .task(task("a", a.to_vec()))
        .task(task("b", b.to_vec()))
        .workload(|w| w.channels = vec![channel])
        .survives();
    let starts: Vec<u64> = run.starts("a").iter().map(|(at, _)| at.as_ns() / 1_000_000).collect();
    assert_eq!(starts, expected, "{}", run.log());
}

#[test]
fn a_reader_waits_for_all_that_it_wants() {
    check(&[receive(10), run(100)], &[sleep(5_000), send(10)], &[0, 5]);
    check(&[receive(10), run(100)], &[sleep(5_000), send(4), sleep(5_000), send(6)], &[0, 5, 10]);
    check(&[sleep(5_000), receive(10)], &[send(10)], &[0, 5]);
    check(&[receive(250), run(100)], &[sleep(5_000), send(100), sleep(5_000), send(150)], &[0, 5, 10, 10]);
}

#[test]
fn a_writer_waits_for_space() {
    check(&[send(100), send(1), run(100)], &[sleep(5_000), receive(1)], &[0, 5]);
    check(&[send(100), run(100)], &[sleep(5_000), receive(1)], &[0]);
    check(&[send(150)], &[sleep(5_000), receive(30), sleep(5_000), receive(30)], &[0, 5, 10]);
}

#[test]
fn a_parent_waits_for_a_childs_end() {
    let check = |steps: Vec<Step>, expected: &[u64]| {
        let child = task("child", [sleep(5_000)]).instances(0);
        let run = with("tracer").cpus(2).task(task("a", steps)).task(child).survives();
        let starts: Vec<u64> = run.starts("a").iter().map(|(at, _)| at.as_ns() / 1_000_000).collect();
        assert_eq!(starts, expected, "{}", run.log());
    };
    check(vec![Step::Spawn(1), Step::WaitChild, run(100)], &[0, 5]);
    check(vec![Step::Spawn(1), sleep(9_000), Step::WaitChild, run(100)], &[0, 9]);
    check(vec![Step::WaitChild, run(100)], &[0]);
    check(vec![Step::Fork(1), Step::WaitChild, run(100)], &[0]);
    check(vec![Step::Spawn(1), Step::WaitChild, Step::WaitChild, run(100)], &[0, 5]);
}

#[test]
fn a_task_that_dies_before_the_switch_from_it_is_over_is_reaped_once() {
    let channel = Channel { kind: ChannelKind::Pipe, capacity_bytes: 100 };
    // CPU 0 switches from the first to the second task, and is not done when CPU 2 ends the first.
    let run = with("tracer")
        .cpus(3)
        .set("runs_slowly_pid", 4)
        .set("exits_slowly_pid", 2)
        .set("slowly_ns", 4_000_000)
        .task(task("a", [run(3_000), receive(10)]))
        .task(task("slow", [run(1_000)]).after_ms(1).on([0]))
        .task(task("b", [sleep(4_000), send(10)]).on([2]))
        .workload(|w| w.channels = vec![channel])
        .survives();
    let cpus: Vec<u32> = run.starts("a").iter().map(|(_, cpu)| cpu.0).collect();
    assert_eq!((cpus, run.pid("slow")), (vec![0, 2], 4), "{}", run.log());
    assert_eq!(run.values("a", "exit_task"), [0], "{}", run.log());
}

#[test]
fn a_hint_reaches_the_scheduler_and_is_inherited() {
    let hint = |priority| Some(Hint { rt_priority: priority, policy: HintPolicy::Fifo });
    let mut urgent = task("urgent", [Step::Fork(2), run(300_000)]);
    urgent.0.hint = hint(50);
    let child = task("child", [run(300_000)]).instances(0);
    let run = with_source("schedulers/goodness")
        .cpus(1)
        .millis(400)
        .task(hog("ordinary"))
        .task(urgent)
        .task(child)
        .survives();
    let shares = ["ordinary", "urgent", "child"].map(|name| run.cpu_ms(name));
    assert!(shares[0] < 10 && shares[1] > 250 && shares[2] > 80, "{shares:?}");
}
