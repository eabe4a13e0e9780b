//! Enabling and disabling a scheduler.

use crate::harness::*;
use keel_abi::scx::ExitKind;

const ENTRY: &[&str] =
    &["init", "init_task", "enable", "set_weight", "set_cpumask", "exit_task", "disable", "exit"];

/// Callbacks of this kind in order, as `op pid`.
fn entries(run: &Run) -> Vec<String> {
    let wanted = run.calls.iter().filter(|c| ENTRY.contains(&c.op.as_str()));
    wanted.map(|c| format!("{} {}", c.op, c.pid)).collect()
}

#[test]
fn existing_tasks_are_taken_over_and_new_ones_get_no_set_cpumask() {
    let run = with("tracer").cpus(2).task(hog("a").nice(5)).millis(5).survives();
    let expected = [
        "init 0",
        "init_task 1",
        "enable 1",
        "set_weight 1",
        "set_cpumask 1",
        "init_task 2",
        "enable 2",
        "set_weight 2",
    ];
    assert_eq!(entries(&run), expected);
    let inits: Vec<u64> = run.calls.iter().filter(|c| c.op == "init_task").map(|c| c.value).collect();
    assert_eq!(inits, [0, 1], "not forked, forked");
    assert_eq!(run.values("a", "set_weight"), [33], "nice 5");
}

#[test]
fn an_init_that_fails() {
    let run = with("tracer").set("init_answer", -5).task(hog("a")).fails("ops.init() failed (-5)");
    assert_eq!(entries(&run), ["init 0", "exit 0"], "{}", run.log());
    with("tracer").set("init_answer", 3).task(hog("a")).fails("ops.init() returned an invalid errno 3");
}

#[test]
fn an_init_task_that_fails_while_loading() {
    let base = with("tracer").set("init_task_fails_pid", 1).set("init_task_answer", -12).task(hog("a"));
    let run = base.fails("ops.init_task() failed (-12) for init[1]");
    assert_eq!(entries(&run), ["init 0", "init_task 1", "exit 0"], "{}", run.log());
}

#[test]
fn an_init_task_that_fails_aborts_the_fork_and_no_more() {
    let base = with("tracer").set("init_task_fails_pid", 2).set("init_task_answer", -12);
    let run = base.task(hog("a")).task(task("b", [run(100)]).after_ms(1)).survives();
    assert_eq!(run.of("a").map(|c| c.op.as_str()).collect::<Vec<_>>(), ["init_task"]);
    assert!(run.starts("a").is_empty() && !run.starts("b").is_empty());
}

#[test]
fn every_task_leaves_before_exit() {
    // One runs, one waits in a queue, one sleeps, and one is already dead. Then another one arrives.
    let base = with("tracer").set("ends_at_enqueue", 5).set("ends_by", 1).set("slice_ns", 50_000_000);
    let base = base.task(task("dead", [run(10)])).task(task("sleeps", [run(10), sleep(50_000)]).after_ms(1));
    let base =
        base.task(hog("runs").after_ms(2)).task(hog("waits").after_ms(3)).task(hog("ends").after_ms(4));
    let run = base.ends(ExitKind::ErrorBpf, "the end of 6");
    let end = |name| run.trace(name, &["stopping", "quiescent", "disable", "exit_task"]);
    assert_eq!(end("dead"), ["stopping", "quiescent=1", "disable", "exit_task"]);
    assert_eq!(end("sleeps"), ["stopping", "quiescent=1", "disable", "exit_task"]);
    assert_eq!(end("runs"), ["stopping", "quiescent=20000004e", "disable", "exit_task"], "{}", run.log());
    assert_eq!(end("waits"), ["quiescent=20000000e", "quiescent=20000004e", "disable", "exit_task"]);
    let last: Vec<&str> = run.calls.iter().rev().take(3).map(|c| c.op.as_str()).collect();
    assert_eq!(last, ["said", "exit_code", "exit"]);
}

#[test]
fn a_task_that_left_gets_no_more_callbacks() {
    let base = with("tracer").cpus(4).set("ends_at_enqueue", 300).set("ends_by", 1);
    let base = base.task(repeat("a", [run(30), sleep(20)]).instances(12)).task(hog("b").instances(4));
    let run = base.set("slice_ns", 200_000).run();
    assert_eq!(run.outcome.exit, ExitKind::ErrorBpf);
    let gone: Vec<(usize, u32)> =
        run.calls.iter().enumerate().filter(|(_, c)| c.op == "exit_task").map(|(i, c)| (i, c.pid)).collect();
    assert_eq!(gone.len(), 17);
    for (at, pid) in gone {
        assert_eq!(run.calls[at + 1..].iter().find(|c| c.pid == pid), None, "{pid}");
    }
}

#[test]
fn too_long_a_timeout_is_refused() {
    let run = with("too_patient").task(hog("a")).run();
    assert_eq!(run.outcome.exit, ExitKind::Error);
    assert!(run.outcome.message.contains("E2BIG") && run.calls.is_empty());
}
