//! Streams of simulated runs, with tasks' own acts.

use super::{IDLE, check, made, switch, wakeup};
use crate::{Late, export, stuck};
use keel_abi::{CpuId, Instant, Span, TaskId};
use keel_trace::{Act, Timer, What, Why};

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
    // An hour is longer than any call takes, and only 20 us have passed.
    check(&events, 0, "run2 kernel(9000000) kernel(3600000000000000) run20 exit");
}

/// Wakeups without work between them belong to one step. Its time in the kernel may be longer than the recording so
/// far.
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

/// They are recorded at the time when they were due, not when the kernel had made them.
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

/// A replay has to keep such a task busy until its end. In a file, that would be by far the longest work of its loop.
#[test]
fn a_file_has_usual_work_for_a_task_that_was_at_work_when_the_recording_ended() {
    let acts = |at_us, act| (at_us, What::Acts { task: TaskId(0), act });
    let mut events = vec![acts(1, Act::Begins { at: Instant::ZERO })];
    for round in 0..6 {
        let now_us = 100 * round + 10;
        let until = Instant::ZERO + Span::from_us(now_us + 90);
        events.push((now_us, What::Worked { task: TaskId(0), user: Span::from_us(10), kernel_ps: 0 }));
        events.push(acts(now_us, Act::Sleeps { until, timer: Timer::Relative }));
    }
    events.push((605, What::Worked { task: TaskId(0), user: Span::from_us(5), kernel_ps: 0 }));
    let replay = made(&events).expect("it can be replayed");
    let text = export(&replay, Late::default()).expect("it is short");
    let file: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    let (_, task) = file["tasks"].as_object().expect("it has tasks").iter().next().expect("there is one");
    let phases = task["phases"].as_object().expect("it has phases");
    let steps = phases.values().flat_map(|phase| {
        let times = phase["loop"].as_u64().expect("a number");
        let steps = phase["evenkeel"]["steps"].as_array().expect("a list");
        steps.iter().map(move |step| (times, step.clone()))
    });
    let run_us = |step: &serde_json::Value| step["run"]["us"].as_f64().or(step["run"].as_f64());
    let worked_us: f64 = steps.filter_map(|(times, step)| Some(times as f64 * run_us(&step)?)).sum();
    // 65 us are recorded, and the last work may take as long as the others.
    assert!((65.0..=75.0).contains(&worked_us), "{worked_us} us in {text}");
}

/// Units are recorded at the end of a stay on a CPU, after the wait that ends it, or at the end of the recording.
#[test]
fn units_count_where_they_were_done() {
    let acts = |act| What::Acts { task: TaskId(0), act };
    let count = |units| What::Count { task: TaskId(0), units };
    let worked = || What::Worked { task: TaskId(0), user: Span::from_us(5), kernel_ps: 0 };
    let until_blocked = [
        (1, acts(Act::Begins { at: Instant::ZERO })),
        (1, switch(9, Why::WasIdle, 0)),
        (6, worked()),
        (6, acts(Act::Waits)),
        (7, count(3)),
        (7, switch(0, Why::Blocked, 9)),
        (9, wakeup(0, IDLE)),
        (9, switch(9, Why::WasIdle, 0)),
        (14, worked()),
    ];
    let exits = [(14, acts(Act::Exits)), (15, count(2)), (15, switch(0, Why::Exited, 9))];
    let with = |rest: &[(u64, What)]| [&until_blocked[..], rest].concat();
    check(&with(&exits), 0, "count3 run5 sleep3 count2 run5 exit");
    check(&with(&[(15, count(2))]), 0, "count3 run5 sleep3 count2 run5 run15 await0");
}
