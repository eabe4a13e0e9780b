//! Compares what was measured with what was claimed.
//!
//! A claim is reproduced if all of this holds:
//!
//! 1. The ratio is on the published side of 1, and outside the range of ratios of two runs of the same scheduler (A/A).
//! 2. It is in the claim's band.
//! 3. With the mechanism off, at most a quarter of the effect is left, in logarithms, or no more than A/A.
//!
//! If the published samples overlap, the claim is undecidable, whatever our value is. A claim about one arm's own value
//! is a calibration: it only has a band.

mod order;
mod sentences;
pub(crate) mod settled;
pub mod trend;

use crate::model::{Band, Claim, Experiment, Off, Published, Side, mean};
use crate::outcome::ArmFigures;
use trend::Trend;

/// The maximum share of the effect that may be left without the mechanism, in logarithms.
const LEFT: f64 = 0.25;

/// A claim's status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Our ratio agrees in direction, size and mechanism.
    Reproduced,
    /// It does not agree, or was not measured.
    NotReached,
    /// The published samples overlap.
    Undecidable,
    /// An arm's own value is in the band.
    Calibrated,
}

/// The values of an arm's runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Values {
    /// Their mean.
    pub mean: f64,
    /// The minimum.
    pub low: f64,
    /// The maximum.
    pub high: f64,
}

/// A claim, judged.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimVerdict {
    /// The published ratio or value.
    pub published: f64,
    /// Our ratio or value; `None` if it could not be measured.
    pub ours: Option<f64>,
    /// The minimum and maximum ratio of two runs of one scheduler, for the less steady of the two. For a claim about
    /// one arm's value, the minimum and maximum value.
    pub spread: Option<(f64, f64)>,
    /// The band for our value.
    pub band: (f64, f64),
    /// The ratio with the mechanism off.
    pub off: Option<f64>,
    /// The values of the arm in the numerator.
    pub of: Option<Values>,
    /// The values of the arm in the denominator.
    pub to: Option<Values>,
    /// Its status.
    pub standing: Standing,
    /// Whether our value is on the right side of 1 and outside of A/A, whether it is in the band, and whether the
    /// effect is absent without the mechanism. Each as far as it could be judged.
    pub holds: Holds,
    /// The reason, on one line.
    pub why: String,
}

/// The three conditions, each as far as it could be judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holds {
    /// Whether the ratio is on the published side of 1, outside of A/A.
    pub direction: Option<bool>,
    /// Whether it is in the band.
    pub band: Option<bool>,
    /// Whether the effect is gone with the mechanism off.
    pub mechanism: Option<bool>,
}

impl Holds {
    fn all(self) -> bool {
        [self.direction, self.band, self.mechanism].iter().all(|holds| holds.unwrap_or(true))
    }
}

/// An experiment, judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// Its claims, in the order of the file.
    pub claims: Vec<ClaimVerdict>,
    /// The trend over its claims, if one is claimed.
    pub trend: Option<Trend>,
    /// The overall status: not reached if any claim or the trend is not reached, otherwise that of the first claim.
    pub standing: Standing,
    /// The reason on one line, from the claim that decides.
    pub why: String,
}

/// Judges an experiment by its runs, with one [`ArmFigures`] per arm.
pub fn judge(experiment: &Experiment, arms: &[ArmFigures]) -> Judged {
    let claims: Vec<ClaimVerdict> =
        experiment.claims.iter().map(|claim| judge_claim(experiment, claim, arms)).collect();
    let failed = claims.iter().position(|claim| claim.standing == Standing::NotReached);
    let decides = failed.unwrap_or(0);
    let trend = experiment.trend.map(|least| Trend::over(&claims, least));
    let (standing, why) = (claims[decides].standing, &claims[decides].why);
    let why = match decides {
        0 => why.clone(),
        at => format!("{}: {why}", experiment.claims[at].says),
    };
    match trend {
        Some(trend) if failed.is_none() && !trend.holds() => {
            let why = "the cells are not in the published order".to_owned();
            Judged { claims, trend: Some(trend), standing: Standing::NotReached, why }
        }
        _ => Judged { claims, trend, standing, why },
    }
}

/// The samples by which a claim is judged.
struct Samples {
    of: Vec<f64>,
    to: Option<Vec<f64>>,
    off: Option<Vec<f64>>,
}

fn judge_claim(experiment: &Experiment, claim: &Claim, arms: &[ArmFigures]) -> ClaimVerdict {
    if claim.band == Band::Order {
        return order::judge(experiment, claim, arms);
    }
    let values = |arm: usize| values(&experiment.arms[arm].label, claim, &arms[arm]);
    let samples = || {
        let less = claim.less.map(values).transpose()?;
        let net = |arm: usize| {
            let net = taken_off(values(arm)?, less.as_deref());
            let left = claim.to.is_none() || claim.less.is_none() || net.iter().all(|&value| value > 0.0);
            left.then_some(net).ok_or_else(|| {
                format!("{}: a run takes no longer than what is taken off", experiment.arms[arm].label)
            })
        };
        Ok(Samples {
            of: net(claim.of)?,
            to: claim.to.map(net).transpose()?,
            off: claim.off.as_ref().map(|off| net(off.arm)).transpose()?,
        })
    };
    match samples() {
        Ok(samples) => compare(experiment, claim, &samples),
        Err(why) => {
            let mut verdict = empty(claim);
            verdict.of = values(claim.of).ok().map(|of| spread_of(&of));
            verdict.to = claim.to.and_then(|to| values(to).ok()).map(|to| spread_of(&to));
            ClaimVerdict { why, ..verdict }
        }
    }
}

/// Returns the values of an arm's runs, or why some are missing.
pub(crate) fn values(label: &str, claim: &Claim, arm: &ArmFigures) -> Result<Vec<f64>, String> {
    if arm.runs.is_empty() {
        return Err(format!("{label} was not run"));
    }
    let value = |run: &crate::outcome::RunFigures| {
        let reported = |why: &str| format!("{label}, seed {}: {why}", run.seed);
        let figures = run.result.as_ref().map_err(|why| reported(why))?;
        claim.measure.of_tasks(figures, &claim.tasks).ok_or_else(|| reported(claim.measure.absent()))
    };
    arm.runs.iter().map(value).collect()
}

/// Subtracts the mean of `less` from the values.
fn taken_off(values: Vec<f64>, less: Option<&[f64]>) -> Vec<f64> {
    let off = less.map_or(0.0, mean);
    values.into_iter().map(|value| value - off).collect()
}

fn empty(claim: &Claim) -> ClaimVerdict {
    let published = claim.published.ratio();
    ClaimVerdict {
        published,
        ours: None,
        spread: None,
        band: claim.band.range(published),
        off: None,
        of: None,
        to: None,
        standing: Standing::NotReached,
        holds: Holds::default(),
        why: String::new(),
    }
}

fn compare(experiment: &Experiment, claim: &Claim, samples: &Samples) -> ClaimVerdict {
    let mut verdict = empty(claim);
    let of = spread_of(&samples.of);
    verdict.of = Some(of);
    if let (Band::Same, Some(to)) = (claim.band, &samples.to) {
        verdict.band = against_itself(&[of, spread_of(to)]);
    }
    let within = |value: f64| (verdict.band.0..=verdict.band.1).contains(&value);
    let Some(to) = &samples.to else {
        verdict.holds.band = Some(within(of.mean));
        verdict.ours = Some(of.mean);
        verdict.spread = Some((of.low, of.high));
        verdict.standing = if within(of.mean) { Standing::Calibrated } else { Standing::NotReached };
        verdict.why = sentences::value(&verdict, claim.measure.unit());
        return verdict;
    };
    let to = spread_of(to);
    let ours = of.mean / to.mean;
    verdict.to = Some(to);
    let spread = against_itself(&[of, to]);
    let without = |off: &Off| {
        let off_mean = spread_of(samples.off.as_ref()?).mean;
        Some(match off.side {
            Side::Of => off_mean / to.mean,
            Side::To => of.mean / off_mean,
        })
    };
    let off = claim.off.as_ref().and_then(without);
    // A claim of no difference has no side.
    let direction = claim.band == Band::Same || stands_out(verdict.published, ours, spread);
    // Without an effect, nothing can disappear.
    let effect_without = off.filter(|_| direction);
    verdict.holds = Holds {
        direction: Some(direction),
        band: Some(within(ours)),
        mechanism: effect_without.map(|off| is_gone(verdict.published, ours, off, spread)),
    };
    (verdict.ours, verdict.spread, verdict.off) = (Some(ours), Some(spread), off);
    verdict.standing = match verdict.holds.all() {
        _ if claim.published.overlaps() => Standing::Undecidable,
        true => Standing::Reproduced,
        false => Standing::NotReached,
    };
    verdict.why = sentences::ratio(&verdict, claim, &labels(experiment, claim), published_means(claim));
    verdict
}

/// Returns the labels of the arms that are compared.
fn labels<'a>(experiment: &'a Experiment, claim: &Claim) -> [&'a str; 2] {
    [claim.of, claim.to.unwrap_or(claim.of)].map(|arm| experiment.arms[arm].label.as_str())
}

/// Returns the means of both arms' published samples.
fn published_means(claim: &Claim) -> Option<[f64; 2]> {
    match &claim.published {
        Published::Samples { of, to } if !to.is_empty() => Some([mean(of), mean(to)]),
        _ => None,
    }
}

pub(crate) fn spread_of(values: &[f64]) -> Values {
    Values {
        mean: mean(values),
        low: values.iter().copied().fold(f64::INFINITY, f64::min),
        high: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    }
}

/// Returns the minimum and maximum ratio of two runs of one arm, for the arm with the widest range.
fn against_itself(arms: &[Values]) -> (f64, f64) {
    let most = arms.iter().map(|arm| arm.high / arm.low).fold(1.0, f64::max);
    (1.0 / most, most)
}

/// Returns whether the ratio is on the published side of 1 and outside of A/A. A published ratio of 1 has no side.
fn stands_out(published: f64, ours: f64, (low, high): (f64, f64)) -> bool {
    match published {
        p if p > 1.0 => ours > high,
        p if p < 1.0 => ours < low,
        _ => true,
    }
}

/// Returns whether the effect has disappeared in the ratio `off`. A reversed effect has disappeared too.
fn is_gone(published: f64, ours: f64, off: f64, (low, high): (f64, f64)) -> bool {
    let side = (published - 1.0).signum();
    let (effect, left) = (side * ours.ln(), side * off.ln());
    (low..=high).contains(&off) || left <= LEFT * effect.max(0.0)
}

#[cfg(test)]
mod tests;
