//! Episodes of waste on one CPU: the open one, and the longest past ones.

use super::task::{Part, Waker};
use crate::place::Here;
use keel_abi::{CpuId, Instant, Pid, Span, TaskId};
use std::sync::Arc;

/// The times in which a CPU had been notified of work and could not yet have begun.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pending {
    /// The sum of earlier intervals within the open episode.
    past: Span,
    from: Instant,
    until: Instant,
}

impl Pending {
    /// The CPU is excused from `at` until `until`; `start` is the beginning of the open episode.
    pub(super) fn extend(&mut self, at: Instant, until: Instant, start: Option<Instant>) {
        if at > self.until {
            self.past += start.map_or(Span::ZERO, |start| self.until.since(self.from.max(start)));
            self.from = at;
        }
        self.until = until;
    }

    /// An episode begins: earlier intervals don't matter to it.
    pub(super) fn begin(&mut self) {
        self.past = Span::ZERO;
    }

    /// How much of the episode `start..end` is excused.
    pub(super) fn within(&self, start: Instant, end: Instant) -> Span {
        self.past + self.until.min(end).since(self.from.max(start))
    }
}

/// A task that waited during an episode, and why there.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) task: TaskId,
    pub(super) pid: Pid,
    pub(super) name: Arc<str>,
    /// Where it was for most of the time, and the decision that had put it there.
    pub(super) here: Here,
    /// The task that had woken or created it, if that was the decision.
    pub(super) waker: Option<Waker>,
    /// How long it was there during the episode.
    pub(super) part: Span,
    /// How long it was the task that the CPU could have run.
    pub(super) met: Span,
}

/// The task that a CPU could run, and for how long by each decision.
#[derive(Clone, Copy, Debug)]
struct Witness {
    slot: u32,
    since: Instant,
    /// Since when the current decision has been in force.
    part_since: Instant,
    /// The first of its parts among the CPU's.
    first: usize,
    /// The longest of those that are no longer there.
    longest: Option<(Span, Here)>,
}

/// An open episode.
#[derive(Clone, Debug)]
pub(super) struct Open {
    pub(super) start: Instant,
    witness: Option<Witness>,
    /// The excused time up to the end of the last part.
    excused: Span,
    longest: Span,
    seen: Option<Seen>,
    tasks: u64,
}

/// The first of the longest of these parts and an earlier one.
pub(super) fn longest(earlier: Option<(Span, Here)>, parts: &[Part]) -> Option<(Span, Here)> {
    parts.iter().fold(earlier, |longest, part| match longest {
        Some((length, _)) if part.length <= length => longest,
        _ => Some((part.length, part.here)),
    })
}

/// A witness that leaves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Left {
    /// The first of its parts among the CPU's.
    pub(super) first: usize,
    /// The longest of those that are no longer there.
    pub(super) longest: Option<(Span, Here)>,
    /// How long it was the witness.
    pub(super) met: Span,
}

impl Open {
    /// An episode begins.
    pub(super) fn new(start: Instant) -> Self {
        let (witness, seen) = (None, None);
        Self { start, witness, excused: Span::ZERO, longest: Span::ZERO, seen, tasks: 0 }
    }

    /// The task in `slot` becomes the one that the CPU could run. Its `first` part has yet to come.
    pub(super) fn meet(&mut self, at: Instant, slot: u32, first: usize) {
        self.witness = Some(Witness { slot, since: at, part_since: at, first, longest: None });
    }

    /// The slot of the task that the CPU could run.
    pub(super) fn witness(&self) -> Option<u32> {
        self.witness.as_ref().map(|witness| witness.slot)
    }

    /// Returns whether the current part of the wait has just begun.
    #[inline]
    pub(super) fn has_part_begun(&self, at: Instant) -> bool {
        self.witness.as_ref().is_some_and(|witness| witness.part_since == at)
    }

    /// A part of the current task's wait ends; `excused` is the episode's excused time so far. Returns the part's length
    /// and the time wasted in it.
    #[inline]
    pub(super) fn part(&mut self, at: Instant, excused: Span) -> Option<(Span, Span)> {
        let witness = self.witness.as_mut()?;
        let length = at.since(std::mem::replace(&mut witness.part_since, at));
        let excused = excused.saturating_sub(std::mem::replace(&mut self.excused, excused));
        Some((length, length.saturating_sub(excused)))
    }

    /// The current task and the first of its parts among the CPU's.
    pub(super) fn first_part(&self) -> Option<(u32, usize)> {
        self.witness.as_ref().map(|witness| (witness.slot, witness.first))
    }

    /// The CPU's parts so far are about to go. The longest of the current task's is to be known later.
    pub(super) fn forgets(&mut self, parts: &[Part]) {
        let Some(witness) = &mut self.witness else { return };
        witness.longest = longest(witness.longest, &parts[witness.first..]);
        witness.first = 0;
    }

    /// The current task leaves, after its last part has been reported. Returns what to remember about it, if it stayed
    /// longer than earlier tasks.
    pub(super) fn leaves(&mut self, at: Instant) -> Option<Left> {
        let Witness { since, first, longest, .. } = self.witness.take()?;
        let met = at.since(since);
        self.tasks += u64::from(met > Span::ZERO);
        (met > self.longest).then(|| {
            self.longest = met;
            Left { first, longest, met }
        })
    }

    /// Stores the task that stayed longest.
    pub(super) fn remember(&mut self, seen: Seen) {
        self.seen = Some(seen);
    }

    /// The task that stayed longest, and the number of tasks.
    pub(super) fn take_seen(&mut self) -> Option<(Seen, u64)> {
        self.seen.take().map(|seen| (seen, self.tasks))
    }
}

/// An episode that has ended.
#[derive(Clone, Debug)]
pub(super) struct Past {
    pub(super) cpu: CpuId,
    pub(super) start: Instant,
    pub(super) length: Span,
    pub(super) seen: Option<(Seen, u64)>,
}

impl Past {
    /// Returns whether it comes before an episode of this length.
    #[inline]
    fn precedes(&self, length: Span, start: Instant) -> bool {
        (self.length, start) >= (length, self.start)
    }
}

/// The longest episodes, longest first; equal ones in order of time.
#[derive(Clone, Debug)]
pub(super) struct Longest {
    most: usize,
    kept: Vec<Past>,
}

impl Longest {
    pub(super) fn new(most: usize) -> Self {
        Self { most, kept: Vec::new() }
    }

    fn place_of(&self, length: Span, start: Instant) -> usize {
        self.kept.partition_point(|past| past.precedes(length, start))
    }

    /// Returns whether an episode of this length would be kept.
    #[inline]
    pub(super) fn takes(&self, length: Span, start: Instant) -> bool {
        self.kept.len() < self.most || self.kept.last().is_some_and(|last| !last.precedes(length, start))
    }

    /// Keeps an episode, and drops the shortest if there are too many.
    pub(super) fn keep(&mut self, past: Past) {
        let at = self.place_of(past.length, past.start);
        self.kept.insert(at, past);
        self.kept.truncate(self.most);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Past> {
        self.kept.iter()
    }
}
