//! Experiments, as their files describe them.

use keel_abi::{Noise, Span};
use keel_check::Measure;

/// A published experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    /// Its name, which is the file's name without `.toml`.
    pub id: String,
    /// What it is about, in a few words.
    pub title: String,
    /// Its publication: the document, and the place in it.
    pub source: String,
    /// What our workload and machine represent, and which parts of the original are left out.
    pub modelled: String,
    /// The background in a paragraph, for readers who do not know the document: who found out what, and why it
    /// mattered. Empty if the file has none.
    pub story: String,
    /// The minimum rank correlation (Spearman's) between the published ratios and ours over all claims about two arms.
    /// `None` if no trend is claimed.
    pub trend: Option<f64>,
    /// The length of each run.
    pub until: Until,
    /// The time at the beginning of each run that its figures leave out.
    pub warm_up: Span,
    /// The seed of the first run. Later runs count up from it.
    pub seed: u64,
    /// The default number of runs of each arm. `None` for as many as the verdict needs, from [`FEW_RUNS`] to
    /// [`MOST_RUNS`].
    ///
    /// [`FEW_RUNS`]: crate::plan::FEW_RUNS
    /// [`MOST_RUNS`]: crate::plan::MOST_RUNS
    pub runs: Option<u32>,
    /// The activity besides the workload.
    pub noise: Noise,
    /// The arms that are run.
    pub arms: Vec<Arm>,
    /// The claims. The first is the row's own, and the others are listed below it.
    pub claims: Vec<Claim>,
    /// Tables of tasks, as published.
    pub tables: Vec<Table>,
}

impl Experiment {
    /// Returns whether it needs certain versions of programs, which have to be installed.
    pub fn needs_programs(&self) -> bool {
        self.arms.iter().any(|arm| arm.version.is_some())
    }

    /// Returns whether this is measured in any of its arms.
    pub fn measures(&self, measure: Measure) -> bool {
        self.claims.iter().any(|claim| claim.measure == measure)
    }
}

/// The published figures of each task of an arm.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The claim in a few words.
    pub says: String,
    /// The arm, as an index into [`Experiment::arms`].
    pub of: usize,
    /// The tasks, by name.
    pub tasks: Vec<String>,
    /// The measures, with the published count of each task.
    pub columns: Vec<(Measure, Vec<f64>)>,
}

/// The length of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// This long, in virtual time.
    After(Span),
    /// Until the workload's last task has exited. A run that takes longer than `at_most` has failed.
    End {
        /// The maximum length of a run.
        at_most: Span,
    },
}

impl Until {
    /// Returns the maximum length of a run.
    pub const fn longest(self) -> Span {
        match self {
            Self::After(span) | Self::End { at_most: span } => span,
        }
    }
}

/// One side of a comparison: which scheduler runs which workload on which machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arm {
    /// Its name in claims.
    pub label: String,
    /// The scheduler: a built-in name, a file, or the command of a scheduler's own program, in a shell's syntax.
    pub scheduler: String,
    /// The version of the crate that contains the program. `None` for a program from PATH, and for a scheduler that is
    /// not a program.
    pub version: Option<String>,
    /// Its global variables, as for `--set`.
    pub settings: Vec<(String, String)>,
    /// The workload: a built-in name, a generator's name, or a file.
    pub workload: String,
    /// The machine: a built-in name, a number of CPUs, or a file.
    pub machine: String,
}

impl Arm {
    /// Returns the scheduler's name, with its version if it has one.
    pub fn who(&self) -> String {
        match &self.version {
            Some(version) => format!("{} ({version})", self.scheduler),
            None => self.scheduler.clone(),
        }
    }
}

/// A published claim: a ratio between two arms, or an arm's own value.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The claim in a few words.
    pub says: String,
    /// What is measured in each arm.
    pub measure: Measure,
    /// The names of the tasks whose figures are combined. Empty for all tasks.
    pub tasks: Vec<String>,
    /// The arm in the numerator, as an index into [`Experiment::arms`].
    pub of: usize,
    /// The arm in the denominator. Without it, the claim is about the value of `of` itself: the row is a calibration
    /// and reproduces nothing.
    pub to: Option<usize>,
    /// The arm whose mean value is subtracted from that of every other, because the benchmark itself subtracts it as
    /// overhead.
    pub less: Option<usize>,
    /// The published figures.
    pub published: Published,
    /// The band for our value.
    pub band: Band,
    /// What must happen when the mechanism is off. `None` if the claim names no mechanism.
    pub off: Option<Off>,
}

/// Figures as published.
#[derive(Clone, Debug, PartialEq)]
pub enum Published {
    /// Only the ratio.
    Ratio(f64),
    /// Samples of both arms. The ratio is that of their means.
    Samples {
        /// The samples of the arm in the numerator.
        of: Vec<f64>,
        /// The samples of the arm in the denominator. Empty if the claim is about one arm's value.
        to: Vec<f64>,
    },
}

/// A mechanism that is switched off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Off {
    /// The arm that is run with the mechanism off.
    pub arm: usize,
    /// The side of the comparison that the arm belongs to.
    pub side: Side,
    /// Which mechanism is off and what must disappear, in a few words.
    pub gone: String,
}

/// One of the two arms of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The arm in the numerator.
    Of,
    /// The arm in the denominator.
    To,
}

/// The band for a ratio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Band {
    /// The effect, which is the ratio minus 1, is between half and twice the published effect.
    Effect,
    /// The ratio differs from the published one by at most this share.
    Within(f64),
    /// The ratio is between these values.
    Range(f64, f64),
    /// The ratio or value is at most this many times higher or lower than the published one.
    Factor(f64),
    /// No difference: two runs of one arm can have such a ratio too.
    Same,
    /// The tasks are in the published order. Only pairs of tasks are compared whose published counts differ by a factor
    /// of at least two, and by at least [`ORDER_LEAST`].
    Order,
}

/// Counts that are closer than this imply no order.
pub const ORDER_LEAST: f64 = 10.0;

impl Band {
    /// Returns the minimum and the maximum ratio in the band, if `published` is the published ratio.
    pub fn range(self, published: f64) -> (f64, f64) {
        let (a, b) = match self {
            Self::Effect => (1.0 + (published - 1.0) / 2.0, 1.0 + (published - 1.0) * 2.0),
            Self::Within(share) => (published * (1.0 - share), published * (1.0 + share)),
            Self::Range(low, high) => (low, high),
            Self::Factor(factor) => (published / factor, published * factor),
            // How much the runs of one arm differ is not known here.
            Self::Same | Self::Order => (1.0, 1.0),
        };
        (a.min(b), a.max(b))
    }
}

impl Published {
    /// Returns the published ratio, recomputed from the samples if there are any, or the published value of a claim
    /// about one arm.
    pub fn ratio(&self) -> f64 {
        match self {
            Self::Ratio(ratio) => *ratio,
            Self::Samples { of, to } if to.is_empty() => mean(of),
            Self::Samples { of, to } => mean(of) / mean(to),
        }
    }

    /// Returns whether the samples of the two arms overlap, so that they do not show which arm was better.
    pub fn overlaps(&self) -> bool {
        let range = |samples: &[f64]| {
            let least = samples.iter().copied().fold(f64::INFINITY, f64::min);
            (least, samples.iter().copied().fold(f64::NEG_INFINITY, f64::max))
        };
        match self {
            Self::Samples { of, to } if !to.is_empty() => {
                let ((a, b), (c, d)) = (range(of), range(to));
                a <= d && c <= b
            }
            _ => false,
        }
    }
}

/// Returns the mean, or 0 for no values.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_lie_around_the_published_ratio() {
        let check = |band: Band, published: f64, expected: (f64, f64)| {
            let got = band.range(published);
            let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
            assert!(close(got.0, expected.0) && close(got.1, expected.1), "{band:?} {published}: {got:?}");
        };
        check(Band::Effect, 3.0, (2.0, 5.0));
        check(Band::Effect, 0.74, (0.48, 0.87));
        check(Band::Within(0.25), 4.0, (3.0, 5.0));
        check(Band::Range(1.0, 1.05), 1.02, (1.0, 1.05));
        check(Band::Factor(3.0), 6.0, (2.0, 18.0));
        check(Band::Order, 1937.0, (1.0, 1.0));
        check(Band::Same, 0.98, (1.0, 1.0));
    }

    #[test]
    fn ratios_are_of_means_and_overlaps_are_seen() {
        let check = |of: &[f64], to: &[f64], ratio: f64, overlaps| {
            let published = Published::Samples { of: of.into(), to: to.into() };
            assert!((published.ratio() - ratio).abs() < 1e-9, "{published:?}");
            assert_eq!(published.overlaps(), overlaps, "{published:?}");
        };
        check(&[4.0, 8.0], &[1.0, 3.0], 3.0, false);
        check(&[4.0, 8.0], &[7.0, 9.0], 0.75, true);
        check(&[4.0], &[4.0], 1.0, true);
        check(&[1.0, 2.0], &[3.0], 0.5, false);
        check(&[1.5, 2.5], &[], 2.0, false);
        assert!(!Published::Ratio(2.0).overlaps());
    }
}
