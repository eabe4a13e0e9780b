//! Finds the claims that need no more runs, because their verdict is not close.
//!
//! A verdict is not close if it would be the same with our ratio, and the ratio with the mechanism off, [`MARGIN`]
//! times A/A higher or lower, and with A/A itself that much wider (all in logarithms). If runs vary like normal
//! deviates, the ratio of two means of five is further off than that in 2 of 100,000 cases.

use super::{ClaimVerdict, is_gone, judge, stands_out};
use crate::model::{Band, Claim, Experiment};
use crate::outcome::ArmFigures;

/// The distance of a verdict from any other, as a multiple of A/A.
const MARGIN: i32 = 2;

/// Returns the claims for which more runs could change the verdict.
pub(crate) fn open_claims<'e>(experiment: &'e Experiment, arms: &[ArmFigures]) -> Vec<&'e Claim> {
    let judged = judge(experiment, arms);
    let claims = experiment.claims.iter().zip(&judged.claims);
    let is_open = |(claim, verdict): &(&Claim, &ClaimVerdict)| {
        // A trend uses all ratios as they are.
        experiment.trend.is_some() || !is_settled(claim, verdict)
    };
    claims.filter(is_open).map(|(claim, _)| claim).collect()
}

fn is_settled(claim: &Claim, verdict: &ClaimVerdict) -> bool {
    // These are compared with A/A alone, or with the mean of single tasks.
    if matches!(claim.band, Band::Same | Band::Order) {
        return false;
    }
    // More runs do not make up for one that failed, and overlapping published samples decide nothing.
    let Some(ours) = verdict.ours else { return true };
    if claim.published.overlaps() {
        return true;
    }
    let Some((low, high)) = verdict.spread else { return false };
    let off_by = match claim.to {
        Some(_) => high.powi(MARGIN),
        None => (high / low).powi(MARGIN),
    };
    if !(off_by.is_finite() && off_by >= 1.0) {
        return false;
    }
    let near = |value: f64| [value / off_by, value * off_by];
    let spread = claim.to.map(|_| (1.0 / off_by, off_by));
    let offs = verdict.off.map_or([None; 2], |off| near(off).map(Some));
    let is_same =
        |&ours: &f64| offs.iter().all(|&off| all_hold(verdict, ours, off, spread) == verdict.holds.all());
    near(ours).iter().all(is_same)
}

/// Returns whether all three conditions would hold with these ratios and this A/A. A value without a ratio only has a
/// band.
fn all_hold(verdict: &ClaimVerdict, ours: f64, off: Option<f64>, spread: Option<(f64, f64)>) -> bool {
    let is_in_band = (verdict.band.0..=verdict.band.1).contains(&ours);
    let Some(spread) = spread else { return is_in_band };
    let published = verdict.published;
    let is_gone = off.is_none_or(|off| is_gone(published, ours, off, spread));
    is_in_band && stands_out(published, ours, spread) && is_gone
}
