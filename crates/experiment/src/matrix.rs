//! Every scheduler on every experiment: all of them do the work of a row, not only those that were compared when it was
//! published.
//!
//! The first claim decides what is measured, and the arm that it divides what is run where. What a claim takes off
//! (`less`) is not taken off here: it is another's.

use crate::judge::{Values, spread_of, values};
use crate::model::{Arm, Band, Claim, Experiment, Published, Until};
use crate::outcome::ArmFigures;
use keel_abi::Span;
use keel_check::Measure;

/// Work that some scheduler does not finish in this time counts as never finished. The longest of our arms takes 51 s.
pub const MOST: Span = Span::from_s(120);

/// Returns the experiment with these schedulers for its arms, as they are built: without settings.
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
    // Claims say what is measured of each arm; nothing is judged by these.
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

/// How one scheduler did a row's work.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// What was measured, or why it was not: a clause.
    pub value: Result<Values, String>,
    /// How many times worse than the best that is: 1 for the best itself. `None` if it has no value, or the best is 0.
    pub worse: Option<f64>,
    /// Core-seconds that CPUs idled while tasks waited that may run there, for each second of the runs that were made.
    pub wasted_cores: Option<f64>,
}

/// Returns the cells of a row that [`everyone`] made, one for each of its arms.
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

/// Shortens a failure's text: the column already shows which arm it was.
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
