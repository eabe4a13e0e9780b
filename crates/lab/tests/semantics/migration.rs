//! Migration-disabled tasks (`migrate_disable()`), and kernel threads.

use crate::harness::*;
use keel_abi::task::{Policy, Step};
use keel_trace::What;

use Step::{MigrateDisable, MigrateEnable};

/// `a` works, then sleeps in a migration-disabled section. `done` follows.
fn spell(after: impl IntoIterator<Item = Step>) -> Spec {
    let mut spec = task("a", [run(500), MigrateDisable, run(500), sleep(500), run(500)]);
    spec.0.steps.extend(after);
    spec
}

fn migrations(run: &Run) -> usize {
    run.events_of(|e| matches!(e.what, What::Migrate { .. }).then_some(())).len()
}

#[test]
fn it_is_not_asked_where_it_wakes_and_goes_to_the_local_queue() {
    let run = with("tracer").cpus(2).set("select_this", 1).task(spell([MigrateEnable, sleep(500), run(100)]));
    let run = run.task(hog("x").on([1])).millis(20).survives();
    assert_eq!(run.count("a", "select_cpu"), 2, "at its fork, and once after the spell: {}", run.log());
    assert_eq!(
        run.count("a", "enqueue"),
        2,
        "within the spell the kernel itself puts it into the local queue"
    );
    let queues = run.queues("a");
    assert_eq!(queues[2], 0xc000_0000_0000_0001, "{queues:x?}");
}

#[test]
fn a_scheduler_with_the_flag_sees_such_tasks() {
    let run = with("task_fields").cpus(2).set("select_this", 1);
    let run = run.task(spell([MigrateEnable, sleep(500), run_100()])).millis(20).survives();
    assert_eq!((run.count("a", "select_cpu"), run.count("a", "enqueue")), (2, 3), "{}", run.log());
    assert_eq!(run.values("a", "disabled"), [0, 1, 0]);
    assert_eq!(run.values("a", "cpus"), [3, 2, 3], "its CPU alone, as long as it may not leave it");
    assert_eq!(run.values("a", "nr_cpus"), [2, 2, 2]);
}

fn run_100() -> Step {
    run(100)
}

#[test]
fn set_cpumask_is_called_at_the_first_switch_and_at_the_end() {
    let run = with("tracer")
        .cpus(2)
        .set("select_this", 1)
        .task(spell([MigrateEnable, run_100()]))
        .millis(20)
        .survives();
    assert_eq!(run.values("a", "set_cpumask"), [2, 3], "{}", run.log());
    // Around it, the task is taken off the runqueue, as around any change.
    let around = run.trace("a", &["stopping", "quiescent", "set_cpumask", "runnable"]);
    let first = around.iter().position(|line| line == "set_cpumask=2").expect("it is reported");
    assert_eq!(
        around[first - 2..first + 2],
        ["stopping", "quiescent=20000000a", "set_cpumask=2", "runnable=a"]
    );
    // A section without a switch has no effect.
    let short = task("a", [run_100(), MigrateDisable, run_100(), MigrateEnable, run_100()]);
    let run = with("tracer").cpus(2).task(short).millis(5).survives();
    assert_eq!(run.count("a", "set_cpumask"), 0, "{}", run.log());
}

#[test]
fn spells_nest() {
    let steps = [MigrateDisable, MigrateDisable, sleep(100), MigrateEnable, run(100), sleep(100), run(100)];
    let mut spec = task("a", steps);
    spec.0.steps.extend([MigrateEnable, MigrateEnable, sleep(100), run(100)]);
    let run = with("task_fields").cpus(2).task(spec).millis(5).survives();
    assert_eq!(run.values("a", "disabled"), [0, 2, 1, 0], "{}", run.log());
}

#[test]
fn the_task_on_the_cpu_shows_one_more() {
    // A BPF program keeps the current task from migrating, too: here the one that is just being preempted.
    let a = task("a", [run(100), MigrateDisable, run(10_000)]).on([0, 1]);
    let base = with("task_fields").cpus(2).set("select_this", 0).set("slice_ns", 1_000_000);
    let run = base.task(a).task(hog("x").on([0])).millis(20).survives();
    let shown = run.values("a", "disabled");
    assert!(shown.len() > 3 && shown[0] == 0 && shown[1..].iter().all(|&count| count == 2), "{shown:?}");
}

#[test]
fn moving_it_to_another_cpu_ends_the_scheduler() {
    // Its fork goes straight to CPU 0, its wakeup within the spell to CPU 1: from ops.enqueue, and from ops.dispatch.
    let base =
        with("task_fields").cpus(2).set("select_this", 0).set("select_dsq", LOCAL).task(spell([])).millis(20);
    let words = "SCX_DSQ_LOCAL[_ON] cannot move migration disabled a[2] from CPU 0 to 1";
    base.clone().set("enqueue_dsq", local_on(1)).fails(words);
    base.set("enqueue_dsq", 0).set("dispatch_dsq", local_on(1)).fails(words);
}

#[test]
fn other_cpus_pass_it_over_in_a_queue() {
    // It waits in the shared queue for CPU 0, which `x` keeps; CPU 1 has nothing to do and does not take it.
    let a = task("a", [run(100), MigrateDisable, sleep(2000), run(500), MigrateEnable, run(100)]);
    let x = task("x", [sleep(1000), run(5000)]).on([0]);
    let base = with("task_fields").cpus(2).set("slice_ns", 20_000_000).set("select_this", 0);
    let run = base.task(a).task(x).task(repeat("y", [run(50), sleep(50)]).on([1])).millis(20).survives();
    assert_eq!(migrations(&run), 0, "{}", run.log());
    assert!(run.starts("a").iter().all(|(_, cpu)| cpu.0 == 0));
    let last = run.starts("a").last().expect("it runs").0;
    assert!(last.as_ns() > 5_900_000, "it waited: {last:?}");
}

#[test]
fn it_cannot_leave_its_cpu_of_its_own_accord() {
    // -EBUSY.
    let steps =
        [run(100), MigrateDisable, affinity([1]), run(100), sleep(100), run(100), MigrateEnable, run(100)];
    let run = with("tracer").cpus(2).set("select_this", 0).task(task("a", steps)).millis(5).survives();
    let cpus: Vec<_> = run.starts("a").iter().map(|(_, cpu)| cpu.0).collect();
    assert_eq!(cpus, [0, 0], "{}", run.log());
    assert_eq!(run.values("a", "set_cpumask"), [1, 3], "{}", run.log());
}

#[test]
fn real_time_tasks_stay_as_well() {
    let rt = spell([]).policy(Policy::Fifo(5)).on([0, 1]);
    let blocker = task("b", [sleep(1000), run(3000)]).policy(Policy::Fifo(6)).on([0]).after_ms(1);
    let run = with("tracer").cpus(2).task(rt).task(blocker).millis(20).survives();
    assert_eq!(migrations(&run), 0);
    let cpus: Vec<_> = run.starts("a").iter().map(|(_, cpu)| cpu.0).collect();
    assert!(cpus.windows(2).all(|pair| pair[0] == pair[1]), "{cpus:?}");
}

#[test]
fn kernel_threads_are_marked() {
    let any = repeat("a", [run(100), sleep(100)]).kthread();
    let bound = repeat("b", [run(100), sleep(100)]).kthread().on([1]);
    let plain = repeat("c", [run(100), sleep(100)]);
    let run = with("task_fields").cpus(2).task(any).task(bound).task(plain).millis(3).survives();
    let first = |name: &str| (run.values(name, "flags")[0], run.values(name, "has_mm")[0]);
    assert_eq!(first("a"), (0x0020_0000, 0));
    assert_eq!(first("b"), (0x0420_0000, 0));
    assert_eq!(first("c"), (0, 1));
    assert_eq!(run.count("b", "select_cpu"), 0, "one CPU is no choice");
}
