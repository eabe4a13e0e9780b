//! Which pages of an arena are free, and which are allocated next: `kernel/bpf/range_tree.c`.
//!
//! Free pages are kept as ranges that do not touch. Pages are taken from the start of the smallest range that is long
//! enough; if there are several, from the most recently changed one.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Ranges of free pages.
#[derive(Debug, Default)]
pub(super) struct FreePages {
    /// First page to length, and when the range last changed.
    ranges: BTreeMap<u64, (u64, u64)>,
    /// Length, when, first page.
    by_length: BTreeSet<(u64, Reverse<u64>, u64)>,
    changes: u64,
}

impl FreePages {
    /// All of `count` pages are free.
    pub(super) fn new(count: u64) -> Self {
        let mut pages = Self::default();
        pages.insert(0, count);
        pages
    }

    fn insert(&mut self, first: u64, len: u64) {
        self.changes += 1;
        self.ranges.insert(first, (len, self.changes));
        self.by_length.insert((len, Reverse(self.changes), first));
    }

    fn remove(&mut self, first: u64) -> u64 {
        let (len, when) = self.ranges.remove(&first).expect("the range is there");
        self.by_length.remove(&(len, Reverse(when), first));
        len
    }

    /// `range_tree_find()`: the first page of `count` free ones.
    pub(super) fn find(&self, count: u64) -> Option<u64> {
        self.by_length.range((count, Reverse(u64::MAX), 0)..).next().map(|&(_, _, first)| first)
    }

    /// Returns whether all these pages are free (`is_range_tree_set()`).
    pub(super) fn are_free(&self, first: u64, count: u64) -> bool {
        let before = self.ranges.range(..=first).next_back();
        before.is_some_and(|(&start, &(len, _))| first + count <= start + len)
    }

    /// `range_tree_clear()`: marks all these pages as used.
    pub(super) fn take(&mut self, first: u64, count: u64) {
        let end = first + count;
        if let Some((&start, &(len, _))) = self.ranges.range(..first).next_back()
            && start + len > first
        {
            self.remove(start);
            self.insert(start, first - start);
            if start + len > end {
                self.insert(end, start + len - end);
            }
        }
        while let Some((&start, _)) = self.ranges.range(first..end).next() {
            let last = start + self.remove(start);
            if last > end {
                self.insert(end, last - end);
            }
        }
    }

    /// `range_tree_set()`: marks all these pages as free, whatever they were.
    pub(super) fn give(&mut self, first: u64, count: u64) {
        if self.are_free(first, count) {
            return;
        }
        self.take(first, count);
        let (mut start, mut end) = (first, first + count);
        if let Some((&before, &(len, _))) = self.ranges.range(..first).next_back()
            && before + len == first
        {
            self.remove(before);
            start = before;
        }
        if self.ranges.contains_key(&end) {
            end += self.remove(end);
        }
        self.insert(start, end - start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ranges(pages: &FreePages) -> Vec<(u64, u64)> {
        pages.ranges.iter().map(|(&first, &(len, _))| (first, len)).collect()
    }

    #[test]
    fn the_smallest_range_that_fits_is_taken_and_of_several_the_latest() {
        let mut pages = FreePages::new(100);
        assert_eq!(pages.find(100), Some(0));
        assert_eq!(pages.find(101), None);
        pages.take(0, 100);
        pages.give(10, 2);
        pages.give(50, 5);
        pages.give(20, 2);
        assert_eq!(
            (pages.find(1), pages.find(2), pages.find(3), pages.find(6)),
            (Some(20), Some(20), Some(50), None)
        );
        pages.give(12, 1);
        assert_eq!((pages.find(1), pages.find(3)), (Some(20), Some(10)));
        pages.give(13, 7);
        assert_eq!(ranges(&pages), [(10, 12), (50, 5)]);
    }

    proptest! {
        #[test]
        fn ranges_are_what_a_set_of_pages_would_be(
            steps in prop::collection::vec((any::<bool>(), 0_u64..64, 1_u64..20), 0..60),
        ) {
            let mut pages = FreePages::new(64);
            let mut model: BTreeSet<u64> = (0..64).collect();
            for (give, first, count) in steps {
                let count = count.min(64 - first);
                let all = (first..first + count).all(|page| model.contains(&page));
                prop_assert_eq!(pages.are_free(first, count), all);
                if give {
                    pages.give(first, count);
                    model.extend(first..first + count);
                } else {
                    pages.take(first, count);
                    model.retain(|page| !(first..first + count).contains(page));
                }
                let listed: BTreeSet<u64> = ranges(&pages).iter().flat_map(|&(at, n)| at..at + n).collect();
                prop_assert_eq!(&listed, &model);
                // Ranges that touch are one.
                let ends: Vec<u64> = ranges(&pages).iter().map(|&(at, n)| at + n).collect();
                prop_assert!(ends.iter().all(|end| !pages.ranges.contains_key(end)));
                let longest = ranges(&pages).iter().map(|&(_, n)| n).max().unwrap_or(0);
                prop_assert_eq!(pages.find(count).is_some(), count <= longest);
                prop_assert_eq!(pages.ranges.len(), pages.by_length.len());
            }
        }
    }
}
