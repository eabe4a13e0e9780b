//! The longest findings of one kind, and how many there were.

use crate::finding::Finding;
use keel_abi::{Instant, Span};

/// Longest first; of equals the earlier.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    most: usize,
    kept: Vec<Finding>,
    count: u64,
}

impl Found {
    /// Keeps the `most` longest.
    pub(crate) fn new(most: usize) -> Self {
        Self { most, kept: Vec::new(), count: 0 }
    }

    /// One more, told in full only where it is kept.
    pub(crate) fn add(&mut self, start: Instant, duration: Span, tell: impl FnOnce() -> Finding) {
        self.count += 1;
        let place = self.kept.partition_point(|f| (f.duration, start) >= (duration, f.start));
        if place < self.most {
            self.kept.insert(place, tell());
            self.kept.truncate(self.most);
        }
    }

    /// Those kept, and how many there were in all.
    pub(crate) fn all(self) -> (Vec<Finding>, u64) {
        (self.kept, self.count)
    }
}
