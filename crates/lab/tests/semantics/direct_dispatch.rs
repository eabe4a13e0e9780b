//! Where a task goes when it becomes runnable, and inserts from select_cpu and enqueue.

use crate::harness::*;

const DEFAULT_SLICE: u64 = 20_000_000;

#[test]
fn an_insert_in_select_cpu_skips_enqueue() {
    let run = with("tracer").cpus(2).set("select_dsq", LOCAL).task(task("a", [run(100)])).survives();
    assert_eq!(run.trace("a", &["select_cpu", "runnable", "enqueue", "running"]).len(), 3);
    assert_eq!(run.count("a", "enqueue"), 0);
    assert_eq!(run.values("a", "running"), [5_000_000], "with the slice of the insert");
}

#[test]
fn an_insert_in_select_cpu_may_name_any_queue() {
    let base = || with("tracer").cpus(2).task(task("a", [run(100)]));
    let check = |dsq: &str, first: u64| {
        let run = base().set("select_dsq", dsq).set("select_this", 0).survives();
        assert_eq!(run.queues("a")[0], first, "{dsq}: {}", run.log());
        assert_eq!(run.count("a", "enqueue"), 0, "{dsq}");
    };
    check(LOCAL, 0xc000_0000_0000_0000);
    check(GLOBAL, 0x8000_0000_0000_0001);
    check("1", OWN_DSQ);
    check(&local_on(1), 0xc000_0000_0000_0001);
}

#[test]
fn local_means_the_cpu_finally_chosen() {
    // CPU 0 is chosen, but not allowed.
    let a = task("a", [run(100)]).on([1, 2]);
    let run = with("tracer").cpus(3).set("select_dsq", LOCAL).set("select_this", 0).task(a).survives();
    assert_eq!(run.queues("a"), [0xc000_0000_0000_0001]);
}

#[test]
fn another_cpus_local_queue_is_reached_by_a_deferred_move() {
    let check = |setting: &str, enqueues: usize| {
        let base = with("tracer").cpus(2).set(setting, local_on(1)).set("select_this", 0);
        let run = base.task(task("a", [run(100)])).survives();
        assert_eq!(run.queues("a"), [0xc000_0000_0000_0001], "{setting}");
        assert_eq!(run.starts("a").iter().map(|(_, cpu)| cpu.0).collect::<Vec<_>>(), [1], "{setting}");
        assert_eq!(run.count("a", "enqueue"), enqueues);
        assert_eq!(run.count("a", "dequeue"), 0, "never in custody");
        assert_eq!(run.count("a", "runnable"), 1, "a move is no change of state");
    };
    check("select_dsq", 0);
    check("enqueue_dsq", 1);
}

#[test]
fn only_the_subject_and_only_once() {
    let base = || with("tracer").cpus(2).set("only_pid", 2).task(hog("a"));
    base().set("select_dsq", LOCAL).set("select_twice", 1).fails("a[2] already direct-dispatched");
    base().set("enqueue_twice", 1).set("enqueue_dsq", LOCAL).fails("a[2] already direct-dispatched");
    let other = with("tracer").task(hog("a")).task(hog("b").after_ms(1)).set("only_pid", 3);
    other.set("enqueue_inserts_pid", 2).fails("scheduling for b[3] but trying to direct-dispatch a[2]");
}

#[test]
fn a_slice_of_zero_keeps_the_residual() {
    let run = with("tracer").set("slice_ns", 0).task(task("a", [run(100)])).survives();
    assert_eq!(run.values("a", "running"), [DEFAULT_SLICE], "a new task's slice");
    // Its first slice is used up, and there is no other task: the residual is 0, so 1 ns.
    let two = with("tracer").set("slice_ns", 0).task(hog("a")).task(hog("b")).millis(200).survives();
    assert!(two.values("a", "running").contains(&1), "{}", two.log());
}

#[test]
fn without_ops_enqueue_all_go_to_the_global_queue_with_a_new_slice() {
    let run = with("bare").task(hog("a").on([0])).task(hog("b").on([0])).millis(100).survives();
    assert!(run.queues("b").contains(&0x8000_0000_0000_0001), "{:x?}", run.queues("b"));
    assert!(run.values("b", "running").iter().all(|&slice| slice == DEFAULT_SLICE));
    assert!(run.count("b", "running") > 1, "they share the CPU");
}

#[test]
fn words_for_queues_that_are_not_there() {
    let base = || with("tracer").cpus(2).task(hog("a"));
    base().set("enqueue_dsq", "0x63").fails("non-existent DSQ 0x63");
    let invalid = "invalid CPU 99 in SCX_DSQ_LOCAL_ON dispatch verdict";
    base().set("enqueue_dsq", local_on(99)).fails(invalid);
    let pinned = with("tracer").cpus(2).task(hog("a").on([0]));
    pinned.set("enqueue_dsq", local_on(1)).fails("SCX_DSQ_LOCAL[_ON] target CPU 1 not allowed for a[2]");
}

#[test]
fn flags_of_select_cpu_and_of_the_wakeup_are_joined() {
    // PREEMPT given in select_cpu works when the wakeup inserts the task.
    let hog = hog("x").on([0]);
    let a = task("a", [run(100), sleep(1000), run(100)]).on([0, 1]);
    let base = with("tracer").cpus(2).set("only_pid", 3).set("select_this", 0).set("slice_ns", 50_000_000);
    let base = base.task(hog).task(a.after_ms(1)).set("select_dsq", LOCAL);
    let patient = base.clone().survives();
    let rude = base.set("select_flags", 1u64 << 32).survives();
    assert!(near(rude.first("a", "running").at, 1100, 400), "{}", rude.log());
    assert!(!near(patient.first("a", "running").at, 1100, 5000), "{}", patient.log());
}

#[test]
fn the_kernels_own_queues_begin_with_a_new_slice() {
    let run = with("bare").task(task("a", [run(5000), sleep(100), run(100)])).survives();
    assert_eq!(run.values("a", "running"), [DEFAULT_SLICE; 2], "though 15 ms were left");
}
