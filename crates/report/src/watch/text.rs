//! Writes lines of text, for pipes and files.

use super::{WatchBegin, WatchCost, WatchEnd, WatchFinding, WatchLine};
use crate::looked_at;
use keel_abi::Span;
use keel_abi::numbers::{count, counted, percent};
use keel_check::escape_all;

/// Returns a line for people, or `None` for lines that don't need to be shown at once.
pub fn line(line: &WatchLine) -> Option<String> {
    match line {
        WatchLine::Begin(begin) => Some(begins(begin)),
        WatchLine::Finding(finding) => Some(finds(finding)),
        WatchLine::Cured(_) => None,
        WatchLine::Unsure(unsure) => Some(format!(
            "{}  CPUs may have idled while tasks waited, but {} events were lost, so this is unknown\n",
            clock(unsure.at_ns),
            count(unsure.lost_events)
        )),
        WatchLine::End(end) => Some(ends(end)),
    }
}

/// Formats a time as seconds from the start.
pub(super) fn clock(ns: u64) -> String {
    format!("{:8.1} s", ns as f64 / 1e9)
}

fn begins(begin: &WatchBegin) -> String {
    let (every, confirm) = (Span::from_ns(begin.every_ns), Span::from_ns(begin.confirm_ns));
    format!(
        "Watching {} under {}: one sample every {every}; a suspicion becomes a finding if it lasts {confirm}.\n",
        counted(begin.cpus.into(), "CPU"),
        escape_all(&begin.scheduler)
    )
}

fn finds(finding: &WatchFinding) -> String {
    let kept = finding.recording.as_ref().map_or(String::new(), |path| format!(" ({})", escape_all(path)));
    let profile = looked_at::lines(&finding.looked_at);
    format!("{}  {}{kept}\n{profile}", clock(finding.at_ns), finding.text)
}

fn ends(end: &WatchEnd) -> String {
    let found = match end.findings {
        0 => "no core idled for long while a task that it could run waited".to_owned(),
        n => format!("{} of cores that idled while tasks waited", counted(n, "finding")),
    };
    let mut text =
        format!("{} in {}: {found}.\n", counted(end.looks, "sample"), Span::from_ns(end.duration_ns));
    let watched: u64 = end.cured.values().sum();
    if end.suspicions > end.findings {
        text += &format!("{} not confirmed: ", counted(end.suspicions - end.findings, "suspicion"));
        text += &format!("{} resolved immediately", count(end.passing));
        if watched > 0 {
            let by: Vec<String> = end.cured.iter().map(|(by, n)| format!("{by} {}", count(*n))).collect();
            text += &format!(", {} ended ({})", count(watched), by.join(", "));
        }
        if end.unsure > 0 {
            text += &format!(", {} undecided", count(end.unsure));
        }
        text += ".\n";
    }
    text + &format!("{}.\n", costs(&end.cost))
}

/// Returns the cost, without a full stop.
pub(super) fn costs(cost: &WatchCost) -> String {
    let programs = match cost.programs_ns {
        Some(ns) => format!("{} in its BPF programs", Span::from_ns(ns)),
        None => "an unknown time in its BPF programs".to_owned(),
    };
    format!(
        "keel itself used {} of a CPU (limit {}): {} in user space, {programs}; {} to load them",
        percent(cost.share_of_a_cpu),
        percent(cost.allowed_share),
        Span::from_ns(cost.process_ns),
        Span::from_ns(cost.load_ns)
    )
}
