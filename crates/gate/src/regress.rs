//! Compares every figure of a scheduler's runs with the baseline's.
//!
//! A figure regresses if its mean is worse by more than its limit and the effect of seeds together. A change is
//! attributed to the scheduler only if chance would cause it less than once in a hundred times. Better figures never
//! fail.

use crate::baseline::PastRun;
use crate::figure::{Figure, Per, Unit};
use crate::limits::{Limit, Limits};
use crate::spread::{mean, noise};
use keel_check::Kind;
use serde::Serialize;
use std::collections::BTreeSet;

/// How a figure changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Worse than allowed.
    Regressed,
    /// Better by more than that.
    Improved,
    /// Neither.
    Same,
}

/// A figure, before and now.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Its name, safe to print.
    pub figure: String,
    /// The base of counts and costs: `unit` or `second`. `null` if neither applies.
    pub per: Option<&'static str>,
    /// `plain`, `ns` or `share`.
    pub unit: &'static str,
    /// The baseline's mean.
    pub baseline: f64,
    /// The mean now.
    pub now: f64,
    /// Now minus then, as a share of then. `null` if that was 0.
    pub change: Option<f64>,
    /// The limit in words.
    pub limit: String,
    /// How much worse it may be, in the figure's unit: the limit, or the smallest change that matters, plus the effect
    /// of seeds.
    pub allowed: Option<f64>,
    /// The maximum effect of seeds, 99 times out of 100.
    pub noise: f64,
    /// The outcome.
    pub verdict: Change,
}

/// All figures of one scheduler.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Regression {
    /// The scheduler.
    pub scheduler: String,
    /// Whether no figure regressed.
    pub passed: bool,
    /// The baseline's scheduler. If there is only one, it may have another name.
    pub baseline_scheduler: String,
    /// The number of runs in the baseline.
    pub baseline_runs: usize,
    /// The number of runs now.
    pub runs: usize,
    /// All figures.
    pub figures: Vec<Row>,
}

impl Regression {
    /// Compares the runs of one scheduler. Neither side may be empty.
    pub fn new(baseline: &[&PastRun], now: &[PastRun], limits: &Limits) -> Self {
        let all = || baseline.iter().copied().chain(now);
        let per = if all().all(|run| run.throughput_total > 0) { Per::Unit } else { Per::Second };
        let figures: Vec<Row> = figures(baseline, now)
            .iter()
            .filter_map(|figure| row(figure, baseline, now, per, limits))
            .collect();
        Self {
            scheduler: now.first().map(|run| run.scheduler.clone()).unwrap_or_default(),
            passed: figures.iter().all(|row| row.verdict != Change::Regressed),
            baseline_scheduler: baseline.first().map(|run| run.scheduler.clone()).unwrap_or_default(),
            baseline_runs: baseline.len(),
            runs: now.len(),
            figures,
        }
    }

    /// Returns the figures that regressed.
    pub fn regressed(&self) -> impl Iterator<Item = &Row> {
        self.figures.iter().filter(|row| row.verdict == Change::Regressed)
    }

    /// Returns whether there is a single run on each side, so that the effect of seeds is unknown.
    pub fn is_single(&self) -> bool {
        self.baseline_runs == 1 && self.runs == 1
    }
}

/// Returns the figures that all of these runs have.
fn figures(baseline: &[&PastRun], now: &[PastRun]) -> Vec<Figure> {
    let names: BTreeSet<&str> =
        baseline.iter().flat_map(|run| &run.names).map(|named| named.name.as_str()).collect();
    let runs = || baseline.iter().copied().chain(now);
    let found = |kind: &Kind| runs().any(|run| run.findings_total.get(kind.name()).is_some_and(|&n| n > 0));
    // The number of episodes of waste adds nothing to its share.
    let kinds = Kind::ALL.into_iter().filter(|kind| *kind != Kind::WastedCore && found(kind));
    let mut figures = Figure::COMMON.to_vec();
    if runs().all(|run| run.throughput_total == 0) {
        figures.retain(|figure| *figure != Figure::Throughput);
    }
    // If there is only one name, its delay is the delay of all.
    if names.len() > 1 {
        figures.extend(names.into_iter().map(|name| Figure::NameDelay(name.to_owned())));
    }
    figures.extend(kinds.map(Figure::Findings));
    figures
}

fn row(figure: &Figure, baseline: &[&PastRun], now: &[PastRun], per: Per, limits: &Limits) -> Option<Row> {
    let then: Vec<f64> = baseline.iter().map(|run| figure.value(run, per)).collect::<Option<_>>()?;
    let values: Vec<f64> = now.iter().map(|run| figure.value(run, per)).collect::<Option<_>>()?;
    let (base, here, noise) = (mean(&then), mean(&values), noise(&then, &values));
    let worse_by = if figure.more_is_better() { base - here } else { here - base };
    let limit = limits.of(figure);
    let allowed = match limit {
        Limit::Any => None,
        Limit::Share(share) => Some((share * base).max(figure.floor(base, baseline.first()?, per)) + noise),
    };
    let verdict = match allowed {
        Some(most) if worse_by > most => Change::Regressed,
        Some(most) if -worse_by > most => Change::Improved,
        _ => Change::Same,
    };
    Some(Row {
        figure: figure.name(),
        per: figure.is_rate().then_some(if per == Per::Unit { "unit" } else { "second" }),
        unit: match figure.unit() {
            Unit::Plain => "plain",
            Unit::Ns => "ns",
            Unit::Share => "share",
        },
        baseline: base,
        now: here,
        change: (base != 0.0).then(|| here / base - 1.0),
        limit: limit.to_string(),
        allowed,
        noise,
        verdict,
    })
}

#[cfg(test)]
mod tests;
