//! Draws the screen for a terminal of any size.

use super::text::{clock, costs};
use super::{WatchBegin, WatchEnd, WatchFinding};
use crate::style::{Paint, Style};
use keel_abi::numbers::{count, counted};
use keel_check::escape_all;

/// The state at the last sample.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Now {
    /// The scheduler.
    pub scheduler: String,
    /// The number of online CPUs.
    pub online: u32,
    /// The number of idle CPUs.
    pub idle: u32,
    /// The number of waiting tasks.
    pub waiting: u32,
}

/// Returns the lines of a screen with this many rows. If not all fit, the most important ones are shown; the latest
/// findings fill the remaining rows. No line is wider than the style's width.
pub fn screen(
    begin: &WatchBegin,
    now: &Now,
    sums: &WatchEnd,
    last: &[WatchFinding],
    style: Style,
    rows: usize,
) -> Vec<String> {
    let verdict = match sums.findings {
        0 => (Paint::Good, "No core idles for long while a task that it could run waits".to_owned()),
        n => (Paint::Bad, format!("{}: cores idle while tasks wait", counted(n, "finding"))),
    };
    let state = format!(
        "{} under {}: {} idle, {} waiting",
        counted(now.online.into(), "CPU"),
        escape_all(&now.scheduler),
        count(now.idle.into()),
        counted(now.waiting.into(), "task")
    );
    let samples = format!(
        "{} in {}, {}, {} ended on their own",
        counted(sums.looks, "sample"),
        clock(sums.duration_ns).trim_start(),
        counted(sums.suspicions, "suspicion"),
        count(sums.passing + sums.cured.values().sum::<u64>())
    );
    let heads = [
        (verdict.0, verdict.1),
        (Paint::Bold, state),
        (Paint::Bold, samples),
        (Paint::Bold, costs(&sums.cost)),
    ];
    let rows = rows.max(1);
    let mut lines: Vec<String> = heads
        .into_iter()
        .take(rows)
        .map(|(paint, text)| match paint {
            Paint::Bold => fit(&text, style.width),
            paint => style.paint(paint, &fit(&text, style.width)),
        })
        .collect();
    let left = rows - lines.len();
    let shown = last.len().saturating_sub(left);
    lines.extend(
        last[shown..]
            .iter()
            .map(|found| fit(&format!("{}  {}", clock(found.at_ns), found.text), style.width)),
    );
    // If there is enough space, the screen shows how to quit.
    if lines.len() < rows && begin.cpus > 0 {
        lines.push(fit("Press Ctrl-C to stop", style.width));
    }
    lines
}

/// Cuts a line to at most this many characters.
fn fit(text: &str, width: u16) -> String {
    let width = usize::from(width.max(1));
    match text.chars().count() > width {
        true => text.chars().take(width - 1).chain(['…']).collect(),
        false => text.to_owned(),
    }
}
