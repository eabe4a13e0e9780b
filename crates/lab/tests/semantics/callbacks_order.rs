//! The order of callbacks.

use crate::harness::*;
use keel_abi::task::Step;

const STATES: &[&str] = &["runnable", "running", "stopping", "quiescent"];

#[test]
fn a_life_in_callbacks() {
    let run = with("tracer").task(task("a", [run(100), sleep(100), run(100)])).survives();
    let ops =
        [STATES, &["init_task", "enable", "set_weight", "set_cpumask", "enqueue", "disable", "exit_task"]];
    let expected = [
        "init_task=1",
        "enable=64",
        "set_weight=64",
        "runnable",
        "enqueue",
        "running=4c4b40",
        "stopping",
        "quiescent=1",
        "runnable=1",
        "enqueue=1",
        "running=4c4b40",
        "stopping",
        "quiescent=1",
        "disable",
        "exit_task",
    ];
    assert_eq!(run.trace("a", &ops.concat()), expected, "{}", run.log());
}

#[test]
fn a_task_that_blocks_is_put_away_before_dispatch() {
    let run = with("tracer").task(task("a", [run(100), sleep(100), run(100)])).survives();
    let end = run.calls.iter().position(|c| c.op == "stopping").expect("it stops");
    let after: Vec<&str> = run.calls[end..].iter().map(|c| c.op.as_str()).take(4).collect();
    assert_eq!(after, ["stopping", "left", "quiescent", "dispatch"]);
    let dispatch = run.calls[end..].iter().find(|c| c.op == "dispatch").expect("it dispatches");
    assert_eq!((dispatch.pid, dispatch.value), (run.pid("a"), 0), "prev is reported, but not as queued");
}

#[test]
fn a_change_of_the_running_task_goes_through_four_callbacks() {
    let check = |step: Step, op: &str| {
        let run = with("tracer").cpus(2).task(task("a", [run(100), step, run(100)])).survives();
        let trace = run.trace("a", &[STATES, &[op, "enqueue"]].concat());
        let at = trace.iter().rposition(|line| line.starts_with(op)).expect("it changes");
        let around: Vec<_> = trace[at - 2..at + 3].iter().map(|l| l.split('=').next().unwrap()).collect();
        assert_eq!(around, ["stopping", "quiescent", op, "runnable", "running"], "{trace:?}");
        assert_eq!(trace[at - 1], "quiescent=20000000a");
        assert_eq!(trace[at + 1], "runnable=a");
    };
    check(Step::Nice(5), "set_weight");
    check(affinity([0]), "set_cpumask");
}

#[test]
fn a_move_between_runqueues_is_no_change_of_state() {
    let busy = |name| task(name, [run(2000)]).on([0]);
    let run = with("tracer")
        .cpus(2)
        .task(busy("x"))
        .task(task("a", [run(100), affinity([1]), run(100)]))
        .survives();
    let trace = run.trace("a", STATES);
    assert_eq!(
        trace.iter().filter(|l| l.starts_with("runnable")).count(),
        2,
        "one more for the change: {trace:?}"
    );
    assert!(run.starts("a").last().is_some_and(|(_, cpu)| cpu.0 == 1));
}

#[test]
fn a_kept_task_sees_nothing() {
    let run = with("tracer").set("slice_ns", 1_000_000).task(hog("a")).millis(50).survives();
    assert_eq!(run.count("a", "running"), 1);
    assert_eq!(run.count("a", "stopping"), 0);
    assert_eq!(run.count("a", "enqueue"), 1);
}
