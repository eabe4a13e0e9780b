//! Tracks the shortest and the longest slice that tasks of a queue request (`cfs_rq_min_slice()`,
//! `cfs_rq_max_slice()`).

use std::collections::BTreeMap;

/// The number of tasks that request each slice, in nanoseconds.
#[derive(Debug, Default)]
pub(super) struct Slices(BTreeMap<u64, u32>);

impl Slices {
    pub(super) fn add(&mut self, slice_ns: u64) {
        *self.0.entry(slice_ns).or_default() += 1;
    }

    pub(super) fn remove(&mut self, slice_ns: u64) {
        let count = self.0.get_mut(&slice_ns).expect("a task that leaves has come");
        *count -= 1;
        if *count == 0 {
            self.0.remove(&slice_ns);
        }
    }

    /// Returns the shortest slice, or the maximum value if there is no task.
    pub(super) fn shortest(&self) -> u64 {
        self.0.first_key_value().map_or(u64::MAX, |(&slice_ns, _)| slice_ns)
    }

    /// Returns the longest slice, or 0 if there is no task.
    pub(super) fn longest(&self) -> u64 {
        self.0.last_key_value().map_or(0, |(&slice_ns, _)| slice_ns)
    }
}
