//! All checks at once: one sink to listen to a run, one judgement at its end.

use crate::conduct::{Conduct, Limits};
use crate::figures::{Figures, Summary};
use crate::finding::{Finding, Kind};
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
    conduct: Conduct,
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
    /// How many of these are a program's own doing, which no scheduler is to blame for.
    pub of_programs: u64,
}

impl Default for Judge {
    fn default() -> Self {
        Self::new(Figures::new())
    }
}

impl Judge {
    /// All checks, with these figures (with or without the scheduler's own costs).
    pub fn new(figures: Figures) -> Self {
        Self::with(figures, Limits::default())
    }

    /// The same, within these limits.
    pub fn with(figures: Figures, limits: Limits) -> Self {
        Self { figures, waste: WastedCores::new(KEPT), conduct: Conduct::new(limits, KEPT) }
    }

    /// The judgement. Call it once, at the end.
    pub fn judgement(&mut self) -> Judgement {
        let waste = self.waste.verdict();
        let mut findings = waste.findings.clone();
        let mut found = vec![(Kind::WastedCore, waste.episodes)];
        let mut of_programs = 0;
        for of_kind in self.conduct.findings() {
            findings.extend(of_kind.findings);
            found.push((of_kind.kind, of_kind.count));
            of_programs += of_kind.of_programs;
        }
        Judgement { summary: self.figures.summary(), waste, findings, found, of_programs }
    }
}

impl Sink for Judge {
    fn wants(&self) -> Class {
        self.figures.wants().with(self.waste.wants()).with(self.conduct.wants())
    }

    fn events(&mut self, events: &[Event]) {
        self.figures.events(events);
        self.waste.events(events);
        self.conduct.events(events);
    }

    fn meta(&mut self, at: Instant, meta: &Meta) {
        self.figures.meta(at, meta);
        self.waste.meta(at, meta);
        self.conduct.meta(at, meta);
    }
}
