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
}

/// Longest first; of equals the earlier.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    most: usize,
    kept: Vec<Finding>,
    count: u64,
    of_programs: u64,
}

impl Found {
    /// Keeps the `most` longest.
    pub(crate) fn new(most: usize) -> Self {
        Self { most, kept: Vec::new(), count: 0, of_programs: 0 }
    }

    /// One more, told in full only where it is kept.
    pub(crate) fn add(&mut self, start: Instant, duration: Span, tell: impl FnOnce() -> Finding) {
        self.add_of(Blame::Scheduler, start, duration, tell);
    }

    /// The same of what is this one's doing.
    pub(crate) fn add_of(
        &mut self,
        whose: Blame,
        start: Instant,
        duration: Span,
        tell: impl FnOnce() -> Finding,
    ) {
        self.count += 1;
        self.of_programs += u64::from(whose == Blame::Program);
        let place = self.kept.partition_point(|f| (f.duration, start) >= (duration, f.start));
        if place < self.most {
            self.kept.insert(place, Finding { blame: whose, ..tell() });
            self.kept.truncate(self.most);
        }
    }

    /// Those kept, and how many there were in all.
    pub(crate) fn all(self, kind: Kind) -> OfKind {
        OfKind { kind, findings: self.kept, count: self.count, of_programs: self.of_programs }
    }
}
