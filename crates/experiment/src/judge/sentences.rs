//! Explains a verdict on one line, with what was measured.

use super::{ClaimVerdict, Standing};
use crate::model::Claim;
use keel_abi::numbers::figures;

/// Explains the verdict on a ratio: what does not hold, or that everything does.
pub(super) fn ratio(
    verdict: &ClaimVerdict,
    claim: &Claim,
    labels: &[&str; 2],
    published: Option<[f64; 2]>,
) -> String {
    let mut parts: Vec<String> = Vec::new();
    if verdict.standing == Standing::Undecidable {
        parts.push("the published samples overlap".to_owned());
    }
    parts.extend(direction(verdict));
    parts.extend(band(verdict));
    let gone = claim.off.as_ref().map(|off| off.gone.as_str());
    parts.extend(mechanism(verdict, gone));
    let missed = verdict.holds.band == Some(false) || verdict.holds.direction == Some(false);
    if let (true, Some(means)) = (missed, published) {
        parts.extend(against_published(verdict, labels, means));
    }
    parts.join("; ")
}

fn direction(verdict: &ClaimVerdict) -> Option<String> {
    let (Some(false), Some(ours), Some((low, high))) =
        (verdict.holds.direction, verdict.ours, verdict.spread)
    else {
        return None;
    };
    Some(match (low..=high).contains(&ours) {
        true => {
            format!(
                "within the difference between two runs of one scheduler ({} to {})",
                figures(low),
                figures(high)
            )
        }
        false => format!("{} is on the other side of 1", figures(ours)),
    })
}

fn band(verdict: &ClaimVerdict) -> Option<String> {
    let (ours, (low, high)) = (verdict.ours?, verdict.band);
    let (low_told, high_told) = (figures(low.max(0.0)), figures(high));
    Some(match () {
        () if ours < low => format!("below the band of {low_told} to {high_told}"),
        () if ours > high => format!("above the band of {low_told} to {high_told}"),
        () => format!("in the band of {low_told} to {high_told}"),
    })
}

fn mechanism(verdict: &ClaimVerdict, gone: Option<&str>) -> Option<String> {
    let off = figures(verdict.off?);
    let gone = gone.unwrap_or_default();
    Some(match verdict.holds.mechanism? {
        true => format!("gone {gone} ({off})"),
        false => format!("still {off} {gone}"),
    })
}

/// Compares each of the two arms with its own published figure, to find which of them is off.
fn against_published(verdict: &ClaimVerdict, labels: &[&str; 2], means: [f64; 2]) -> Option<String> {
    let [of, to] = [verdict.of?.mean / means[0], verdict.to?.mean / means[1]].map(figures);
    Some(format!("{} has {of} times its published figure, and {} has {to} times", labels[0], labels[1]))
}

/// Explains the verdict on one arm's value.
pub(super) fn value(verdict: &ClaimVerdict, unit: &str) -> String {
    let (low, high) = verdict.band;
    let times = verdict.ours.map_or(0.0, |ours| ours / verdict.published);
    let place = if verdict.standing == Standing::Calibrated { "in" } else { "outside" };
    let text = format!(
        "{} times the published value, {place} the band of {} to {} {unit}",
        figures(times),
        figures(low),
        figures(high)
    );
    text.trim_end().to_owned()
}
