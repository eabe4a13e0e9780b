//! Describes a run in one plain sentence.

use crate::caveat;
use crate::findings::others;
use crate::run::{FindingReport, RunReport};
use crate::style::{Paint, Style};
use keel_abi::numbers::{core_seconds, count, percent};
use keel_check::escape_all;

/// Added after findings that may be false.
const UNCOUNTED: &str = " --strict ignores such findings unless you add --assume-unrestricted.";

/// Returns the verdict. A failure comes before waste, and waste before other findings. A caveat about the stream comes
/// before the findings that it affects. If only part of it was judged, the sentence begins by saying so.
pub fn sentence(run: &RunReport) -> String {
    match &run.partial {
        Some(partial) => format!("{}: {}", partial.words(), whole(run)),
        None => whole(run),
    }
}

fn whole(run: &RunReport) -> String {
    match doubt(run) {
        Some(doubt) => format!("{doubt} According to what it contains, {}", caveat::within(&known(run))),
        None => known(run),
    }
}

/// Returns what is missing or inconsistent in the recording. Omitted if the scheduler failed.
fn doubt(run: &RunReport) -> Option<String> {
    let doubt = run.doubt.as_ref().filter(|_| !run.failed())?;
    Some(format!("This recording is incomplete: {}.", escape_all(doubt)))
}

fn known(run: &RunReport) -> String {
    match run.is_unsure() && !run.failed() {
        true => format!("{}{}", caveat::before(run.unknown, claim(run)), UNCOUNTED),
        false if run.wasted_core_ns > 0 && !run.failed() => caveat::before(run.unknown, claim(run)),
        false => claim(run),
    }
}

fn claim(run: &RunReport) -> String {
    if run.failed() {
        // The kernel's message may contain a task's name, and is longer than a name.
        let reason: String = run.exit.reason.chars().take(400).collect();
        let reason = escape_all(&reason);
        let place = run.exit.place.as_deref().map_or(String::new(), |place| {
            let place: String = place.chars().take(400).collect();
            format!(", in {}", escape_all(&place))
        });
        let restart = match run.exit.kind.as_str() {
            "unreg_kern" => {
                " It asked to be restarted: keel run does that; a simulated run ends unless the recipe sets restart_ms."
            }
            _ => "",
        };
        return format!("The scheduler failed after {}: {reason}{place}.{restart}", run.duration());
    }
    let worst = |kind: &str| run.findings.iter().find(|f| f.kind == kind);
    let others = others(run);
    let starved = run.findings_total.get("starvation").copied().unwrap_or(0);
    let starved_alone = run.findings_total.iter().all(|(kind, &n)| kind == "starvation" || n == 0);
    match (run.wasted_core_ns, starved) {
        (0, _) if !run.found_something() && !run.is_unsure() && !others.is_empty() => {
            format!("No core idled while a thread waited; {others} caused by the programs themselves.")
        }
        (0, _) if !starved_alone => format!(
            "No core idled while a thread waited, but there {} {others}.{}",
            if others.starts_with("1 ") && !others.contains(" and ") { "was" } else { "were" },
            reported(run.findings.first())
        ),
        (0, 0) => "No core idled while a thread waited.".to_owned(),
        (0, n) => format!(
            "No core idled while a thread waited, but {}.{}",
            if n == 1 {
                "one thread waited too long".to_owned()
            } else {
                format!("threads waited too long {} times", count(n))
            },
            reported(worst("starvation"))
        ),
        (wasted, _) => format!(
            "Cores idled for {}{} ({} of the machine) while threads waited{}.{}",
            if run.wasted_lower_bound { "at least " } else { "" },
            core_seconds(wasted),
            percent(run.wasted_share),
            match others.as_str() {
                "" => String::new(),
                others => format!("; keel also found {others}"),
            },
            reported(worst("wasted_core")),
        ),
    }
}

/// Returns the first two lines of a picture or page: which cores idled while which tasks waited, and the verdict. If no
/// core idled, the verdict alone.
pub fn lines(run: &RunReport) -> (String, String) {
    match headline(run).as_str() {
        "" => (sentence(run), String::new()),
        headline => match &run.partial {
            Some(partial) => (format!("{}: {headline}", partial.words()), sentence(run)),
            None => (headline.to_owned(), sentence(run)),
        },
    }
}

/// Returns what is missing, and which cores idled, or empty if nothing is missing and none idled.
fn headline(run: &RunReport) -> String {
    let reported = doubt(run).into_iter().chain([run.wasted_where.sentence.clone()]);
    reported.filter(|sentence| !sentence.is_empty()).collect::<Vec<_>>().join(" ")
}

fn reported(worst: Option<&FindingReport>) -> String {
    worst.map_or(String::new(), |worst| format!(" Worst: {}.", worst.text))
}

/// Returns the beginning of the text: that the result is partial, what is missing, and which cores idled and why, as
/// far as these apply; each is followed by an empty line.
pub(crate) fn first(run: &RunReport, style: Style) -> String {
    let partial = run.partial.map_or(String::new(), |partial| {
        let reported = format!("{}; all figures cover only this part.", partial.words());
        style.paint(Paint::Doubtful, &reported) + "\n\n"
    });
    partial + &painted_headline(run, style)
}

fn painted_headline(run: &RunReport, style: Style) -> String {
    match headline(run).as_str() {
        "" => String::new(),
        sentence => format!("{}\n\n", style.paint(Paint::Doubtful, sentence)),
    }
}

/// Returns the sentence, coloured by severity.
pub fn painted(run: &RunReport, style: Style) -> String {
    let paint = match () {
        () if run.failed() => Paint::Bad,
        () if run.found_something() || run.is_unsure() || run.doubt.is_some() => Paint::Doubtful,
        () => Paint::Good,
    };
    style.paint(paint, &sentence(run))
}
