//! Keeps what the page shows of a run.

use crate::data::{Facts, RunData};
use crate::delays::Measured;
use crate::detail::Detail;
use crate::episodes::{Episodes, Fresh};
use crate::grid::Grid;
use crate::lives::Lives;
use crate::names::Names;
use keel_abi::{CpuId, Instant, Topology};
use keel_check::WastedCores;
use keel_report::follow::{Follow, Level, SpanSink, Stretch};
use keel_report::notable::Notable;
use keel_trace::{Class, Event, Meta, Sink};

/// The maximum number of decisions that are kept.
const MOMENTS: usize = 4096;

/// The maximum size of a run's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// The maximum size of compressed single events, in bytes. Levels of detail take another 1 to 3 MB.
    pub detail_bytes: usize,
}

impl Budget {
    /// Returns the budget of each run on a page with this many runs, so that the page stays below 10 MB.
    pub fn for_runs(runs: usize) -> Self {
        Self { detail_bytes: 3_500_000 / runs.max(1) }
    }
}

/// The sink of spans.
#[derive(Debug, Default)]
pub(crate) struct Sums {
    pub(crate) grid: Grid,
    pub(crate) lives: Lives,
    pub(crate) delays: Measured,
}

impl SpanSink for Sums {
    fn stretch(&mut self, stretch: &Stretch) {
        self.grid.stretch(stretch);
        self.lives.stretch(stretch);
        self.delays.stretch(stretch);
    }

    fn level(&mut self, cpu: CpuId, level: Level, from: u64, to: u64) {
        self.grid.level(cpu, level, from, to);
    }
}

/// A sink for a run's events. [`Page::finish`] returns what the page shows.
#[derive(Debug)]
pub struct Page {
    pub(crate) topology: Option<Topology>,
    pub(crate) start: u64,
    pub(crate) now: u64,
    pub(crate) sums: Sums,
    pub(crate) detail: Detail,
    pub(crate) episodes: Episodes,
    pub(crate) moments: Notable<MOMENTS>,
    pub(crate) names: Names,
    follow: Follow,
    waste: WastedCores<Fresh>,
}

impl Page {
    /// Creates a page without events.
    pub fn new(budget: Budget) -> Self {
        Self {
            topology: None,
            start: 0,
            now: 0,
            sums: Sums::default(),
            detail: Detail::new(budget.detail_bytes),
            episodes: Episodes::default(),
            moments: Notable::default(),
            names: Names::default(),
            follow: Follow::default(),
            waste: WastedCores::observed(0, Fresh::default()),
        }
    }

    /// Returns everything that the page shows of the run, together with `facts`, or `None` for an empty stream.
    pub fn finish(mut self, facts: &Facts<'_>) -> Option<RunData> {
        self.waste.verdict();
        self.mark();
        self.follow.finish(self.now, &mut self.sums);
        RunData::new(self, facts)
    }

    /// Returns the nanoseconds from the start of the run.
    fn since_start(&self, at: Instant) -> u64 {
        at.as_ns().saturating_sub(self.start)
    }

    fn mark(&mut self) {
        let (start, now) = (self.start, self.now);
        let since = |at: Instant| at.as_ns().saturating_sub(start).min(now);
        for (cpu, from, to) in self.waste.observer().0.drain(..) {
            let (from, to) = (since(from), since(to));
            if from < to {
                self.sums.grid.wasted(cpu, from, to);
                self.episodes.add(cpu, from, to);
            }
        }
    }
}

impl Sink for Page {
    fn wants(&self) -> Class {
        self.waste.wants().with(Class::POLICY)
    }

    fn events(&mut self, events: &[Event]) {
        for event in events {
            self.now = self.since_start(event.at);
            self.detail.event(event, self.now, &self.follow);
            self.follow.event(event, self.now, &mut self.sums);
        }
        self.waste.events(events);
        self.mark();
    }

    fn meta(&mut self, at: Instant, meta: &Meta) {
        if let (Meta::Start { topology, .. }, None) = (meta, &self.topology) {
            let cpus = topology.cpus() as usize;
            self.start = at.as_ns();
            self.sums.grid.start(cpus);
            self.follow.start(cpus);
            self.topology = Some(topology.clone());
        }
        self.now = self.since_start(at);
        match meta {
            Meta::Task(info) => {
                let cpus = self.topology.as_ref().map_or(0, Topology::cpus);
                self.names.about(info, cpus);
                self.sums.delays.named(info.task.index(), &info.name);
                self.follow.renice(info.task, info.nice, self.now, &mut self.sums);
            }
            Meta::Policy(policy) => self.moments.receive(self.now, policy, self.follow.standing(policy)),
            _ => {}
        }
        self.waste.meta(at, meta);
        self.mark();
    }
}
