//! Tests with hand-written streams, and with arbitrary ones.

mod arbitrary;
mod exact;
mod groups;
mod inferred;
mod pipes;
mod requests;

use crate::{Builder, Overheads, Replay, ReplayError, stuck};
use keel_abi::tape::Op;
use keel_abi::{CpuId, CpuSet, Instant, Pid, Span, TaskId, Topology};
use keel_trace::{Event, Meta, Sink, TaskInfo, What, Why};

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

/// Makes a replay of events on CPU 0, by their time in microseconds.
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

/// Checks the tape of a task, one word per op.
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
fn nothing_is_no_replay() {
    assert_eq!(made(&[]).unwrap_err(), ReplayError::Nothing);
    let builder = Builder::new(Overheads::default(), None);
    assert_eq!(builder.finish().unwrap_err(), ReplayError::NoStart);
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
