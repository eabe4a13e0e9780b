//! Draws a failing order as a timeline: a line for each step of a callback near the points where the order suspends
//! one, and a column for each CPU.

use crate::text::shown;
use keel_abi::order::Step;
use keel_abi::scx::Op;
use keel_abi::{CpuId, Instant, Span};
use keel_search::orders::Hold;
use std::collections::BTreeSet;
use std::ops::Range;

/// The number of holds that are shown: the last ones, because these are nearest to the failure.
const MOST_HOLDS: usize = 6;
/// The maximum number of lines.
const MOST_LINES: usize = 48;
/// The maximum width of a line, so that no terminal wraps it.
const COLUMNS: usize = 80;
/// The width of the first column, a time in microseconds.
const MOMENT: usize = 12;

/// Returns the holds that are shown.
pub fn last_of(holds: &[Hold]) -> &[Hold] {
    &holds[holds.len().saturating_sub(MOST_HOLDS)..]
}

/// Returns the spans to show around these holds: half a window before each, and one and a half windows after it.
pub fn spans(holds: &[Hold], window: Span) -> Vec<Range<Instant>> {
    let half = Span::from_ns(window.as_ns() / 2);
    let span = |hold: &Hold| {
        let at = hold.point.at;
        Instant::from_ns(at.as_ns().saturating_sub(half.as_ns()))..at + window + half
    };
    holds.iter().map(span).collect()
}

/// A hold or a step of a callback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    at: Instant,
    cpu: CpuId,
    op: Op,
    /// The source line: untrusted text.
    source: Option<String>,
    does: Does,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Does {
    /// The callback is suspended, and this CPU runs first; `None` for a timer.
    Waits(Option<CpuId>),
    /// The callback executes the step.
    Goes,
}

/// Returns the holds and steps, each with its source line, in the order of the run.
pub fn events(
    holds: impl Iterator<Item = (Hold, Option<String>)>,
    steps: impl Iterator<Item = (Step, Option<String>)>,
) -> Vec<Event> {
    let holds = holds.map(|(Hold { point, .. }, source)| {
        let (at, cpu, op) = (point.at, point.cpu, point.op);
        Event { at, cpu, op, source, does: Does::Waits(point.other) }
    });
    let steps =
        steps.map(|(Step { at, cpu, op, .. }, source)| Event { at, cpu, op, source, does: Does::Goes });
    let mut events: Vec<Event> = holds.chain(steps).collect();
    events.sort_by_key(|event| event.at);
    events
}

/// Returns the lines: the time, a mark in the CPU's column, the callback and its next step. `X` marks a callback that
/// is suspended, `o` one that executes the step, and `|` CPUs whose callback is still suspended.
pub fn lines(events: &[Event], window: Span) -> Vec<String> {
    let cpus: Vec<CpuId> =
        events.iter().map(|event| event.cpu).collect::<BTreeSet<_>>().into_iter().collect();
    let width = cpus.iter().map(|cpu| cpu.0.to_string().len()).max().unwrap_or(1) + 1;
    let head: String = cpus.iter().map(|cpu| format!("{:>width$}", cpu.0)).collect();
    let mut lines = vec![format!("{:>MOMENT$} {head}", "µs, CPU:")];
    let mut held: BTreeSet<CpuId> = BTreeSet::new();
    let mut before: Option<Instant> = None;
    for event in &events[events.len().saturating_sub(MOST_LINES)..] {
        if before.is_some_and(|before| event.at > before + window + window) {
            lines.push(format!("{:>MOMENT$}", "..."));
            held.clear();
        }
        before = Some(event.at);
        held.remove(&event.cpu);
        let mark = |cpu: &CpuId| match event.does {
            _ if *cpu != event.cpu => {
                if held.contains(cpu) {
                    "|"
                } else {
                    ""
                }
            }
            Does::Waits(_) => "X",
            Does::Goes => "o",
        };
        let marks: String = cpus.iter().map(|cpu| format!("{:>width$}", mark(cpu))).collect();
        let moment = event.at.as_ns() as f64 / 1000.0;
        lines.push(cut(&format!("{moment:>MOMENT$.3} {marks}  {}", event.words())));
        if let Does::Waits(_) = event.does {
            held.insert(event.cpu);
        }
    }
    lines
}

impl Event {
    fn words(&self) -> String {
        let does = match self.does {
            Does::Waits(Some(other)) => format!("waits for CPU {}, before ", other.0),
            Does::Waits(None) => "waits for a timer, before ".to_owned(),
            Does::Goes => String::new(),
        };
        format!(
            "{}: {does}{}",
            self.op.name(),
            self.source.as_deref().map_or("an atomic instruction".into(), short)
        )
    }
}

/// Removes the folders from `dir/my.bpf.c:40: text`.
fn short(source: &str) -> String {
    let (place, text) = source.split_once(": ").unwrap_or((source, ""));
    let place = place.rsplit('/').next().unwrap_or(place);
    shown(&format!("{place} {text}")).trim_end().to_owned()
}

/// Cuts a line to [`COLUMNS`].
fn cut(line: &str) -> String {
    match line.char_indices().nth(COLUMNS) {
        None => line.to_owned(),
        Some(_) => line.chars().take(COLUMNS - 1).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_abi::order::{NO_CALL, Point};

    const WINDOW: Span = Span::from_ns(10_000);

    fn hold(ns: u64, cpu: u32, other: Option<u32>, source: Option<&str>) -> (Hold, Option<String>) {
        let at = Instant::from_ns(ns);
        let other = other.map(CpuId);
        let point = Point { at, cpu: CpuId(cpu), op: Op::Dispatch, call: NO_CALL, other, other_at: at };
        (Hold { number: ns, point }, source.map(str::to_owned))
    }

    fn step(ns: u64, cpu: u32, source: Option<&str>) -> (Step, Option<String>) {
        let (at, cpu) = (Instant::from_ns(ns), CpuId(cpu));
        (Step { at, cpu, op: Op::Enqueue, call: 1 }, source.map(str::to_owned))
    }

    #[test]
    fn a_line_for_each_step_shows_who_waits_meanwhile() {
        let check =
            |holds: &[(Hold, Option<String>)], steps: &[(Step, Option<String>)], expected: &[&str]| {
                let events = events(holds.iter().cloned(), steps.iter().cloned());
                assert_eq!(lines(&events, WINDOW), expected);
            };
        check(
            &[hold(5_000, 0, Some(12), Some("./a/my.bpf.c:40: take(1);"))],
            &[step(6_500, 12, None), step(15_001, 0, Some("a\u{1b}.c:2: x")), step(99_000, 0, None)],
            &[
                "    µs, CPU:   0 12",
                "       5.000   X     dispatch: waits for CPU 12, before my.bpf.c:40 take(1);",
                "       6.500   |  o  enqueue: an atomic instruction",
                "      15.001   o     enqueue: a\\u{1b}.c:2 x",
                "         ...",
                "      99.000   o     enqueue: an atomic instruction",
            ],
        );
        check(
            &[hold(1, 3, None, None)],
            &[],
            &[
                "    µs, CPU:  3",
                "       0.001  X  dispatch: waits for a timer, before an atomic instruction",
            ],
        );
    }

    #[test]
    fn no_line_is_wider_than_a_terminal() {
        let long = format!("my.bpf.c:1: {}", "é".repeat(200));
        let lines = lines(&events([].into_iter(), [step(1, 0, Some(&long))].into_iter()), WINDOW);
        assert!(lines[1].chars().count() == COLUMNS && lines[1].ends_with('…'), "{lines:?}");
    }

    #[test]
    fn the_last_holds_are_shown() {
        let holds: Vec<Hold> = (1..9).map(|n| hold(n * 100_000, 0, None, None).0).collect();
        let spans = spans(last_of(&holds), WINDOW);
        assert_eq!(spans.len(), MOST_HOLDS);
        assert_eq!(spans[5], Instant::from_ns(795_000)..Instant::from_ns(815_000));
    }
}
