//! All checks at once: one sink to listen to a run, one judgement at its end.

use crate::figures::{Figures, Summary};
use crate::finding::{Finding, Kind};
use crate::starvation::{BOUND, Starvation};
use crate::waste::{Verdict, WastedCores};
use keel_abi::Instant;
use keel_trace::{Class, Event, Meta, Sink};

/// How many findings of each kind are kept.
pub const KEPT: usize = 20;

/// All checks, listening.
#[derive(Clone, Debug)]
pub struct Judge {
    figures: Figures,
    waste: WastedCores,
    starvation: Starvation,
}

/// All that the checks have to say about a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judgement {
    /// The run in numbers.
    pub summary: Summary,
    /// Wasted cores.
    pub waste: Verdict,
    /// The longest findings of each kind, in the order of [`Kind::ALL`].
    pub findings: Vec<Finding>,
    /// How many there were of each kind, kept or not.
    pub found: Vec<(Kind, u64)>,
}

impl Default for Judge {
    fn default() -> Self {
        Self::new(Figures::new())
    }
}

impl Judge {
    /// All checks, with these figures (with or without the scheduler's own costs).
    pub fn new(figures: Figures) -> Self {
        Self { figures, waste: WastedCores::new(KEPT), starvation: Starvation::new(BOUND, KEPT) }
    }

    /// The judgement. Call it once, at the end.
    pub fn judgement(&mut self) -> Judgement {
        let waste = self.waste.verdict();
        let (starved, starvations) = self.starvation.findings();
        let findings = waste.findings.iter().cloned().chain(starved).collect();
        let found = vec![(Kind::WastedCore, waste.episodes), (Kind::Starvation, starvations)];
        Judgement { summary: self.figures.summary(), waste, findings, found }
    }
}

impl Sink for Judge {
    fn wants(&self) -> Class {
        self.figures.wants().with(self.waste.wants()).with(self.starvation.wants())
    }

    fn events(&mut self, events: &[Event]) {
        self.figures.events(events);
        self.waste.events(events);
        self.starvation.events(events);
    }

    fn meta(&mut self, at: Instant, meta: &Meta) {
        self.figures.meta(at, meta);
        self.waste.meta(at, meta);
        self.starvation.meta(at, meta);
    }
}
