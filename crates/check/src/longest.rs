//! The longest findings of one kind, and how many there were.

use crate::finding::{Blame, Finding, Kind};
use keel_abi::{Instant, Span};

/// What was found of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct OfKind {
    /// The kind.
    pub kind: Kind,
    /// The longest.
    pub findings: Vec<Finding>,
    /// How many there were, kept or not.
    pub count: u64,
    /// How many of these are a program's own doing ([`Blame::Program`]).
    pub of_programs: u64,
    /// The others, summed.
    pub sums: Sums,
}

/// All findings of one kind that are not a program's own doing, kept or not: what a budget is held against.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// How many there were.
    pub count: u64,
    /// How long they lasted in all; of wasted cores the core time that was wasted.
    pub total: Span,
    /// The longest one.
    pub longest: Span,
}

impl Sums {
    fn add(&mut self, duration: Span) {
        self.count += 1;
        self.total += duration;
        self.longest = self.longest.max(duration);
    }
}

/// Longest first; of equals the earlier.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    most: usize,
    kept: Vec<Finding>,
    count: u64,
    of_programs: u64,
    sums: Sums,
}

impl Found {
    /// Keeps the `most` longest.
    pub(crate) fn new(most: usize) -> Self {
        Self { most, kept: Vec::new(), count: 0, of_programs: 0, sums: Sums::default() }
    }

    /// One more, built in full only where it is kept.
    pub(crate) fn add(&mut self, start: Instant, duration: Span, make: impl FnOnce() -> Finding) {
        self.add_of(Blame::Scheduler, start, duration, make);
    }

    /// The same of what is this one's doing.
    pub(crate) fn add_of(
        &mut self,
        whose: Blame,
        start: Instant,
        duration: Span,
        make: impl FnOnce() -> Finding,
    ) {
        self.count += 1;
        match whose {
            Blame::Scheduler => self.sums.add(duration),
            Blame::Program => self.of_programs += 1,
        }
        let is_longer = |last: &Finding| (duration, last.start) > (last.duration, start);
        if self.kept.len() == self.most && !self.kept.last().is_some_and(is_longer) {
            return;
        }
        let place = self.kept.partition_point(|f| (f.duration, start) >= (duration, f.start));
        if place < self.most {
            self.kept.insert(place, Finding { blame: whose, ..make() });
            self.kept.truncate(self.most);
        }
    }

    /// Those kept, and how many there were in all.
    pub(crate) fn all(self, kind: Kind) -> OfKind {
        let Self { kept, count, of_programs, sums, .. } = self;
        OfKind { kind, findings: kept, count, of_programs, sums }
    }
}
