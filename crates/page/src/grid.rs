//! Sums what each CPU did over buckets of time.

use keel_abi::{CpuId, TaskId};
use keel_report::buckets::{self, Buckets};
use keel_report::follow::{Level, State, Stretch};

/// The maximum number of cells over all CPUs.
const CELLS: usize = 1 << 19;
/// The maximum number of buckets.
const BUCKETS: usize = 1 << 14;

/// One CPU in one bucket of time. Sums are in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    /// The number of runnable tasks, including the running one, integrated over time.
    pub(crate) load: u64,
    /// Their weights in units of nice 0, integrated over time.
    pub(crate) weight: u64,
    /// The time with a task.
    pub(crate) busy: u64,
    /// The idle time while a task waited that could have run here.
    pub(crate) wasted: u64,
    /// The task that ran most of the time, if one ran for more than half of it.
    pub(crate) task: TaskId,
    /// The minimum by which it ran longer than all others together.
    pub(crate) lead: u64,
    /// The maximum number of tasks that were runnable at once.
    pub(crate) max: u16,
}

impl Default for Cell {
    fn default() -> Self {
        Self { load: 0, weight: 0, busy: 0, wasted: 0, task: TaskId::IDLE, lead: 0, max: 0 }
    }
}

impl Cell {
    /// Counts time of a task, by Boyer and Moore's majority vote: the majority is left over.
    fn vote(&mut self, task: TaskId, ns: u64) {
        if self.task == task {
            self.lead += ns;
        } else if ns > self.lead {
            (self.task, self.lead) = (task, ns - self.lead);
        } else {
            self.lead -= ns;
        }
    }
}

impl buckets::Cell for Cell {
    fn join(&mut self, other: &Self) {
        self.load += other.load;
        self.weight += other.weight;
        self.busy += other.busy;
        self.wasted += other.wasted;
        self.max = self.max.max(other.max);
        if other.lead > 0 {
            self.vote(other.task, other.lead);
        }
    }
}

/// All cells.
#[derive(Debug, Default)]
pub(crate) struct Grid(Buckets<Cell>);

impl Grid {
    pub(crate) fn start(&mut self, cpus: usize) {
        self.0 = Buckets::new(cpus, CELLS, BUCKETS);
    }

    /// Returns a bucket's length in nanoseconds.
    pub(crate) fn bucket_ns(&self) -> u64 {
        self.0.bucket_ns()
    }

    /// Returns the first `used` cells of `cpu`.
    pub(crate) fn row(&self, cpu: CpuId, used: usize) -> &[Cell] {
        self.0.row(cpu, used)
    }

    /// Returns the buckets that a run of `ns` reaches.
    pub(crate) fn used(&mut self, ns: u64) -> usize {
        self.0.reach(ns);
        ns.div_ceil(self.bucket_ns()) as usize
    }

    pub(crate) fn stretch(&mut self, stretch: &Stretch) {
        let State::Running(cpu) = stretch.state else { return };
        self.0.spread(cpu, stretch.from, stretch.to, |cell, ns| {
            cell.busy += ns;
            cell.vote(stretch.task, ns);
        });
    }

    pub(crate) fn level(&mut self, cpu: CpuId, level: Level, from: u64, to: u64) {
        let max = u16::try_from(level.tasks).unwrap_or(u16::MAX);
        self.0.spread(cpu, from, to, |cell, ns| {
            cell.load = cell.load.saturating_add(ns.saturating_mul(level.tasks));
            cell.weight = cell.weight.saturating_add(ns.saturating_mul(level.weight) >> 10);
            cell.max = cell.max.max(max);
        });
    }

    /// Adds time in which `cpu` idled while a task waited.
    pub(crate) fn wasted(&mut self, cpu: CpuId, from: u64, to: u64) {
        self.0.spread(cpu, from, to, |cell, ns| cell.wasted += ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_majority_is_left_over() {
        let mut cell = Cell::default();
        for (task, ns) in [(1, 30), (2, 20), (1, 40), (3, 5)] {
            cell.vote(TaskId(task), ns);
        }
        assert_eq!((cell.task, cell.lead), (TaskId(1), 45));
    }

    proptest! {
        // Each case takes 25 MB of cells.
        #![proptest_config(ProptestConfig::with_cases(8))]
        #[test]
        fn joining_buckets_loses_no_time(spans in prop::collection::vec((0u64..90_000_000, 1u64..3_000_000, 0u32..3), 1..60)) {
            let mut grid = Grid::default();
            grid.start(4096 / 2);
            let mut sum = 0;
            for (from, ns, cpu) in spans {
                grid.wasted(CpuId(cpu), from, from + ns);
                sum += ns;
            }
            let used = grid.used(100_000_000);
            let got: u64 = (0..3).flat_map(|cpu| grid.row(CpuId(cpu), used)).map(|cell| cell.wasted).sum();
            prop_assert_eq!(got, sum);
        }
    }
}
