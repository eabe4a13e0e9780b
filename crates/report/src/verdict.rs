//! The run in one plain sentence.

use crate::findings::others;
use crate::run::{FindingReport, RunReport};
use crate::style::{Paint, Style};
use crate::units::{core_seconds, count, percent};
use keel_check::escape;

/// The verdict: a failure before waste, waste before anything else.
pub fn sentence(run: &RunReport) -> String {
    if run.failed() {
        // The kernel's words may hold a task's name, and are longer than one.
        let reason: String = run.exit.reason.chars().take(400).collect();
        let reason = printable(&reason);
        let restart = match run.exit.kind.as_str() {
            "unreg_kern" => {
                " The kernel asks for it to be loaded again, which keel run does; a simulated run ends unless its recipe has restart_ms."
            }
            _ => "",
        };
        return format!("The scheduler failed after {}: {reason}.{restart}", run.duration());
    }
    let worst = |kind: &str| run.findings.iter().find(|f| f.kind == kind);
    let others = others(run);
    let starved = run.findings_total.get("starvation").copied().unwrap_or(0);
    let starved_alone = run.findings_total.iter().all(|(kind, &n)| kind == "starvation" || n == 0);
    match (run.wasted_core_ns, starved) {
        (0, _) if !run.found_something() && !others.is_empty() => {
            format!("No core idled while a thread waited; {others} of programs' own doing.")
        }
        (0, _) if !starved_alone => format!(
            "No core idled while a thread waited, but there {} {others}; {}.",
            if others.starts_with("1 ") && !others.contains(" and ") { "was" } else { "were" },
            told(run.findings.first())
        ),
        (0, 0) => "No core idled while a thread waited.".to_owned(),
        (0, n) => format!(
            "No core idled while a thread waited, but {} too long; {}.",
            if n == 1 {
                "one thread waited".to_owned()
            } else {
                format!("threads waited {} times", count(n))
            },
            told(worst("starvation"))
        ),
        (wasted, _) => format!(
            "{}{} ({} of the machine) were idle while threads waited{}; {}.{}",
            if run.wasted_lower_bound { "At least " } else { "" },
            core_seconds(wasted),
            percent(run.wasted_share),
            if run.affinity_unknown { ", as far as their affinity is known" } else { "" },
            told(worst("wasted_core")),
            match others.as_str() {
                "" => String::new(),
                others => format!(" Beside that: {others}."),
            }
        ),
    }
}

/// The first line of a picture or page, and the one below it: which cores idled while who waited, and the verdict; where none
/// did, the verdict alone.
pub fn lines(run: &RunReport) -> (String, String) {
    match run.wasted_where.sentence.as_str() {
        "" => (sentence(run), String::new()),
        headline => (headline.to_owned(), sentence(run)),
    }
}

fn told(worst: Option<&FindingReport>) -> String {
    worst.map_or("nothing more is known".to_owned(), |worst| format!("worst: {}", worst.text))
}

/// [`escape`] for texts of any length.
pub(crate) fn printable(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    chars.chunks(32).map(|chunk| escape(&chunk.iter().collect::<String>())).collect()
}

/// What stands first: which cores idled and why, where one did; with an empty line after it.
pub(crate) fn first(run: &RunReport, style: Style) -> String {
    match run.wasted_where.sentence.as_str() {
        "" => String::new(),
        sentence => format!("{}\n\n", style.paint(Paint::Doubtful, sentence)),
    }
}

/// The sentence, painted by how bad it is.
pub fn painted(run: &RunReport, style: Style) -> String {
    let paint = match () {
        () if run.failed() => Paint::Bad,
        () if run.found_something() => Paint::Doubtful,
        () => Paint::Good,
    };
    style.paint(paint, &sentence(run))
}
