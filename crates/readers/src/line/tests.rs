use super::*;
use crate::sched_record::Name;
use keel_trace::Why;

/// Records from a list.
struct Given(std::vec::IntoIter<SchedRecord>);

impl Records for Given {
    fn next(&mut self) -> Result<Option<SchedRecord>, ReadError> {
        Ok(self.0.next())
    }
}

fn task(pid: u32) -> Who {
    Who { pid, name: Name::new(b"task"), prio: None }
}

fn seen(at: u64, cpu: u32, what: SchedEvent) -> SchedRecord {
    SchedRecord { at, cpu, lost: 0, current: Some(50 + cpu), interrupt: false, what }
}

fn line(records: Vec<SchedRecord>) -> (Vec<SchedRecord>, Clock, u64) {
    line_of(records, false)
}

fn line_of(records: Vec<SchedRecord>, has_wakeups: bool) -> (Vec<SchedRecord>, Clock, u64) {
    let mut source = Given(records.into_iter());
    let mut line = Line::new(&mut source, has_wakeups);
    let mut all = Vec::new();
    while let Some(seen) = line.next().expect("a list can be read") {
        all.push(seen);
    }
    (all, line.clock(), line.impossible())
}

/// Checks the resulting wakeups (time, pid, target, waker, its CPU) and migrations.
fn check(records: Vec<SchedRecord>, wakeups: &[(u64, u32, u32, u32, u32)], moves: &[(u64, u32)]) {
    check_of(records, false, wakeups, moves);
}

fn check_of(
    records: Vec<SchedRecord>,
    has_wakeups: bool,
    wakeups: &[(u64, u32, u32, u32, u32)],
    moves: &[(u64, u32)],
) {
    let (all, ..) = line_of(records, has_wakeups);
    let woken = all.iter().filter_map(|seen| match seen.what {
        SchedEvent::Woken { task, target, waker, waker_cpu } => {
            Some((seen.at, task.pid, target, waker, waker_cpu))
        }
        _ => None,
    });
    assert_eq!(woken.collect::<Vec<_>>(), wakeups);
    let moved = all.iter().filter_map(|seen| match seen.what {
        SchedEvent::Migrate { task, .. } => Some((seen.at, task.pid)),
        _ => None,
    });
    assert_eq!(moved.collect::<Vec<_>>(), moves);
}

#[test]
fn the_pieces_of_a_wakeup_come_together() {
    let waking = |at, target| seen(at, 0, SchedEvent::Waking { task: task(7), target });
    let moved = |at, cpu| seen(at, cpu, SchedEvent::Migrate { task: task(7), from: 1, to: 2 });
    let wakeup = |at, cpu, target| seen(at, cpu, SchedEvent::Wakeup { task: task(7), target });
    let far = seen(9_000_000_000, 3, SchedEvent::Other);
    // As in perf sched record.
    check(vec![waking(10, 1), far], &[(10, 7, 1, 50, 0)], &[]);
    check(vec![waking(10, 1), moved(12, 0), far], &[(10, 7, 2, 50, 0)], &[]);
    // Another CPU moves it: a migration.
    check(vec![waking(10, 1), moved(12, 3), far], &[(10, 7, 1, 50, 0)], &[(12, 7)]);
    // With sched_wakeup, here and on the target's CPU.
    check(vec![waking(10, 1), moved(12, 0), wakeup(14, 0, 2), far], &[(14, 7, 2, 50, 0)], &[]);
    check(vec![waking(10, 1), wakeup(14, 1, 1), far], &[(14, 7, 1, 50, 0)], &[]);
    // Without sched_waking.
    check(vec![wakeup(14, 1, 1), far], &[(14, 7, 1, 51, 1)], &[]);
    // The wakeup comes late: the waking has already become one, and its waker is still known.
    let late = [waking(10, 1), seen(3_000_000, 3, SchedEvent::Other), wakeup(5_000_000, 1, 1)];
    check(late.to_vec(), &[(10, 7, 1, 50, 0), (5_000_000, 7, 1, 50, 0)], &[]);
    // Unless the recording is known to have wakeups.
    check_of(late.to_vec(), true, &[(5_000_000, 7, 1, 50, 0)], &[]);
    // A wakeup by an interrupt has no waker.
    let interrupt = SchedRecord { interrupt: true, ..waking(10, 1) };
    check(vec![interrupt, wakeup(14, 0, 1)], &[(14, 7, 1, 0, 0)], &[]);
}

#[test]
fn time_never_runs_backwards() {
    let at = |at| seen(at, 0, SchedEvent::Other);
    let times = |all: &[SchedRecord]| all.iter().map(|seen| seen.at).collect::<Vec<_>>();
    let (all, clock, _) = line(vec![at(10), at(30), at(20), at(25), at(40)]);
    assert_eq!(
        (times(&all), clock.backwards, clock.furthest),
        (vec![10, 30, 30, 30, 40], 2, Span::from_ns(10))
    );
    let hour = 3_600_000_000_000;
    // One record far ahead is damaged; two are a gap.
    let (all, clock, _) = line(vec![at(10), at(hour), at(20), at(30)]);
    assert_eq!((times(&all), clock.wild, clock.leaps, clock.backwards), (vec![10, 10, 20, 30], 1, 0, 0));
    let (all, clock, _) = line(vec![at(10), at(hour), at(hour + 5)]);
    assert_eq!((times(&all), clock.wild, clock.leaps), (vec![10, hour, hour + 5], 0, 1));
    assert_eq!(clock.longest, Span::from_ns(hour - 10));
    // The very first, and the very last.
    let (all, clock, _) = line(vec![at(hour), at(10), at(20), at(hour)]);
    assert_eq!((times(&all), clock.wild), (vec![10, 10, 20, 20], 2));
}

#[test]
fn what_cannot_be_is_left_out() {
    let switch = |pid| SchedEvent::Switch { prev: task(pid), why: Why::Blocked, next: task(0) };
    let records = vec![seen(1, 0, switch(1)), seen(2, 0, switch(PID_LIMIT)), seen(3, MAX_CPUS, switch(1))];
    let (all, _, impossible) = line(records);
    assert_eq!((all.len(), impossible), (1, 2));
}
