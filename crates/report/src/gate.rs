//! Shows whether a run passed, as text: each budget and each figure with its allowed and its actual value, and a final
//! sentence.

use crate::cells::{left, lines_of, plain_table, right};
use crate::style::{Paint, Style};
use keel_abi::Span;
use keel_abi::numbers::figures;
use keel_check::escape_all;
use keel_gate::{Change, Held, Regression, Row, Ruling};
use std::collections::BTreeSet;

/// A caveat for comparisons of one run with one run.
const SINGLE: &str = "These are single runs with one seed, so a change of the scheduler cannot be told from the effect\n\
                      of the seed. keel compare --runs N takes that into account.\n";

/// Returns the budgets of one run, with an empty line before them. The last line lists those that were exceeded.
pub fn budgets(ruling: &Ruling, style: Style) -> String {
    let mut table = plain_table(style);
    let heads = ["budget", "allowed", "found", ""];
    table.set_header(heads.map(left));
    for budget in &ruling.budgets {
        let verdict = match budget.held {
            _ if is_left_out(budget) => "not counted",
            true => "held",
            false => "EXCEEDED",
        };
        table.add_row([budget.kind, &budget.allowed, &budget.found, verdict].map(left));
    }
    format!("\n{}\n\n{}\n", lines_of(&table), strict_sentence(ruling, style))
}

/// Returns `Strict: failed: ...` or `Strict: passed.`
fn strict_sentence(ruling: &Ruling, style: Style) -> String {
    if ruling.passed {
        return style.paint(Paint::Good, &passed(ruling));
    }
    let exceeded: Vec<String> = ruling.exceeded().map(exceeded).collect();
    style.paint(Paint::Bad, &format!("Strict: failed; {}.", exceeded.join("; ")))
}

/// Returns the sentence of a run that passed. It says which findings were left out.
fn passed(ruling: &Ruling) -> String {
    let left_out: BTreeSet<&str> =
        ruling.budgets.iter().filter(|budget| is_left_out(budget)).map(|budget| budget.kind).collect();
    if left_out.is_empty() {
        return "Strict: passed; every finding is within its budget.".to_owned();
    }
    let left_out: Vec<&str> = left_out.into_iter().collect();
    format!(
        "Strict: passed; every finding that counts is within its budget. Not counted, because the recording lacks data: {}.",
        left_out.join(", ")
    )
}

/// Returns whether there are findings that don't count.
fn is_left_out(budget: &Held) -> bool {
    !budget.counted && budget.found_value > 0.0
}

/// Describes a budget: `wasted_core: 22.6%, where 2% of the machine's time is allowed (11.3 times)`.
fn exceeded(budget: &Held) -> String {
    let times = match budget.allowed_value {
        Some(allowed) if allowed > 0.0 => {
            format!(" ({} times as much)", figures(budget.found_value / allowed))
        }
        _ => String::new(),
    };
    format!("{}: {}, where {} is allowed{times}", budget.kind, budget.found, budget.allowed)
}

/// Returns one line on the runs of a scheduler: the first that did not pass, and how many more there are.
pub fn line(scheduler: &str, rulings: &[(u64, &Ruling)], style: Style) -> String {
    let failed: Vec<_> = rulings.iter().filter(|(_, ruling)| !ruling.passed).collect();
    let Some((seed, ruling)) = failed.first().copied().or(rulings.first()) else { return String::new() };
    let of = match rulings.len() {
        1 => String::new(),
        all if failed.is_empty() => format!(", {all} runs"),
        all => format!(", {} of {all} runs, the first with seed {seed}", failed.len()),
    };
    format!("{}{of}: {}\n", style.paint(Paint::Bold, &escape_all(scheduler)), strict_sentence(ruling, style))
}

/// Returns the figures of one scheduler next to the baseline's, with an empty line before them. The last line lists
/// those that regressed.
pub fn regression(found: &Regression, style: Style) -> String {
    let mut table = plain_table(style);
    let heads = ["baseline", "now", "change", "limit", "noise"].map(right);
    table.set_header([left("figure")].into_iter().chain(heads).chain([left("")]));
    for row in found.figures.iter().filter(|row| is_shown(row)) {
        let per = row.per.map_or_else(String::new, |per| format!(" per {per}"));
        let noise = if row.noise > 0.0 { in_unit(row, row.noise) } else { "-".to_owned() };
        let cells =
            [in_unit(row, row.baseline), in_unit(row, row.now), change(row), row.limit.clone(), noise]
                .map(right);
        let verdict = match row.verdict {
            Change::Regressed => "REGRESSED",
            Change::Improved => "improved",
            Change::Same => "same",
        };
        let figure = [left(format!("{}{per}", row.figure))];
        table.add_row(figure.into_iter().chain(cells).chain([left(verdict)]));
    }
    let single = if found.is_single() { SINGLE } else { "" };
    format!("\n{}\n\n{single}{}\n", lines_of(&table), baseline_sentence(found, style))
}

/// Returns whether a row is shown. Those of single names are shown only if they changed, because there may be many.
fn is_shown(row: &Row) -> bool {
    row.verdict != Change::Same || !row.figure.contains(' ')
}

fn baseline_sentence(found: &Regression, style: Style) -> String {
    let who = escape_all(&found.scheduler);
    let runs = |n: usize| if n == 1 { "1 run".to_owned() } else { format!("{n} runs") };
    // Differences from another scheduler are not regressions of this one, so say whose figures these are.
    let whose = match found.baseline_scheduler == found.scheduler {
        true => String::new(),
        false => format!(" of {}", escape_all(&found.baseline_scheduler)),
    };
    let of = format!("{} against the baseline's {}{whose}", runs(found.runs), found.baseline_runs);
    if found.passed {
        return style.paint(Paint::Good, &format!("Baseline: {who} passed; no figure regressed ({of})."));
    }
    let reported: Vec<String> = found.regressed().map(regressed).collect();
    style.paint(Paint::Bad, &format!("Baseline: {who} failed ({of}); {}.", reported.join("; ")))
}

/// Describes a regression: `switches a unit went from 1.64 to 2.10 (+28 %), where 0.10 more is allowed`.
fn regressed(row: &Row) -> String {
    let per = row.per.map_or_else(String::new, |per| format!(" per {per}"));
    let less = if row.now < row.baseline { "less" } else { "more" };
    let by = match change(row).as_str() {
        "" => String::new(),
        change => format!(" ({change})"),
    };
    let allowed = row.allowed.map_or_else(String::new, |most| in_unit(row, most));
    let (then, now) = (in_unit(row, row.baseline), in_unit(row, row.now));
    format!("{}{per} went from {then} to {now}{by}, where {allowed} {less} is allowed", row.figure)
}

fn change(row: &Row) -> String {
    row.change.map_or_else(String::new, |change| format!("{:+.1} %", change * 100.0))
}

/// Returns a value of this figure with its unit: `2.23 µs`, `0.011 %`, `56,423`.
pub fn in_unit(row: &Row, value: f64) -> String {
    match row.unit {
        "ns" if value < 1000.0 => format!("{} ns", figures(value)),
        "ns" => Span::from_ns(value.round() as u64).to_string(),
        "share" => format!("{} %", figures(value * 100.0)),
        _ => figures(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_abi::Span;
    use keel_check::{Kind, Sums};
    use keel_gate::{Budgets, Facts};
    use std::collections::BTreeMap;

    #[test]
    fn what_was_exceeded_stands_last() {
        let sums = |count, total, longest| Sums { count, total, longest };
        let found = BTreeMap::from([
            (Kind::WastedCore, sums(195_878, Span::from_ms(18_112), Span::from_us(259))),
            (Kind::Starvation, sums(3, Span::from_s(4), Span::from_s(2))),
        ]);
        let facts =
            Facts { found, machine_time: Span::from_s(80), wakeups: 560_000, tasks: 32, ..Facts::default() };
        insta::assert_snapshot!(budgets(&Ruling::new(&Budgets::default(), &facts), Style::PLAIN));
        let passed = budgets(&Ruling::new(&Budgets::default(), &Facts::default()), Style::PLAIN);
        assert!(passed.ends_with("\nStrict: passed; every finding is within its budget.\n"), "{passed}");
    }

    #[test]
    fn findings_that_were_not_counted_are_named() {
        let check = |unsure: &[Kind], expected: &str| {
            let sums = Sums { count: 9, total: Span::from_s(1), longest: Span::from_s(1) };
            let found = unsure.iter().map(|&kind| (kind, sums)).collect();
            let unsure = unsure.iter().copied().collect();
            let facts = Facts { found, unsure, machine_time: Span::from_s(8), ..Facts::default() };
            let text = budgets(&Ruling::new(&Budgets::default(), &facts), Style::PLAIN);
            assert!(text.ends_with(&format!("\nStrict: passed; {expected}\n")), "{text}");
        };
        check(&[], "every finding is within its budget.");
        let counted =
            "every finding that counts is within its budget. Not counted, because the recording lacks data:";
        check(&[Kind::WastedCore], &format!("{counted} wasted_core."));
        check(&[Kind::WastedCore, Kind::Starvation], &format!("{counted} starvation, wasted_core."));
    }

    #[test]
    fn a_regression_is_reported_with_its_limit() {
        let row = |figure: &str, unit, baseline: f64, now: f64, verdict| Row {
            figure: figure.into(),
            per: (figure == "switches").then_some("unit"),
            unit,
            baseline,
            now,
            change: (baseline != 0.0).then(|| now / baseline - 1.0),
            limit: "5%".into(),
            allowed: Some(baseline * 0.05),
            noise: baseline * 0.01,
            verdict,
        };
        let figures = vec![
            row("throughput", "plain", 56_620.0, 50_000.0, Change::Regressed),
            row("wakeup_delay_p99", "ns", 118_530.0, 60_000.0, Change::Improved),
            row("switches", "plain", 1.64, 1.65, Change::Same),
            row("wasted_share", "share", 0.0, 0.11, Change::Regressed),
            row("name_delay_p99 of quiet", "ns", 1.0, 1.0, Change::Same),
            row("name_delay_p99 of late", "ns", 900.0, 90_000.0, Change::Regressed),
        ];
        let mut found = Regression {
            scheduler: "mine".into(),
            passed: false,
            baseline_scheduler: "mine".into(),
            baseline_runs: 3,
            runs: 3,
            figures,
        };
        insta::assert_snapshot!(regression(&found, Style::PLAIN));
        (found.baseline_runs, found.runs, found.passed) = (1, 1, true);
        found.figures.clear();
        let text = regression(&found, Style::PLAIN);
        assert!(
            text.contains("single runs")
                && text.ends_with("no figure regressed (1 run against the baseline's 1).\n"),
            "{text}"
        );
        found.baseline_scheduler = "th\x1beirs".into();
        let text = regression(&found, Style::PLAIN);
        assert!(text.ends_with("(1 run against the baseline's 1 of th\\u{1b}eirs).\n"), "{text}");
    }
}
