//! Waits that keep a CPU busy: barriers and flags that tasks spin on.

use crate::harness::*;
use keel_abi::Span;
use keel_abi::task::{ObjectId, Step};

fn spin_barrier(patience_us: Option<u64>) -> Step {
    Step::SpinBarrier { barrier: ObjectId(0), patience: patience_us.map(Span::from_us) }
}

fn raise(flag: u32) -> Step {
    Step::Raise(ObjectId(flag))
}

fn lower(flag: u32) -> Step {
    Step::Lower(ObjectId(flag))
}

/// Two tasks that meet once, each on its own CPU or both on one: returns the scenario.
fn meeting(cpus: u32, early: Step, late_ms: u64) -> Scenario {
    let early = task("early", [run(1000), early, run(100)]);
    let late = task("late", [run(late_ms * 1000), spin_barrier(None), run(100)]);
    with("tracer").cpus(cpus).task(early).task(late).workload(|w| w.barriers = vec![2])
}

#[test]
fn a_spinner_keeps_its_cpu_and_goes_on_at_once() {
    let run = meeting(2, spin_barrier(None), 7).survives();
    for name in ["early", "late"] {
        let stops = run.stops(name);
        assert!(stops.len() == 1 && near(stops[0], 7_100, 100), "{name}: {stops:?}");
    }
    assert_eq!(run.outcome.counters.wakeups, 0);
    assert!(run.outcome.counters.user_time >= Span::from_ms(14), "spinning is the task's own time");
}

#[test]
fn a_spinner_burns_its_slice_while_the_task_it_waits_for_waits_for_the_cpu() {
    let run = meeting(1, spin_barrier(None), 3).survives();
    // The first slice is spent spinning. Then the other reaches the barrier and ends, and then the spinner does.
    assert_eq!((run.starts("early").len(), run.starts("late").len()), (2, 1), "{}", run.log());
    let ends = [run.stops("early")[0], run.stops("late")[0], run.stops("early")[1]];
    // A slice is 5 ms, and ends at a tick.
    assert!(near(ends[0], 5_500, 600), "{ends:?}");
    assert_eq!(ends[1].since(ends[0]).as_ns() / 100_000, 31, "{ends:?}");
    assert_eq!(ends[2].since(ends[1]).as_ns() / 100_000, 1, "{ends:?}");
}

#[test]
fn a_spinner_out_of_patience_blocks_and_is_woken() {
    let run = meeting(2, spin_barrier(Some(2_000)), 7).survives();
    let (starts, stops) = (run.starts("early"), run.stops("early"));
    assert!(stops.len() == 2 && near(stops[0], 3_000, 100) && near(stops[1], 7_100, 100), "{stops:?}");
    assert!(near(starts[1].0, 7_000, 100), "{starts:?}");
    assert_eq!(run.outcome.counters.wakeups, 1);
}

#[test]
fn patience_counts_work_not_time() {
    let hog = hog("hog").on([1]);
    let early = task("early", [spin_barrier(Some(30_000)), run(100)]).on([1]);
    let late = task("late", [run(200_000), spin_barrier(None)]).on([0]);
    let scene = with("tracer").cpus(2).task(early).task(hog).task(late);
    let run = scene.workload(|w| w.barriers = vec![2]).millis(300).survives();
    // The last turn is that after it was woken.
    let turns = run.starts("early").into_iter().zip(run.stops("early"));
    let turns: Vec<_> = turns.map(|((from, _), until)| (until, until.since(from))).collect();
    let (_, before) = turns.split_last().unwrap();
    let spun: Span = before.iter().map(|&(_, span)| span).sum();
    assert_eq!(spun.as_ns() / 1_000_000, 30, "{turns:?}");
    assert!(near(before.last().unwrap().0, 60_000, 3_000), "half of the time was the other's: {turns:?}");
}

#[test]
fn some_may_block_at_a_barrier_where_others_spin() {
    let run = meeting(2, Step::Barrier(ObjectId(0)), 7).survives();
    let stops = run.stops("early");
    assert!(stops.len() == 2 && near(stops[0], 1_000, 100) && near(stops[1], 7_100, 100), "{stops:?}");
}

#[test]
fn a_barrier_can_be_met_at_again_and_again() {
    let worker = |name, us| {
        let again = Step::Loop { to: 0, times: Some(10), slot: 0 };
        task(name, [run(us), spin_barrier(Some(500)), Step::Count, again])
    };
    let scene = with("tracer").cpus(4).task(worker("a", 1000)).task(worker("b", 700)).task(worker("c", 300));
    let run = scene.workload(|w| w.barriers = vec![3]).survives();
    for name in ["a", "b", "c"] {
        assert!(near(*run.stops(name).last().unwrap(), 10_000, 300), "{name}: {:?}", run.stops(name));
    }
    // Only the fastest runs out of patience, each time.
    assert_eq!(run.outcome.counters.wakeups, 10);
}

#[test]
fn a_flag_holds_one_message() {
    let times = |steps: [Step; 2]| {
        let again = Step::Loop { to: 0, times: Some(5), slot: 0 };
        steps.into_iter().chain([again])
    };
    let from = task("from", times([run(100), raise(0)]));
    let to = task("to", times([lower(0), run(1000)]));
    let run = with("tracer").cpus(2).task(from).task(to).workload(|w| w.flags = 1).survives();
    // The fifth message can be sent when the fourth is taken: after three of the receiver's runs.
    let (sent, received) = (run.stops("from"), run.stops("to"));
    assert!(sent.len() == 1 && near(sent[0], 3_100, 100), "{sent:?}");
    assert!(received.len() == 1 && near(received[0], 5_100, 100), "{received:?}");
}

#[test]
fn one_of_several_that_spin_on_a_flag_gets_it() {
    let taker = |name| task(name, [lower(0), run(1000), raise(1)]);
    let giver = task("giver", [run(500), raise(0), run(3000), raise(0), run(100)]);
    let scene = with("tracer").cpus(3).task(taker("a")).task(taker("b")).task(giver);
    let run = scene.workload(|w| w.flags = 2).survives();
    let mut ends: Vec<_> = ["a", "b"].iter().flat_map(|name| run.stops(name)).collect();
    ends.sort_unstable();
    // The second finds its own flag up, and spins to the end.
    assert!(ends.len() == 1 && near(ends[0], 1_500, 100), "{ends:?}");
    assert!(near(run.stops("giver")[0], 3_600, 100));
}

#[test]
fn a_released_spinner_that_has_no_cpu_goes_on_when_it_has_one() {
    let early = task("early", [spin_barrier(None), run(100)]).on([1]);
    let late = task("late", [run(20_000), spin_barrier(None)]).on([0]);
    let scene = with("tracer").cpus(2).task(early).task(hog("hog").on([1])).task(late);
    let run = scene.workload(|w| w.barriers = vec![2]).survives();
    let (starts, stops) = (run.starts("early"), run.stops("early"));
    let (last, end) = (starts.last().unwrap().0, *stops.last().unwrap());
    assert!(near(last, 23_500, 1_500), "the hog's turn comes first: {starts:?}");
    assert_eq!(end.since(last).as_ns() / 10_000, 10, "nothing but its own work is left");
}
