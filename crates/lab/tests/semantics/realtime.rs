//! The real-time class above sched_ext, and how little a scheduler sees of its tasks.

use crate::harness::*;
use keel_abi::task::{Policy, Step};
use keel_abi::{CpuId, Instant};
use keel_trace::What;

const ALL: &[&str] = &[
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
    "tick",
    "dequeue",
    "yield",
];

fn fifo(priority: u8) -> Policy {
    Policy::Fifo(priority)
}

fn rr(priority: u8) -> Policy {
    Policy::RoundRobin(priority)
}

fn starts_ms(run: &Run, name: &str) -> Vec<u64> {
    run.starts(name).iter().map(|(at, _)| at.as_ns() / 1_000_000).collect()
}

#[test]
fn a_real_time_task_causes_only_init_task_and_exit_task() {
    let rt = task("rt", [run(100), sleep(100), Step::Yield, affinity([0]), Step::Nice(3), run(100)]);
    let run = with("tracer").cpus(2).task(rt.policy(fifo(50))).task(hog("x")).millis(20).survives();
    assert_eq!(run.trace("rt", ALL), ["init_task=1", "exit_task"], "{}", run.log());
    assert!(run.starts("rt").len() >= 2);
}

#[test]
fn it_takes_the_cpu_at_once_and_the_preempted_goes_on_where_it_was() {
    let base = with("tracer").set("slice_ns", 50_000_000).task(hog("x")).task(hog("y")).millis(60);
    let run = base.task(task("rt", [run(5000)]).policy(fifo(1)).after_ms(10)).survives();
    assert!(near(run.starts("rt")[0].0, 10_000, 200), "{}", run.log());
    assert!(near(run.stops("rt")[0], 15_000, 300));
    // With its remaining slice, it waits at the head of the local queue: no enqueue or dispatch in between.
    let stopped = run.first("x", "stopping");
    assert_eq!((stopped.value, near(stopped.at, 10_000, 200)), (1, true));
    let left = run.values("x", "left")[0];
    assert!((39_000_000..41_000_000).contains(&left), "{left}");
    let again = run.of("x").filter(|c| c.op == "running").nth(1).expect("it goes on");
    assert!(near(again.at, 15_000, 300));
    assert!(
        (left - 100..=left).contains(&again.value),
        "the time away is not its: {} of {left}",
        again.value
    );
    assert!(run.of("x").filter(|c| c.op == "enqueue").all(|c| c.at < stopped.at || c.at > again.at));
}

#[test]
fn a_slice_that_is_used_up_goes_back_to_the_scheduler() {
    // Sometimes `x` has used up its slice, which no tick has noticed yet, when the real-time task arrives.
    let base = with("tracer").set("slice_ns", 1_200_000).task(hog("x")).task(hog("y")).millis(60);
    let rt = repeat("rt", [run(100), sleep(1600)]).policy(fifo(1));
    let run = base.task(rt).survives();
    let stops: Vec<_> = run.of("x").filter(|c| ["left", "enqueue"].contains(&c.op.as_str())).collect();
    for pair in stops.windows(2).filter(|pair| pair[0].op == "left") {
        assert_eq!(pair[0].value == 0, pair[1].op == "enqueue", "{}", run.log());
    }
    assert!(stops.iter().filter(|c| c.op == "left" && c.value == 0).count() > 2, "{}", run.log());
}

#[test]
fn a_higher_priority_preempts_an_equal_one_waits() {
    let long = |name: &str, priority, ms| task(name, [run(20_000)]).policy(fifo(priority)).after_ms(ms);
    let base = with("tracer").task(long("low", 10, 1)).task(long("equal", 10, 2)).task(long("high", 11, 5));
    let run = base.task(hog("x")).millis(100).survives();
    assert_eq!(starts_ms(&run, "low"), [1, 25]);
    assert_eq!(starts_ms(&run, "high"), [5]);
    assert_eq!(starts_ms(&run, "equal"), [41], "first come, first served, the preempted keeps its place");
    assert!(run.of("x").all(|c| c.op != "running" || c.at.as_ns() < 1_200_000 || c.at.as_ns() > 61_000_000));
}

#[test]
fn equals_take_turns_of_100_ms_under_rr_alone() {
    let hogs = |policy| {
        let base = with("tracer").task(hog("a").policy(policy)).task(hog("b").policy(policy)).millis(450);
        base.survives()
    };
    let turns = hogs(rr(5));
    let (a, b) = (starts_ms(&turns, "a"), starts_ms(&turns, "b"));
    let near_turns = |got: &[u64], wanted: &[u64]| got.iter().zip(wanted).all(|(g, w)| g.abs_diff(*w) <= 4);
    assert!(a.len() == 3 && near_turns(&a, &[0, 200, 400]), "{a:?}");
    assert!(b.len() == 2 && near_turns(&b, &[100, 300]), "{b:?}");
    assert_eq!(starts_ms(&hogs(fifo(5)), "b"), [0u64; 0]);
}

#[test]
fn a_yield_goes_behind_equals_and_no_further() {
    let first_of_b = |priority| {
        let yields = repeat("a", [run(1000), Step::Yield]).policy(fifo(priority));
        let b = task("b", [run(1000)]).policy(fifo(5)).after_ms(3);
        starts_ms(&with("tracer").task(yields).task(b).millis(10).survives(), "b")
    };
    let starts = first_of_b(5);
    assert!(starts.len() == 1 && (3..=4).contains(&starts[0]), "{starts:?}");
    assert_eq!(first_of_b(6), [0u64; 0]);
}

#[test]
fn it_wakes_where_it_was_unless_it_would_wait_there() {
    // Both may use both CPUs. `high` wakes on CPU 0, where `low` or `equal` has started meanwhile.
    let target = |other: u8| {
        let a = task("a", [run(100), sleep(2000), run(3000)]).policy(fifo(10));
        let b = task("b", [run(10_000)]).policy(fifo(other)).on([0]).after_ms(1);
        let run = with("tracer").cpus(2).task(a).task(b).task(hog("x")).millis(20).survives();
        let b_runs = run.starts("b")[0].1;
        assert_eq!(b_runs, CpuId(0));
        run.starts("a").iter().map(|(_, cpu)| cpu.0).collect::<Vec<_>>()
    };
    // `b` may use only its CPU: a task that arrives goes elsewhere, as in select_task_rq_rt().
    assert_eq!(target(9), [0, 1]);
    assert_eq!(target(10), [0, 1]);
    assert_eq!(target(11), [0, 1]);
    let free = |other: u8| {
        let a = task("a", [run(100), sleep(2000), run(3000)]).policy(fifo(10));
        let b = task("b", [affinity([0]), affinity([0, 1]), run(10_000)]).policy(fifo(other)).after_ms(1);
        let run = with("tracer").cpus(2).task(a).task(b).millis(20).survives();
        (run.starts("b").last().expect("it runs").1.0, run.starts("a").last().expect("it runs").1.0)
    };
    assert_eq!(free(9), (1, 0), "the lower one must go, and is pushed");
    assert_eq!(free(10), (0, 1));
}

#[test]
fn a_change_of_policy_changes_the_class_and_back() {
    let steps = [run(1000), Step::Policy(fifo(7)), run(1000), Step::Policy(Policy::Other), run(1000)];
    let run = with("tracer").set("slice_ns", 20_000_000).task(task("a", steps)).millis(10).survives();
    let shown: Vec<_> = ALL.iter().copied().filter(|&op| op != "tick" && op != "select_cpu").collect();
    let trace = run.trace("a", &shown);
    // Times of slices are left out.
    let names: Vec<_> = trace.iter().map(|line| line.split('=').next().expect("a name")).collect();
    assert_eq!(
        names,
        [
            "init_task",
            "enable",
            "set_weight",
            "runnable",
            "enqueue",
            "dequeue",
            "running", // to begin with
            "stopping",
            "quiescent",
            "disable", // to FIFO
            "enable",
            "set_weight",
            "set_cpumask",
            "runnable",
            "running", // and back
            "stopping",
            "quiescent",
            "disable",
            "exit_task", // death
        ],
        "{}",
        run.log()
    );
    let (off, on) = ("quiescent=20000004e".to_owned(), "runnable=1004e".to_owned());
    assert!(trace.contains(&off), "SAVE, MOVE, NOCLOCK, CLASS, SCHED_CHANGE: {trace:?}");
    assert!(trace.contains(&on), "down to a lower priority it goes before its equals: {trace:?}");
    let slices = run.values("a", "running");
    assert_eq!(slices[1], 0, "ops.disable is followed by nothing of the old slice: {slices:?}");
}

#[test]
fn lowering_its_priority_lets_others_run() {
    let steps = [Step::Policy(fifo(20)), run(1000), Step::Policy(fifo(5)), run(3000)];
    let run = with("tracer").task(task("a", steps)).task(task("b", [run(2000)]).policy(fifo(10)).after_ms(0));
    let run = run.millis(20).survives();
    assert_eq!(starts_ms(&run, "b"), [1], "{:?}", starts_ms(&run, "a"));
    assert_eq!(starts_ms(&run, "a").last(), Some(&3));
    // When its priority drops to another's, it stays ahead of it, whichever task comes in between.
    let steps = [Step::Policy(fifo(20)), run_us(1000), Step::Policy(fifo(10)), run_us(3000)];
    let base =
        with("tracer").task(task("a", steps)).task(task("b", [run_us(2000)]).policy(fifo(10)).after_ms(0));
    let between = task("c", [run_us(100)]).policy(fifo(50)).after_ms(2);
    let b_runs = starts_ms(&base.task(between).millis(20).survives(), "b");
    assert_eq!(b_runs.last(), Some(&4), "{b_runs:?}");
    // Back among ordinary tasks the scheduler decides which task continues.
    let steps =
        [run_us(100), Step::Policy(fifo(20)), run_us(3000), Step::Policy(Policy::Other), run_us(3000)];
    let run = with("tracer").task(task("a", steps)).task(hog("x")).millis(20).survives();
    let preempted = run.events_of(|e| match e.what {
        What::Switch { prev, .. } if prev == run.id("a") => Some(e.at),
        _ => None,
    });
    assert!(near(preempted[0], 3100, 300) || near(preempted[1], 3200, 400), "{preempted:?} {}", run.log());
}

fn run_us(us: u64) -> Step {
    run(us)
}

#[test]
fn it_cannot_starve_the_scheduler_for_ever() {
    // After 950 ms the deadline server gives 50, repeatedly, though the watchdog's timeout is longer.
    let endless = |name: &str| repeat(name, [run(1_000_000)]);
    let base = with("tracer").task(endless("rt").policy(fifo(99))).task(endless("x")).millis(4200);
    let run = base.survives();
    let starts = starts_ms(&run, "x");
    let first = starts.iter().find(|&&ms| ms > 10).expect("it is served");
    assert!(first.abs_diff(950) <= 2, "{starts:?}");
    assert!((195..=210).contains(&run.cpu_ms("x")), "four times 50 ms: {} ms, {starts:?}", run.cpu_ms("x"));
    assert!(run.cpu_ms("rt") > 3950);
    // If the class gets its share anyway, the server leaves real-time tasks alone.
    let half = repeat("rt", [run_us(1000), sleep(1000)]).policy(fifo(99));
    let run = with("tracer").task(half).task(endless("x")).millis(3000).survives();
    let lengths = run.starts("rt").into_iter().zip(run.stops("rt"));
    assert!(lengths.clone().count() > 1000);
    assert!(
        lengths.map(|((from, _), to)| to.since(from).as_ns()).all(|ns| ns < 1_100_000),
        "never interrupted"
    );
}

#[test]
fn it_leaves_a_cpu_that_it_may_not_use_any_more() {
    let a = task("a", [run(1000), affinity([1]), run(1000)]).policy(fifo(3)).on([0]);
    let run = with("tracer").cpus(2).task(a).task(hog("x").on([1])).millis(10).survives();
    let cpus: Vec<_> = run.starts("a").iter().map(|(_, cpu)| cpu.0).collect();
    assert_eq!(cpus, [0, 1]);
    let moved = run.events_of(|e| matches!(e.what, What::Migrate { .. }).then_some(e.at));
    assert_eq!(moved.len(), 1);
}

#[test]
fn update_idle_covers_its_cpus_too() {
    let a = repeat("a", [run(500), sleep(500)]).policy(fifo(3)).on([1]);
    let run = with("tracer").cpus(2).task(a).millis(10).survives();
    let on_1: Vec<_> = run.global("update_idle").iter().filter(|c| c.cpu == 1).map(|c| c.value).collect();
    assert!(on_1.len() > 15 && on_1.windows(2).all(|pair| pair[0] != pair[1]), "{on_1:?}");
}

#[test]
fn kicks_pass_its_cpu_by() {
    let base = with("tracer").cpus(2).set("enqueue_kicks", 0).set("kick_flags", 2).set("only_pid", 3);
    let base = base.task(hog("rt").on([0]).policy(fifo(3))).millis(20);
    let run = base.task(repeat("a", [run(100), sleep(2000)]).on([1]).after_ms(1)).survives();
    let kicks = run.events_of(|e| matches!(e.what, What::Kick { .. }).then_some(e.at));
    assert_eq!((kicks, run.count("a", "enqueue") > 5), (Vec::<Instant>::new(), true));
}
