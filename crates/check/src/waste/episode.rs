//! Episodes of waste on one CPU: under way, and the longest past ones.

use super::groups::Note;
use crate::origin::Decision;
use crate::place::Place;
use keel_abi::{CpuId, Instant, Pid, Span, TaskId};

/// When a CPU had been told of work and could not yet have begun.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pending {
    /// Earlier intervals within the episode under way, summed.
    past: Span,
    from: Instant,
    until: Instant,
}

impl Pending {
    /// The CPU is excused from `at` until `until`; `start` is that of the episode under way.
    pub(super) fn extend(&mut self, at: Instant, until: Instant, start: Option<Instant>) {
        if at > self.until {
            self.past += start.map_or(Span::ZERO, |start| self.until.since(self.from.max(start)));
            self.from = at;
        }
        self.until = until;
    }

    /// An episode begins: what was before does not matter to it.
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
    pub(super) name: String,
    pub(super) place: Place,
    /// How long it was the one that the CPU could have run.
    pub(super) met: Span,
    /// What had brought it there.
    pub(super) decision: Option<Decision>,
}

/// An episode under way.
#[derive(Clone, Debug)]
pub(super) struct Open {
    pub(super) start: Instant,
    /// The task that the CPU could run, and since when.
    witness: Option<(u32, Instant)>,
    longest: Span,
    seen: Option<Box<Seen>>,
    tasks: u64,
    /// All tasks that the CPU could run, up to a bound.
    pub(super) notes: Vec<Note>,
}

impl Open {
    pub(super) fn new(start: Instant) -> Self {
        Self { start, witness: None, longest: Span::ZERO, seen: None, tasks: 0, notes: Vec::new() }
    }

    /// The task in `slot` is the one that the CPU could run.
    pub(super) fn meet(&mut self, at: Instant, slot: u32) {
        self.witness = Some((slot, at));
    }

    /// The task at hand goes: its slot, how long it stayed, and whether that was longer than those before.
    pub(super) fn leaves(&mut self, at: Instant) -> Option<(u32, Span, bool)> {
        let (slot, since) = self.witness.take()?;
        let met = at.since(since);
        self.tasks += u64::from(met > Span::ZERO);
        let is_longest = met > self.longest;
        self.longest = self.longest.max(met);
        Some((slot, met, is_longest))
    }

    /// Keeps what is to be said of the task that stayed longest.
    pub(super) fn remember(&mut self, seen: Seen) {
        self.seen = Some(Box::new(Seen { met: self.longest, ..seen }));
    }

    /// The task that stayed longest, and how many there were.
    pub(super) fn into_seen(self) -> Option<(Seen, u64)> {
        self.seen.map(|seen| (*seen, self.tasks))
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

/// The longest episodes, longest first; of equals the earlier.
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
        self.kept.partition_point(|past| (past.length, start) >= (length, past.start))
    }

    /// Would such an episode be kept?
    pub(super) fn takes(&self, length: Span, start: Instant) -> bool {
        self.place_of(length, start) < self.most
    }

    /// Keeps an episode, and drops the shortest where there are too many.
    pub(super) fn keep(&mut self, past: Past) {
        let at = self.place_of(past.length, past.start);
        self.kept.insert(at, past);
        self.kept.truncate(self.most);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Past> {
        self.kept.iter()
    }
}
