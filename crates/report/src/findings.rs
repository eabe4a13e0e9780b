//! Lists findings as text: the longest of each kind, with the decision that put the task there.

use crate::looked_at;
use crate::run::{FindingReport, RunReport};
use crate::style::{Paint, Style};
use keel_abi::Span;
use keel_abi::numbers::count;
use keel_check::{Blame, Kind};

/// The number of findings that the text lists, or one of each kind if that is more.
const LISTED: usize = 5;

/// Returns the list, with an empty line before it, or empty if nothing was found.
pub(crate) fn list(run: &RunReport, style: Style) -> String {
    let listed = choose(&run.findings);
    if listed.is_empty() {
        return String::new();
    }
    let all: u64 = run.findings_total.values().sum();
    let of = match all > listed.len() as u64 {
        true => format!(", the longest of {}", count(all)),
        false => String::new(),
    };
    let mut text = format!("\n{}\n", style.paint(Paint::Bold, &format!("Findings{of}")));
    for found in listed {
        text += &format!("- at {}: {}\n", Span::from_ns(found.start_ns), found.text);
        if found.blame == Blame::Program.name() {
            text += "  the program itself caused this: no task waited long for a CPU during that time\n";
        }
        // A wasted core's sentence already includes it.
        if let Some(decision) = found.decision.as_ref().filter(|_| found.kind != Kind::WastedCore.name()) {
            text += &format!("  it was {}\n", decision.text);
        }
        text += &looked_at::lines(&found.looked_at);
    }
    text
}

/// Returns the longest of each kind, then the second longest of each, up to the limit, sorted by kind.
fn choose(findings: &[FindingReport]) -> Vec<&FindingReport> {
    let mut ranked: Vec<(usize, usize)> = Vec::new();
    let mut nth = 0;
    for (at, found) in findings.iter().enumerate() {
        nth = match at.checked_sub(1).map(|before| &findings[before]) {
            Some(before) if before.kind == found.kind => nth + 1,
            _ => 0,
        };
        ranked.push((nth, at));
    }
    let kinds = ranked.iter().filter(|&&(nth, _)| nth == 0).count();
    ranked.sort_unstable();
    ranked.truncate(LISTED.max(kinds));
    ranked.sort_unstable_by_key(|&(_, at)| at);
    ranked.into_iter().map(|(_, at)| &findings[at]).collect()
}

/// Returns the findings other than wasted cores: `3 long delays and 1 stall`. Empty if there are none.
pub(crate) fn others(run: &RunReport) -> String {
    let named = |kind: Kind| {
        let n = run.findings_total.get(kind.name()).copied().unwrap_or(0);
        let (one, many) = words(kind);
        (n > 0 && kind != Kind::WastedCore)
            .then(|| format!("{} {}", count(n), if n == 1 { one } else { many }))
    };
    let reported: Vec<String> = Kind::ALL.into_iter().filter_map(named).collect();
    match reported.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        [firsts @ .., last] => format!("{} and {last}", firsts.join(", ")),
    }
}

fn words(kind: Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::WastedCore => ("wasted core", "wasted cores"),
        Kind::Starvation => ("starved wait", "starved waits"),
        Kind::LongDelay => ("late wakeup", "late wakeups"),
        Kind::Bouncing => ("bouncing task", "bouncing tasks"),
        Kind::Stall => ("stalled CPU", "stalled CPUs"),
        Kind::PriorityInversion => ("priority inversion", "priority inversions"),
        Kind::MisplacedRealtime => ("misplaced real-time task", "misplaced real-time tasks"),
        Kind::UnfairShare => ("unfair share", "unfair shares"),
        Kind::LockWait => ("long wait for a lock", "long waits for locks"),
    }
}
