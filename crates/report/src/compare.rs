//! Compares several schedulers side by side, each with one or more runs: means, spreads, and ratios to the first
//! scheduler.
//!
//! A spread is half the distance from the lowest to the highest value. A ratio's spread is computed from pairs of runs
//! with the same seed (the first run of each, the second of each, and so on), so it doesn't include the effect that a
//! seed has on both.
//!
//! If all runs have the same figures, whatever their seeds, then nothing in them depends on the seed. The table says so
//! and shows no spread of 0.

use crate::cells::{LONGEST_WORD, left, lines_of, plain_table, right};
use crate::run::RunReport;
use crate::style::{Paint, Style};
use crate::verdict::painted;
use keel_abi::Span;
use keel_abi::numbers::{count, figures, with_spread};
use keel_check::escape_all;

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

/// Shown for a ratio to a figure that is 0.
const NO_RATIO: &str = "–";

type Figure = (&'static str, Unit, fn(&RunReport) -> f64);

const FIGURES: [Figure; 11] = [
    ("throughput per second", Unit::Plain, |r| r.throughput),
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

/// The runs of one scheduler, each with its own seed.
struct Group<'a> {
    runs: &'a [RunReport],
    /// Whether there are several runs with equal judgements, so that nothing in them depends on the seed.
    alike: bool,
}

impl<'a> Group<'a> {
    fn all(runs: &'a [RunReport]) -> impl Iterator<Item = Self> {
        let groups = runs.chunk_by(|a, b| a.scheduler == b.scheduler);
        groups.map(|runs| Self { runs, alike: are_alike(runs) })
    }

    fn name(&self) -> &'a str {
        &self.runs[0].scheduler
    }

    /// Returns one figure of each run.
    fn each(&self, figure: fn(&RunReport) -> f64) -> Vec<f64> {
        self.runs.iter().map(figure).collect()
    }

    /// Returns one figure of each run, or of only one run if all are alike.
    fn values(&self, figure: fn(&RunReport) -> f64) -> Vec<f64> {
        let mut values = self.each(figure);
        values.truncate(if self.alike { 1 } else { values.len() });
        values
    }

    fn has_spread(&self) -> bool {
        self.runs.len() > 1 && !self.alike
    }
}

/// Returns whether there are several runs whose judgements differ only in the seed.
fn are_alike(runs: &[RunReport]) -> bool {
    let judged = |run: &RunReport| RunReport { seed: 0, wall_ns: 0, peak_rss_bytes: 0, ..run.clone() };
    match runs {
        [first, others @ ..] if !others.is_empty() => {
            let first = judged(first);
            others.iter().all(|other| judged(other) == first)
        }
        _ => false,
    }
}

/// Returns the schedulers that have several runs with different seeds, all of them alike.
pub fn seedless(runs: &[RunReport]) -> Vec<&str> {
    Group::all(runs).filter(|group| group.alike).map(|group| group.name()).collect()
}

/// Returns the comparison. The runs of one scheduler must be consecutive; the first scheduler is the baseline. The
/// table is followed by the schedulers whose runs no seed changes, and a verdict on each scheduler's first bad run, or
/// else on its first run.
pub fn table(runs: &[RunReport], style: Style) -> String {
    let groups: Vec<Group<'_>> = Group::all(runs).collect();
    let Some((first, others)) = groups.split_first() else { return String::new() };
    let fit = (usize::from(style.width.saturating_sub(NAMES + VALUE)) / usize::from(VALUE + RATIO)).max(1);
    let mut parts: Vec<String> = Vec::new();
    if others.is_empty() {
        parts.push(part(first, &[], style));
    }
    parts.extend(others.chunks(fit).map(|some| part(first, some, style)));
    let verdicts = groups.iter().map(|group| verdict(group, style));
    let notes = groups.iter().filter(|group| group.alike).map(|group| {
        let (name, count) = (escape_all(group.name()), group.runs.len());
        format!("{name}: all {count} runs are identical, because nothing in them depends on the seed\n")
    });
    parts.join("\n\n") + "\n" + &legend(first, others) + "\n" + &notes.chain(verdicts).collect::<String>()
}

/// Returns the meaning of the marks in the cells: a line for each mark that the table has.
fn legend(first: &Group<'_>, others: &[Group<'_>]) -> String {
    let mut lines = String::new();
    if first.has_spread() || others.iter().any(Group::has_spread) {
        lines += "±: half the range over the seeds\n";
    }
    if !others.is_empty() && FIGURES.iter().any(|&(_, _, figure)| first.each(figure).contains(&0.0)) {
        let when = if first.has_spread() { " in at least one run" } else { "" };
        lines += &format!("{NO_RATIO}: no ratio, because {}'s figure is 0{when}\n", escape_all(first.name()));
    }
    lines
}

fn verdict(group: &Group<'_>, style: Style) -> String {
    let bad = |wanted: fn(&RunReport) -> bool| group.runs.iter().find(|run| wanted(run));
    let run = bad(RunReport::failed).or(bad(RunReport::found_something)).unwrap_or(&group.runs[0]);
    let name = style.paint(Paint::Bold, &escape_all(group.name()));
    let seed = match group.has_spread() {
        true => format!(", seed {}", run.seed),
        false => String::new(),
    };
    format!("{name}{seed}: {}\n", painted(run, style))
}

fn part(first: &Group<'_>, others: &[Group<'_>], style: Style) -> String {
    let mut table = plain_table(style);
    // A long name is split into two lines, but its settings are not: half a number is a wrong number.
    let broken = |name: String| match name.chars().count() > LONGEST_WORD {
        true => name.replacen(':', "\n:", 1),
        false => name,
    };
    let head = |group: &Group<'_>| {
        let count = group.runs.len();
        let runs = if count > 1 { format!(" ({count} runs)") } else { String::new() };
        right(broken(escape_all(group.name())) + &runs)
    };
    let than = broken(escape_all(first.name()));
    let heads = others.iter().flat_map(|group| [head(group), right(format!("x {than}"))]);
    table.set_header([left(""), head(first)].into_iter().chain(heads));
    for (name, unit, figure) in FIGURES {
        let base = first.values(figure);
        let mut row = vec![left(name), right(shown(unit, &base))];
        for group in others {
            let ratio = match first.alike && group.alike {
                true => ratio(&group.values(figure), &base),
                false => ratio(&group.each(figure), &first.each(figure)),
            };
            row.extend([shown(unit, &group.values(figure)), ratio].map(right));
        }
        table.add_row(row);
    }
    let failed = |group: &Group<'_>| match group.runs.iter().filter(|run| run.failed()).count() {
        0 => "none".to_owned(),
        n => format!("{n} of {}", group.runs.len()),
    };
    let mut last = vec![left("failed runs"), right(failed(first))];
    last.extend(others.iter().flat_map(|group| [right(failed(group)), left("")]));
    table.add_row(last);
    lines_of(&table)
}

/// Returns the mean, and half the distance from the lowest to the highest value.
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
    match (values.len(), unit) {
        (0 | 1, _) => one(mean),
        (_, Unit::Plain | Unit::CoreSeconds) => with_spread(mean, spread),
        _ => format!("{} ± {}", one(mean), one(spread)),
    }
}

/// Returns `1.20 ± 0.05`, or [`NO_RATIO`] if a run's base is 0.
fn ratio(values: &[f64], base: &[f64]) -> String {
    if base.contains(&0.0) {
        return NO_RATIO.to_owned();
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
        (mean, spread) if mean >= 100.0 => format!("{} ± {}", short(mean), count(spread.round() as u64)),
        (mean, spread) => format!("{} ± {}", short(mean), short(spread)),
    }
}

fn short(n: f64) -> String {
    if n >= 100.0 { count(n.round() as u64) } else { format!("{n:.2}") }
}
