//! Runs every scheduler on every experiment: all schedulers do the work of a row, not only those that were compared in
//! the publication.
//!
//! The first claim decides what is measured, and the arm in its numerator decides what is run where. What a claim
//! subtracts (`less`) is not subtracted here, because it belongs to another scheduler.

use crate::judge::{Values, spread_of, values};
use crate::model::{Arm, Band, Claim, Experiment, Published, Until};
use crate::outcome::ArmFigures;
use keel_abi::Span;
use keel_check::Measure;

/// Work that a scheduler does not finish in this time counts as never finished. The longest of our arms takes 51 s.
pub const MOST: Span = Span::from_s(120);

/// Returns the experiment with these schedulers as its arms, without settings.
pub fn everyone(experiment: &Experiment, schedulers: &[String]) -> Experiment {
    let claim = &experiment.claims[0];
    let like = &experiment.arms[claim.of];
    let arm = |scheduler: &String| Arm {
        label: scheduler.clone(),
        scheduler: scheduler.clone(),
        version: None,
        settings: Vec::new(),
        ..like.clone()
    };
    // These claims only say what is measured in each arm. Nothing is judged by them.
    let asks = |of: usize, measure: Measure, tasks: &[String]| Claim {
        says: claim.says.clone(),
        measure,
        tasks: tasks.to_vec(),
        of,
        to: None,
        less: None,
        published: Published::Ratio(1.0),
        band: Band::Effect,
        off: None,
    };
    let claims = (0..schedulers.len())
        .flat_map(|of| [asks(of, claim.measure, &claim.tasks), asks(of, Measure::Wasted, &[])])
        .collect();
    let until = match experiment.until {
        Until::End { at_most } => Until::End { at_most: at_most.min(MOST) },
        until @ Until::After(_) => until,
    };
    let arms = schedulers.iter().map(arm).collect();
    Experiment { until, arms, claims, tables: Vec::new(), ..experiment.clone() }
}

/// The result of one scheduler in a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// What was measured, or as a clause why it was not.
    pub value: Result<Values, String>,
    /// How many times worse it is than the best one: 1 for the best one itself. `None` if it has no value, or the best
    /// value is 0.
    pub worse: Option<f64>,
    /// Core-seconds per second of the runs in which CPUs were idle while tasks that may run there were waiting.
    pub wasted_cores: Option<f64>,
}

/// Returns the cells of a row that [`everyone`] created, one for each arm.
pub fn cells(everyone: &Experiment, arms: &[ArmFigures]) -> Vec<Cell> {
    let values: Vec<Result<Values, String>> = (everyone.claims.iter().step_by(2).zip(arms))
        .map(|(claim, arm)| values("", claim, arm).map(|values| spread_of(&values)).map_err(reported))
        .collect();
    let means = || values.iter().filter_map(|value| value.as_ref().ok().map(|value| value.mean));
    let more = more_is_better(everyone.claims[0].measure);
    let best = match more {
        true => means().fold(f64::NEG_INFINITY, f64::max),
        false => means().fold(f64::INFINITY, f64::min),
    };
    let worse = |mean: f64| match more {
        true => best / mean,
        false => mean / best,
    };
    let cell = |(value, arm): (Result<Values, String>, &ArmFigures)| Cell {
        worse: value.as_ref().ok().map(|value| worse(value.mean)).filter(|worse| worse.is_finite()),
        value,
        wasted_cores: wasted_cores(arm),
    };
    values.clone().into_iter().zip(arms).map(cell).collect()
}

/// Removes the name of the arm, because the column shows it.
fn reported(why: String) -> String {
    why.strip_prefix(", ").unwrap_or(&why).trim_start().to_owned()
}

fn wasted_cores(arm: &ArmFigures) -> Option<f64> {
    let (mut wasted, mut seconds) = (0.0, 0.0);
    for run in &arm.runs {
        let measured = run.result.as_ref().ok()?;
        wasted += measured.wasted?.as_s_f64();
        seconds += run.costs.end.as_s_f64();
    }
    (seconds > 0.0).then_some(wasted / seconds)
}

/// Returns whether more of this is better. For times, waits and migrations, less is better.
pub fn more_is_better(measure: Measure) -> bool {
    matches!(
        measure,
        Measure::UnitsPerSecond
            | Measure::SwitchesPerSecond
            | Measure::BusyShare
            | Measure::UserShare
            | Measure::Iterations
            | Measure::CpuSeconds
    )
}

#[cfg(test)]
mod tests;
