//! Draws a run at a glance, as a static SVG.
//!
//! The picture consists of strips of a fixed duration, one below the other, each with its clock. A strip has one thin
//! row per CPU, black lines around the CPUs of each node, and the node's number on the left. Rows that are tall enough
//! also have the number of their CPU. White is idle, green is one runnable thread, then yellow, orange and red for
//! more. Blue hatching marks a CPU that idled while a thread that could have run there waited. Look for whole nodes
//! that are white or hatched next to red ones. If the scheduler reports its decisions, a second strip below each one
//! shows which CPUs it looked at; if it reports loads, a third strip is coloured by them.
//!
//! [`Picture`] collects a run in memory that depends only on the machine, and is drawn when the run ends.

mod below;
mod considered;
mod draw;
mod heat;
mod layout;
mod loads;
mod paths;

pub use draw::Caption;
pub(crate) use draw::xml;

use crate::notable::Notable;
use below::Below;
use heat::Heat;
use keel_abi::{CpuId, Instant, Topology};
use keel_check::{Observer, WastedCores};
use keel_trace::{Class, Event, Meta, Sink};
use loads::Loads;

/// The maximum number of decisions that are kept.
const MOMENTS: usize = 1024;

/// Wasted episodes that are not in the picture yet.
#[derive(Debug, Default)]
struct Marks(Vec<(CpuId, Instant, Instant)>);

impl Observer for Marks {
    fn wasted(&mut self, cpu: CpuId, start: Instant, end: Instant) {
        self.0.push((cpu, start, end));
    }
}

/// One CPU's activity in one bucket of time; times in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MapCell {
    /// The CPU.
    pub cpu: u32,
    /// When the bucket begins, from the start of the run.
    pub at_ns: u64,
    /// The length of the bucket.
    pub for_ns: u64,
    /// The number of runnable tasks, including running ones, integrated over time.
    pub runnable_ns: u64,
    /// Time in which the CPU idled while a task that could have run there waited.
    pub wasted_ns: u64,
}

/// A sink that collects a run and draws it.
#[derive(Debug)]
pub struct Picture {
    heat: Heat,
    decisions: Notable<MOMENTS>,
    loads: Loads,
    waste: WastedCores<Marks>,
}

impl Default for Picture {
    fn default() -> Self {
        Self {
            heat: Heat::default(),
            decisions: Notable::default(),
            loads: Loads::default(),
            waste: WastedCores::observed(0, Marks::default()),
        }
    }
}

impl Picture {
    /// Returns an empty picture.
    pub fn new() -> Self {
        Self::default()
    }

    /// Draws the picture: a complete SVG document of less than 2 MB. Call it once, at the end.
    pub fn svg(&mut self, caption: &Caption) -> String {
        self.waste.verdict();
        self.mark();
        self.heat.finish();
        let below = |layout: &_| Below::new(&self.decisions, &self.loads, &self.heat, layout);
        draw::document(&self.heat, below, caption)
    }

    /// Returns the picture's data as numbers: each CPU's activity in each bucket of time, CPU by CPU. Call it once, at
    /// the end.
    pub fn cells(&mut self) -> Vec<MapCell> {
        self.waste.verdict();
        self.mark();
        self.heat.finish();
        let (bucket_ns, end_ns) = (self.heat.bucket_ns(), self.heat.duration());
        let cpus = self.heat.topology.iter().flat_map(Topology::iter);
        let cells = |cpu: CpuId| {
            let cell = move |(nth, cell): (usize, &heat::Cell)| {
                let at_ns = nth as u64 * bucket_ns;
                let for_ns = bucket_ns.min(end_ns - at_ns);
                MapCell { cpu: cpu.0, at_ns, for_ns, runnable_ns: cell.load, wasted_ns: cell.wasted }
            };
            self.heat.row(cpu).iter().enumerate().map(cell)
        };
        cpus.flat_map(cells).collect()
    }

    fn mark(&mut self) {
        for (cpu, start, end) in self.waste.observer().0.drain(..) {
            self.heat.wasted(cpu, start, end);
        }
    }
}

impl Sink for Picture {
    fn wants(&self) -> Class {
        self.waste.wants().with(Class::POLICY)
    }

    fn events(&mut self, events: &[Event]) {
        self.heat.events(events);
        self.waste.events(events);
        self.mark();
    }

    fn meta(&mut self, at: Instant, meta: &Meta) {
        self.heat.meta(at, meta);
        if let Meta::Policy(policy) = meta {
            self.decisions.receive(self.heat.since_start(at), policy, self.heat.standing(policy));
            self.loads.receive(at, policy, &self.heat);
        }
        self.waste.meta(at, meta);
        self.mark();
    }
}

#[cfg(test)]
mod tests;
