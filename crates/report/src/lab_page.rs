//! Writes the lab's results as one HTML page. It needs no network, no script and no other file, follows its reader's
//! light or dark mode, and can be printed or read on a phone.
//!
//! All texts come from files that may be untrusted, so each goes through [`text`]. Pictures are separate documents in
//! `data:` addresses, so nothing in them can affect the page.

mod again;
mod axis;
mod claims;
mod matrix;
mod sensitivity;

pub use matrix::of_matrix;
pub use sensitivity::of_sensitivity;

use crate::experiment::{ExperimentReport, sentence, trend_words};
use crate::picture::xml;
use keel_check::escape_all;
use keel_experiment::Experiment;
use std::fmt::Write;

/// The maximum size of a picture in bytes. A note replaces larger ones.
const MOST_PICTURE: usize = 100_000;

macro_rules! put {
    // Writing to a string cannot fail.
    ($out:expr, $($format:tt)*) => { let _ = writeln!($out, $($format)*); };
}
use put;

/// One run of an arm, drawn.
#[derive(Clone, Debug)]
pub struct ArmPicture {
    /// The arm's name in the claims.
    pub label: String,
    /// A whole SVG document.
    pub svg: String,
}

/// Returns the page of these experiments. `pictures` are the pictures of each experiment's arms, if there are any.
pub fn of_experiments(
    experiments: &[Experiment],
    reports: &[ExperimentReport],
    pictures: &[Vec<Option<ArmPicture>>],
) -> String {
    let mut page = head("Published experiments: their results and ours", &sentence(reports));
    claims::verdicts(&mut page, reports);
    for ((experiment, report), pictures) in experiments.iter().zip(reports).zip(pictures) {
        article(&mut page, experiment, report, pictures);
    }
    end(page)
}

fn article(
    page: &mut String,
    experiment: &Experiment,
    report: &ExperimentReport,
    pictures: &[Option<ArmPicture>],
) {
    put!(page, "<article id=\"{}\"><h2>{}</h2>", text(&report.id), text(&report.title));
    // The first claim's reason follows below, with the claim.
    let first = report.claims.first().is_some_and(|claim| claim.why == report.why);
    let why = if first { String::new() } else { format!(": {}", text(&report.why)) };
    put!(
        page,
        "<p><code>{}</code> <b class=\"{v}\">{}</b>{why}</p>",
        text(&report.id),
        words(report.verdict),
        v = report.verdict
    );
    if !experiment.story.is_empty() {
        put!(page, "<p class=\"story\">{}</p>", text(&experiment.story));
    }
    put!(page, "<p><i>Source:</i> {}</p>", text(&experiment.source));
    put!(page, "<p><i>Modelled:</i> {}</p>", text(&experiment.modelled));
    for claim in &report.claims {
        claims::claim(page, claim);
    }
    if let Some(trend) = &report.trend {
        put!(page, "<p><i>Trend:</i> {}</p>", text(&trend_words(trend)));
    }
    for table in &report.tables {
        claims::tasks(page, table);
    }
    claims::arms(page, &report.arms);
    drawn(page, pictures);
    again::commands(page, experiment);
    put!(page, "</article>");
}

fn drawn(page: &mut String, pictures: &[Option<ArmPicture>]) {
    let pictures: Vec<&ArmPicture> = pictures.iter().flatten().collect();
    if pictures.is_empty() {
        return;
    }
    put!(page, "<details open><summary>The start of one run of each arm</summary>");
    for picture in pictures {
        let label = text(&picture.label);
        match picture.svg.len() {
            0..=MOST_PICTURE => {
                put!(
                    page,
                    "<img loading=\"lazy\" alt=\"{label}: what ran on each CPU\" src=\"{}\">",
                    address(&picture.svg)
                );
            }
            _ => {
                put!(page, "<p>{label}: the picture is too large for this page.</p>");
            }
        }
    }
    put!(page, "</details>");
}

/// Returns a picture as an address that contains all of it: every byte that could end the address or has a meaning in
/// it is escaped as a number.
fn address(svg: &str) -> String {
    let mut address = "data:image/svg+xml,".to_owned();
    for &byte in svg.as_bytes() {
        match byte {
            b'A'..=b'Z'
            | b'a'..=b'z'
            | b'0'..=b'9'
            | b' '
            | b'-'
            | b'.'
            | b'_'
            | b'='
            | b'/'
            | b':'
            | b','
            | b';' => {
                address.push(char::from(byte));
            }
            _ => {
                let _ = write!(address, "%{byte:02X}");
            }
        }
    }
    address
}

/// Makes untrusted text safe for the page: no markup and no control character remains.
fn text(given: &str) -> String {
    xml(&escape_all(given))
}

/// Returns a verdict in words.
fn words(verdict: &str) -> String {
    verdict.replace('_', " ")
}

fn head(title: &str, says: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">\n\
         <title>{title}</title>\n<style>\n{}</style></head>\n<body>\n<h1>{title}</h1>\n<p class=\"says\">{}</p>\n",
        include_str!("lab_page/style.css"),
        text(says)
    )
}

fn end(page: String) -> String {
    page + "</body></html>\n"
}

/// Writes a table. If it is wider than the screen, it scrolls on its own, without the page.
fn table(page: &mut String, class: &str, heads: &[String], rows: &[Vec<String>]) {
    put!(page, "<div class=\"wide\"><table class=\"{class}\"><thead><tr>");
    for head in heads {
        put!(page, "<th>{head}</th>");
    }
    put!(page, "</tr></thead><tbody>");
    for row in rows {
        put!(page, "<tr>{}</tr>", row.iter().map(|cell| format!("<td>{cell}</td>")).collect::<String>());
    }
    put!(page, "</tbody></table></div>");
}

#[cfg(test)]
mod tests;
