//! Searches for an order of one run that fails.
//!
//! The plain run comes first: its failures are not caused by an order. Then orders are tried by one [`Method`], and a
//! failing one is shrunk to the fewest points at which a callback is held up.

use crate::fuzz::{Failure, ROUND};
use crate::orders::{Choice, Hold};
use std::collections::VecDeque;

/// How orders are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// [`Choice::Pct`] with this depth, at least 1.
    Pct(u32),
    /// [`Choice::Walk`], with different speeds in turn.
    Walk,
    /// Every order with at most this many holds: delay-bounded scheduling (Emmi, Qadeer and Rakamarić, POPL 2011).
    Exhaustive(u32),
}

/// The result of a run in some order.
#[derive(Clone, Debug, Default)]
pub struct Tried {
    /// The number of its points.
    pub points: u64,
    /// Where callbacks were held up.
    pub holds: Vec<Hold>,
    /// How it failed.
    pub failures: Vec<Failure>,
}

/// Makes the runs.
pub trait Orders: Sync {
    /// Makes a run for each choice. The results are in the same order.
    fn run(&self, choices: &[Choice]) -> Vec<Tried>;
}

/// A failing order.
#[derive(Clone, Debug)]
pub struct Failing {
    /// How it fails.
    pub failure: Failure,
    /// The number of orders after which it was found.
    pub after: u64,
    /// The number of holds at that time.
    pub before: usize,
    /// The smallest number of holds found to fail the same way.
    pub holds: Vec<Hold>,
    /// The number of runs for shrinking.
    pub shrink_runs: usize,
}

/// A running search.
#[derive(Debug)]
pub struct Explore {
    method: Method,
    seed: u64,
    /// Of the plain run.
    points: u64,
    plain: Vec<Failure>,
    /// Orders tried, without the plain one.
    tried: u64,
    /// For [`Method::Exhaustive`]: orders whose extensions are still to be tried.
    open: VecDeque<Vec<u64>>,
    is_exhausted: bool,
}

impl Explore {
    /// Makes the plain run.
    pub fn new(orders: &dyn Orders, method: Method, seed: u64) -> Self {
        let plain = orders.run(&[Choice::Given(Vec::new())]).pop().unwrap_or_default();
        let mut explore = Self {
            method,
            seed,
            points: plain.points,
            plain: plain.failures,
            tried: 0,
            open: VecDeque::new(),
            is_exhausted: false,
        };
        explore.extend(&[], plain.points);
        explore
    }

    /// Tries at most this many orders. Returns `None` if there is nothing left to try.
    pub fn round(&mut self, orders: &dyn Orders, most: usize) -> Option<Vec<Failing>> {
        let choices: Vec<Choice> = (0..most.min(ROUND)).map_while(|nth| self.choice(nth as u64)).collect();
        if choices.is_empty() {
            self.is_exhausted = true;
            return None;
        }
        let tried = orders.run(&choices);
        let mut failing = Vec::new();
        for (choice, tried) in choices.iter().zip(tried) {
            self.tried += 1;
            if let Choice::Given(holds) = choice {
                self.extend(holds, tried.points);
            }
            for failure in tried.failures {
                let is_known = |known: &Failure| known.kind == failure.kind;
                if self.plain.iter().any(is_known) || failing.iter().any(|f: &Failing| is_known(&f.failure)) {
                    continue;
                }
                let holds = tried.holds.clone();
                let (before, after) = (holds.len(), self.tried);
                failing.push(Failing { failure, after, before, holds, shrink_runs: 0 });
            }
        }
        Some(failing)
    }

    fn choice(&mut self, nth: u64) -> Option<Choice> {
        let seed =
            crate::rng::Rng::new(self.seed ^ (self.tried + nth).wrapping_mul(0x2545_f491_4f6c_dd1d)).any();
        match self.method {
            Method::Pct(depth) => Some(Choice::Pct { seed, depth, points: self.points }),
            Method::Walk => {
                let one_in = [2, 4, 16, 64, 256][((self.tried + nth) % 5) as usize];
                Some(Choice::Walk { seed, one_in })
            }
            Method::Exhaustive(_) => self.open.pop_front().map(Choice::Given),
        }
    }

    /// Adds a hold at a later point than all others.
    fn extend(&mut self, holds: &[u64], points: u64) {
        let Method::Exhaustive(most) = self.method else { return };
        if holds.len() < most as usize {
            let first = holds.last().map_or(0, |last| last + 1);
            self.open.extend((first..points).map(|point| [holds, &[point]].concat()));
        }
    }

    /// Searches for fewer holds that fail the same way, in at most this many runs.
    pub fn shrunk(&self, orders: &dyn Orders, failing: Failing, most_runs: usize) -> Failing {
        let kind = failing.failure.kind.clone();
        let mut best = failing.clone();
        let mut runs = 0;
        let mut part = best.holds.len().div_ceil(2).max(1);
        while runs < most_runs {
            let numbers: Vec<u64> = best.holds.iter().map(|hold| hold.number).collect();
            // Removes the last ones first: the others then keep their places.
            let without = |at: usize| [&numbers[..at], &numbers[(at + part).min(numbers.len())..]].concat();
            let starts: Vec<usize> = (0..numbers.len()).step_by(part).rev().collect();
            let choices: Vec<Choice> = starts.into_iter().map(|at| Choice::Given(without(at))).collect();
            let mut smaller = None;
            for some in choices.chunks(ROUND / 4) {
                runs += some.len();
                let tried = orders.run(some);
                smaller = tried.into_iter().find_map(|tried| {
                    let failure = tried.failures.into_iter().find(|failure| failure.kind == kind)?;
                    Some((failure, tried.holds))
                });
                if smaller.is_some() || runs >= most_runs {
                    break;
                }
            }
            match smaller {
                Some((failure, holds)) if holds.len() < best.holds.len() => {
                    best = Failing { failure, holds, ..best };
                    part = part.min(best.holds.len().div_ceil(2)).max(1);
                }
                _ if part > 1 => part = part.div_ceil(2).min(part - 1),
                _ => break,
            }
        }
        Failing { shrink_runs: runs, ..best }
    }

    /// Points of the plain run.
    pub fn points(&self) -> u64 {
        self.points
    }

    /// Returns how the plain run fails.
    pub fn plain(&self) -> &[Failure] {
        &self.plain
    }

    /// Orders tried so far.
    pub fn tried(&self) -> u64 {
        self.tried
    }

    /// Returns whether every order within the bound has been tried.
    pub fn is_exhausted(&self) -> bool {
        self.is_exhausted
    }

    /// Returns the minimum probability that one order of [`Method::Pct`] exposes a given bug that needs as many
    /// orderings as the depth: one divided by the number of CPUs, including the timers, times the points to the power
    /// of the changes.
    pub fn least_probability(&self, cpus: u32) -> Option<f64> {
        match self.method {
            Method::Pct(depth) => {
                let changes = i32::try_from(depth).unwrap_or(i32::MAX) - 1;
                Some(1.0 / (f64::from(cpus + 1) * (self.points.max(1) as f64).powi(changes)))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
