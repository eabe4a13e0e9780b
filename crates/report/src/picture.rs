//! The run at a glance, as a static SVG.
//!
//! Strips of a fixed time, one under the other, each with its clock; in a strip one thin row a CPU,
//! the CPUs of a node between two black lines, the node's number at the left. White is idle, green one
//! runnable thread, then yellow, orange, red for more; where a CPU idled while a thread that may run
//! there waited, blue hatching. Whole nodes white or hatched beside red ones are what one looks for.
//! Where the scheduler reports its decisions, a second strip under each shows which CPUs it looked at;
//! where it reports loads, a third one is coloured by them.
//!
//! [`Picture`] listens to a run in memory that depends on the machine alone, and is drawn at its end.

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

/// Decisions that are kept at most.
const MOMENTS: usize = 1024;

/// Wasted episodes that are not in the picture yet.
#[derive(Debug, Default)]
struct Marks(Vec<(CpuId, Instant, Instant)>);

impl Observer for Marks {
    fn wasted(&mut self, cpu: CpuId, start: Instant, end: Instant) {
        self.0.push((cpu, start, end));
    }
}

/// What one CPU did in one bucket of time; times in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MapCell {
    /// Which CPU.
    pub cpu: u32,
    /// When the bucket begins, from the run's beginning.
    pub at_ns: u64,
    /// How long it is.
    pub for_ns: u64,
    /// Runnable tasks, running ones included, times time.
    pub runnable_ns: u64,
    /// Time that the CPU idled while a task waited that may run there.
    pub wasted_ns: u64,
}

/// Listens to a run and draws it.
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
    /// An empty picture.
    pub fn new() -> Self {
        Self::default()
    }

    /// Draws it: a whole SVG document of less than 2 MB. Call it once, at the end.
    pub fn svg(&mut self, caption: &Caption) -> String {
        self.waste.verdict();
        self.mark();
        self.heat.finish();
        let below = |layout: &_| Below::new(&self.decisions, &self.loads, &self.heat, layout);
        draw::document(&self.heat, below, caption)
    }

    /// The same as numbers: what each CPU did in each bucket of time, the buckets of a CPU one after another. Call it
    /// once, at the end.
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
