//! Hand-written streams, and arbitrary ones.

mod pipes;
mod requests;

use crate::{Builder, Late, Overheads, Replay, ReplayError, export, scaled, stuck};
use keel_abi::cgroup::Bandwidth;
use keel_abi::tape::{Op, Room};
use keel_abi::task::Policy;
use keel_abi::timeline::{Change, Happening};
use keel_abi::{CpuId, CpuSet, Instant, Pid, Span, TaskId, Topology};
use keel_trace::{Act, Call, Event, GroupInfo, Meta, Piping, Sink, Source, TaskInfo, Timer, What, Why};
use proptest::prelude::*;

const CPUS: u32 = 2;
const IDLE: TaskId = TaskId::IDLE;

fn start(builder: &mut Builder) {
    let topology = Topology::flat(CPUS);
    let [scheduler, workload, unit] = ["s", "w", "u"].map(str::to_owned);
    builder.meta(Instant::ZERO, &Meta::Start { topology, scheduler, workload, unit });
    for task in 0..4 {
        let info = TaskInfo {
            task: TaskId(task),
            pid: Pid(task + 1),
            name: format!("t{task}"),
            nice: 0,
            cpus: CpuSet::first(CPUS),
        };
        builder.meta(Instant::ZERO, &Meta::Task(info));
    }
}

/// Events on CPU 0, by their time in microseconds.
fn made(events: &[(u64, What)]) -> Result<Replay, ReplayError> {
    made_with(Overheads::default(), events)
}

fn made_with(overheads: Overheads, events: &[(u64, What)]) -> Result<Replay, ReplayError> {
    let mut builder = Builder::new(overheads, None);
    start(&mut builder);
    for &(us, what) in events {
        builder.events(&[Event { at: Instant::ZERO + Span::from_us(us), cpu: CpuId(0), what }]);
    }
    builder.finish()
}

fn switch(prev: u32, why: Why, next: u32) -> What {
    let task = |n| if n == 9 { IDLE } else { TaskId(n) };
    What::Switch { prev: task(prev), why, next: task(next) }
}

fn wakeup(task: u32, waker: TaskId) -> What {
    What::Wakeup { task: TaskId(task), target: CpuId(0), waker }
}

/// The tape of a task, one word per op.
fn check(events: &[(u64, What)], task: usize, expected: &str) {
    check_with(Overheads::default(), events, task, expected);
}

fn check_with(overheads: Overheads, events: &[(u64, What)], task: usize, expected: &str) {
    let made = made_with(overheads, events).expect("it can be replayed");
    let recorded = made.workload.recorded.expect("it is a recording");
    let word = |op| match op {
        Op::Run(span) => format!("run{}", span.as_ns() / 1000),
        Op::Await(semaphore) => format!("await{semaphore}"),
        Op::Post { semaphore, .. } => format!("post{semaphore}"),
        Op::PostMeanwhile { semaphore, .. } => format!("meanwhile{semaphore}"),
        Op::Sleep(span) => format!("sleep{}", span.as_ns() / 1000),
        Op::Count(units) => format!("count{units}"),
        Op::Put { bytes, .. } => format!("put{bytes}"),
        Op::Take { bytes, .. } => format!("take{bytes}"),
        other => format!("{other:?}").to_lowercase(),
    };
    let words: Vec<String> = recorded.tapes[task].iter().map(word).collect();
    assert_eq!(words.join(" "), expected);
}

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

#[test]
fn what_a_task_says_is_believed() {
    let acts = |act| What::Acts { task: TaskId(0), act };
    let worked = |us| What::Worked { task: TaskId(0), user: Span::from_us(us), kernel_ps: 0 };
    let until = Instant::ZERO + Span::from_us(50);
    let events = [
        (1, acts(Act::Begins { at: Instant::ZERO })),
        (2, switch(9, Why::WasIdle, 0)),
        (12, worked(10)),
        (12, acts(Act::Sleeps { until, timer: Timer::Relative })),
        (13, switch(0, Why::Blocked, 9)),
        (50, wakeup(0, IDLE)),
        (51, switch(9, Why::WasIdle, 0)),
        (60, worked(9)),
        (60, acts(Act::Exits)),
    ];
    check(&events, 0, "run10 sleep38 count1 run9 exit");
}

/// Its time in the kernel is recorded as it begins, so it may be longer than the recording so far.
#[test]
fn a_call_may_take_longer_than_the_recording_so_far() {
    let acts = |act| What::Acts { task: TaskId(0), act };
    let worked =
        |user_us, kernel_ps| What::Worked { task: TaskId(0), user: Span::from_us(user_us), kernel_ps };
    let events = [
        (1, acts(Act::Begins { at: Instant::ZERO })),
        (3, worked(2, 9_000_000)),
        (12, worked(0, u64::MAX)),
        (20, worked(30, 0)),
        (20, acts(Act::Exits)),
    ];
    // An hour is more than any call takes, and 20 us is all that has passed.
    check(&events, 0, "run2 kernel(9000000) kernel(3600000000000000) run20 exit");
}

/// Wakeups without work between them are of one step. Its time in the kernel may be longer than the recording so far.
#[test]
fn a_step_wakes_all_before_it_leaves_the_kernel() {
    let acts = |task: u32, act| What::Acts { task: TaskId(task), act };
    let worked = |kernel_ps| What::Worked { task: TaskId(0), user: Span::ZERO, kernel_ps };
    let wakes = |wakee| acts(0, Act::Wakes { wakee: TaskId(wakee), sync: false });
    let begins = |task| (1, acts(task, Act::Begins { at: Instant::ZERO }));
    let waits = |task| (2, acts(task, Act::Waits));
    let events = [
        begins(0),
        begins(1),
        begins(2),
        waits(1),
        waits(2),
        (3, worked(9_000_000)),
        (4, wakes(1)),
        (4, wakes(2)),
        (5, acts(1, Act::Waits)),
        (6, worked(0)),
        (6, wakes(1)),
        (7, acts(0, Act::Exits)),
    ];
    check(&events, 0, "kernel(9000000) post0 meanwhile1 post0 exit");
}

/// Their moment is when they were due, not when the kernel had made them.
#[test]
fn changes_from_outside_were_due_before() {
    let due = Instant::ZERO + Span::from_us(40);
    let nobody = |act| What::Acts { task: IDLE, act };
    let events = [
        (1, What::Acts { task: TaskId(0), act: Act::Begins { at: Instant::ZERO } }),
        (41, nobody(Act::Begins { at: due })),
        (43, What::Online { target: CpuId(1), up: false }),
        (44, nobody(Act::Waits)),
        (60, What::Online { target: CpuId(1), up: true }),
    ];
    let timeline = made(&events).unwrap().workload.timeline;
    let at_us: Vec<u64> = timeline.iter().map(|happening| happening.at.as_ns() / 1000).collect();
    assert_eq!(at_us, [40, 60]);
}

/// If the end of a wait is lost, the task's wakeups on the way to it are not.
#[test]
fn a_wait_may_end_with_the_task() {
    let acts = |task: u32, act| What::Acts { task: TaskId(task), act };
    let events = [
        (1, acts(0, Act::Begins { at: Instant::ZERO })),
        (1, acts(1, Act::Begins { at: Instant::ZERO })),
        (2, acts(1, Act::Waits)),
        (3, acts(0, Act::Waits)),
        (4, acts(0, Act::Wakes { wakee: TaskId(1), sync: false })),
        (5, switch(0, Why::Blocked, 9)),
        (9, acts(0, Act::Exits)),
    ];
    check(&events, 0, "sleep0 meanwhile0 count1 exit");
    check(&events, 1, "await0 count1 run9 await1 count1");
    assert_eq!(stuck(&made(&events).unwrap().workload), None);
}

/// The same, if the task's acts are not recorded.
#[test]
fn an_inferred_wait_may_end_with_the_task() {
    let ends = [(60, What::Exit { task: TaskId(1) }), (80, switch(0, Why::Exited, 9))];
    let events = woken_by_who_has_left(&ends);
    check(&events, 0, "run10 await0 count1 run35 exit");
    check(&events, 1, "run30 sleep0 meanwhile0 count1 exit");
    assert_eq!(stuck(&made(&events).unwrap().workload), None);
}

/// The policies that task 0 changes to, one word each, if its priorities are these in turn.
fn check_policies(prios: &[i16], expected: &str) {
    let mut events = vec![(0, switch(9, Why::WasIdle, 0))];
    let told = |(n, &prio): (usize, _)| (n as u64, What::Priority { task: TaskId(0), prio, weight: 0 });
    events.extend(prios.iter().enumerate().map(told));
    events.push((prios.len() as u64, switch(0, Why::Exited, 9)));
    let timeline = made(&events).expect("it can be replayed").workload.timeline;
    let words: Vec<String> = timeline.iter().map(|happening| format!("{:?}", happening.change)).collect();
    assert_eq!(words.join(" "), expected);
}

#[test]
fn a_task_whose_policy_goes_back_has_its_first_again() {
    check_policies(&[120, 139], "");
    check_policies(&[120, 49], "Policy { spec: 0, policy: Fifo(50) }");
    check_policies(
        &[120, 49, 49, 120],
        "Policy { spec: 0, policy: Fifo(50) } Policy { spec: 0, policy: Other }",
    );
}

#[test]
fn nothing_is_no_replay() {
    assert_eq!(made(&[]).unwrap_err(), ReplayError::Nothing);
    let builder = Builder::new(Overheads::default(), None);
    assert_eq!(builder.finish().unwrap_err(), ReplayError::NoStart);
}

#[test]
fn a_task_that_begins_again_has_ended_its_wait() {
    let acts = |task, act| (0, What::Acts { task: TaskId(task), act });
    let wakes = |wakee| Act::Wakes { wakee: TaskId(wakee), sync: false };
    let events = [
        acts(0, Act::Waits),
        acts(0, wakes(77)),
        acts(0, Act::Begins { at: Instant::ZERO }),
        acts(0, Act::Exits),
        acts(77, wakes(0)),
    ];
    assert_eq!(stuck(&made(&events).expect("it can be replayed").workload), None);
}

#[test]
fn a_circle_of_waits_is_found() {
    let events = [
        (0, switch(9, Why::WasIdle, 0)),
        (10, switch(0, Why::Blocked, 1)),
        (15, wakeup(0, TaskId(1))),
        (40, switch(1, Why::Blocked, 0)),
        (50, wakeup(1, TaskId(0))),
        (60, switch(0, Why::Exited, 1)),
    ];
    let mut made = made(&events).unwrap();
    assert_eq!(stuck(&made.workload), None);
    // An edited tape: each task waits before it posts.
    let mut recorded = made.workload.recorded.as_deref().unwrap().clone();
    let post = |semaphore| Op::Post { semaphore, sync: false };
    recorded.tapes[0] = [Op::Await(0), post(1)].into_iter().collect();
    recorded.tapes[1] = [Op::Await(1), post(0)].into_iter().collect();
    made.workload.recorded = Some(recorded.into());
    let found = stuck(&made.workload).expect("they wait for each other");
    assert_eq!(found.count, 2);
    assert_eq!(found.tasks[0], ("t0".to_owned(), Some("t1".to_owned())));
}

fn any_what() -> impl Strategy<Value = What> {
    let task = || prop_oneof![4 => 0_u32..4, 1 => Just(u32::MAX), 1 => Just(77)].prop_map(TaskId);
    let why = prop_oneof![
        Just(Why::WasIdle),
        Just(Why::Preempted),
        Just(Why::Yielded),
        Just(Why::Blocked),
        Just(Why::Exited)
    ];
    let cpu = || (0..CPUS).prop_map(CpuId);
    let timer = prop_oneof![Just(Timer::Relative), Just(Timer::Absolute), Just(Timer::Deferrable)];
    let act = prop_oneof![
        (task(), any::<bool>()).prop_map(|(wakee, sync)| Act::Wakes { wakee, sync }),
        Just(Act::Waits),
        (any::<u64>(), timer).prop_map(|(ns, timer)| Act::Sleeps { until: Instant::from_ns(ns), timer }),
        any::<u64>().prop_map(|ns| Act::Begins { at: Instant::from_ns(ns) }),
        (task(), any::<bool>()).prop_map(|(child, process)| Act::Forks { child, process }),
        Just(Act::Yields),
        Just(Act::Exits),
    ];
    let room = prop_oneof![any::<u32>().prop_map(Room::Memory), any::<u32>().prop_map(Room::Pages)];
    prop_oneof![
        (task(), why, task()).prop_map(|(prev, why, next)| What::Switch { prev, why, next }),
        (task(), cpu(), task()).prop_map(|(task, target, waker)| What::Wakeup { task, target, waker }),
        (task(), cpu(), task()).prop_map(|(child, target, parent)| What::Fork { child, target, parent }),
        task().prop_map(|task| What::Exit { task }),
        (task(), any::<u32>()).prop_map(|(task, units)| What::Count { task, units }),
        (task(), any::<i16>()).prop_map(|(task, prio)| What::Priority { task, prio, weight: 0 }),
        (task(), any::<u64>(), any::<u64>()).prop_map(|(task, ns, kernel_ps)| What::Worked {
            task,
            user: Span::from_ns(ns),
            kernel_ps
        }),
        (task(), act).prop_map(|(task, act)| What::Acts { task, act }),
        (cpu(), any::<bool>()).prop_map(|(target, up)| What::Online { target, up }),
        (
            task(),
            0_u32..3,
            prop_oneof![0_u32..200, any::<u32>()],
            room,
            prop::sample::select(&Piping::ALL[..])
        )
            .prop_map(|(task, pipe, bytes, room, how)| What::Piped { task, pipe, bytes, room, how }),
        (task(), prop::sample::select(&Call::ALL[..]), prop::sample::select(&Source::ALL[..]))
            .prop_map(|(task, call, source)| What::Waited { task, call, source }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn no_stream_makes_it_panic_or_wait_in_circles(events in prop::collection::vec((0_u64..50, any_what()), 0..60)) {
        let mut at = 0;
        let events: Vec<(u64, What)> = events
            .into_iter()
            .map(|(passed, what)| {
                at += passed;
                (at, what)
            })
            .collect();
        if let Ok(replay) = made(&events) {
            prop_assert_eq!(stuck(&replay.workload), None);
            prop_assert!(!replay.confidence.to_string().is_empty());
            let _ = export(&replay, Late { slack: Span::from_us(50), ..Late::default() });
            let twice = scaled(replay.workload, 2);
            prop_assert_eq!(stuck(&twice), None);
        }
    }
}

/// The first run of work of task 0, in microseconds: CPU 0 runs it for 100 us, and CPU 1 another task from 40 us on.
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

/// Task 0's initial policy, and those that it changes to, recorded at these microseconds.
fn check_told(told: &[(u64, Told)], begins: Policy, changes: &[Policy]) {
    let mut builder = Builder::new(Overheads::default(), None);
    start(&mut builder);
    let at = |us| Instant::ZERO + Span::from_us(us);
    builder.events(&[Event { at: at(0), cpu: CpuId(0), what: switch(9, Why::WasIdle, 0) }]);
    for &(us, told) in told {
        match told {
            Told::Policy(policy) => {
                builder.meta(at(us), &Meta::Scheduled { task: TaskId(0), policy, group: 0 });
            }
            Told::Prio(prio) => {
                let what = What::Priority { task: TaskId(0), prio, weight: 0 };
                builder.events(&[Event { at: at(us), cpu: CpuId(0), what }]);
            }
        }
    }
    let made = builder.finish().expect("it can be replayed");
    assert_eq!(made.workload.tasks[0].policy, begins, "{told:?}");
    let policy = |it: &Happening| match it.change {
        Change::Policy { policy, .. } => Some(policy),
        _ => None,
    };
    let changed: Vec<Policy> = made.workload.timeline.iter().filter_map(policy).collect();
    assert_eq!(changed, changes, "{told:?}");
}

#[derive(Clone, Copy, Debug)]
enum Told {
    Policy(u32),
    Prio(i16),
}

#[test]
fn policies_are_those_that_are_told() {
    use Told::{Policy as P, Prio};
    check_told(&[(1, Prio(120))], Policy::Other, &[]);
    // Without policies, priorities are all there is.
    check_told(&[(1, Prio(120)), (2, Prio(49))], Policy::Other, &[Policy::Fifo(50)]);
    check_told(&[(1, P(3)), (1, Prio(120))], Policy::Batch, &[]);
    check_told(&[(1, P(2)), (1, Prio(9))], Policy::RoundRobin(90), &[]);
    // A priority inherited through a mutex does not count.
    check_told(&[(1, P(0)), (1, Prio(120)), (2, Prio(49)), (3, Prio(120))], Policy::Other, &[]);
    let becomes_urgent = [(1, P(0)), (1, Prio(120)), (2, P(1)), (2, Prio(49)), (3, P(5)), (3, Prio(120))];
    check_told(&becomes_urgent, Policy::Other, &[Policy::Fifo(50), Policy::Idle]);
    check_told(&[(1, P(6)), (1, Prio(-1))], Policy::Other, &[]);
}

#[test]
fn cgroups_that_are_told_are_the_workloads_own() {
    let check = |copies, expected: &str| {
        let mut builder = Builder::new(Overheads::default(), None);
        start(&mut builder);
        let limited = Bandwidth { period_us: 50_000, quota_us: 20_000, burst_us: 0 };
        for (group, parent, name, weight, bandwidth) in
            [(2, 1, "web", 300, limited), (1, 0, "system", 100, Bandwidth::default())]
        {
            let name = name.to_owned();
            let info = GroupInfo { group, parent, name, weight, bandwidth, ..GroupInfo::default() };
            builder.meta(Instant::ZERO, &Meta::Group(Box::new(info)));
        }
        builder.meta(Instant::ZERO, &Meta::Scheduled { task: TaskId(0), policy: 0, group: 2 });
        builder.events(&[Event { at: Instant::ZERO, cpu: CpuId(0), what: switch(9, Why::WasIdle, 0) }]);
        let mut made = builder.finish().expect("it can be replayed");
        let said = made.confidence.to_string();
        assert!(
            said.contains("2 cgroups have the weights and limits that they had last; 1 of them"),
            "{said}"
        );
        made.workload = scaled(made.workload, copies);
        let file: serde_json::Value =
            serde_json::from_str(&export(&made, Late::default()).expect("it is short")).expect("it is JSON");
        let mut text = file["evenkeel"]["cgroups"].to_string();
        for task in file["tasks"].as_object().expect("tasks").values() {
            text += &task["evenkeel"]["cgroup"].as_str().map(|path| format!(" {path}")).unwrap_or_default();
        }
        assert_eq!(text, expected);
    };
    let (system, web) = ("{}", r#"{"period_us":50000,"quota_us":20000,"weight":300}"#);
    check(1, &format!(r#"{{"/system":{system},"/system/web":{web}}} /system/web"#));
    let groups = format!(
        r#"{{"/system":{system},"/system-copy-1":{system},"/system-copy-1/web":{web},"/system/web":{web}}}"#
    );
    check(2, &format!("{groups} /system/web /system-copy-1/web"));
}
