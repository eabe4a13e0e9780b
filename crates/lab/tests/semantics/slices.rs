//! Slices: how they are used up, when their end takes effect, and what sets them.

use crate::harness::*;
use keel_abi::task::Step;

#[test]
fn it_falls_by_the_time_that_was_run() {
    let run = with("tracer").task(task("a", [run(300), sleep(1000), run(700)])).survives();
    let left = run.values("a", "left");
    let ran: Vec<u64> = left.iter().map(|left| (5_000_000 - left) / 1000).collect();
    assert!((300..330).contains(&ran[0]) && (700..730).contains(&ran[1]), "{ran:?}");
}

#[test]
fn its_end_acts_at_the_tick() {
    let run = with("tracer").set("slice_ns", 2_100_000).task(hog("a")).task(hog("b")).survives();
    let starts = run.starts("a");
    let apart: Vec<u64> = starts.windows(2).map(|w| w[1].0.since(w[0].0).as_ns() / 1000).collect();
    let tick_us = 1_000_000 / 1000;
    assert!(
        apart[1..].iter().all(|us| us.is_multiple_of(tick_us) || us % tick_us < 60 || us % tick_us > 940)
    );
    assert!(apart[1..].iter().all(|&us| (5_900..6_100).contains(&us)), "three ticks each: {apart:?}");
}

#[test]
fn an_infinite_one_never_ends_by_itself() {
    let base = with("tracer").set("slice_ns", u64::MAX).task(hog("a")).task(hog("b").after_ms(1));
    let run = base.clone().survives();
    assert_eq!(run.count("b", "running"), 0);
    assert!(run.values("a", "tick").iter().all(|&left| left == u64::MAX));
    let ticked = base.set("tick_zeroes_after", 10).survives();
    assert!(ticked.count("b", "running") > 0, "ops.tick ended it");
}

#[test]
fn zero_at_the_pick_becomes_a_default_slice() {
    let run = with("tracer").set("enqueue_zeroes", 1).task(task("a", [run(100)])).survives();
    assert_eq!(run.values("a", "running"), [20_000_000]);
}

/// Two tasks on a CPU, one of which yields after every millisecond.
fn yielding(scheduler: &str) -> Scenario {
    let base = with(scheduler).set("slice_ns", 50_000_000);
    base.task(repeat("a", [run(1000), Step::Yield])).task(task("b", [run(5000)]).after_ms(1))
}

#[test]
fn a_yield_gives_the_slice_up() {
    let run = yielding("tracer").survives();
    assert!(near(run.first("b", "running").at, 2000, 300), "{}", run.log());
    assert_eq!(run.values("a", "left")[0], 0);
}

#[test]
fn a_yield_is_the_schedulers_business_where_it_wants() {
    let gives = yielding("yields").survives();
    assert!(near(gives.first("b", "running").at, 2000, 300));
    let keeps = yielding("yields").set("yield_keeps", 1).survives();
    assert!(keeps.first("b", "running").at.as_ns() > 40_000_000, "it goes on with what is left");
    assert!(keeps.count("a", "yield") > 30);
}
