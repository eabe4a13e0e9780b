//! Merges the records of many CPUs, each CPU's nearly in order, into one stream in order of time.
//!
//! Records are held back as long as earlier ones may still arrive: for the time between a record's timestamp and the
//! moment when the reader can see it. A record that arrives even later gets the latest time of the stream so far, and
//! is counted: the stream's time never goes backwards.

use super::raw::Raw;

/// The maximum number of records that are held back, whatever may still arrive.
const MOST: usize = 1 << 20;

/// The records that are held back.
#[derive(Debug, Default)]
pub struct Merge {
    pending: Vec<Raw>,
    reached: u64,
    late: u64,
}

impl Merge {
    /// Adds a record.
    pub fn push(&mut self, raw: Raw) {
        self.pending.push(raw);
    }

    /// Returns the records up to `until`, in order, and any that exceed the limit.
    pub fn release(&mut self, until: u64) -> Vec<Raw> {
        // A stable sort: records that one CPU wrote in the same nanosecond stay in order.
        self.pending.sort_by_key(|raw| raw.at);
        let due = self.pending.partition_point(|raw| raw.at <= until);
        let due = due.max(self.pending.len().saturating_sub(MOST));
        let mut released: Vec<Raw> = self.pending.drain(..due).collect();
        for raw in &mut released {
            self.late += u64::from(raw.at < self.reached);
            raw.at = raw.at.max(self.reached);
            self.reached = raw.at;
        }
        released
    }

    /// Returns how many records arrived too late for their place.
    pub fn late(&self) -> u64 {
        self.late
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::story::raw::{Key, RawWhat};
    use keel_abi::CpuId;
    use proptest::prelude::*;

    /// Returns the `n`th record of a CPU.
    fn raw(cpu: u32, n: u64, at: u64) -> Raw {
        let (cpu, waker) = (CpuId(cpu), Key::IDLE);
        let what = RawWhat::Wakeup { cpu, task: Key(n), target: cpu, waker, waited: None };
        Raw { at, writer: cpu, lost: 0, what }
    }

    fn number(raw: &Raw) -> u64 {
        match raw.what {
            RawWhat::Wakeup { task, .. } => task.0,
            _ => unreachable!("the records above"),
        }
    }

    proptest! {
        /// CPUs write records at intervals. The reader reads every `round`, and sees a record at most `delay` after its
        /// timestamp.
        #[test]
        fn the_stream_is_in_order_and_whole(
            cpus in prop::collection::vec(prop::collection::vec((0u64..50, 0u64..20), 0..60), 1..6),
            round in 1u64..100,
        ) {
            let mut records: Vec<(u64, Raw)> = Vec::new();
            for (cpu, steps) in cpus.iter().enumerate() {
                let (mut at, mut seen) = (0, 0);
                for (n, &(step, delay)) in steps.iter().enumerate() {
                    at += step;
                    // A ring shows a record only after those that were written earlier.
                    seen = (at + delay).max(seen);
                    records.push((seen, raw(cpu as u32, n as u64, at)));
                }
            }
            let total = records.len();
            let last = records.iter().map(|(seen, _)| *seen).max().unwrap_or(0);
            let (mut merge, mut stream) = (Merge::default(), Vec::new());
            let mut now = 0;
            while now < last + round {
                now += round;
                records.retain(|(seen, raw)| {
                    if *seen <= now {
                        merge.push(raw.clone());
                    }
                    *seen > now
                });
                stream.extend(merge.release(now.saturating_sub(21)));
            }
            stream.extend(merge.release(u64::MAX));
            prop_assert_eq!(stream.len(), total);
            prop_assert_eq!(merge.late(), 0);
            prop_assert!(stream.is_sorted_by_key(|raw| raw.at));
            for cpu in 0..cpus.len() as u32 {
                let own: Vec<u64> = stream.iter().filter(|raw| raw.writer == CpuId(cpu)).map(number).collect();
                prop_assert!(own.is_sorted(), "CPU {}: {:?}", cpu, own);
            }
        }
    }

    #[test]
    fn what_comes_too_late_is_moved_and_counted() {
        let mut merge = Merge::default();
        merge.push(raw(0, 0, 100));
        assert_eq!(merge.release(100).len(), 1);
        merge.push(raw(1, 1, 90));
        merge.push(raw(1, 2, 110));
        let ats: Vec<u64> = merge.release(u64::MAX).iter().map(|raw| raw.at).collect();
        assert_eq!((ats, merge.late()), (vec![100, 110], 1));
    }

    #[test]
    fn what_is_held_back_is_bounded() {
        let mut merge = Merge::default();
        (0..MOST as u64 + 10).for_each(|n| merge.push(raw(0, n, n)));
        let released: Vec<u64> = merge.release(3).iter().map(number).collect();
        assert_eq!(released, (0..10).collect::<Vec<_>>());
    }
}
