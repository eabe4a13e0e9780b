//! Several schedulers side by side, each with one run or more: means, spreads, and ratios to the
//! first scheduler.
//!
//! A spread is half the distance from the least to the most. A ratio's spread is taken over pairs
//! of runs (the first run of each, the second of each, ...: they share their seeds), so that what a
//! seed does to both is not in it.

use crate::run::RunReport;
use crate::style::{Paint, Style};
use crate::table::{lines_of, plain_table};
use crate::units::{count, figures};
use crate::verdict::{painted, printable};
use comfy_table::{Cell, CellAlignment};
use keel_abi::Span;

/// How a figure is shown.
#[derive(Clone, Copy)]
enum Unit {
    Plain,
    Time,
    Percent,
    CoreSeconds,
}

/// Columns that a figure's name, its values and its ratios take.
const NAMES: u16 = 27;
const VALUE: u16 = 22;
const RATIO: u16 = 14;

type Figure = (&'static str, Unit, fn(&RunReport) -> f64);

const FIGURES: [Figure; 11] = [
    ("throughput, a second", Unit::Plain, |r| r.throughput),
    ("switches", Unit::Plain, |r| r.switches as f64),
    ("wakeups", Unit::Plain, |r| r.wakeups as f64),
    ("migrations", Unit::Plain, |r| r.migrations as f64),
    ("preemptions", Unit::Plain, |r| r.preemptions as f64),
    ("wakeup to running, median", Unit::Time, |r| r.wakeup_delay_ns.p50 as f64),
    ("... 99 %", Unit::Time, |r| r.wakeup_delay_ns.p99 as f64),
    ("... longest", Unit::Time, |r| r.wakeup_delay_ns.max as f64),
    ("CPUs busy", Unit::Percent, |r| r.busy_share),
    ("wasted core-seconds", Unit::CoreSeconds, |r| r.wasted_core_ns as f64 / 1e9),
    ("scheduler, core-seconds", Unit::CoreSeconds, |r| r.overhead.callback_ns as f64 / 1e9),
];

/// The comparison: runs of one scheduler follow one another; the first scheduler is what the others
/// are measured by. Then a verdict for each scheduler's first bad run, or its first.
pub fn table(runs: &[RunReport], style: Style) -> String {
    let groups: Vec<&[RunReport]> = runs.chunk_by(|a, b| a.scheduler == b.scheduler).collect();
    let Some((first, others)) = groups.split_first() else { return String::new() };
    let fit = (usize::from(style.width.saturating_sub(NAMES + VALUE)) / usize::from(VALUE + RATIO)).max(1);
    let mut parts: Vec<String> = Vec::new();
    if others.is_empty() {
        parts.push(part(first, &[], style));
    }
    parts.extend(others.chunks(fit).map(|some| part(first, some, style)));
    let verdicts = groups.iter().map(|group| {
        let bad = |wanted: fn(&RunReport) -> bool| group.iter().find(|run| wanted(run));
        let run = bad(RunReport::failed).or(bad(RunReport::found_something)).unwrap_or(&group[0]);
        let name = style.paint(Paint::Bold, &printable(&run.scheduler));
        let seed = if group.len() > 1 { format!(", seed {}", run.seed) } else { String::new() };
        format!("{name}{seed}: {}\n", painted(run, style))
    });
    parts.join("\n\n") + "\n\n" + &verdicts.collect::<String>()
}

fn part(first: &[RunReport], others: &[&[RunReport]], style: Style) -> String {
    let mut table = plain_table(style);
    let head = |group: &[RunReport]| {
        let runs = if group.len() > 1 { format!(" ({} runs)", group.len()) } else { String::new() };
        Cell::new(printable(&group[0].scheduler) + &runs).set_alignment(CellAlignment::Right)
    };
    let than = printable(&first[0].scheduler);
    let heads = others.iter().flat_map(|group| [head(group), cell(format!("x {than}"))]);
    table.set_header([Cell::new(""), head(first)].into_iter().chain(heads));
    for (name, unit, figure) in FIGURES {
        let base: Vec<f64> = first.iter().map(figure).collect();
        let mut row = vec![Cell::new(name), cell(shown(unit, &base))];
        for group in others {
            let values: Vec<f64> = group.iter().map(figure).collect();
            row.extend([shown(unit, &values), ratio(&values, &base)].map(cell));
        }
        table.add_row(row);
    }
    let failed = |group: &[RunReport]| match group.iter().filter(|run| run.failed()).count() {
        0 => "none".to_owned(),
        n => format!("{n} of {}", group.len()),
    };
    let mut last = vec![Cell::new("failed runs"), cell(failed(first))];
    last.extend(others.iter().flat_map(|group| [cell(failed(group)), Cell::new("")]));
    table.add_row(last);
    lines_of(&table)
}

fn cell(text: String) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}

/// Mean, and half of least to most.
fn mean_and_spread(values: &[f64]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (mean, (most - least) / 2.0)
}

fn shown(unit: Unit, values: &[f64]) -> String {
    let (mean, spread) = mean_and_spread(values);
    let one = |n: f64| match unit {
        Unit::Plain if n >= 100.0 => count(n.round() as u64),
        Unit::Plain | Unit::CoreSeconds => figures(n),
        Unit::Time => Span::from_ns(n.round() as u64).to_string(),
        Unit::Percent => format!("{:.1} %", n * 100.0),
    };
    match values.len() {
        0 | 1 => one(mean),
        _ => format!("{} ± {}", one(mean), one(spread)),
    }
}

/// `1.20 ± 0.05`, or nothing where there is nothing to divide by.
fn ratio(values: &[f64], base: &[f64]) -> String {
    if base.contains(&0.0) {
        return String::new();
    }
    let pairs: Vec<f64> = match values.len() == base.len() {
        true => values.iter().zip(base).map(|(value, base)| value / base).collect(),
        false => {
            let mean = mean_and_spread(base).0;
            values.iter().map(|value| value / mean).collect()
        }
    };
    match mean_and_spread(&pairs) {
        (mean, _) if pairs.len() < 2 => short(mean),
        (mean, spread) => format!("{} ± {}", short(mean), short(spread)),
    }
}

fn short(n: f64) -> String {
    if n >= 100.0 { count(n.round() as u64) } else { format!("{n:.2}") }
}
