//! `rt-migrate:THREADS:LOCKS[:PI]`: the test program in Rostedt's patch of 21 September 2010. Each thread has a
//! SCHED_FIFO priority of its own, which increases with its id. It takes each of the locks in turn, keeps the CPU busy
//! for THREADS - id milliseconds while it holds the lock, releases it and sleeps for id milliseconds. If PI is not 0,
//! the locks have priority inheritance.
//!
//! 'Keeps the CPU spinning for ms milliseconds' is measured by the clock, as in rt-migrate-test of the same author:
//! time in which the thread is preempted counts. Each of the four lines that an iteration writes to the ftrace buffer
//! is estimated at 1 µs. A sleep of 0 ms is a system call. The patch does not say how many locks there were. Task 1
//! blocked 562 times in 98 iterations, so at most 5 times per iteration, including once for each sleep; hence four
//! locks.

use super::{again, run_us, within};
use keel_abi::Span;
use keel_abi::task::{Amount, ObjectId, Policy, Step, TaskSpec, Workload};

/// The maximum number of threads: priorities end at 99.
const MOST_THREADS: u32 = 98;

pub(super) fn workload(numbers: &[i64]) -> Option<Workload> {
    let (threads, locks, inherits) = match *numbers {
        [threads, locks] => (threads, locks, 0),
        [threads, locks, inherits] => (threads, locks, inherits),
        _ => return None,
    };
    let (threads, locks) = (within(threads, 1, MOST_THREADS)?, within(locks, 1, 1000)?);
    let inherits = within(inherits, 0, 1)? == 1;
    let thread = |id: u32| TaskSpec {
        name: format!("thread-{id}"),
        instances: 1,
        policy: Policy::Fifo(1 + id as u8),
        steps: steps(id, threads, locks),
        ..TaskSpec::default()
    };
    Some(Workload {
        tasks: (0..threads).map(thread).collect(),
        mutexes: locks,
        inheriting: (0..locks).filter(|_| inherits).map(ObjectId).collect(),
        unit: "iterations".to_owned(),
        ..Workload::default()
    })
}

fn steps(id: u32, threads: u32, locks: u32) -> Vec<Step> {
    let mut steps = Vec::new();
    let ms = |ms: u32| Span::from_ms(u64::from(ms));
    for lock in (0..locks).map(ObjectId) {
        steps.extend([run_us(1), Step::Lock(lock), run_us(1), Step::RunFor(ms(threads - id))]);
        steps.extend([run_us(1), Step::Unlock(lock), run_us(1)]);
        steps.push(if id == 0 { Step::Syscall } else { Step::Sleep(Amount::fixed(ms(id))) });
    }
    steps.extend([Step::Count, again(0, None, 0)]);
    steps
}
