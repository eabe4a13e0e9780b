//! Cgroups are created, changed and removed, and the scheduler is notified.

use crate::harness::*;
use keel_abi::cgroup::{Bandwidth, Cgroup, CgroupId, CgroupStep};
use keel_abi::scx::ExitKind;
use keel_abi::task::Step;

/// `/a`, `/b` and `/a/x`, made in this order.
const A: CgroupId = CgroupId(1);
const B: CgroupId = CgroupId(2);
const X: CgroupId = CgroupId(3);
/// Their ids, and the root's, in a run in which all exist from the start.
const ROOT_ID: u32 = 1;
const A_ID: u32 = 65;
const B_ID: u32 = 129;
const X_ID: u32 = 193;

const CALLBACKS: &[&str] =
    &["cgroup_init", "cgroup_exit", "cgroup_set_weight", "cgroup_set_idle", "cgroup_set_bandwidth"];

fn cgroup(path: &str, parent: CgroupId, weight: u32) -> Cgroup {
    let bandwidth = Bandwidth::default();
    Cgroup { path: path.to_owned(), parent, is_there: true, weight, bandwidth, idle: false }
}

fn tree() -> Scenario {
    let all = [cgroup("/a", CgroupId::ROOT, 200), cgroup("/b", CgroupId::ROOT, 50), cgroup("/a/x", A, 100)];
    with("cgroups").workload(|workload| workload.cgroups = all.into())
}

/// The tree with only the root.
fn bare_tree() -> Scenario {
    tree().workload(|workload| workload.cgroups.iter_mut().for_each(|cgroup| cgroup.is_there = false))
}

fn does(steps: impl IntoIterator<Item = CgroupStep>) -> Spec {
    task("a", steps.into_iter().map(Step::Cgroup).chain([run(10)]))
}

/// The cgroup callbacks, in order: `op id=value`.
fn reported(run: &Run) -> Vec<String> {
    let reported = run.calls.iter().filter(|call| CALLBACKS.contains(&call.op.as_str()));
    reported.map(|call| format!("{} {}={}", call.op, call.pid, call.value)).collect()
}

/// The calls of these kinds in order, as `op number`.
fn order(run: &Run, ops: &[&str]) -> Vec<String> {
    let calls = run.calls.iter().filter(|call| ops.contains(&call.op.as_str()));
    calls.map(|call| format!("{} {}", call.op, call.pid)).collect()
}

#[test]
fn parents_are_taken_in_first_and_cgroups_before_tasks() {
    let run = tree().task(hog("a")).millis(2).survives();
    let expected = [
        "init 0",
        "cgroup_init 1",
        "cgroup_init 65",
        "cgroup_init 193",
        "cgroup_init 129",
        "init_task 1",
        "init_task 2",
    ];
    assert_eq!(order(&run, &["init", "cgroup_init", "init_task"]), expected, "{}", run.log());
    let weights = run.calls.iter().filter(|c| c.op == "cgroup_init").map(|c| (c.pid, c.value));
    assert_eq!(weights.collect::<Vec<_>>(), [(ROOT_ID, 100), (A_ID, 200), (X_ID, 100), (B_ID, 50)]);
    let levels = run.calls.iter().filter(|c| c.op == "level").map(|c| c.value);
    assert_eq!(levels.collect::<Vec<_>>(), [0, 1, 2, 1]);
    let without_limits = 0xffff_ffffu64 << 32 | 100_000 << 12;
    assert!(
        run.calls.iter().filter(|c| c.op == "limits").all(|c| c.value == without_limits),
        "{}",
        run.log()
    );
}

#[test]
fn children_leave_first_and_cgroups_before_tasks() {
    let run = tree().set("ends_at_enqueue", 1).set("ends_by", 1).task(hog("a")).run();
    assert_eq!(run.outcome.exit, ExitKind::ErrorBpf);
    let expected = [
        "cgroup_exit 193",
        "cgroup_exit 65",
        "cgroup_exit 129",
        "cgroup_exit 1",
        "exit_task 1",
        "exit_task 2",
        "exit 0",
    ];
    assert_eq!(order(&run, &["cgroup_exit", "exit_task", "exit"]), expected, "{}", run.log());
}

#[test]
fn a_cgroup_init_that_fails_while_loading_ends_it() {
    let fails =
        |answer: i32| tree().set("init_fails_cgid", X_ID).set("cgroup_init_answer", answer).task(hog("a"));
    let run = fails(-12).fails("ops.cgroup_init() failed (-12)");
    let expected =
        ["cgroup_init 1", "cgroup_init 65", "cgroup_init 193", "cgroup_exit 65", "cgroup_exit 1", "exit 0"];
    assert_eq!(order(&run, &["cgroup_init", "cgroup_exit", "init_task", "exit"]), expected, "{}", run.log());
    // While loading, the kernel reports the returned error, whatever it is.
    fails(3).fails("ops.cgroup_init() failed (3)");
}

#[test]
fn a_later_cgroup_is_initialised_then() {
    let run = bare_tree().task(does([
        CgroupStep::Make(X),
        CgroupStep::Make(A),
        CgroupStep::Make(A),
        CgroupStep::Make(X),
    ]));
    let run = run.survives();
    // Without its parent, /a/x cannot exist. An existing one is not created again.
    assert_eq!(
        reported(&run),
        ["cgroup_init 1=100", "cgroup_init 65=200", "cgroup_init 129=100"],
        "{}",
        run.log()
    );
    // It cannot be found before it is complete.
    let found = run.calls.iter().filter(|c| c.op == "found").map(|c| c.value);
    assert_eq!(found.collect::<Vec<_>>(), [1, 0, 0]);
}

#[test]
fn a_cgroup_init_that_fails_later_means_no_cgroup() {
    let fails = |answer: i32| {
        let base = bare_tree().set("init_fails_cgid", A_ID).set("cgroup_init_answer", answer);
        base.task(does([CgroupStep::Make(A), CgroupStep::Join(A), CgroupStep::Make(A), CgroupStep::Join(A)]))
    };
    let run = fails(-12).survives();
    assert_eq!(reported(&run), ["cgroup_init 1=100", "cgroup_init 65=200", "cgroup_init 129=200"]);
    assert_eq!(run.values("a", "cgroup_move"), [1 << 32 | 129], "only the second is there");
    fails(3).fails("ops.cgroup_init() returned an invalid errno 3");
}

#[test]
fn only_an_empty_cgroup_can_be_removed() {
    let steps = [
        CgroupStep::Remove(A),
        CgroupStep::Join(B),
        CgroupStep::Remove(B),
        CgroupStep::Join(CgroupId::ROOT),
        CgroupStep::Remove(B),
        CgroupStep::Remove(B),
        CgroupStep::Remove(CgroupId::ROOT),
        CgroupStep::Remove(X),
        CgroupStep::Remove(A),
        CgroupStep::Make(A),
    ];
    let run =
        tree().task(does(steps)).task(hog("b").after_ms(5)).set("ends_at_enqueue", 2).set("ends_by", 1).run();
    let exits: Vec<String> =
        reported(&run).into_iter().filter(|line| line.starts_with("cgroup_exit")).collect();
    // Its storage still exists. At the end, the remaining ones follow. A path created again is another cgroup.
    let expected = [129, 193, 65, 257, 1].map(|id| format!("cgroup_exit {id}={}", id + 1000));
    assert_eq!(exits, expected, "{}", run.log());
    let after = |id: u32| {
        let exit = run.calls.iter().position(|c| c.op == "cgroup_exit" && c.pid == id).expect("it left");
        run.calls[exit + 1].value
    };
    assert_eq!((after(B_ID), after(ROOT_ID)), (0, 1), "what is removed is found no more");
    let referred: Vec<u64> = run.calls.iter().filter(|c| c.op == "referred").map(|c| c.value).collect();
    assert_eq!(referred, [1; 10], "a callback can refer to its cgroup");
}

#[test]
fn changed_settings_are_notified() {
    let limits = Bandwidth { period_us: 50_000, quota_us: 20_000, burst_us: 7 };
    let steps = [
        CgroupStep::Weight(A, 200),
        CgroupStep::Weight(A, 300),
        CgroupStep::Weight(CgroupId::ROOT, 300),
        CgroupStep::Bandwidth(B, Bandwidth::default()),
        CgroupStep::Bandwidth(B, limits),
        CgroupStep::Bandwidth(B, limits),
        CgroupStep::Idle(A, true),
        CgroupStep::Idle(A, true),
        // An idle cgroup has no weight to set.
        CgroupStep::Weight(A, 400),
        CgroupStep::Idle(A, false),
        CgroupStep::Weight(A, 300),
        CgroupStep::Weight(A, 400),
    ];
    let run = tree().task(does(steps)).survives();
    let reported: Vec<String> =
        reported(&run).into_iter().filter(|line| !line.starts_with("cgroup_init")).collect();
    let limited = 20_000u64 << 32 | 50_000 << 12 | 7;
    let expected = [
        "cgroup_set_weight 65=300".to_owned(),
        format!("cgroup_set_bandwidth 129={limited}"),
        "cgroup_set_idle 65=1".to_owned(),
        "cgroup_set_idle 65=1".to_owned(),
        "cgroup_set_idle 65=0".to_owned(),
        "cgroup_set_weight 65=400".to_owned(),
    ];
    assert_eq!(reported, expected, "{}", run.log());
}

#[test]
fn a_late_scheduler_gets_the_current_settings() {
    let change = |workload: &mut keel_abi::task::Workload| {
        workload.cgroups[1].weight = 77;
        workload.cgroups[1].bandwidth = Bandwidth { period_us: 3000, quota_us: 1000, burst_us: 5 };
    };
    let run = tree().workload(change).task(hog("a")).millis(2).survives();
    let of_b = |op: &str| run.calls.iter().find(|c| c.op == op && c.pid == B_ID).expect("a call").value;
    assert_eq!((of_b("cgroup_init"), of_b("limits")), (77, 1000 << 32 | 3000 << 12 | 5));
}

#[test]
fn a_scheduler_without_cgroup_callbacks_is_not_notified() {
    let all = vec![cgroup("/a", CgroupId::ROOT, 200)];
    let base = with("tracer").workload(|workload| workload.cgroups = all);
    base.task(does([CgroupStep::Join(A), CgroupStep::Weight(A, 5), CgroupStep::Remove(A)])).survives();
}

#[test]
fn cgroup_mutex_is_held_by_one_and_its_line_moves() {
    let waited = |cpus: u32| {
        let weigh = |n| Step::Cgroup(CgroupStep::Weight(A, n));
        let one = |cpu: u32| repeat(&format!("t{cpu}"), [weigh(100), weigh(200)]).on([cpu]);
        let base = tree().cpus(cpus).millis(2);
        let run = (0..cpus).fold(base, |scene, cpu| scene.task(one(cpu))).survives();
        run.outcome.overhead.lock_wait.as_ns() / u64::from(cpus)
    };
    let [alone, two, eight] = [1, 2, 8].map(waited);
    assert_eq!(alone, 0);
    assert!(two > 100_000 && eight > two, "{two} ns a CPU on two, {eight} ns a CPU on eight");
}
