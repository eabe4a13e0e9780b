//! Sorts records of all CPUs by time, using perf's rounds.

use crate::sched_record::SchedRecord;
use std::collections::VecDeque;

/// The maximum number of records that are held back in any case.
pub(super) const MOST: usize = 1 << 20;

/// Records that are held back, and those that have been released.
#[derive(Debug)]
pub(super) struct Rounds {
    most: usize,
    pending: Vec<SchedRecord>,
    ready: VecDeque<SchedRecord>,
    /// The latest record of the last round and of the current one.
    before: u64,
    latest: u64,
    /// The times and indices of held-back records, in order. Kept to reuse its memory.
    order: Vec<(u64, u32)>,
}

impl Rounds {
    /// Creates a queue that holds back at most this many records.
    pub(super) fn new(most: usize) -> Self {
        Self { most, pending: Vec::new(), ready: VecDeque::new(), before: 0, latest: 0, order: Vec::new() }
    }

    #[inline]
    pub(super) fn push(&mut self, seen: SchedRecord) {
        self.latest = self.latest.max(seen.at);
        self.pending.push(seen);
        if self.pending.len() >= self.most {
            // Rounds are shorter than this, or there are none: the older half will hardly be overtaken.
            self.sort();
            self.ready.extend(self.pending.drain(..self.most / 2));
        }
    }

    /// Ends a round. Nothing older than the previous round can follow.
    pub(super) fn finish(&mut self) {
        let until = std::mem::replace(&mut self.before, self.latest);
        self.sort();
        let due = self.pending.partition_point(|seen| seen.at <= until);
        self.ready.extend(self.pending.drain(..due));
    }

    /// Releases everything, because nothing follows.
    pub(super) fn end(&mut self) {
        self.sort();
        self.ready.extend(self.pending.drain(..));
    }

    #[inline]
    pub(super) fn next(&mut self) -> Option<SchedRecord> {
        self.ready.pop_front()
    }

    /// Sorts held-back records by time: first their indices, which are smaller, and then the records, moving each once.
    fn sort(&mut self) {
        if self.pending.is_sorted_by_key(|seen| seen.at) {
            return;
        }
        self.order.clear();
        self.order.extend(self.pending.iter().zip(0..).map(|(seen, place)| (seen.at, place)));
        // They are runs of each CPU's records: a stable sort merges them.
        self.order.sort_by_key(|&(at, _)| at);
        self.pending = self.order.iter().map(|&(_, place)| self.pending[place as usize]).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sched_record::SchedEvent;
    use proptest::prelude::*;

    fn seen(cpu: u32, at: u64) -> SchedRecord {
        SchedRecord { at, cpu, lost: 0, current: None, interrupt: false, what: SchedEvent::Other }
    }

    proptest! {
        /// In round r, perf reads everything that each CPU has written until some moment between the ends of rounds r-1
        /// and r.
        #[test]
        fn rounds_give_records_in_order(cpus in prop::collection::vec(prop::collection::vec(0u64..100, 0..60), 1..5)) {
            let mut rounds = Rounds::new(MOST);
            let mut given = Vec::new();
            let mut total = 0;
            for round in 0..10u64 {
                for (cpu, times) in cpus.iter().enumerate() {
                    let mut times: Vec<u64> = times.iter().map(|at| at + round * 100 - if round > 0 { 50 } else { 0 }).collect();
                    times.sort_unstable();
                    total += times.len();
                    times.iter().for_each(|&at| rounds.push(seen(cpu as u32, at)));
                }
                rounds.finish();
                given.extend(std::iter::from_fn(|| rounds.next()));
            }
            rounds.end();
            given.extend(std::iter::from_fn(|| rounds.next()));
            prop_assert_eq!(given.len(), total);
            prop_assert!(given.is_sorted_by_key(|seen| seen.at));
        }
    }

    #[test]
    fn what_is_held_back_is_bounded() {
        let mut rounds = Rounds::new(MOST);
        (0..MOST as u64 + 10).for_each(|at| rounds.push(seen(0, at)));
        assert!(rounds.pending.len() < MOST);
        assert_eq!(rounds.next().map(|seen| seen.at), Some(0));
    }
}
