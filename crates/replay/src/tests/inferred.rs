//! Streams of real kernels: what tasks do follows from switches and wakeups.

use super::{IDLE, check, check_with, made, start, switch, wakeup};
use crate::{Builder, Overheads, stuck};
use keel_abi::tape::Op;
use keel_abi::{CpuId, Instant, Span, TaskId};
use keel_trace::{Call, Event, Sink, Source, What, Why};

#[test]
fn a_waker_and_its_wakee_keep_their_order() {
    let events = [
        (0, switch(9, Why::WasIdle, 0)),
        (10, switch(0, Why::Blocked, 1)),
        (15, wakeup(0, TaskId(1))),
        (40, switch(1, Why::Blocked, 0)),
        (60, switch(0, Why::Exited, 9)),
    ];
    check(&events, 0, "run10 await0 count1 run20 exit");
    check(&events, 1, "run5 post0 run25 await1 count1");
}

#[test]
fn what_nobody_wakes_sleeps_as_long_as_it_did() {
    let events = [
        (0, switch(9, Why::WasIdle, 0)),
        (10, switch(0, Why::Blocked, 9)),
        (110, wakeup(0, IDLE)),
        (111, switch(9, Why::WasIdle, 0)),
        (131, switch(0, Why::Preempted, 1)),
        (140, switch(1, Why::Preempted, 0)),
        (150, switch(0, Why::Exited, 1)),
    ];
    check(&events, 0, "run10 sleep100 count1 run30 exit");
}

/// Task 1 wakes task 0 when it has left its CPU, and `then` follows.
fn woken_by_who_has_left(then: &[(u64, What)]) -> Vec<(u64, What)> {
    let before = [
        (0, switch(9, Why::WasIdle, 0)),
        (10, switch(0, Why::Blocked, 1)),
        (40, switch(1, Why::Blocked, 9)),
        (41, wakeup(0, TaskId(1))),
        (45, switch(9, Why::WasIdle, 0)),
    ];
    [&before, then].concat()
}

/// A wakeup that the wakee's CPU takes over may be recorded when its waker has left.
#[test]
fn a_waker_that_has_left_is_still_known() {
    let events = woken_by_who_has_left(&[
        (60, wakeup(1, TaskId(0))),
        (70, switch(0, Why::Preempted, 1)),
        (71, wakeup(2, TaskId(0))),
        (80, switch(1, Why::Exited, 0)),
    ]);
    check(&events, 0, "run10 await0 count1 run15 post1 run10 post2 run35 await3 count1");
    check(&events, 1, "run30 await1 meanwhile0 count1 run10 exit");
    assert_eq!(made(&events).unwrap().confidence.causes.by_task, 3);
}

#[test]
fn who_wakes_by_a_pipe_or_a_socket_is_about_to_wait() {
    let check = |call, expected| {
        let events = [
            (0, switch(9, Why::WasIdle, 0)),
            (10, switch(0, Why::Blocked, 1)),
            (20, What::Waited { task: TaskId(0), call, source: Source::Task }),
            (20, wakeup(0, TaskId(1))),
            (30, switch(1, Why::Blocked, 0)),
        ];
        let made = made(&events).unwrap();
        let posts = |op| match op {
            Op::Post { sync, .. } => Some(sync),
            _ => None,
        };
        let tapes = &made.workload.recorded.as_ref().expect("it is a recording").tapes;
        let found = tapes[1].iter().find_map(posts);
        assert_eq!(found, Some(expected), "{call:?}");
    };
    check(Call::Poll, true);
    check(Call::Transfer, true);
    check(Call::Futex, false);
    check(Call::Child, false);
    check(Call::Unknown, false);
    check(Call::Kernel, false);
}

#[test]
fn a_timer_that_is_told_is_no_guess() {
    let check =
        |waited: Option<(Call, Source)>, expected: &str, (timers, disks, outside): (u64, u64, u64)| {
            let mut events = vec![(0, switch(9, Why::WasIdle, 0))];
            for round in 0..3 {
                let at = round * 100;
                events.push((at + 10, switch(0, Why::Blocked, 9)));
                if let Some((call, source)) = waited {
                    events.push((at + 90 + round, What::Waited { task: TaskId(0), call, source }));
                }
                events.push((at + 90 + round, wakeup(0, IDLE)));
                events.push((at + 100, switch(9, Why::WasIdle, 0)));
            }
            self::check(&events, 0, expected);
            let causes = made(&events).unwrap().confidence.causes;
            assert_eq!((causes.timers, causes.disks, causes.outside), (timers, disks, outside), "{waited:?}");
            assert_eq!(causes.tells_waits, waited.is_some());
        };
    let relative = "run10 sleep80 count1 run10 sleep81 count1 run10 sleep82 count1 run10 await0 count1";
    let until = |us: u64| format!("sleepuntil(instant({}))", us * 1000);
    let absolute = format!(
        "run10 {} count1 run10 {} count1 run10 {} count1 run10 await0 count1",
        until(90),
        until(191),
        until(292)
    );
    check(None, relative, (0, 0, 3));
    check(Some((Call::Unknown, Source::Softirq)), relative, (0, 0, 3));
    check(Some((Call::Sleep, Source::Timer)), relative, (3, 0, 0));
    check(Some((Call::Poll, Source::Timer)), relative, (3, 0, 0));
    check(Some((Call::Disk, Source::Interrupt)), relative, (0, 3, 0));
    check(Some((Call::SleepUntil, Source::Timer)), &absolute, (3, 0, 0));
    // A signal ended it.
    check(Some((Call::SleepUntil, Source::Interrupt)), relative, (0, 0, 3));
}

/// Like `a_timer_that_is_told_is_no_guess`, if the task's acts are not recorded.
#[test]
fn an_inferred_wait_may_end_with_the_task() {
    let ends = [(60, What::Exit { task: TaskId(1) }), (80, switch(0, Why::Exited, 9))];
    let events = woken_by_who_has_left(&ends);
    check(&events, 0, "run10 await0 count1 run35 exit");
    check(&events, 1, "run30 sleep0 meanwhile0 count1 exit");
    assert_eq!(stuck(&made(&events).unwrap().workload), None);
}

/// Returns the first run of work of task 0, in microseconds: CPU 0 runs it for 100 us, and CPU 1 another task from 40
/// us on.
fn beside_another(overheads: Overheads, keep: Option<u32>) -> u64 {
    let keep = keep.map(|task| [TaskId(task)].into());
    let mut builder = Builder::new(overheads, keep);
    start(&mut builder);
    let event = |us, cpu, what| Event { at: Instant::ZERO + Span::from_us(us), cpu: CpuId(cpu), what };
    builder.events(&[
        event(0, 0, switch(9, Why::WasIdle, 0)),
        event(40, 1, switch(9, Why::WasIdle, 1)),
        event(100, 0, switch(0, Why::Exited, 9)),
    ]);
    let made = builder.finish().expect("it can be replayed");
    let recorded = made.workload.recorded.expect("it is a recording");
    let first = recorded.tapes[0].iter().next();
    let Some(Op::Run(work)) = first else { panic!("it begins with {first:?}") };
    work.as_ns() / 1000
}

#[test]
fn cpus_that_take_turns_work_less_the_more_are_busy() {
    let turns = Overheads { takes_turns: true, ..Overheads::default() };
    let check = |overheads, keep, expected| assert_eq!(beside_another(overheads, keep), expected);
    check(Overheads::default(), None, 100);
    check(turns, None, 70);
    // A task that is left out was busy anyway.
    check(turns, Some(0), 70);
}

#[test]
fn ticks_are_no_work() {
    let ticks = Overheads { tick: Span::from_us(2), tick_period: Span::from_us(10), ..Overheads::default() };
    assert_eq!(beside_another(ticks, None), 80);
}

#[test]
fn making_and_ending_a_process_is_work() {
    // A replay charges only the child's wakeup.
    let overheads = Overheads { wakeup: Span::from_us(2), ..Overheads::default() };
    let fork = What::Fork { child: TaskId(1), target: CpuId(0), parent: TaskId(0) };
    let events = [
        (0, switch(9, Why::WasIdle, 0)),
        (30, fork),
        (35, switch(0, Why::Blocked, 1)),
        (42, switch(1, Why::Exited, 9)),
    ];
    check_with(overheads, &events, 0, "run30 fork { spec: 1, process: true } run3 await0 count1");
    check_with(overheads, &events, 1, "run7 exit");
}

#[test]
fn later_work_pays_for_scheduling_that_takes_longer_than_it_did() {
    let overheads = Overheads { wakeup: Span::from_us(8), ..Overheads::default() };
    let by_0 = |at| (at, wakeup(1, TaskId(0)));
    let events = [
        (0, switch(9, Why::WasIdle, 0)),
        (1, switch(0, Why::Preempted, 1)),
        (2, switch(1, Why::Blocked, 0)),
        // The work until the second wakeup is 3 us, 5 less than the first one takes.
        by_0(10),
        by_0(13),
        (33, switch(0, Why::Exited, 9)),
    ];
    check_with(overheads, &events, 0, "run9 post0 post0 run7 exit");
}

#[test]
fn who_works_at_the_end_has_as_much_left_as_between_waits() {
    // It worked for 10 and 30 us, and waited twice.
    let events = [
        (0, switch(9, Why::WasIdle, 0)),
        (10, switch(0, Why::Blocked, 9)),
        (15, wakeup(0, IDLE)),
        (15, switch(9, Why::WasIdle, 0)),
        (45, switch(0, Why::Blocked, 9)),
        (90, wakeup(0, IDLE)),
        (90, switch(9, Why::WasIdle, 0)),
    ];
    check(&events, 0, "run10 sleep5 count1 run30 sleep45 count1 run20 await0 count1");
    // It never waited: it goes on.
    let events =
        [(0, switch(9, Why::WasIdle, 0)), (90, switch(0, Why::Preempted, 1)), (100, wakeup(2, IDLE))];
    check(&events, 0, "run90 run100 await0 count1");
}
