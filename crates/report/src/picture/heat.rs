//! Collects how many tasks were runnable on each CPU, averaged over buckets of time.

use crate::buckets::{self, Buckets};
use crate::follow::{Follow, Level, SpanSink};
use crate::notable::Standing;
use keel_abi::{CpuId, Instant, Topology};
use keel_trace::{Event, Meta, Policy};

/// The maximum number of cells over all CPUs; each has 16 bytes.
const CELLS: usize = 1 << 19;
/// The maximum number of buckets.
const BUCKETS: usize = 2048;

/// One CPU in one bucket of time; sums in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cell {
    /// The number of runnable tasks, including running ones, integrated over time.
    pub(super) load: u64,
    /// Time idle while a task waited.
    pub(super) wasted: u64,
}

impl buckets::Cell for Cell {
    fn join(&mut self, next: &Self) {
        self.load += next.load;
        self.wasted += next.wasted;
    }
}

/// All cells.
#[derive(Debug, Default)]
pub(super) struct Heat {
    pub(super) topology: Option<Topology>,
    start: u64,
    now: u64,
    cells: Buckets<Cell>,
    follow: Follow,
}

impl SpanSink for Buckets<Cell> {
    fn level(&mut self, cpu: CpuId, level: Level, from: u64, to: u64) {
        self.spread(cpu, from, to, |cell, ns| cell.load += ns * level.tasks);
    }
}

impl Heat {
    /// Returns the run's length in nanoseconds.
    pub(super) fn duration(&self) -> u64 {
        self.now - self.start
    }

    /// Returns the nanoseconds from the start of the run.
    pub(super) fn since_start(&self, at: Instant) -> u64 {
        at.as_ns().saturating_sub(self.start)
    }

    /// Returns the current situation for this decision. A CPU that has a task isn't idle, even if the task doesn't run
    /// yet.
    pub(super) fn standing(&self, policy: &Policy) -> Standing {
        let cpus = self.topology.iter().flat_map(Topology::iter);
        let tasks: Vec<u64> = cpus.map(|cpu| self.follow.runnable(cpu)).collect();
        Standing {
            idle: tasks.iter().filter(|&&tasks| tasks == 0).count() as u64,
            waiting: tasks.iter().map(|tasks| tasks.saturating_sub(1)).sum(),
            ..self.follow.standing(policy)
        }
    }

    /// Returns a bucket's length in nanoseconds.
    pub(super) fn bucket_ns(&self) -> u64 {
        self.cells.bucket_ns()
    }

    /// Returns the cells of `cpu` that the run has reached.
    pub(super) fn row(&self, cpu: CpuId) -> &[Cell] {
        self.cells.row(cpu, self.duration().div_ceil(self.bucket_ns()) as usize)
    }

    pub(super) fn meta(&mut self, at: Instant, meta: &Meta) {
        if let (Meta::Start { topology, .. }, None) = (meta, &self.topology) {
            let cpus = topology.cpus() as usize;
            self.start = at.as_ns();
            self.cells = Buckets::new(cpus, CELLS, BUCKETS);
            self.follow.start(cpus);
            self.topology = Some(topology.clone());
        }
        self.now = at.as_ns();
    }

    pub(super) fn events(&mut self, events: &[Event]) {
        for event in events {
            self.now = event.at.as_ns();
            self.follow.event(event, self.since_start(event.at), &mut self.cells);
        }
    }

    /// Adds time in which `cpu` idled while a task waited.
    pub(super) fn wasted(&mut self, cpu: CpuId, start: Instant, end: Instant) {
        let (from, to) = (self.since_start(start), self.since_start(end));
        self.cells.spread(cpu, from, to, |cell, ns| cell.wasted += ns);
    }

    /// Counts the spans that are still open.
    pub(super) fn finish(&mut self) {
        self.follow.finish(self.since_start(Instant::from_ns(self.now)), &mut self.cells);
    }
}
