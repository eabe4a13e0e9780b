//! Shows every scheduler on every experiment, as tables and as JSON. docs/reference/json.md describes each field.

pub(crate) mod table;

pub use table::table;

use keel_experiment::matrix::{Cell, more_is_better};
use keel_experiment::{Arm, Experiment};
use serde::Serialize;

/// The whole matrix.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MatrixReport {
    /// The columns.
    pub schedulers: Vec<String>,
    /// The number of runs of each scheduler in each row.
    pub runs: u32,
    /// One for each experiment.
    pub rows: Vec<RowReport>,
}

/// One experiment's workload under every scheduler.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RowReport {
    /// The experiment's name.
    pub id: String,
    /// The text of its first claim.
    pub says: String,
    /// The measure.
    pub measure: &'static str,
    /// The unit of its values; empty for a share.
    pub unit: &'static str,
    /// Whether a higher value is better.
    pub more_is_better: bool,
    /// The workload.
    pub workload: String,
    /// The machine.
    pub machine: String,
    /// Whether all tasks are real-time tasks. If so, the choice of scheduler has no effect, and there are no cells.
    pub real_time: bool,
    /// One for each scheduler, in the order of the columns.
    pub cells: Vec<CellReport>,
}

/// One scheduler on one experiment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CellReport {
    /// The scheduler.
    pub scheduler: String,
    /// The mean of the runs; `None` if one failed or never ended.
    pub value: Option<f64>,
    /// The lowest and the highest value.
    pub spread: Option<[f64; 2]>,
    /// How many times worse it is than the row's best; 1 for the best.
    pub worse: Option<f64>,
    /// Core-seconds per second in which CPUs idled while tasks waited that could have run there.
    pub wasted_cores: Option<f64>,
    /// Why there is no value.
    pub failed: Option<String>,
}

impl RowReport {
    /// Creates a row. It has no cells if all tasks are real-time tasks.
    pub fn new(everyone: &Experiment, cells: Option<&[Cell]>) -> Self {
        let claim = &everyone.claims[0];
        let like = &everyone.arms[0];
        let reported = |(arm, cell): (&Arm, &Cell)| {
            let value = cell.value.as_ref().ok();
            CellReport {
                scheduler: arm.scheduler.clone(),
                value: value.map(|value| value.mean),
                spread: value.map(|value| [value.low, value.high]),
                worse: cell.worse,
                wasted_cores: cell.wasted_cores,
                failed: cell.value.as_ref().err().cloned(),
            }
        };
        Self {
            id: everyone.id.clone(),
            says: claim.says.clone(),
            measure: claim.measure.name(),
            unit: claim.measure.unit(),
            more_is_better: more_is_better(claim.measure),
            workload: like.workload.clone(),
            machine: like.machine.clone(),
            real_time: cells.is_none(),
            cells: everyone.arms.iter().zip(cells.unwrap_or_default()).map(reported).collect(),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
