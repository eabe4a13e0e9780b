use super::*;
use crate::lab::REAL;
use std::collections::BTreeSet;

fn measured(scheduler: &str, point: Point) -> Measured {
    let source = inputs::scheduler(&REAL, scheduler).unwrap();
    let machine = inputs::machine(&REAL, "2").unwrap();
    let measured = measure(&REAL, &source, &machine, point).unwrap_or_else(|failure| panic!("{failure}"));
    measured.expect("nobody has stopped it")
}

fn calls(measured: &Measured, name: &str) -> u64 {
    measured.costs.iter().find(|cost| cost.name == name).map_or(0, |cost| cost.calls)
}

#[test]
fn every_scheduler_has_every_point_once() {
    let jobs = jobs(2);
    let once: BTreeSet<String> = jobs.iter().map(|job| format!("{job:?}")).collect();
    assert_eq!((jobs.len(), once.len()), (30, 30));
    assert_eq!(jobs[0], (0, Point::Cpus(1_024)), "the longest first");
}

#[test]
fn a_point_ends_after_enough_decisions() {
    let tasks = measured("o1", Point::Tasks(10));
    assert_eq!((tasks.axis, tasks.size), (Axis::Tasks, Size { tasks: 10, cpus: 2 }));
    // Sixteen tasks that wake a thousand times per second would wake 160,000 times in the maximum of ten seconds.
    assert!((2_000..20_000).contains(&calls(&tasks, "wakeup")), "{:?}", tasks.costs);
    assert!(calls(&tasks, "dispatch") >= 2_000 && tasks.together.is_some());
    let cpus = measured("o1", Point::Cpus(8));
    assert_eq!((cpus.axis, cpus.size), (Axis::Cpus, Size { tasks: 24, cpus: 8 }));
    assert!((2_000..3_000).contains(&calls(&cpus, "wakeup")), "{:?}", cpus.costs);
    // With one CPU the kernel never calls select_cpu, so the run waits for that event until its maximum of ten seconds.
    let one = measured("o1", Point::Cpus(1));
    assert_eq!(calls(&one, "wakeup"), 0, "{:?}", one.costs);
    assert!((9_900..=10_100).contains(&calls(&one, "tick")), "{:?}", one.costs);
}

#[test]
fn rounds_are_reported_if_they_are_counted_and_end() {
    let rounds = measured("o1", Point::Rounds(10));
    assert!((32..40).contains(&calls(&rounds, "array switch")), "{:?}", rounds.costs);
    assert!(rounds.together.is_none());
    assert!(measured("fifo", Point::Rounds(10)).costs.is_empty(), "it counts none");
    assert!(measured("o1", Point::Rounds(100_000)).costs.is_empty(), "the watchdog waits for no such round");
}
