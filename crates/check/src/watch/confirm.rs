//! Whether events confirm or resolve a suspicion, and how.

use super::resolution::{Arrivals, Resolution};
use crate::waste::WastedCores;
use keel_abi::{CpuId, CpuSet, Instant, Span};
use keel_trace::{Class, Event, Meta, Sink, What};

/// How many CPUs are watched at once; one that idles while tasks wait is enough for a finding.
pub const MOST_SUSPECTS: usize = 64;

/// How a suspicion ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Some suspects idled all the time while tasks waited.
    Confirmed(Confirmed),
    /// None did: the last suspect was resolved.
    Resolved {
        /// The time from the beginning of the stream.
        after: Span,
        /// The reason.
        by: Resolution,
    },
    /// Some events were not recorded.
    Unsure {
        /// The number of missing events.
        lost: u64,
    },
}

/// A confirmed suspicion.
#[derive(Clone, Debug, PartialEq)]
pub struct Confirmed {
    /// The CPUs.
    pub cpus: CpuSet,
    /// How long they were watched.
    pub watched: Span,
    /// Core time wasted on the whole machine in that time, as `keel check` measures it, including transients.
    pub wasted: Span,
}

/// Receives a stream that begins when its CPUs become suspects.
#[derive(Clone, Debug)]
pub struct Confirm {
    waste: WastedCores,
    came: Arrivals,
    /// Suspects that are still passed over, as of the last complete instant.
    open: Vec<CpuId>,
    /// Those of them that are not passed over at the current instant, and why.
    doubt: Vec<(CpuId, Resolution)>,
    resolved: Option<(Instant, Resolution)>,
    begun: Option<Instant>,
    now: Instant,
    lost: u64,
}

impl Confirm {
    /// Watches these suspects, at most [`MOST_SUSPECTS`] of them.
    pub fn new(suspects: &CpuSet) -> Self {
        Self {
            waste: WastedCores::new(0),
            came: Arrivals::default(),
            open: suspects.iter().take(MOST_SUSPECTS).collect(),
            doubt: Vec::new(),
            resolved: None,
            begun: None,
            now: Instant::ZERO,
            lost: 0,
        }
    }

    /// Returns whether there is nothing left to confirm.
    pub fn is_resolved(&self) -> bool {
        self.open.is_empty()
    }

    /// The outcome. Call it once, at the end of the stream.
    pub fn outcome(&mut self) -> Outcome {
        self.settle();
        let begun = self.begun.unwrap_or(self.now);
        if self.lost > 0 {
            return Outcome::Unsure { lost: self.lost };
        }
        if self.open.is_empty() {
            let (at, by) = self.resolved.unwrap_or((begun, Resolution::Unseen));
            return Outcome::Resolved { after: at.since(begun), by };
        }
        let verdict = self.waste.verdict();
        let wasted = verdict.wasted + verdict.transient;
        let (cpus, watched) = (self.open.iter().copied().collect(), self.now.since(begun));
        Outcome::Confirmed(Confirmed { cpus, watched, wasted })
    }

    /// Time advances: the state at the end of the last instant counts.
    fn reach(&mut self, at: Instant) {
        if at > self.now {
            self.settle();
            self.now = at;
        }
    }

    fn settle(&mut self) {
        // Several events of one instant describe how the stream begins.
        let is_beginning = self.begun == Some(self.now);
        for (cpu, by) in self.doubt.drain(..) {
            self.open.retain(|&open| open != cpu);
            self.resolved = Some((self.now, if is_beginning { Resolution::Unseen } else { by }));
        }
    }

    /// Updates which suspects are passed over after the last event.
    fn follow(&mut self, resolution: impl Fn(CpuId) -> Resolution) {
        for &cpu in &self.open {
            let known = self.doubt.iter().position(|&(doubted, _)| doubted == cpu);
            match (self.waste.is_passed_over(cpu), known) {
                (true, Some(at)) => drop(self.doubt.swap_remove(at)),
                (false, None) => self.doubt.push((cpu, resolution(cpu))),
                _ => {}
            }
        }
    }
}

impl Sink for Confirm {
    fn wants(&self) -> Class {
        self.waste.wants()
    }

    fn events(&mut self, events: &[Event]) {
        for event in events {
            self.reach(event.at);
            self.waste.events(std::slice::from_ref(event));
            if let What::Lost { events } = event.what {
                self.lost += u64::from(events);
            }
            if !self.open.is_empty() {
                let came = std::mem::take(&mut self.came);
                self.follow(|cpu| came.resolution(cpu, event));
                self.came = came;
                if self.begun != Some(self.now) {
                    self.came.receive(event.what);
                }
            }
        }
    }

    fn meta(&mut self, at: Instant, meta: &Meta) {
        self.reach(at);
        self.waste.meta(at, meta);
        match meta {
            Meta::Start { .. } => {
                (self.begun, self.now) = (Some(at), at);
                // Nobody waits yet.
                self.follow(|_| Resolution::Unseen);
            }
            Meta::Task(_) => self.follow(|_| Resolution::Affinity),
            _ => {}
        }
    }
}
