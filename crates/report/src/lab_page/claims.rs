//! Writes claims and results: the table of all verdicts, and the claims, tables of tasks and arms of one experiment.

use super::{axis, put, table, text, words};
use crate::experiment::{ArmReport, ClaimReport, CountsReport, ExperimentReport, TableReport};
use keel_abi::numbers::{figures, percent};
use std::fmt::Write;

fn strings<const N: usize>(given: [&str; N]) -> Vec<String> {
    given.map(str::to_owned).into()
}

fn shown(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), figures)
}

fn spread(spread: Option<[f64; 2]>) -> String {
    spread.map_or("–".to_owned(), |[low, high]| format!("{} to {}", figures(low), figures(high)))
}

fn badge(verdict: &str) -> String {
    format!("<b class=\"{verdict}\">{}</b>", words(verdict))
}

/// Writes the table of verdicts, one line per experiment.
pub(super) fn verdicts(page: &mut String, reports: &[ExperimentReport]) {
    put!(
        page,
        "<div class=\"wide\"><table class=\"verdicts\"><thead><tr><th>experiment</th><th>published</th><th>ours</th>"
    );
    put!(
        page,
        "<th class=\"less\">A/A</th><th class=\"less\">mechanism off</th><th>verdict</th></tr></thead><tbody>"
    );
    for report in reports {
        let id = text(&report.id);
        put!(
            page,
            "<tr><td><a href=\"#{id}\">{id}</a></td><td>{}</td><td>{}</td><td class=\"less\">{}</td><td class=\"less\">{}</td><td>{}</td></tr>",
            figures(report.published),
            shown(report.ours),
            spread(report.spread),
            shown(report.claims.first().and_then(|claim| claim.off)),
            badge(report.verdict)
        );
    }
    put!(page, "</tbody></table></div>");
}

/// Writes one claim: its text, its axis, and the reason for its verdict.
pub(super) fn claim(page: &mut String, claim: &ClaimReport) {
    let against = claim.to.as_ref().map_or(String::new(), |to| format!(" over {}", text(to)));
    put!(
        page,
        "<h3>{} <small>{} of {}{against}</small></h3>",
        text(&claim.says),
        claim.measure,
        text(&claim.of)
    );
    page.extend(axis::svg(claim));
    put!(page, "<p>{}: {}</p>", badge(claim.verdict), text(&claim.why));
}

/// A column's head, and the function that returns a task's count for it.
type Column = (&'static str, fn(&CountsReport) -> Option<f64>);

/// Writes a table of tasks: the published figures, then ours in small print.
pub(super) fn tasks(page: &mut String, tasks: &TableReport) {
    put!(page, "<h3>{} <small>published, with ours below</small></h3>", text(&tasks.says));
    let columns: [Column; 4] = [
        ("voluntary", |counts| counts.voluntary),
        ("involuntary", |counts| counts.involuntary),
        ("migrated", |counts| counts.migrated),
        ("iterations", |counts| counts.iterations),
    ];
    let mut heads = strings(["task"]);
    heads.extend(columns.iter().map(|(name, _)| (*name).to_owned()));
    let rows: Vec<Vec<String>> = (tasks.rows.iter())
        .map(|row| {
            let both = |(_, of): &Column| {
                let ours = row.ours.as_ref().and_then(of);
                format!("{}<br><small>{}</small>", shown(of(&row.published)), shown(ours))
            };
            [text(&row.task)].into_iter().chain(columns.iter().map(both)).collect()
        })
        .collect();
    table(page, "tasks", &heads, &rows);
}

/// Writes the arms.
pub(super) fn arms(page: &mut String, arms: &[ArmReport]) {
    let row = |arm: &ArmReport| {
        let set: Vec<String> = arm.settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let failed = match arm.failed {
            0 => String::new(),
            n => format!(" <b class=\"failed\">{n} failed</b>"),
        };
        vec![
            text(&arm.label),
            format!("{} <small>{}</small>", text(&arm.scheduler), text(&set.join(" "))),
            text(&arm.workload),
            text(&arm.machine),
            format!("{}{failed}", arm.runs),
            percent(arm.busy_share),
        ]
    };
    put!(page, "<h3>What was run</h3>");
    let heads = strings(["arm", "scheduler", "workload", "machine", "runs", "busy"]);
    table(page, "arms", &heads, &arms.iter().map(row).collect::<Vec<_>>());
}
