//! `ops.cpu_release` and `ops.cpu_acquire`: a higher class takes a CPU and returns it.

use crate::harness::*;
use keel_abi::task::Policy;

fn scene() -> Scenario {
    with("cpu_preempt").set("slice_ns", 50_000_000).millis(40)
}

fn calls<'r>(run: &'r Run, op: &str) -> Vec<&'r Call> {
    run.calls.iter().filter(|c| c.op == op).collect()
}

#[test]
fn once_when_the_cpu_is_taken_and_once_when_it_comes_back() {
    let rt = repeat("rt", [run(1000), sleep(4000)]).policy(Policy::Fifo(30)).after_ms(5);
    let run = scene().task(hog("x")).task(rt).survives();
    let (released, acquired) = (calls(&run, "cpu_release"), calls(&run, "cpu_acquire"));
    let times = run.starts("rt").len();
    assert!(times >= 5 && released.len() == times && acquired.len() >= times - 1, "{}", run.log());
    assert!(
        released.iter().all(|c| c.pid == run.pid("rt") && c.value == 0),
        "the reason is RT, with its task"
    );
    assert!(calls(&run, "release_prio").iter().all(|c| c.value == 99 - 30));
    for (release, acquire) in released.iter().zip(&acquired) {
        assert!(release.at < acquire.at && acquire.at.since(release.at).as_ns() < 1_200_000);
    }
}

#[test]
fn it_comes_between_stopping_and_the_other_class_and_before_the_next_dispatch() {
    let rt = task("rt", [run(1000)]).policy(Policy::Fifo(30)).after_ms(5);
    let run = scene().task(hog("x")).task(rt).survives();
    let position =
        |op: &str| run.calls.iter().position(|c| c.op == op).unwrap_or_else(|| panic!("{}", run.log()));
    let stopping = position("stopping");
    assert!(stopping < position("cpu_release"));
    assert!(run.calls[position("cpu_release")].at <= run.starts("rt")[0].0);
    let after = &run.calls[position("cpu_acquire") + 1];
    assert_eq!(after.op, "running", "the preempted goes on: {}", run.log());
}

#[test]
fn a_cpu_that_was_idle_is_not_taken_from_anybody() {
    let rt = repeat("rt", [run(1000), sleep(1000)]).policy(Policy::Fifo(30)).on([1]);
    let run = scene().cpus(2).task(hog("x").on([0])).task(rt).survives();
    assert_eq!((calls(&run, "cpu_release").len(), calls(&run, "cpu_acquire").len()), (0, 0), "{}", run.log());
}

#[test]
fn later_tasks_of_that_class_cause_no_release() {
    let rt = |name: &str, us| task(name, [run(us)]).policy(Policy::Fifo(30)).after_ms(5);
    let run = scene().task(hog("x")).task(rt("rt", 1000)).task(rt("more", 2000)).survives();
    assert_eq!((calls(&run, "cpu_release").len(), calls(&run, "cpu_acquire").len()), (1, 1), "{}", run.log());
}

#[test]
fn a_task_that_blocks_as_it_is_taken_counts_as_well() {
    // `x` blocks. While it leaves the CPU, a real-time task arrives.
    let x = repeat("x", [run(500), sleep(500)]);
    let rt = repeat("rt", [run(300), sleep(400)]).policy(Policy::Fifo(30));
    let run = scene().task(x).task(rt).survives();
    let (released, acquired) = (calls(&run, "cpu_release").len(), calls(&run, "cpu_acquire").len());
    assert!(released > 5 && released.abs_diff(acquired) <= 1, "{released} {acquired}");
}

#[test]
fn what_it_leaves_behind_can_be_taken_back() {
    // `x` on CPU 0 is preempted, and CPU 1 has nothing to do.
    let scene = |by: Option<&str>| {
        let base = scene().cpus(2).set("again_to_own", 1);
        let base = by.into_iter().fold(base, |base, by| base.set(by, 1));
        let base = base.set("enqueue_kicks", 1).set("kick_flags", 1).task(hog("x"));
        base.task(task("rt", [run(20_000)]).policy(Policy::Fifo(1)).on([0]).after_ms(5)).survives()
    };
    for by in ["release_reenqueues", "release_reenqueues_as_before"] {
        let run = scene(Some(by));
        assert_eq!(run.values("x", "why_again"), [1 << 12], "{}", run.log());
        let starts: Vec<_> = run.starts("x").iter().map(|(_, cpu)| cpu.0).collect();
        assert_eq!(starts, [0, 1]);
        assert!(near(run.starts("x")[1].0, 5000, 300));
        let counts: Vec<u64> = calls(&run, "gave_back").iter().map(|call| call.value).collect();
        assert_eq!(counts, vec![1; counts.len()], "{by}");
        assert_eq!(counts.len(), usize::from(by.ends_with("before")));
    }
    assert!(near(scene(None).starts("x")[1].0, 25_000, 500), "else it waits in the CPU's queue");
}
