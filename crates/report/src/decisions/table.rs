//! Writes the tables: one line for each callback and size, and one sentence for each scheduler and axis.

use super::sweep::{CallbackReport, SweepReport};
use super::{Axis, DecisionsReport};
use crate::cells::{left, lines_of, plain_table, right};
use crate::run::SpreadReport;
use crate::style::{Paint, Style};
use comfy_table::Table;
use keel_abi::Span;
use keel_abi::numbers;
use keel_check::escape_all;

/// A cost that grows by less is reported as constant: such differences come from where data is in cache lines.
const GROWS: f64 = 0.1;

/// Returns both tables of each scheduler, without axes that were not measured.
pub fn table(schedulers: &[DecisionsReport], style: Style) -> String {
    let mut text = String::new();
    for report in schedulers {
        for (axis, head) in [(Axis::Tasks, "waiting"), (Axis::Cpus, "CPUs")] {
            let sweep = report.along(axis);
            if sweep.callbacks.is_empty() {
                continue;
            }
            let name = escape_all(&report.scheduler);
            let table = one(&name, head, axis, sweep, style);
            text += &(lines_of(&table)
                + "\n\n"
                + &style.paint(Paint::Bold, &sentence(&name, axis, sweep))
                + "\n\n");
        }
    }
    text
}

fn one(name: &str, head: &str, axis: Axis, sweep: &SweepReport, style: Style) -> Table {
    let heads = [head, "calls", "insns", "time", "99 %", "longest", "mean", "exponent"];
    let mut table = plain_table(style);
    table.set_header([left(name)].into_iter().chain(heads.map(right)));
    for callback in &sweep.callbacks {
        rows(&mut table, axis, callback);
    }
    for (at, size) in sweep.together.sizes.iter().enumerate() {
        let first = at == 0;
        let mut row = vec![left(if first { "together" } else { "" })];
        row.push(right(numbers::count(u64::from(size.size.along(axis)))));
        row.extend((0..5).map(|_| right(String::new())));
        row.push(right(Span::from_ns(size.mean_ns).to_string()));
        row.push(right(shown(sweep.together.exponent.filter(|_| first))));
        table.add_row(row);
    }
    table
}

fn rows(table: &mut Table, axis: Axis, callback: &CallbackReport) {
    for (at, size) in callback.sizes.iter().enumerate() {
        let first = at == 0;
        let mut row = vec![left(if first { &callback.callback } else { "" })];
        row.push(right(numbers::count(u64::from(size.size.along(axis)))));
        row.push(right(numbers::count(size.calls)));
        row.push(right(numbers::count(size.instructions.p50)));
        let SpreadReport { p50, p99, max } = size.time_ns;
        row.extend([p50, p99, max, size.mean_ns].map(|ns| right(Span::from_ns(ns).to_string())));
        row.push(right(shown(callback.exponent.filter(|_| first))));
        table.add_row(row);
    }
}

/// Formats an exponent with two decimals. Zero is printed as 0.00, not as -0.00.
fn shown(exponent: Option<f64>) -> String {
    exponent.map_or(String::new(), |exponent| format!("{:.2}", (exponent * 100.0).round() / 100.0 + 0.0))
}

/// Returns a sentence that names the callbacks whose costs grow.
fn sentence(scheduler: &str, axis: Axis, sweep: &SweepReport) -> String {
    let callbacks = sweep.callbacks.iter().map(|callback| (callback.callback.as_str(), callback.exponent));
    let all = callbacks.chain([("total", sweep.together.exponent)]);
    let growing: Vec<String> = all
        .filter_map(|(name, exponent)| Some((name, exponent.filter(|&exponent| exponent > GROWS)?)))
        .map(|(name, exponent)| format!("{name} (exponent {exponent:.2})"))
        .collect();
    let what = match axis {
        Axis::Tasks => "the number of waiting tasks",
        Axis::Cpus => "the number of CPUs",
    };
    match growing.as_slice() {
        [] => format!("{scheduler}: no decision's cost grows with {what}."),
        names => format!("{scheduler}: these costs grow with {what}: {}.", names.join(", ")),
    }
}
