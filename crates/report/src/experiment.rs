//! Published results and ours side by side, as `--json` prints them. Field names are stable; docs/reference/json.md
//! describes each.

mod table;
mod tasks;

pub(crate) use table::trend_words;
pub use table::{sentence, table};
pub use tasks::{CountsReport, TableReport, TaskRow};

use keel_abi::Span;
use keel_check::{Costs, Measure, Measured};
use keel_experiment::judge::Values;
use keel_experiment::{Arm, ArmFigures, ClaimVerdict, Experiment, Judged, RunFigures, Standing, Trend};
use serde::Serialize;
use std::collections::BTreeMap;

/// One experiment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExperimentReport {
    /// Its name.
    pub id: String,
    /// A short description.
    pub title: String,
    /// Where it was published.
    pub source: String,
    /// The first claim's published ratio or value.
    pub published: f64,
    /// Our value.
    pub ours: Option<f64>,
    /// How much two runs of the same scheduler differ.
    pub spread: Option<[f64; 2]>,
    /// Whether every claim is reproduced.
    pub reproduced: bool,
    /// `reproduced`, `not_reached`, `undecidable` or `calibrated`.
    pub verdict: &'static str,
    /// Why, in one line.
    pub why: String,
    /// The trend over all claims that compare arms, if one is claimed.
    pub trend: Option<TrendReport>,
    /// All claims.
    pub claims: Vec<ClaimReport>,
    /// All arms.
    pub arms: Vec<ArmReport>,
    /// The published figures of each task, and ours.
    pub tables: Vec<TableReport>,
}

/// A trend.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TrendReport {
    /// Spearman's rank correlation of the published and our ratios.
    pub rank_correlation: Option<f64>,
    /// The lowest value at which the trend holds.
    pub least: f64,
    /// The number of ratios that were measured.
    pub cells: usize,
    /// Whether the trend holds.
    pub holds: bool,
}

/// One claim.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClaimReport {
    /// The claim's text.
    pub says: String,
    /// The measure.
    pub measure: &'static str,
    /// The tasks that are measured together; all tasks if empty.
    pub tasks: Vec<String>,
    /// The arm in the numerator.
    pub of: String,
    /// The arm in the denominator.
    pub to: Option<String>,
    /// The published value.
    pub published: f64,
    /// Our value.
    pub ours: Option<f64>,
    /// How much two runs of the same scheduler differ.
    pub spread: Option<[f64; 2]>,
    /// The range that our value must lie in.
    pub band: [f64; 2],
    /// Our value with the mechanism off.
    pub off: Option<f64>,
    /// The values of the arm in the numerator.
    pub of_values: Option<ValuesReport>,
    /// The values of the arm in the denominator.
    pub to_values: Option<ValuesReport>,
    /// Whether our value is on the published side of 1, outside the spread.
    pub direction_holds: Option<bool>,
    /// Whether our value is in the band.
    pub band_holds: Option<bool>,
    /// Whether the effect vanishes with the mechanism off.
    pub mechanism_holds: Option<bool>,
    /// The verdict, with the same values as the experiment's.
    pub verdict: &'static str,
    /// Why, in one line.
    pub why: String,
}

/// The values of an arm's runs, in the measure's unit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ValuesReport {
    /// Their mean.
    pub mean: f64,
    /// The minimum.
    pub low: f64,
    /// The maximum.
    pub high: f64,
}

/// One arm.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ArmReport {
    /// Its name in the claims.
    pub label: String,
    /// The scheduler.
    pub scheduler: String,
    /// The scheduler's global variables that were set.
    pub settings: BTreeMap<String, String>,
    /// The workload.
    pub workload: String,
    /// The machine.
    pub machine: String,
    /// The number of runs that were made.
    pub runs: usize,
    /// The number of runs that failed.
    pub failed: usize,
    /// Context switches per second, averaged over the runs that did not fail.
    pub switches_per_s: f64,
    /// Migrations per second.
    pub migrations_per_s: f64,
    /// The share of online CPU time in which tasks ran.
    pub busy_share: f64,
    /// The share of online CPU time spent in the scheduler's callbacks.
    pub callback_share: f64,
    /// The share of online CPU time spent waiting for locks.
    pub lock_wait_share: f64,
}

impl ExperimentReport {
    /// Combines the claims, the runs and the results.
    pub fn new(experiment: &Experiment, arms: &[ArmFigures], judged: &Judged) -> Self {
        let first = &judged.claims[0];
        let claim = |(at, verdict)| claim(experiment, at, verdict);
        Self {
            id: experiment.id.clone(),
            title: experiment.title.clone(),
            source: experiment.source.clone(),
            published: first.published,
            ours: first.ours,
            spread: first.spread.map(<[f64; 2]>::from),
            reproduced: judged.standing == Standing::Reproduced,
            verdict: name(judged.standing),
            why: judged.why.clone(),
            trend: judged.trend.map(TrendReport::from),
            claims: judged.claims.iter().enumerate().map(claim).collect(),
            arms: experiment.arms.iter().zip(arms).map(|(arm, figures)| run(arm, figures)).collect(),
            tables: tasks::tables(experiment, arms),
        }
    }
}

impl From<Trend> for TrendReport {
    fn from(trend: Trend) -> Self {
        let Trend { rank_correlation, least, cells } = trend;
        Self { rank_correlation, least, cells, holds: trend.holds() }
    }
}

fn name(standing: Standing) -> &'static str {
    match standing {
        Standing::Reproduced => "reproduced",
        Standing::NotReached => "not_reached",
        Standing::Undecidable => "undecidable",
        Standing::Calibrated => "calibrated",
    }
}

fn claim(experiment: &Experiment, at: usize, verdict: &ClaimVerdict) -> ClaimReport {
    let claim = &experiment.claims[at];
    let label = |arm: usize| experiment.arms[arm].label.clone();
    let values = |values: Values| ValuesReport { mean: values.mean, low: values.low, high: values.high };
    ClaimReport {
        says: claim.says.clone(),
        measure: claim.measure.name(),
        tasks: claim.tasks.clone(),
        of: label(claim.of),
        to: claim.to.map(label),
        published: verdict.published,
        ours: verdict.ours,
        spread: verdict.spread.map(<[f64; 2]>::from),
        band: verdict.band.into(),
        off: verdict.off,
        of_values: verdict.of.map(values),
        to_values: verdict.to.map(values),
        direction_holds: verdict.holds.direction,
        band_holds: verdict.holds.band,
        mechanism_holds: verdict.holds.mechanism,
        verdict: name(verdict.standing),
        why: verdict.why.clone(),
    }
}

/// Returns the mean over the runs that did not fail, or 0 if there are none.
fn mean(figures: &ArmFigures, one: impl Fn(&RunFigures, &Measured) -> Option<f64>) -> f64 {
    let values = figures.runs.iter().filter_map(|run| run.result.as_ref().ok().map(|of| (run, of)));
    let values: Vec<f64> = values.filter_map(|(run, of)| one(run, of)).collect();
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn run(arm: &Arm, figures: &ArmFigures) -> ArmReport {
    let measure = |measure: Measure| mean(figures, |_, measured| measure.of(measured));
    let share = |span: fn(&Costs) -> Span| {
        mean(figures, |run, _| {
            let whole = run.costs.machine_time.as_s_f64();
            (whole > 0.0).then(|| span(&run.costs.costs).as_s_f64() / whole)
        })
    };
    ArmReport {
        label: arm.label.clone(),
        scheduler: arm.who(),
        settings: arm.settings.iter().cloned().collect(),
        workload: arm.workload.clone(),
        machine: arm.machine.clone(),
        runs: figures.runs.len(),
        failed: figures.runs.iter().filter(|run| run.result.is_err()).count(),
        switches_per_s: measure(Measure::SwitchesPerSecond),
        migrations_per_s: measure(Measure::MigrationsPerSecond),
        busy_share: measure(Measure::BusyShare),
        callback_share: share(|costs| costs.callback),
        lock_wait_share: share(|costs| costs.lock_wait),
    }
}

#[cfg(test)]
mod tests;
