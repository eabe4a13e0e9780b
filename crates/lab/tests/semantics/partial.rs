//! `SCX_OPS_SWITCH_PARTIAL`: the scheduler has only tasks with policy SCHED_EXT. The fair class, above it, has the
//! others.

use crate::harness::*;
use crate::outside::at;
use keel_abi::scx::ExitKind;
use keel_abi::task::{Policy, Step};
use keel_abi::timeline::Change;
use keel_lab::Engine;
use keel_trace::What;

const LIFE: &[&str] = &[
    "select_cpu",
    "enqueue",
    "runnable",
    "running",
    "stopping",
    "quiescent",
    "enable",
    "disable",
    "set_weight",
    "set_cpumask",
    "init_task",
    "exit_task",
    "dequeue",
    "yield",
];

fn partly(scheduler: &str) -> Scenario {
    with(scheduler).recipe("[ops]\nflags = ['SCX_OPS_SWITCH_PARTIAL']\n")
}

fn ext(spec: Spec) -> Spec {
    spec.policy(Policy::Ext)
}

/// The names of all callbacks of a task's life, in order.
fn life(run: &Run, name: &str) -> Vec<String> {
    let named = run.trace(name, LIFE);
    named.iter().map(|line| line.split('=').next().expect("a name").to_owned()).collect()
}

#[test]
fn other_tasks_cause_only_init_task_and_exit_task() {
    let steps = [run(100), sleep(100), Step::Yield, affinity([0]), Step::Nice(3), run(100)];
    for policy in [Policy::Other, Policy::Batch, Policy::Idle] {
        let other = task("other", steps.clone()).policy(policy);
        let run = partly("tracer").cpus(2).task(other).task(ext(hog("x"))).millis(20).survives();
        assert_eq!(run.trace("other", LIFE), ["init_task=1", "exit_task"], "{policy:?}: {}", run.log());
        assert!(run.starts("other").len() >= 2);
        assert!(run.count("x", "enqueue") > 0 && run.count("x", "enable") == 1);
    }
    // Without the flag it has them all.
    let run = with("tracer").cpus(2).task(task("other", steps)).millis(20).survives();
    assert_eq!(run.count("other", "enable"), 1);
}

#[test]
fn existing_tasks_stay_in_the_fair_class() {
    let run = partly("tracer").task(hog("a")).millis(5).survives();
    let first: Vec<&str> = run.calls.iter().filter(|c| c.pid == 1).map(|c| c.op.as_str()).collect();
    assert_eq!(first, ["init_task"], "{}", run.log());
}

#[test]
fn the_fair_class_takes_the_cpu_and_the_preempted_goes_on_where_it_was() {
    let base = partly("tracer").set("slice_ns", 50_000_000).task(ext(hog("x"))).millis(60);
    let run = base.task(task("other", [run(5000)]).after_ms(10)).survives();
    assert!(near(run.starts("other")[0].0, 10_000, 200), "{}", run.log());
    assert!(near(run.stops("other")[0], 15_000, 300));
    let stopped = run.first("x", "stopping");
    assert_eq!((stopped.value, near(stopped.at, 10_000, 200)), (1, true));
    let again = run.of("x").filter(|c| c.op == "running").nth(1).expect("it goes on");
    assert!(near(again.at, 15_000, 300));
    assert!(run.of("x").filter(|c| c.op == "enqueue").all(|c| c.at < stopped.at));
}

#[test]
fn cpu_release_has_the_unknown_reason() {
    let base = partly("cpu_preempt").set("slice_ns", 50_000_000).millis(40);
    let other = repeat("other", [run(1000), sleep(4000)]).after_ms(5);
    let run = base.task(ext(hog("x"))).task(other).survives();
    let calls = |op: &str| run.calls.iter().filter(|c| c.op == op).collect::<Vec<_>>();
    let (released, acquired) = (calls("cpu_release"), calls("cpu_acquire"));
    let times = run.starts("other").len();
    assert!(times >= 5 && released.len() == times && acquired.len() >= times - 1, "{}", run.log());
    // SCX_CPU_PREEMPT_UNKNOWN
    assert!(released.iter().all(|c| c.pid == run.pid("other") && c.value == 3), "{released:?}");
}

#[test]
fn kicks_pass_its_cpu_by() {
    let base = partly("tracer").cpus(2).set("enqueue_kicks", 0).set("kick_flags", 2).set("only_pid", 3);
    let base = base.task(hog("other").on([0])).millis(20);
    let run = base.task(ext(repeat("a", [run(100), sleep(2000)]).on([1]).after_ms(1))).survives();
    let kicks = run.events_of(|e| matches!(e.what, What::Kick { .. }).then_some(e.at));
    assert_eq!((kicks.len(), run.count("a", "enqueue") > 5), (0, true));
}

#[test]
fn its_cpus_are_not_idle_to_the_scheduler() {
    let base = partly("tracer").cpus(2).task(hog("other").on([0])).millis(30);
    let run = base.task(ext(repeat("a", [run(300), sleep(700)]).after_ms(2))).survives();
    assert!(run.starts("a").iter().all(|(_, cpu)| cpu.0 == 1), "{:?}", run.starts("a"));
    assert!(run.values("a", "selected").iter().all(|&is_idle| is_idle == 1), "{}", run.log());
}

#[test]
fn the_fair_class_cannot_starve_the_scheduler_for_ever() {
    // The deadline server: 50 ms of each second.
    let endless = |name: &str| repeat(name, [run(1_000_000)]);
    let run = partly("tracer").task(endless("other")).task(ext(endless("x"))).millis(4200).survives();
    let starts: Vec<u64> = run.starts("x").iter().map(|(at, _)| at.as_ns() / 1_000_000).collect();
    let first = starts.iter().find(|&&ms| ms > 10).expect("it is served");
    assert!(first.abs_diff(951) <= 2, "{starts:?}");
    assert!((195..=210).contains(&run.cpu_ms("x")), "four times 50 ms: {} ms, {starts:?}", run.cpu_ms("x"));
}

#[test]
fn a_task_comes_to_the_scheduler_and_goes_by_its_own_policy() {
    let steps = [run(1000), Step::Policy(Policy::Ext), run(1000), Step::Policy(Policy::Other), run(1000)];
    let run = partly("tracer").set("slice_ns", 20_000_000).task(task("a", steps)).millis(10).survives();
    let expected = [
        "init_task",
        "enable", // to SCHED_EXT
        "set_weight",
        "set_cpumask",
        "runnable",
        "running",
        "stopping", // and back
        "quiescent",
        "disable",
        "exit_task", // death
    ];
    assert_eq!(life(&run, "a"), expected, "{}", run.log());
    let trace = run.trace("a", LIFE);
    // Its priority stays the same, and so does its place.
    let (off, on) = ("quiescent=20000004a".to_owned(), "runnable=4a".to_owned());
    assert!(trace.contains(&off) && trace.contains(&on), "{trace:?}");
}

/// A scheduler's callbacks for a task whose policy another task sets to `policy` at 5 ms, beginning with `first`. One
/// task sleeps, one waits behind `x` and one runs.
fn given(first: Policy, policy: Policy) -> [Vec<String>; 3] {
    let change = |spec| at(5000, Change::Policy { spec, policy });
    let base = || partly("tracer").set("slice_ns", 100_000_000).millis(12);
    let after = |run: &Run, name: &str| -> Vec<String> {
        let late = run.of(name).filter(|c| c.at.as_ns() >= 5_000_000 && LIFE.contains(&c.op.as_str()));
        late.map(|c| c.op.clone()).collect()
    };
    let asleep = task("a", [run(100), sleep(60_000)]).policy(first);
    let asleep = base().task(asleep).workload(|w| w.timeline.push(change(0))).survives();
    let before = hog("x").policy(Policy::Fifo(1));
    let waits = base().task(hog("a").policy(first)).task(before.after_ms(2));
    let waits = waits.workload(|w| w.timeline.push(change(0))).survives();
    let runs = base().task(hog("a").policy(first)).workload(|w| w.timeline.push(change(0))).survives();
    [after(&asleep, "a"), after(&waits, "a"), after(&runs, "a")]
}

#[test]
fn another_gives_a_task_to_the_scheduler() {
    let [asleep, waits, runs] = given(Policy::Other, Policy::Ext);
    assert_eq!(asleep, ["enable", "set_weight", "set_cpumask"]);
    assert_eq!(waits, ["enable", "set_weight", "set_cpumask", "runnable", "enqueue"]);
    assert_eq!(runs, ["enable", "set_weight", "set_cpumask", "runnable", "running"]);
}

#[test]
fn another_takes_a_task_from_the_scheduler() {
    let [asleep, waits, runs] = given(Policy::Ext, Policy::Other);
    assert_eq!(asleep, ["disable"]);
    // It was preempted with time left, so it waits in the local queue, in no custody.
    assert_eq!(waits, ["quiescent", "disable"]);
    assert_eq!(runs, ["stopping", "quiescent", "disable"]);
}

#[test]
fn another_changes_the_policy_within_a_class() {
    let run = |first, policy| {
        let change = at(5000, Change::Policy { spec: 0, policy });
        let base = partly("tracer").task(hog("a").policy(first)).task(hog("b").policy(first)).millis(40);
        base.workload(|w| w.timeline.push(change)).survives()
    };
    // From SCHED_OTHER to SCHED_IDLE: it gets almost nothing.
    let idle = run(Policy::Other, Policy::Idle);
    assert_eq!(idle.trace("a", LIFE), ["init_task=1"]);
    assert!(idle.cpu_ms("a") <= 6, "{}", idle.cpu_ms("a"));
    // To a real-time policy and never back: `b` waits.
    let rt = run(Policy::Other, Policy::Fifo(3));
    assert!(rt.cpu_ms("a") >= 35 && rt.trace("a", LIFE) == ["init_task=1"], "{}", rt.cpu_ms("a"));
}

#[test]
fn another_policy_of_the_same_class_is_a_change_all_the_same() {
    let steps = [run(1000), Step::Policy(Policy::Idle), run(1000)];
    let run =
        with("tracer").set("slice_ns", 20_000_000).task(task("a", steps).nice(-3)).millis(10).survives();
    let names = life(&run, "a");
    let at = names.iter().position(|name| name == "stopping").expect("it is taken off");
    let after = ["stopping", "quiescent", "set_weight", "runnable", "running"];
    assert_eq!(names[at..at + 5], after, "{}", run.log());
    assert_eq!(run.values("a", "set_weight"), [194, 1], "SCHED_IDLE knows no nice values");
}

#[test]
fn a_change_of_class_while_it_wakes_waits_for_the_wakeup() {
    // Every 137 µs, another task changes the policy of tasks that wake and sleep all the time.
    let change = |us, policy| crate::outside::every(us, Change::Policy { spec: 0, policy });
    let base = partly("tracer").cpus(3).set("slice_ns", 300_000).millis(150);
    let base = base.task(repeat("a", [run(70), sleep(50)]).instances(6)).task(ext(hog("x")));
    let base = base.workload(|w| {
        w.timeline.push(change(137, Policy::Ext));
        w.timeline.push(change(211, Policy::Other));
    });
    let run = base.survives();
    // Each task's callbacks are consistent.
    for id in run.ids("a") {
        let pid = *run
            .pids("a")
            .iter()
            .nth(run.ids("a").iter().position(|&a| a == id).expect("it is there"))
            .expect("a pid");
        let (mut is_in, mut is_up, mut runs) = (false, false, false);
        for call in run.calls.iter().filter(|c| c.pid == pid) {
            match call.op.as_str() {
                "enable" => assert!(!std::mem::replace(&mut is_in, true), "{pid} twice in"),
                "disable" => assert!(std::mem::take(&mut is_in) && !is_up && !runs, "{pid} {call:?}"),
                "runnable" => assert!(is_in && !std::mem::replace(&mut is_up, true), "{pid} {call:?}"),
                "quiescent" => assert!(std::mem::take(&mut is_up) && !runs, "{pid} {call:?}"),
                "running" => assert!(is_up && !std::mem::replace(&mut runs, true), "{pid} {call:?}"),
                "stopping" => assert!(std::mem::take(&mut runs), "{pid} {call:?}"),
                _ => {}
            }
        }
    }
    let changes = run.calls.iter().filter(|c| c.op == "disable").count();
    assert!(changes > 200, "{changes}");
}

#[test]
fn a_disallowed_child_stays_in_the_fair_class() {
    let base = partly("tracer").set("disallow_pid", 2).task(ext(hog("a")));
    let run = base.ends(ExitKind::Error, "ops.init_task() set task->scx.disallow for a[2] during fork");
    assert_eq!(run.count("a", "init_task"), 1);
}

#[test]
fn both_engines_agree() {
    let run = |engine| {
        let base = partly("tracer").cpus(4).engine(engine).millis(60);
        let steps = [run(300), Step::Policy(Policy::Ext), sleep(400), run(300), Step::Policy(Policy::Other)];
        let base = base.task(repeat("both", steps).instances(5)).task(hog("other").instances(3));
        base.task(ext(repeat("x", [run(500), sleep(200)]).instances(4))).survives()
    };
    let (native, interpreted) = (run(Engine::Native), run(Engine::Interpreter));
    assert_eq!(native.events, interpreted.events);
    assert!(native.count("both", "enable") > 0);
}
