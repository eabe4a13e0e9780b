//! Shows published tables of tasks together with our figures.

use keel_check::Measure;
use keel_check::escape_all;
use keel_experiment::model::{Table, mean};
use keel_experiment::{ArmFigures, Experiment};
use serde::Serialize;

/// The published figures of each task of an arm.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TableReport {
    /// The table's title.
    pub says: String,
    /// The arm.
    pub arm: String,
    /// One for each task.
    pub rows: Vec<TaskRow>,
}

/// One task.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskRow {
    /// Its name.
    pub task: String,
    /// The published figures.
    pub published: CountsReport,
    /// Our figures: means over the runs; `None` if the arm was not run or the task does not exist.
    pub ours: Option<CountsReport>,
}

/// The counts of a task. Counts that were not published are left out on both sides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct CountsReport {
    /// How often it left a CPU to wait.
    pub voluntary: Option<f64>,
    /// How often it lost a CPU.
    pub involuntary: Option<f64>,
    /// How often it started on a different CPU than the one it last ran on.
    pub migrated: Option<f64>,
    /// The number of units of work that it did.
    pub iterations: Option<f64>,
}

impl CountsReport {
    fn slot(&mut self, measure: Measure) -> Option<&mut Option<f64>> {
        Some(match measure {
            Measure::Voluntary => &mut self.voluntary,
            Measure::Involuntary => &mut self.involuntary,
            Measure::Migrated => &mut self.migrated,
            Measure::Iterations => &mut self.iterations,
            _ => return None,
        })
    }

    fn all(&self) -> [Option<f64>; 4] {
        [self.voluntary, self.involuntary, self.migrated, self.iterations]
    }
}

/// Returns the tables of an experiment.
pub(super) fn tables(experiment: &Experiment, arms: &[ArmFigures]) -> Vec<TableReport> {
    let table = |table: &Table| TableReport {
        says: table.says.clone(),
        arm: experiment.arms[table.of].label.clone(),
        rows: (0..table.tasks.len()).map(|at| row(table, at, &arms[table.of])).collect(),
    };
    experiment.tables.iter().map(table).collect()
}

fn row(table: &Table, at: usize, arm: &ArmFigures) -> TaskRow {
    let (mut published, mut ours) = (CountsReport::default(), CountsReport::default());
    let task = &table.tasks[at..=at];
    for (measure, counts) in &table.columns {
        published.slot(*measure).into_iter().for_each(|slot| *slot = Some(counts[at]));
        let runs = arm.runs.iter().filter_map(|run| run.result.as_ref().ok());
        let values: Option<Vec<f64>> = runs.map(|run| measure.of_tasks(run, task)).collect();
        let value = values.filter(|values| !values.is_empty()).map(|values| mean(&values));
        ours.slot(*measure).into_iter().for_each(|slot| *slot = value);
    }
    let is_there = ours.all().iter().any(Option::is_some);
    TaskRow { task: table.tasks[at].clone(), published, ours: is_there.then_some(ours) }
}

/// Returns the table as text: the counts that Linux's own tools report, published and ours, and the totals.
pub(super) fn text(id: &str, table: &TableReport) -> String {
    let head = ["vol", "nonvol", "migrated", "iterations"];
    let mut text = format!("{}, {}:\n", escape_all(id), escape_all(&table.says));
    let width = table.rows.iter().map(|row| escape_all(&row.task).chars().count()).max().unwrap_or(0).max(5);
    let columns = |cells: [String; 4]| {
        cells
            .iter()
            .zip(head)
            .map(|(cell, head)| format!(" {cell:>0$}", head.len().max(6)))
            .collect::<String>()
    };
    let heads = columns(head.map(str::to_owned));
    text += &format!("{:width$}  {heads}   ours:{heads}\n", "Task");
    let shown =
        |counts: &[Option<f64>; 4]| columns(counts.map(|n| n.map_or("-".to_owned(), |n| format!("{n:.0}"))));
    let mut totals = [[Some(0.0); 4]; 2];
    for row in &table.rows {
        let both = [row.published.all(), row.ours.unwrap_or_default().all()];
        for (total, counts) in totals.iter_mut().zip(&both) {
            for (sum, count) in total.iter_mut().zip(counts) {
                *sum = sum.zip(*count).map(|(a, b)| a + b);
            }
        }
        let [published, ours] = both.each_ref().map(shown);
        text += &format!("{:>width$}: {published}        {ours}\n", escape_all(&row.task));
    }
    let [published, ours] = totals.each_ref().map(shown);
    text += &format!("{:>width$}: {published}        {ours}\n", "total");
    text
}
