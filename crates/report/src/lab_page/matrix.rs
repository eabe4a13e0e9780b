//! The page of every scheduler on every experiment.

use super::{end, head, put, table, text};
use crate::matrix::table::{failures, measured, sentence, value, wasted};
use crate::matrix::{CellReport, MatrixReport, RowReport};
use std::fmt::Write;

/// Returns the page.
pub fn of_matrix(matrix: &MatrixReport) -> String {
    let mut page = head("Every scheduler on every experiment", &sentence(matrix));
    put!(page, "<p>Each scheduler's mean, and how many times worse it is than the row's best.</p>");
    let name = |row: &RowReport| format!("{}<br><small>{}</small>", text(&row.id), text(&measured(row)));
    lines(&mut page, matrix, name, |cell| {
        let shown = value(cell);
        let (value, place) = shown.split_once('\n').unwrap_or((&shown, ""));
        match (place, &cell.failed) {
            (_, Some(why)) => format!("<b class=\"failed\" title=\"{}\">failed</b>", text(why)),
            ("best", _) => format!("{value}<br><b class=\"best\">best</b>"),
            _ => format!("{value}<br><small>{place}</small>"),
        }
    });
    put!(page, "<h2>Core-seconds wasted per second: cores idled while tasks waited</h2>");
    lines(&mut page, matrix, |row| text(&row.id), wasted);
    for (row, cell) in failures(matrix) {
        let why = cell.failed.as_deref().unwrap_or_default();
        put!(page, "<p>{}, {}: {}</p>", text(&row.id), text(&cell.scheduler), text(why));
    }
    end(page)
}

fn lines(
    page: &mut String,
    matrix: &MatrixReport,
    name: impl Fn(&RowReport) -> String,
    shown: fn(&CellReport) -> String,
) {
    let heads: Vec<String> = ["experiment".to_owned()]
        .into_iter()
        .chain(matrix.schedulers.iter().map(|name| text(name)))
        .collect();
    let row = |row: &RowReport| {
        let cells: Vec<String> = match row.real_time {
            true => vec!["–".to_owned(); matrix.schedulers.len()],
            false => row.cells.iter().map(shown).collect(),
        };
        [name(row)].into_iter().chain(cells).collect()
    };
    table(page, "matrix", &heads, &matrix.rows.iter().map(row).collect::<Vec<_>>());
}
