//! The longest findings of one kind, and how many there were.

use crate::finding::{Blame, Finding, Kind};
use keel_abi::{Instant, Span};

/// The findings of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct OfKind {
    /// The kind.
    pub kind: Kind,
    /// The longest.
    pub findings: Vec<Finding>,
    /// The number of findings, kept or not.
    pub count: u64,
    /// How many of these a program is to blame for ([`Blame::Program`]).
    pub of_programs: u64,
    /// The others, summed.
    pub sums: Sums,
}

/// Sums of all findings of one kind that a program is not to blame for, kept or not. Budgets are compared with these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// The number of findings.
    pub count: u64,
    /// Their total duration; for wasted cores, the wasted core time.
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

/// Findings, longest first; equal ones in order of time.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    most: usize,
    kept: Vec<Finding>,
    /// Shorter ones are not kept: they would come after `most` others.
    least: Span,
    of_programs: u64,
    sums: Sums,
}

impl Found {
    /// Keeps the `most` longest.
    pub(crate) fn new(most: usize) -> Self {
        Self { most, kept: Vec::new(), least: Span::ZERO, of_programs: 0, sums: Sums::default() }
    }

    /// Adds a finding; `make` builds it only if it is kept.
    pub(crate) fn add(&mut self, start: Instant, duration: Span, make: impl FnOnce() -> Finding) {
        self.add_of(Blame::Scheduler, start, duration, make);
    }

    /// Like `add`, with blame.
    pub(crate) fn add_of(
        &mut self,
        whose: Blame,
        start: Instant,
        duration: Span,
        make: impl FnOnce() -> Finding,
    ) {
        if self.counts(whose, start, duration) {
            self.keep(Finding { blame: whose, start, duration, ..make() });
        }
    }

    /// Counts a finding. Returns whether it is to be kept.
    #[inline]
    pub(crate) fn counts(&mut self, whose: Blame, start: Instant, duration: Span) -> bool {
        match whose {
            Blame::Scheduler => self.sums.add(duration),
            Blame::Program => self.of_programs += 1,
        }
        duration >= self.least && self.belongs(start, duration)
    }

    /// Returns whether it is one of the longest that were found so far.
    fn belongs(&self, start: Instant, duration: Span) -> bool {
        let is_longer = |last: &Finding| (duration, last.start) > (last.duration, start);
        self.kept.len() < self.most || self.kept.last().is_some_and(is_longer)
    }

    /// Keeps a finding that was counted, in place of the shortest.
    pub(crate) fn keep(&mut self, finding: Finding) {
        let (start, duration) = (finding.start, finding.duration);
        let place = self.kept.partition_point(|f| (f.duration, start) >= (duration, f.start));
        self.kept.insert(place, finding);
        self.kept.truncate(self.most);
        if self.kept.len() == self.most {
            self.least = self.kept.last().map_or(Span::ZERO, |last| last.duration);
        }
    }

    /// The kept findings, and the total number.
    pub(crate) fn all(self, kind: Kind) -> OfKind {
        let Self { kept, of_programs, sums, .. } = self;
        OfKind { kind, findings: kept, count: sums.count + of_programs, of_programs, sums }
    }
}
