//! Reads a `[[table]]`: the published figures of each task.

use super::Text;
use super::claim::measure_named;
use crate::error::{ExperimentError, Problem};
use crate::model::{Arm, Table};
use keel_check::MOST_NAMES;
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Spanned;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TableTable {
    says: Spanned<String>,
    of: Spanned<String>,
    tasks: Spanned<Vec<String>>,
    counts: BTreeMap<Spanned<String>, Spanned<Vec<f64>>>,
}

/// Reads the table at index `at` of its file.
pub(super) fn read(
    text: Text<'_>,
    at: usize,
    table: &Spanned<TableTable>,
    arms: &[Arm],
) -> Result<Table, ExperimentError> {
    let table = table.get_ref();
    let field = |name: &str| format!("table[{at}].{name}");
    let says = text.said(&table.says, &field("says"), "what the table is about")?;
    let of = arms.iter().position(|arm| arm.label == *table.of.get_ref()).ok_or_else(|| {
        let known = arms.iter().map(|arm| arm.label.as_str()).collect::<Vec<_>>().join(", ");
        text.error(table.of.span(), field("of"), Problem::NoArm { name: table.of.get_ref().clone(), known })
    })?;
    let tasks = table.tasks.get_ref().clone();
    if tasks.is_empty() || tasks.len() > MOST_NAMES {
        let problem = Problem::BadPublished("a table has 1 to 64 tasks");
        return Err(text.error(table.tasks.span(), field("tasks"), problem));
    }
    let mut columns = Vec::new();
    for (name, counts) in &table.counts {
        let fail = |problem| text.error(name.span(), field("counts"), problem);
        let measure = measure_named(name.get_ref()).map_err(fail)?;
        if !measure.is_counted() {
            return Err(fail(Problem::NotOfTasks(measure.name())));
        }
        let good = |n: &f64| n.is_finite() && *n >= 0.0;
        if counts.get_ref().len() != tasks.len() || !counts.get_ref().iter().all(good) {
            return Err(fail(Problem::BadPublished("every task needs a count of 0 or more")));
        }
        columns.push((measure, counts.get_ref().clone()));
    }
    // In the order of the list of measures, whatever the file's order.
    columns.sort_by_key(|(measure, _)| keel_check::Measure::ALL.iter().position(|m| m == measure));
    Ok(Table { says, of, tasks, columns })
}
