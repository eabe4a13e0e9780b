//! The search: inputs are drawn, mutated and crossed; those that show something new are kept, and mutated again.
//!
//! A round is a fixed number of inputs, made before any of them is run. So the search depends on its seed alone, however many
//! threads make the runs.

use crate::genome::{Genome, Range};
use crate::rng::Rng;
use crate::seen::{Feature, Seen};
use crate::{draw, mutate};
use std::collections::BTreeMap;

/// Inputs of a round.
pub const ROUND: usize = 32;
/// Inputs that are kept.
const MOST_KEPT: usize = 4096;

/// How a run failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What makes two failures the same one: `stall`, `error in ops.enqueue()`.
    pub kind: String,
    /// What happened, a sentence.
    pub text: String,
}

/// What came of a run.
#[derive(Clone, Debug, Default)]
pub struct Ran {
    /// What it showed.
    pub features: Vec<Feature>,
    /// How it failed, each kind once.
    pub failures: Vec<Failure>,
    /// The virtual time that it reached, in microseconds.
    pub reached_us: u32,
    /// It did not begin: the input was refused for this reason.
    pub refused: Option<String>,
}

/// Whatever makes runs.
pub trait Subject: Sync {
    /// Runs each of these; the results are in their order.
    fn run(&self, genomes: &[Genome]) -> Vec<Ran>;
}

/// Where inputs come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Guide {
    /// From those that showed something new.
    #[default]
    Coverage,
    /// From nothing: each is drawn afresh. To compare with.
    Nothing,
}

/// A failure and the input that shows it.
#[derive(Clone, Debug)]
pub struct Found {
    /// How it fails.
    pub failure: Failure,
    /// The input.
    pub genome: Genome,
    /// After how many runs it was found.
    pub after_runs: u64,
}

/// A search under way.
#[derive(Debug)]
pub struct Fuzz {
    rng: Rng,
    ranges: Vec<Range>,
    guide: Guide,
    /// Inputs that showed something new, in their order.
    kept: Vec<Genome>,
    /// And what each of them showed in all.
    shown: Vec<Vec<Feature>>,
    seen: Seen,
    found: BTreeMap<String, Found>,
    runs: u64,
    refused: u64,
    /// Why the first of them was.
    refusal: Option<String>,
}

impl Fuzz {
    /// A search from this seed, with these settings to vary.
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

    /// Runs inputs that are given, as those of a corpus. Gives the failures of kinds that were not known.
    pub fn replay(&mut self, subject: &dyn Subject, genomes: Vec<Genome>) -> Vec<Found> {
        let genomes: Vec<Genome> = genomes.into_iter().map(|genome| genome.repaired(&self.ranges)).collect();
        let mut new = Vec::new();
        for part in genomes.chunks(ROUND) {
            new.extend(self.take(subject, part.to_vec()));
        }
        new
    }

    /// One round of at most so many runs. Gives the failures of kinds that were not known.
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
        // Half of the time one of the newest: they are the farthest.
        let newest = &self.kept[self.kept.len() - self.kept.len().min(32)..];
        let from = if rng.once_in(2) { newest } else { &self.kept };
        let parent = rng.pick(from).expect("some are kept");
        let other = rng.pick(&self.kept).expect("some are kept");
        match rng.below(4) {
            0 => mutate::crossed(rng, parent, other, &self.ranges),
            _ => mutate::mutated(rng, parent, &self.ranges),
        }
    }

    /// What was seen.
    pub fn seen(&self) -> &Seen {
        &self.seen
    }

    /// Runs so far.
    pub fn runs(&self) -> u64 {
        self.runs
    }

    /// How many of them were refused, and why the first was.
    pub fn refused(&self) -> (u64, Option<&str>) {
        (self.refused, self.refusal.as_deref())
    }

    /// The inputs that showed something new.
    pub fn kept(&self) -> &[Genome] {
        &self.kept
    }

    /// A few inputs that show together what all have shown: what a corpus is to hold.
    pub fn corpus(&self) -> Vec<&Genome> {
        let mut order: Vec<usize> = (0..self.kept.len()).collect();
        order.sort_by_key(|&at| std::cmp::Reverse(self.shown[at].len()));
        let mut seen = Seen::default();
        let new = order.into_iter().filter(|&at| seen.add(&self.shown[at]) > 0);
        new.map(|at| &self.kept[at]).collect()
    }

    /// The failures, a kind each.
    pub fn found(&self) -> impl Iterator<Item = &Found> {
        self.found.values()
    }
}

#[cfg(test)]
mod tests;
