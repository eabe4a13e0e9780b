//! Why did this task wait? Its longest waits, each described event by event.
//!
//! This takes two passes over the stream, so that nothing is kept about waits that will not be described: [`Waits`]
//! finds the longest waits of the wanted tasks, and [`WaitStories`] describes what happened during each of these.

mod stories;
#[cfg(test)]
mod tests;

pub use stories::{Began, Ended, MOST_MOVES, Story, WaitStories};

use crate::finding::kept;
use crate::table::Tasks;
use keel_abi::{Instant, Pid, Span, TaskId};
use keel_trace::{Class, Event, Meta, Sink, TaskInfo, Unknown, What, Why};

/// The wanted tasks: those with this name, or the one with this pid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted(pub String);

impl Wanted {
    /// Returns whether this task is wanted.
    pub fn is(&self, info: &TaskInfo) -> bool {
        info.name == self.0 || self.0.parse() == Ok(info.pid.0)
    }
}

/// Identifies a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitKey {
    /// The task.
    pub task: TaskId,
    /// When it began.
    pub start: Instant,
    /// How long it lasted, or had lasted when the stream ended.
    pub length: Span,
}

/// Totals of the wanted tasks' waits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WaitSums {
    /// The number of wanted tasks.
    pub tasks: u64,
    /// The first few: pid and name.
    pub named: Vec<(Pid, String)>,
    /// How often they waited.
    pub waits: u64,
    /// The total time that they waited.
    pub waited: Span,
    /// The total time that they ran.
    pub ran: Span,
    /// The longest waits, longest first.
    pub longest: Vec<WaitKey>,
    /// What the stream does not record.
    pub unknown: Unknown,
}

/// How many of the wanted tasks are named.
pub const MOST_NAMED: usize = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Asleep,
    Waiting(Instant),
    Throttled,
    Running(Instant),
}

#[derive(Clone, Debug)]
struct Row {
    task: TaskId,
    meant: bool,
    state: State,
    /// The kernel keeps it off every CPU, runnable or not.
    throttled: bool,
}

impl From<TaskId> for Row {
    fn from(task: TaskId) -> Self {
        Self { task, meant: false, state: State::Asleep, throttled: false }
    }
}

/// Finds the longest waits of the wanted tasks.
#[derive(Clone, Debug)]
pub struct Waits {
    wanted: Wanted,
    most: usize,
    now: Instant,
    tasks: Tasks<Row>,
    sums: WaitSums,
}

impl Waits {
    /// Keeps the `most` longest.
    pub fn new(wanted: Wanted, most: usize) -> Self {
        Self { wanted, most, now: Instant::ZERO, tasks: Tasks::default(), sums: WaitSums::default() }
    }

    /// The sums; open intervals count up to the last event.
    pub fn sums(&self) -> WaitSums {
        let mut all = self.clone();
        for slot in 0..all.tasks.slots() {
            let task = all.tasks.at(slot).task;
            all.turn(self.now, task, State::Asleep);
        }
        all.sums
    }

    /// The task changes its state.
    #[inline]
    fn turn(&mut self, at: Instant, task: TaskId, to: State) {
        let Some(row) = self.tasks.get(task) else { return };
        let before = std::mem::replace(&mut row.state, to);
        if !row.meant {
            return;
        }
        match before {
            State::Asleep | State::Throttled => {}
            State::Running(since) => self.sums.ran += at.since(since),
            State::Waiting(start) => {
                let length = at.since(start);
                self.sums.waits += 1;
                self.sums.waited += length;
                self.keep(WaitKey { task, start, length });
            }
        }
    }

    fn keep(&mut self, key: WaitKey) {
        let longest = &mut self.sums.longest;
        let place = longest.partition_point(|old| (old.length, key.start) >= (key.length, old.start));
        if place < self.most {
            longest.insert(place, key);
            longest.truncate(self.most);
        }
    }

    /// The task becomes runnable.
    fn waits(&mut self, at: Instant, task: TaskId) {
        let throttled = self.tasks.get(task).is_some_and(|row| row.throttled);
        self.turn(at, task, if throttled { State::Throttled } else { State::Waiting(at) });
    }

    /// A wait ends when the task is throttled, and another begins when it no longer is.
    fn throttled(&mut self, at: Instant, task: TaskId, on: bool) {
        let Some(row) = self.tasks.get(task) else { return };
        row.throttled = on;
        match (row.state, on) {
            (State::Waiting(_), true) => self.turn(at, task, State::Throttled),
            (State::Throttled, false) => self.turn(at, task, State::Waiting(at)),
            _ => {}
        }
    }

    fn is(&mut self, task: TaskId, wanted: impl Fn(State) -> bool) -> bool {
        self.tasks.get(task).is_some_and(|row| wanted(row.state))
    }

    fn gone(&mut self, at: Instant, task: TaskId) {
        self.turn(at, task, State::Asleep);
        self.tasks.end(task);
    }

    fn event(&mut self, event: &Event) {
        let at = event.at;
        match event.what {
            What::Switch { prev, next, .. } if prev == next => {}
            What::Switch { prev, why, next } => {
                self.tasks.get(next).into_iter().for_each(|row| row.throttled = false);
                self.turn(at, next, State::Running(at));
                match why {
                    Why::Preempted | Why::Yielded => self.waits(at, prev),
                    Why::Exited => self.gone(at, prev),
                    Why::Blocked | Why::WasIdle => self.turn(at, prev, State::Asleep),
                }
            }
            What::Wakeup { task, .. } | What::Fork { child: task, .. }
                if self.is(task, |state| state == State::Asleep) =>
            {
                self.waits(at, task);
            }
            What::Throttled { task, on, .. } => self.throttled(at, task, on),
            What::Exit { task } if !self.is(task, |state| matches!(state, State::Running(_))) => {
                self.gone(at, task);
            }
            _ => {}
        }
    }
}

impl Sink for Waits {
    fn wants(&self) -> Class {
        Class::CORE
    }

    fn events(&mut self, events: &[Event]) {
        for event in events {
            self.now = event.at;
            self.event(event);
        }
    }

    fn meta(&mut self, at: Instant, meta: &Meta) {
        self.now = at;
        if let Meta::Unknown(unknown) = meta {
            self.sums.unknown = *unknown;
        }
        let Meta::Task(info) = meta else { return };
        let meant = self.wanted.is(info);
        let Some(row) = self.tasks.get(info.task) else { return };
        if meant && !row.meant {
            row.meant = true;
            self.sums.tasks += 1;
            if self.sums.named.len() < MOST_NAMED {
                self.sums.named.push((info.pid, kept(&info.name)));
            }
        }
    }
}
