//! `schbench:MESSENGERS:WORKERS`: Mason's schbench, as it was until 2022, with its defaults: `schbench -m MESSENGERS -t
//! WORKERS`.
//!
//! Each message thread has WORKERS workers. A worker keeps its CPU busy for 30 ms by the clock (`-c`), sends a message
//! and waits for the answer. The message thread wakes at the first message, sleeps for 30 ms and up to a quarter more
//! (`-s`), and then wakes all workers one after the other. The real one wakes those that are waiting by then; this one
//! waits for all, which differs only if a worker arrives more than 30 ms after the first.
//!
//! schbench prints the time from when the message thread starts to wake workers until a worker runs.

use super::{again, task, within};
use keel_abi::Span;
use keel_abi::task::{Amount, ObjectId, Step, TaskSpec, Workload};

/// `-c`: how long a worker computes for each message.
const THINK: Span = Span::from_ms(30);
/// `-s` plus the random addition of up to a quarter: the mean, and the spread.
const ANSWER: Amount = Amount { base: Span::from_us(33_750), spread: Span::from_us(3_750) };

pub(super) fn workload(numbers: &[i64]) -> Option<Workload> {
    let &[messengers, workers] = numbers else { return None };
    let (messengers, workers) = (within(messengers, 1, 1_000)?, within(workers, 1, 1_000)?);
    Some(Workload {
        tasks: (0..messengers).flat_map(|messenger| group(messenger, workers)).collect(),
        semaphores: messengers * (1 + workers),
        unit: "messages".to_owned(),
        ..Workload::default()
    })
}

/// Returns a message thread, whose semaphore is its group's first, and its workers, each with a semaphore.
fn group(messenger: u32, workers: u32) -> Vec<TaskSpec> {
    let own = ObjectId(messenger * (1 + workers));
    let answers = own.0 + 1..=own.0 + workers;
    let mut steps = vec![Step::Await(own), Step::Sleep(ANSWER)];
    // The first message has already been taken.
    steps.extend((1..workers).map(|_| Step::Await(own)));
    steps.extend(answers.clone().map(|answer| Step::Post { semaphore: ObjectId(answer), sync: false }));
    steps.push(again(0, None, 0));
    let worker = |answer: u32| {
        let send = Step::Post { semaphore: own, sync: false };
        let steps =
            vec![Step::RunFor(THINK), send, Step::Await(ObjectId(answer)), Step::Count, again(0, None, 0)];
        task("worker", 1, steps)
    };
    std::iter::once(task("messenger", 1, steps)).chain(answers.map(worker)).collect()
}
