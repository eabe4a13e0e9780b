//! Writes experiments as a table: one line per claim, and one sentence at the end.

use super::{ClaimReport, ExperimentReport, TrendReport};
use crate::cells::{left, lines_of, plain_table, right};
use crate::style::{Paint, Style};
use comfy_table::Cell;
use keel_abi::numbers::figures;
use keel_check::Measure;
use keel_check::escape_all;
use keel_experiment::matrix::more_is_better;
use keel_experiment::rank_correlation;

/// Narrower terminals get the reasons below the table.
const WIDE: u16 = 160;
/// Narrower terminals don't get the number of runs, which would leave no space for the rest of the line.
const WITH_RUNS: u16 = 100;

/// Returns the whole table, and the sentence.
pub fn table(experiments: &[ExperimentReport], style: Style) -> String {
    if experiments.is_empty() {
        return style.paint(Paint::Doubtful, &sentence(experiments)) + "\n";
    }
    let (wide, with_runs) = (style.width >= WIDE, style.width >= WITH_RUNS);
    let mut table = plain_table(style);
    let heads = ["published", "ours", "A/A", "runs", "mechanism off"];
    let heads = heads.into_iter().filter(|head| with_runs || *head != "runs");
    let heads = heads.map(right);
    let last = ["", "why"].into_iter().take(if wide { 2 } else { 1 }).map(left);
    table.set_header([left("experiment")].into_iter().chain(heads).chain(last));
    for experiment in experiments {
        for (at, claim) in experiment.claims.iter().enumerate() {
            let name = match at {
                0 => escape_all(&experiment.id),
                _ => format!("+ {}", escape_all(&claim.says)),
            };
            table.add_row(row(name, claim, with_runs.then(|| runs(experiment, claim)), wide));
        }
    }
    let mut text = lines_of(&table) + "\n\n";
    if !wide {
        text += &reasons(experiments);
        text.push('\n');
    }
    for experiment in experiments {
        for table in &experiment.tables {
            text += &super::tasks::text(&experiment.id, table);
            text.push('\n');
        }
    }
    text += &trends(experiments);
    let all_good = experiments.iter().all(|experiment| experiment.verdict != "not_reached");
    let paint = if all_good { Paint::Good } else { Paint::Doubtful };
    text + &style.paint(paint, &sentence(experiments)) + "\n"
}

/// Returns a line for each trend, and one for all of them together.
fn trends(experiments: &[ExperimentReport]) -> String {
    let mut lines = Vec::new();
    let mut pairs = Vec::new();
    for (experiment, trend) in
        experiments.iter().filter_map(|experiment| Some((experiment, experiment.trend?)))
    {
        lines.push(format!("{}: {}", escape_all(&experiment.id), trend_words(&trend)));
        let cells = experiment.claims.iter().filter(|claim| claim.to.is_some());
        pairs.extend(cells.filter_map(gains));
    }
    if lines.len() > 1 {
        let rho = rank_correlation(&pairs).map_or("none".to_owned(), figures);
        lines.push(format!(
            "rank correlation over all {} cells of these {}: {rho}",
            pairs.len(),
            lines.len()
        ));
    }
    if lines.is_empty() { String::new() } else { lines.join("\n") + "\n\n" }
}

/// Returns the published ratio and ours, as gains: inverted if the measure is a time.
fn gains(claim: &ClaimReport) -> Option<(f64, f64)> {
    let ours = claim.ours?;
    match Measure::from_name(claim.measure).is_some_and(more_is_better) {
        true => Some((claim.published, ours)),
        false => Some((1.0 / claim.published, 1.0 / ours)),
    }
}

/// Returns the value of a trend, and whether that is enough.
pub(crate) fn trend_words(trend: &TrendReport) -> String {
    let rho = trend.rank_correlation.map_or("none".to_owned(), figures);
    let least = figures(trend.least);
    let enough = if trend.holds { "as claimed" } else { "not as claimed" };
    format!("rank correlation over {} cells {rho}, {enough} (at least {least})", trend.cells)
}

/// Returns the reasons, one line per claim.
fn reasons(experiments: &[ExperimentReport]) -> String {
    let mut text = String::new();
    for experiment in experiments {
        for (at, claim) in experiment.claims.iter().enumerate() {
            let says = if at == 0 { String::new() } else { format!(", {}", escape_all(&claim.says)) };
            text += &format!("{}{says}: {}\n", escape_all(&experiment.id), escape_all(&claim.why));
        }
    }
    text
}

/// Returns the number of runs of the arm in the numerator.
fn runs(experiment: &ExperimentReport, claim: &ClaimReport) -> usize {
    experiment.arms.iter().find(|arm| arm.label == claim.of).map_or(0, |arm| arm.runs)
}

fn row(name: String, claim: &ClaimReport, runs: Option<usize>, wide: bool) -> Vec<Cell> {
    let shown = |value: Option<f64>| right(value.map_or("-".to_owned(), figures));
    let spread = match claim.spread {
        Some([low, high]) => format!("{} .. {}", figures(low), figures(high)),
        None => "-".to_owned(),
    };
    let mut row = vec![left(name), shown(Some(claim.published)), shown(claim.ours), right(spread)];
    row.extend(runs.map(|runs| right(runs.to_string())));
    row.extend([shown(claim.off), left(claim.verdict.replace('_', " "))]);
    if wide {
        row.push(left(escape_all(&claim.why)));
    }
    row
}

/// Returns one sentence: how many experiments of how many are reproduced.
pub fn sentence(experiments: &[ExperimentReport]) -> String {
    let count = |verdict: &str| experiments.iter().filter(|e| e.verdict == verdict).count();
    let (calibrated, reproduced) = (count("calibrated"), count("reproduced"));
    let is_are = |n: usize| if n == 1 { "is" } else { "are" };
    let mut rest = String::new();
    for (verdict, words) in [("not_reached", "not reached"), ("undecidable", "undecidable")] {
        match count(verdict) {
            0 => {}
            n => rest += &format!(", {n} {} {words}", is_are(n)),
        }
    }
    if calibrated > 0 {
        rest += &format!("; {calibrated} {} calibrated", is_are(calibrated));
    }
    let of = experiments.len() - calibrated;
    match of {
        0 if experiments.is_empty() => "No experiment was run to its end.".to_owned(),
        0 => format!("There was nothing to reproduce{rest}."),
        1 if reproduced == 1 => format!("The experiment is reproduced{rest}."),
        _ => format!("{reproduced} of {of} experiments {} reproduced{rest}.", is_are(reproduced)),
    }
}
