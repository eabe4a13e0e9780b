//! Nice values and CPU masks changed from outside: which callbacks run, and where the task goes.

use crate::harness::*;
use keel_abi::Span;
use keel_abi::timeline::{Change, Happening};
use keel_trace::What;

const STATES: &[&str] = &["dequeue", "stopping", "quiescent", "runnable", "running", "enqueue"];

/// At this time in microseconds.
pub(crate) fn at(us: u64, change: Change) -> Happening {
    Happening { at: Span::from_us(us), every: None, times: None, follows: false, change }
}

/// Repeatedly.
pub(crate) fn every(us: u64, change: Change) -> Happening {
    Happening { at: Span::from_us(us), every: Some(Span::from_us(us)), times: None, follows: false, change }
}

pub(crate) fn confine(spec: u32, cpus: impl IntoIterator<Item = u32>) -> Change {
    Change::Affinity { spec, cpus: set(cpus) }
}

fn renice(spec: u32, nice: i8) -> Change {
    Change::Nice { spec, nice }
}

/// The task's callbacks from `us` on.
fn after(run: &Run, name: &str, us: u64, ops: &[&str]) -> Vec<String> {
    let shown = |c: &Call| if c.value == 0 { c.op.clone() } else { format!("{}={:x}", c.op, c.value) };
    let late = run.of(name).filter(|c| c.at.as_ns() >= us * 1000 && ops.contains(&c.op.as_str()));
    late.map(shown).collect()
}

/// On CPU 1 alone a task waits behind another that never ends its slice.
fn waits(change: Change) -> Scenario {
    let base = with("tracer").cpus(3).set("slice_ns", 1_000_000_000u64).millis(20);
    base.task(hog("x").on([1]))
        .task(hog("a").on([1]).after_ms(2))
        .workload(|w| w.timeline.push(at(5000, change)))
}

#[test]
fn a_waiting_task_leaves_the_schedulers_queue_and_comes_again() {
    let ops = [STATES, &["set_weight"]].concat();
    let run = waits(renice(1, 5)).survives();
    let expected = ["dequeue=20000000a", "quiescent=20000000a", "set_weight=21", "runnable=a", "enqueue=a"];
    assert_eq!(after(&run, "a", 5000, &ops), expected, "{}", run.log());
}

#[test]
fn a_waiting_task_leaves_the_schedulers_hands() {
    let ops = [STATES, &["set_weight"]].concat();
    let run = waits(renice(1, 5)).set("enqueue_dsq", 0).set("only_pid", 3).survives();
    let expected = ["dequeue=20000000a", "quiescent=20000000a", "set_weight=21", "runnable=a", "enqueue=a"];
    assert_eq!(after(&run, "a", 5000, &ops), expected, "{}", run.log());
}

#[test]
fn leaving_a_built_in_dsq_calls_no_dequeue() {
    let ops = [STATES, &["set_weight"]].concat();
    let run = waits(renice(1, 5)).set("enqueue_dsq", LOCAL).survives();
    let expected = ["quiescent=20000000a", "set_weight=21", "runnable=a", "enqueue=a"];
    assert_eq!(after(&run, "a", 5000, &ops), expected, "{}", run.log());
}

#[test]
fn a_running_task_goes_on_and_keeps_its_slice() {
    let base = with("tracer").cpus(2).set("slice_ns", 1_000_000_000u64).millis(20);
    let run = base.task(hog("a").on([1])).workload(|w| w.timeline.push(at(5000, renice(0, -5)))).survives();
    let ops = [STATES, &["set_weight"]].concat();
    let trace = after(&run, "a", 5000, &ops);
    let names: Vec<&str> = trace.iter().map(|l| l.split('=').next().unwrap()).collect();
    assert_eq!(names, ["stopping", "quiescent", "set_weight", "runnable", "running"], "{}", run.log());
    assert_eq!((&*trace[1], &*trace[3]), ("quiescent=20000000a", "runnable=a"));
    let slice = u64::from_str_radix(trace[4].strip_prefix("running=").unwrap(), 16).unwrap();
    assert!((994_900_000..995_200_000).contains(&slice), "charged up to the change: {slice}");
    assert_eq!(run.starts("a").len(), 1, "it never left its CPU");
    assert!(run.of("a").filter(|c| c.op == "set_weight").last().is_some_and(|c| c.cpu == 0), "by CPU 0");
}

#[test]
fn a_sleeping_task_changes_without_a_word_but_the_change() {
    let base = with("tracer").cpus(2).millis(20);
    let run = base
        .task(task("a", [run(100), sleep(8000), run(100)]))
        .workload(|w| w.timeline.extend([at(5000, renice(0, 5)), at(5500, confine(0, [1]))]))
        .survives();
    let ops = [STATES, &["set_weight", "set_cpumask"]].concat();
    let trace: Vec<String> = after(&run, "a", 5000, &ops).into_iter().take(3).collect();
    assert_eq!(trace, ["set_weight=21", "set_cpumask=2", "runnable=1"], "{}", run.log());
    assert_eq!(run.starts("a").last().unwrap().1.0, 1);
}

#[test]
fn a_waiting_task_moves_at_once() {
    let run = waits(confine(1, [2])).survives();
    let ops = [STATES, &["set_cpumask"]].concat();
    let trace = after(&run, "a", 5000, &ops);
    let expected = [
        "dequeue=20000000a",
        "quiescent=20000000a",
        "set_cpumask=4",
        "runnable=a",
        "enqueue=a",
        // move_queued_task(): the BPF program loses it once more, but it is runnable all the time.
        "dequeue=200000008",
        "enqueue",
        "dequeue",
    ];
    assert_eq!(trace[..8], expected, "{}", run.log());
    let (when, cpu) = run.starts("a")[0];
    assert!(near(when, 5000, 200) && cpu.0 == 2, "at {when:?} on {cpu:?}");
}

#[test]
fn a_running_task_is_pushed_by_the_stopper() {
    let base = with("tracer").cpus(3).set("slice_ns", 1_000_000_000u64).millis(20);
    let run = base.task(hog("a").on([1])).workload(|w| w.timeline.push(at(5000, confine(0, [2])))).survives();
    let ops = [STATES, &["set_cpumask"]].concat();
    let trace = after(&run, "a", 5000, &ops);
    let names: Vec<&str> = trace.iter().map(|l| l.split('=').next().unwrap()).collect();
    assert_eq!(
        names[..9],
        [
            "stopping",
            "quiescent",
            "set_cpumask",
            "runnable",
            "running",
            "stopping",
            "enqueue",
            "dequeue",
            "running"
        ],
        "{}",
        run.log()
    );
    let (when, cpu) = *run.starts("a").last().unwrap();
    assert!(near(when, 5000, 200) && cpu.0 == 2, "at {when:?} on {cpu:?}");
}

#[test]
fn a_change_to_the_same_value_calls_nothing() {
    let check = |change: Change| {
        let run = waits(change).survives();
        assert_eq!(after(&run, "a", 5000, &[STATES, &["set_weight", "set_cpumask"]].concat()), [""; 0]);
    };
    check(renice(1, 0));
    check(confine(1, [1]));
}

#[test]
fn all_instances_change_and_those_to_come_do_not() {
    let base = with("tracer").cpus(4).millis(20);
    let run = base
        .task(hog("a").instances(5))
        .task(hog("b").after_ms(10))
        .workload(|w| w.timeline.extend([at(5000, renice(0, 5)), at(6000, renice(1, 5))]))
        .survives();
    let reported = run.calls.iter().filter(|c| c.op == "set_weight" && c.value == 0x21).count();
    assert_eq!(reported, 5, "{}", run.log());
}

#[test]
fn a_stale_dispatch_leaves_the_task_alone() {
    // ops.dispatch gets the task from its map, but meanwhile it was enqueued again. One stay, one insert.
    let base = with("tracer").cpus(3).set("slice_ns", 300_000).set("enqueue_dsq", 0).set("dispatch_moves", 0);
    let base = base.set("dispatch_dsq", GLOBAL);
    let run = base
        .task(hog("a").instances(6))
        .workload(|w| {
            w.timeline.extend([
                every(37, confine(0, [1])),
                every(53, confine(0, [2])),
                every(41, confine(0, [0, 1, 2])),
                every(59, renice(0, 3)),
                every(61, renice(0, 4)),
            ]);
        })
        .millis(60)
        .survives();
    assert!(run.calls.iter().filter(|c| c.op == "dequeue" && c.value != 0).count() > 100);
    all_ran_where_they_may(&run);
}

#[test]
fn every_stay_ends_once_under_a_hammer() {
    for dsq in ["0", "1", LOCAL, GLOBAL] {
        let base = with("tracer").cpus(4).set("slice_ns", 200_000).set("enqueue_dsq", dsq);
        let run = base
            .set("dispatch_moves", u8::from(dsq == "1"))
            .set("dispatch_dsq", GLOBAL)
            .task(repeat("a", [run_up_to(300), sleep(150)]).instances(9))
            .workload(|w| w.timeline.extend((0..4).map(|cpu| every(31 + u64::from(cpu), confine(0, [cpu])))))
            .millis(40)
            .survives();
        for task in run.pids("a") {
            let mut held = false;
            for call in run.calls.iter().filter(|c| c.pid == task) {
                match call.op.as_str() {
                    "enqueue" => {
                        assert!(!held, "{dsq}: {task} is enqueued twice");
                        held = dsq.len() == 1;
                    }
                    "dequeue" => assert!(std::mem::take(&mut held), "{dsq}: {task} left without having come"),
                    "running" => assert!(!held, "{dsq}: {task} runs from the scheduler's hands"),
                    _ => {}
                }
            }
        }
        all_ran_where_they_may(&run);
    }
}

/// No task starts on a CPU that is not in its current mask.
pub(crate) fn all_ran_where_they_may(run: &Run) {
    assert_eq!(run.misplaced(), [], "when, who, where, and where they might");
    let switches = run.events_of(|e| matches!(e.what, What::Switch { .. }).then_some(()));
    assert!(switches.len() > 20);
}
