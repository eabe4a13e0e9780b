//! Records the events themselves, in chunks of time: which tasks switched, woke, migrated, or were throttled.
//!
//! A chunk begins with the current state, so it can be read without the chunks before it. Chunks are compressed as they
//! fill. When all together exceed the budget, [`crate::thin`] chooses which to drop.

use crate::pack::{deflate, number};
use crate::thin::{Thin, Worth};
use keel_abi::TaskId;
use keel_report::follow::{Follow, Now};
use keel_trace::{Event, What, Why};

/// The number of events per chunk.
const EVENTS: u32 = 1 << 14;

/// A chunk of events, compressed.
#[derive(Debug)]
pub(crate) struct Chunk {
    /// Nanoseconds from the start of the run.
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) events: u32,
    pub(crate) bytes: Vec<u8>,
}

/// Records events.
#[derive(Debug)]
pub(crate) struct Detail {
    chunks: Thin<Chunk>,
    raw: Vec<u8>,
    from: u64,
    last: u64,
    events: u32,
    worth: u64,
    received: u64,
}

impl Detail {
    pub(crate) fn new(budget: usize) -> Self {
        let chunks = Thin::new(budget);
        Self { chunks, raw: Vec::new(), from: 0, last: 0, events: 0, worth: 0, received: 0 }
    }

    /// Adds an event. `follow` is the state before it. The `idle_and_waiting` time since the last event determines a
    /// chunk's worth.
    pub(crate) fn event(&mut self, event: &Event, at: u64, follow: &Follow) {
        if !is_kept(&event.what, follow) {
            return;
        }
        // Only between two instants, so that chunks don't overlap.
        if self.events >= EVENTS && at > self.last {
            self.close(at);
        }
        if self.raw.is_empty() {
            self.open(at, follow);
        }
        let (idle, waiting) = follow.idle_and_waiting();
        let since = at - self.last;
        self.worth = self.worth.saturating_add(since.saturating_mul(idle.min(waiting)));
        self.record(event, since, follow);
        self.last = at;
        self.events += 1;
        self.received += 1;
    }

    /// Returns the chunks that are kept, by time, and the number of all events.
    pub(crate) fn finish(mut self, at: u64) -> (Vec<Chunk>, u64) {
        if self.events > 0 {
            self.close(at);
        }
        (self.chunks.finish(), self.received)
    }

    fn open(&mut self, at: u64, follow: &Follow) {
        // The first chunk begins with the run, others where the last one ended.
        self.from = if self.received == 0 { 0 } else { at };
        self.last = self.from;
        let Now { running, waiting, offline } = follow.now();
        for (task, offline) in running.iter().zip(offline) {
            let what = match task {
                None => u64::from(offline),
                Some(task) => u64::from(task.0) + 2,
            };
            number(&mut self.raw, what);
        }
        number(&mut self.raw, waiting.len() as u64);
        for (task, cpu) in waiting {
            number(&mut self.raw, u64::from(task.0));
            number(&mut self.raw, u64::from(cpu.0));
        }
    }

    fn close(&mut self, at: u64) {
        let bytes = deflate(&self.raw);
        let (size, worth) = (bytes.len(), self.worth);
        let chunk = Chunk { from: self.from, to: at, events: self.events, bytes };
        self.chunks.add(chunk, Worth { size, worth });
        self.raw.clear();
        (self.events, self.worth) = (0, 0);
    }

    fn record(&mut self, event: &Event, since: u64, follow: &Follow) {
        let Event { cpu, what, .. } = *event;
        let mut put = |kind: u8, numbers: &[u64]| {
            self.raw.push(kind);
            number(&mut self.raw, since);
            number(&mut self.raw, u64::from(cpu.0));
            numbers.iter().for_each(|&n| number(&mut self.raw, n));
        };
        match what {
            What::Switch { prev, why, next } => {
                put(reason(why), &[task(prev), task(next)]);
                if matches!(why, Why::Preempted | Why::Yielded) && follow.is_throttled(prev) {
                    self.raw.push(7);
                    [0, u64::from(cpu.0), task(prev)].into_iter().for_each(|n| number(&mut self.raw, n));
                }
            }
            What::Wakeup { task: who, target, waker } => put(5, &[task(who), target.0.into(), task(waker)]),
            What::Fork { child, target, parent } => {
                // It was already waiting, so its cause is unknown.
                let parent = if parent == child { TaskId::IDLE } else { parent };
                put(6, &[task(child), target.0.into(), task(parent)])
            }
            // A throttled task stops waiting, and then waits again.
            What::Exit { task: who } | What::Throttled { task: who, on: true, .. } => put(7, &[task(who)]),
            What::Throttled { task: who, on: false, .. } => {
                let target = follow.held(who).unwrap_or(cpu);
                put(5, &[task(who), target.0.into(), 0]);
            }
            What::Migrate { task: who, from, to } => put(8, &[task(who), from.0.into(), to.0.into()]),
            What::Online { target, up } => put(9 + u8::from(!up), &[target.0.into()]),
            _ => {}
        }
    }
}

/// Returns a task's id plus 1; 0 is the idle task.
fn task(id: TaskId) -> u64 {
    if id.is_idle() { 0 } else { u64::from(id.0) + 1 }
}

/// The kind of the record of a switch for this reason.
fn reason(why: Why) -> u8 {
    match why {
        Why::WasIdle => 0,
        Why::Preempted => 1,
        Why::Yielded => 2,
        Why::Blocked => 3,
        Why::Exited => 4,
    }
}

fn is_kept(what: &What, follow: &Follow) -> bool {
    match *what {
        What::Switch { .. } | What::Exit { .. } | What::Migrate { .. } | What::Online { .. } => true,
        What::Wakeup { task, .. } | What::Fork { child: task, .. } => !follow.is_throttled(task),
        What::Throttled { task, on: true, .. } => follow.waits(task),
        What::Throttled { task, on: false, .. } => follow.held(task).is_some(),
        _ => false,
    }
}
