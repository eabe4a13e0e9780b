//! The search: inputs are drawn, mutated and crossed. Those that show something new are kept, and mutated again.
//!
//! A round is a fixed number of inputs, created before any of them runs. So the search depends only on its seed,
//! however many threads make the runs.

use crate::genome::{Genome, Range};
use crate::rng::Rng;
use crate::seen::{Feature, Seen};
use crate::{draw, mutate};
use std::collections::BTreeMap;

/// Inputs per round.
pub const ROUND: usize = 32;
/// The maximum number of inputs that are kept.
const MOST_KEPT: usize = 4096;

/// How a run failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Identifies equal failures: `stall`, `error in ops.enqueue()`.
    pub kind: String,
    /// What happened, as a sentence.
    pub text: String,
}

/// The result of a run.
#[derive(Clone, Debug, Default)]
pub struct Ran {
    /// The features it showed.
    pub features: Vec<Feature>,
    /// Its failures, each kind once.
    pub failures: Vec<Failure>,
    /// The virtual time that it reached, in microseconds.
    pub reached_us: u32,
    /// The reason if the input was rejected and the run did not begin.
    pub refused: Option<String>,
}

/// Makes the runs.
pub trait Subject: Sync {
    /// Runs each of these. The results are in the same order.
    fn run(&self, genomes: &[Genome]) -> Vec<Ran>;
}

/// How inputs are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Guide {
    /// From inputs that showed something new.
    #[default]
    Coverage,
    /// From nothing: each is drawn afresh. For comparisons.
    Nothing,
}

/// A failure and an input that shows it.
#[derive(Clone, Debug)]
pub struct Found {
    /// The failure.
    pub failure: Failure,
    /// The input.
    pub genome: Genome,
    /// The number of runs after which it was found.
    pub after_runs: u64,
}

/// A running search.
#[derive(Debug)]
pub struct Fuzz {
    rng: Rng,
    ranges: Vec<Range>,
    guide: Guide,
    /// Inputs that showed something new, in order.
    kept: Vec<Genome>,
    /// All features of each of them.
    shown: Vec<Vec<Feature>>,
    seen: Seen,
    found: BTreeMap<String, Found>,
    runs: u64,
    refused: u64,
    /// The reason for the first of them.
    refusal: Option<String>,
}

impl Fuzz {
    /// Returns a search with this seed, which may vary these settings.
    pub fn new(seed: u64, ranges: Vec<Range>, guide: Guide) -> Self {
        Self {
            rng: Rng::new(seed),
            ranges,
            guide,
            kept: Vec::new(),
            shown: Vec::new(),
            seen: Seen::default(),
            found: BTreeMap::new(),
            runs: 0,
            refused: 0,
            refusal: None,
        }
    }

    /// Runs given inputs, such as those of a corpus. Returns the failures of new kinds.
    pub fn replay(&mut self, subject: &dyn Subject, genomes: Vec<Genome>) -> Vec<Found> {
        let genomes: Vec<Genome> = genomes.into_iter().map(|genome| genome.repaired(&self.ranges)).collect();
        let mut new = Vec::new();
        for part in genomes.chunks(ROUND) {
            new.extend(self.take(subject, part.to_vec()));
        }
        new
    }

    /// Makes one round of at most this many runs. Returns the failures of new kinds.
    pub fn round(&mut self, subject: &dyn Subject, most: usize) -> Vec<Found> {
        let genomes = (0..most.min(ROUND)).map(|_| self.next()).collect();
        self.take(subject, genomes)
    }

    fn take(&mut self, subject: &dyn Subject, genomes: Vec<Genome>) -> Vec<Found> {
        let ran = subject.run(&genomes);
        let mut new = Vec::new();
        for (genome, ran) in genomes.into_iter().zip(ran) {
            self.runs += 1;
            if let Some(why) = ran.refused {
                self.refused += 1;
                self.refusal.get_or_insert(why);
            }
            if self.seen.add(&ran.features) > 0 && self.kept.len() < MOST_KEPT {
                self.kept.push(genome.clone());
                self.shown.push(ran.features);
            }
            for failure in ran.failures {
                if self.found.contains_key(&failure.kind) {
                    continue;
                }
                let found = Found { failure, genome: genome.clone(), after_runs: self.runs };
                self.found.insert(found.failure.kind.clone(), found.clone());
                new.push(found);
            }
        }
        new
    }

    fn next(&mut self) -> Genome {
        let rng = &mut self.rng;
        if self.guide == Guide::Nothing || self.kept.is_empty() || rng.once_in(8) {
            return draw::genome(rng, &self.ranges);
        }
        // Half of the time one of the newest, which have come farthest.
        let newest = &self.kept[self.kept.len() - self.kept.len().min(32)..];
        let from = if rng.once_in(2) { newest } else { &self.kept };
        let parent = rng.pick(from).expect("some are kept");
        let other = rng.pick(&self.kept).expect("some are kept");
        match rng.below(4) {
            0 => mutate::crossed(rng, parent, other, &self.ranges),
            _ => mutate::mutated(rng, parent, &self.ranges),
        }
    }

    /// Returns all features seen.
    pub fn seen(&self) -> &Seen {
        &self.seen
    }

    /// Returns the number of runs so far.
    pub fn runs(&self) -> u64 {
        self.runs
    }

    /// Returns how many of them were rejected, and the reason for the first.
    pub fn refused(&self) -> (u64, Option<&str>) {
        (self.refused, self.refusal.as_deref())
    }

    /// Returns the inputs that showed something new.
    pub fn kept(&self) -> &[Genome] {
        &self.kept
    }

    /// Returns a small set of inputs that together show all features: the contents of a corpus.
    pub fn corpus(&self) -> Vec<&Genome> {
        let mut order: Vec<usize> = (0..self.kept.len()).collect();
        order.sort_by_key(|&at| std::cmp::Reverse(self.shown[at].len()));
        let mut seen = Seen::default();
        let new = order.into_iter().filter(|&at| seen.add(&self.shown[at]) > 0);
        new.map(|at| &self.kept[at]).collect()
    }

    /// Returns the failures, one of each kind.
    pub fn found(&self) -> impl Iterator<Item = &Found> {
        self.found.values()
    }
}

#[cfg(test)]
mod tests;
