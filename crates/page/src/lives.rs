//! Sums where each task ran and waited over buckets of time. Only buckets in which it did are kept.
//!
//! If there are too many entries, neighbours are merged and buckets become twice as long.

use crate::pack::{number, share};
use keel_report::follow::{State, Stretch};

/// The maximum number of entries over all tasks: 24 bytes each.
const ENTRIES: usize = 1 << 18;
/// The maximum number of buckets.
const BUCKETS: u64 = 4096;
/// The maximum number of tasks. Later ones are left out.
pub(crate) const TASKS: usize = 1 << 16;
/// A bucket's first length is 2 to this power, in nanoseconds.
const FIRST_SHIFT: u32 = 10;

/// One task in one bucket of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    bucket: u32,
    /// The last CPU that it ran on, or else waited for.
    cpu: u32,
    run: u64,
    wait: u64,
}

/// All tasks' entries, by time.
#[derive(Debug)]
pub(crate) struct Lives {
    shift: u32,
    entries: usize,
    tasks: Vec<Vec<Entry>>,
}

impl Default for Lives {
    fn default() -> Self {
        Self { shift: FIRST_SHIFT, entries: 0, tasks: Vec::new() }
    }
}

impl Lives {
    pub(crate) fn bucket_ns(&self) -> u64 {
        1 << self.shift
    }

    pub(crate) fn stretch(&mut self, stretch: &Stretch) {
        let (Some(cpu), at) = (stretch.state.cpu(), stretch.task.index()) else { return };
        if at >= TASKS || stretch.to <= stretch.from {
            return;
        }
        if at >= self.tasks.len() {
            self.tasks.resize(at + 1, Vec::new());
        }
        while stretch.to > BUCKETS << self.shift {
            self.coarsen();
        }
        let runs = matches!(stretch.state, State::Running(_));
        let mut from = stretch.from;
        while from < stretch.to {
            let bucket = from >> self.shift;
            let until = ((bucket + 1) << self.shift).min(stretch.to);
            let ns = until - from;
            let (run, wait) = if runs { (ns, 0) } else { (0, ns) };
            self.add(at, Entry { bucket: bucket as u32, cpu: cpu.0, run, wait });
            from = until;
        }
        while self.entries > ENTRIES {
            self.coarsen();
        }
    }

    fn add(&mut self, at: usize, entry: Entry) {
        match self.tasks[at].last_mut() {
            Some(last) if last.bucket == entry.bucket => last.join(&entry),
            _ => {
                self.tasks[at].push(entry);
                self.entries += 1;
            }
        }
    }

    #[cold]
    fn coarsen(&mut self) {
        self.shift += 1;
        self.entries = 0;
        for task in &mut self.tasks {
            task.iter_mut().for_each(|entry| entry.bucket /= 2);
            task.dedup_by(|next, last| {
                let same = next.bucket == last.bucket;
                if same {
                    last.join(next);
                }
                same
            });
            self.entries += task.len();
        }
    }

    /// Packs, for each task with entries, its id and their number, and for each entry, the buckets since the last, the
    /// CPU, and the shares of time running and waiting.
    pub(crate) fn pack(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (id, task) in self.tasks.iter().enumerate().filter(|(_, task)| !task.is_empty()) {
            number(&mut bytes, id as u64);
            number(&mut bytes, task.len() as u64);
            let mut next = 0;
            for entry in task {
                number(&mut bytes, u64::from(entry.bucket - next));
                number(&mut bytes, u64::from(entry.cpu));
                bytes.push(share(entry.run, self.bucket_ns()));
                bytes.push(share(entry.wait, self.bucket_ns()));
                next = entry.bucket + 1;
            }
        }
        bytes
    }
}

impl Entry {
    fn join(&mut self, next: &Self) {
        if next.run > 0 || self.run == 0 {
            self.cpu = next.cpu;
        }
        self.run += next.run;
        self.wait += next.wait;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_abi::{CpuId, TaskId};

    fn stretch(state: State, from: u64, to: u64) -> Stretch {
        Stretch { task: TaskId(1), state, from, to, wait: None }
    }

    #[test]
    fn a_life_is_its_buckets() {
        let mut lives = Lives::default();
        lives.stretch(&stretch(State::Waiting(CpuId(3)), 0, 512));
        lives.stretch(&stretch(State::Running(CpuId(2)), 512, 1024));
        lives.stretch(&stretch(State::Running(CpuId(2)), 4096, 5120));
        assert_eq!(lives.pack(), [1, 2, 0, 2, 128, 128, 3, 2, 255, 0]);
        lives.coarsen();
        assert_eq!(lives.pack(), [1, 2, 0, 2, 64, 64, 1, 2, 128, 0]);
    }

    #[test]
    fn memory_does_not_grow_with_the_run() {
        let mut lives = Lives::default();
        for n in 0..200_000u64 {
            lives.stretch(&stretch(State::Running(CpuId(0)), n * 5_000_000, n * 5_000_000 + 10));
        }
        assert!(lives.entries <= BUCKETS as usize, "{}", lives.entries);
    }
}
