//! Writes the matrix as text: values compared with the best, then wasted core time, then why cells are empty.

use super::{CellReport, MatrixReport, RowReport};
use crate::cells::{left, lines_of, plain_table, right};
use crate::style::{Paint, Style};
use keel_abi::numbers::{figures, short};
use keel_check::escape_all;
use std::fmt::Write;

/// A value within this factor of the best counts as equally good.
const AS_GOOD: f64 = 1.005;
/// Less waste than this is not shown as a figure.
const NO_WASTE: f64 = 0.0005;

/// Returns both tables and a sentence.
pub fn table(matrix: &MatrixReport, style: Style) -> String {
    let mut text = String::new();
    let heading = |text: &mut String, words: &str| {
        let _ = writeln!(text, "{}\n", style.paint(Paint::Bold, words));
    };
    heading(&mut text, "Each scheduler's mean, and how many times worse it is than the row's best");
    text += &lines(matrix, style, |row| format!("{}\n{}", escape_all(&row.id), measured(row)), value);
    text += "\n\n";
    heading(&mut text, "Core-seconds wasted per second: cores idled while tasks waited");
    text += &lines(matrix, style, |row| escape_all(&row.id), wasted);
    text += "\n\n";
    for (row, cell) in failures(matrix) {
        let why = escape_all(cell.failed.as_deref().unwrap_or_default());
        let _ = writeln!(text, "{}, {}: {why}", escape_all(&row.id), escape_all(&cell.scheduler));
    }
    text + &style.paint(Paint::Bold, &sentence(matrix)) + "\n"
}

/// Returns the measure, its unit, and which direction is better.
pub(crate) fn measured(row: &RowReport) -> String {
    match row.real_time {
        true => "not measured".to_owned(),
        false => format!("{}, {}", row.measure, if row.more_is_better { "more" } else { "less" }),
    }
}

fn lines(
    matrix: &MatrixReport,
    style: Style,
    name: impl Fn(&RowReport) -> String,
    shown: fn(&CellReport) -> String,
) -> String {
    let mut table = plain_table(style);
    let heads = matrix.schedulers.iter().map(|name| right(escape_all(name)));
    table.set_header([left("experiment")].into_iter().chain(heads));
    for row in &matrix.rows {
        let cells: Vec<String> = match row.real_time {
            true => vec!["-".to_owned(); matrix.schedulers.len()],
            false => row.cells.iter().map(shown).collect(),
        };
        table.add_row([left(name(row))].into_iter().chain(cells.into_iter().map(right)));
    }
    lines_of(&table)
}

/// Returns the value, and below it how it compares with the best.
pub(crate) fn value(cell: &CellReport) -> String {
    let Some(value) = cell.value else { return "failed".to_owned() };
    match cell.worse {
        Some(worse) if worse < AS_GOOD => format!("{}\nbest", short(value)),
        Some(worse) => format!("{}\n{} x", short(value), figures(worse)),
        None => short(value),
    }
}

/// Returns the average number of wasted cores.
pub(crate) fn wasted(cell: &CellReport) -> String {
    match cell.wasted_cores {
        Some(cores) if cores < NO_WASTE => "0".to_owned(),
        Some(cores) => figures(cores),
        None => "-".to_owned(),
    }
}

/// Returns the cells without a value, and their rows.
pub(crate) fn failures(matrix: &MatrixReport) -> impl Iterator<Item = (&RowReport, &CellReport)> {
    matrix
        .rows
        .iter()
        .flat_map(|row| row.cells.iter().filter(|cell| cell.failed.is_some()).map(move |cell| (row, cell)))
}

/// Returns how often each scheduler is as good as the best.
pub(crate) fn sentence(matrix: &MatrixReport) -> String {
    let rows = matrix.rows.iter().filter(|row| !row.real_time);
    let best = |name: &String| {
        let of = |row: &&RowReport| {
            let cell = row.cells.iter().find(|cell| cell.scheduler == *name);
            cell.and_then(|cell| cell.worse).is_some_and(|worse| worse < AS_GOOD)
        };
        rows.clone().filter(of).count()
    };
    let reported: Vec<String> =
        matrix.schedulers.iter().map(|name| format!("{} {}", escape_all(name), best(name))).collect();
    format!(
        "Number of rows, of {}, in which each is best or as good as the best: {}.",
        rows.clone().count(),
        reported.join(", ")
    )
}
