//! An experiment, as its file describes it.

use keel_abi::{Noise, Span};
use keel_check::Measure;

/// One published experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    /// Its name: the file's name without `.toml`.
    pub id: String,
    /// What it is, in a few words.
    pub title: String,
    /// Its publication: the document, and the place in it.
    pub source: String,
    /// What our workload and machine represent, and which parts of the original are left out.
    pub modelled: String,
    /// The background in a paragraph, for readers who do not know the document: who found what, and why it mattered.
    /// Empty if the file has none.
    pub story: String,
    /// The least rank correlation (Spearman's) that the published and our ratios of all claims about two arms must
    /// have; `None` where no trend is claimed.
    pub trend: Option<f64>,
    /// How long each run is.
    pub until: Until,
    /// What is left out of each run's figures at its beginning.
    pub warm_up: Span,
    /// The first run's seed; the others count up from it.
    pub seed: u64,
    /// The default number of runs of each arm; `None` for as many as its verdict takes, [`FEW_RUNS`] to [`MOST_RUNS`].
    ///
    /// [`FEW_RUNS`]: crate::plan::FEW_RUNS
    /// [`MOST_RUNS`]: crate::plan::MOST_RUNS
    pub runs: Option<u32>,
    /// What goes on beside the workload.
    pub noise: Noise,
    /// What is run.
    pub arms: Vec<Arm>,
    /// The claims; the first is the row's own, the others are below it.
    pub claims: Vec<Claim>,
    /// Tables of tasks, as published.
    pub tables: Vec<Table>,
}

impl Experiment {
    /// Returns whether it needs programs of certain versions, which have to be installed.
    pub fn needs_programs(&self) -> bool {
        self.arms.iter().any(|arm| arm.version.is_some())
    }

    /// Returns whether this is measured for any of its arms.
    pub fn measures(&self, measure: Measure) -> bool {
        self.claims.iter().any(|claim| claim.measure == measure)
    }
}

/// What was published of each task of an arm.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The claim in a few words.
    pub says: String,
    /// The arm, as an index into [`Experiment::arms`].
    pub of: usize,
    /// The tasks, by name.
    pub tasks: Vec<String>,
    /// The things counted, and each one's count.
    pub columns: Vec<(Measure, Vec<f64>)>,
}

/// How long a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// For this long, in virtual time.
    After(Span),
    /// Until the workload's last task has exited. A run that takes longer than this has failed.
    End {
        /// The longest that a run may take.
        at_most: Span,
    },
}

impl Until {
    /// Returns the longest that a run can take.
    pub const fn longest(self) -> Span {
        match self {
            Self::After(span) | Self::End { at_most: span } => span,
        }
    }
}

/// One side of a comparison: which scheduler runs what, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arm {
    /// What claims call it.
    pub label: String,
    /// The scheduler: a built-in name, a file, or a scheduler's own program with its arguments, as a shell takes them.
    pub scheduler: String,
    /// The version of the crate that the program comes from; `None` for whichever is in PATH, and for what is no
    /// program.
    pub version: Option<String>,
    /// Its global variables, as `--set` takes them.
    pub settings: Vec<(String, String)>,
    /// The workload: a built-in name, a generator's, or a file.
    pub workload: String,
    /// The machine: a built-in name, a number of CPUs or a file.
    pub machine: String,
}

impl Arm {
    /// Returns the scheduler, with its version if it is a program that has one.
    pub fn who(&self) -> String {
        match &self.version {
            Some(version) => format!("{} ({version})", self.scheduler),
            None => self.scheduler.clone(),
        }
    }
}

/// Something that was claimed: a ratio between two arms, or an arm's own value.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The claim in a few words.
    pub says: String,
    /// What is measured in each arm.
    pub measure: Measure,
    /// Of which tasks together, by name; of all where there are none.
    pub tasks: Vec<String>,
    /// The arm that is divided, as an index into [`Experiment::arms`].
    pub of: usize,
    /// The arm that it is divided by. Without it the claim is about the value of `of` itself: the
    /// row calibrates, and reproduces nothing.
    pub to: Option<usize>,
    /// The arm whose mean value is taken off that of every other: what the benchmark itself takes off as
    /// overhead.
    pub less: Option<usize>,
    /// What was published.
    pub published: Published,
    /// The band for our value.
    pub band: Band,
    /// What must happen when the mechanism is off; `None` where the claim names none.
    pub off: Option<Off>,
}

/// Figures as published.
#[derive(Clone, Debug, PartialEq)]
pub enum Published {
    /// Only the ratio.
    Ratio(f64),
    /// Samples of both arms; the ratio is that of their means.
    Samples {
        /// Of the arm that is divided.
        of: Vec<f64>,
        /// Of the arm that it is divided by; empty where the claim is about one arm's value.
        to: Vec<f64>,
    },
}

/// The mechanism switched off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Off {
    /// The arm that is run then.
    pub arm: usize,
    /// Which side of the comparison it belongs to.
    pub side: Side,
    /// Which mechanism is off, and what must disappear, in a few words.
    pub gone: String,
}

/// One of the two arms of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The one that is divided.
    Of,
    /// The one that it is divided by.
    To,
}

/// The band for a ratio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Band {
    /// The effect, which is the ratio less 1, is between half and twice the published one.
    Effect,
    /// The ratio is off by this share of the published one at most.
    Within(f64),
    /// The ratio lies between these.
    Range(f64, f64),
    /// The ratio or value is at most this many times as much as the published one, or as little.
    Factor(f64),
    /// No difference: two runs of one arm have such a ratio, too.
    Same,
    /// The tasks are in the published order. This compares each pair of tasks of which one was published with at least
    /// twice the other's count, and [`ORDER_LEAST`] more.
    Order,
}

/// Counts that are closer than this imply no order.
pub const ORDER_LEAST: f64 = 10.0;

impl Band {
    /// Returns the minimum and the maximum ratio in the band, given the published one.
    pub fn range(self, published: f64) -> (f64, f64) {
        let (a, b) = match self {
            Self::Effect => (1.0 + (published - 1.0) / 2.0, 1.0 + (published - 1.0) * 2.0),
            Self::Within(share) => (published * (1.0 - share), published * (1.0 + share)),
            Self::Range(low, high) => (low, high),
            Self::Factor(factor) => (published / factor, published * factor),
            // What runs of one arm differ by is not known here.
            Self::Same | Self::Order => (1.0, 1.0),
        };
        (a.min(b), a.max(b))
    }
}

impl Published {
    /// Returns the published ratio, recomputed from the samples where there are any; or the published value of a claim
    /// about one arm.
    pub fn ratio(&self) -> f64 {
        match self {
            Self::Ratio(ratio) => *ratio,
            Self::Samples { of, to } if to.is_empty() => mean(of),
            Self::Samples { of, to } => mean(of) / mean(to),
        }
    }

    /// Returns whether the samples of the two arms overlap, so that they do not decide which was better.
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
