//! Orders: where callbacks let others pass, by chance or as given, and which points a run had.

use crate::rng::Rng;
use keel_abi::order::{Order, Point, Step};
use keel_abi::{Instant, Span};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// The maximum number of consecutive points at which one callback may be held up, so that it continues eventually.
const MOST_IN_A_ROW: u32 = 32;
/// The maximum number of a run's steps that are recorded.
const MOST_STEPS: usize = 4096;

/// How the points of a run are decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Callbacks are held up at these points, in order, and at no others.
    Given(Vec<u64>),
    /// At each point by chance.
    Walk {
        /// The seed.
        seed: u64,
        /// A callback is held up at one of this many points, on average.
        one_in: u64,
    },
    /// By priorities of CPUs, which change at a few points: probabilistic concurrency testing (Burckhardt, Kothari,
    /// Musuvathi and Nagarakatte, 'A randomized scheduler with probabilistic guarantees of finding bugs', ASPLOS 2010).
    Pct {
        /// The seed of the priorities and the changes.
        seed: u64,
        /// The number of orderings that must come together: one more than the number of changes.
        depth: u32,
        /// The approximate number of points of a run.
        points: u64,
    },
}

/// A point at which a callback was held up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// The number of the point, from 0.
    pub number: u64,
    /// Its kind.
    pub point: Point,
}

/// The result of a run's points.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// The number of points.
    pub points: u64,
    /// Those at which a callback was held up.
    pub holds: Vec<Hold>,
    /// What callbacks did within the watched spans.
    pub steps: Vec<Step>,
}

/// Decides the points of one run, and records its decisions.
pub struct Chooser {
    window: Span,
    choice: Choice,
    rng: Rng,
    /// For [`Choice::Pct`]: by CPU, the last one for timers.
    priorities: Vec<u64>,
    changes: Vec<u64>,
    /// The callback that was held up last, and how often in a row.
    last: Option<(keel_abi::CpuId, u32, u32)>,
    watched: Vec<Range<Instant>>,
    record: Arc<Mutex<Record>>,
}

impl Chooser {
    /// For a machine with this many CPUs. The record contains its decisions.
    pub fn new(window: Span, choice: Choice, cpus: u32) -> (Self, Arc<Mutex<Record>>) {
        let record = Arc::new(Mutex::new(Record::default()));
        let mut rng = Rng::new(match choice {
            Choice::Given(_) => 0,
            Choice::Walk { seed, .. } | Choice::Pct { seed, .. } => seed,
        });
        let (mut priorities, mut changes) = (Vec::new(), Vec::new());
        if let Choice::Pct { depth, points, .. } = choice {
            // Priorities after a change are below these.
            priorities = (0..=cpus).map(|_| u64::from(depth) + rng.below(1 << 32)).collect();
            changes = (1..depth).map(|_| rng.below(points.max(1))).collect();
        }
        let watched = Vec::new();
        (
            Self { window, choice, rng, priorities, changes, last: None, watched, record: record.clone() },
            record,
        )
    }

    /// Records what callbacks do within these spans.
    #[must_use]
    pub fn watching(self, watched: Vec<Range<Instant>>) -> Self {
        Self { watched, ..self }
    }

    fn decides(&mut self, number: u64, point: Point) -> bool {
        match &self.choice {
            Choice::Given(points) => points.binary_search(&number).is_ok(),
            Choice::Walk { one_in, .. } => {
                let one_in = *one_in;
                self.rng.once_in(one_in) && self.may_hold(point)
            }
            Choice::Pct { .. } => {
                let own = point.cpu.index().min(self.priorities.len() - 1);
                if let Some(change) = self.changes.iter().position(|&at| at == number) {
                    self.priorities[own] = change as u64;
                }
                let other = point.other.map_or(self.priorities.len() - 1, |other| other.index());
                let other = other.min(self.priorities.len() - 1);
                self.priorities[other] > self.priorities[own] && self.may_hold(point)
            }
        }
    }

    fn may_hold(&mut self, point: Point) -> bool {
        let times = match self.last {
            Some((cpu, call, times)) if (cpu, call) == (point.cpu, point.call) => times + 1,
            _ => 1,
        };
        self.last = Some((point.cpu, point.call, times));
        times <= MOST_IN_A_ROW
    }
}

impl Order for Chooser {
    fn window(&self) -> Span {
        self.window
    }

    fn holds(&mut self, point: Point) -> bool {
        let number = self.record.lock().unwrap_or_else(PoisonError::into_inner).points;
        let holds = self.decides(number, point);
        let mut record = self.record.lock().unwrap_or_else(PoisonError::into_inner);
        record.points += 1;
        if holds {
            record.holds.push(Hold { number, point });
        }
        holds
    }

    fn passes(&mut self, step: Step) {
        if self.watched.iter().any(|span| span.contains(&step.at)) {
            let mut record = self.record.lock().unwrap_or_else(PoisonError::into_inner);
            if record.steps.len() < MOST_STEPS {
                record.steps.push(step);
            }
        }
    }
}
