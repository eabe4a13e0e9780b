//! An episode as a finding, in words.

use super::SHORT;
use super::episode::{Past, Seen};
use super::groups::Tally;
use crate::finding::{Blame, Finding, Kind, called};

/// A place with at least this share of a wait is reported as all of it.
const NEARLY_ALL: f64 = 0.95;

pub(super) fn finding(past: &Past, tally: &Tally) -> Finding {
    let (cpu, length) = (past.cpu, past.length);
    let text = match &past.seen {
        None => format!("CPU {cpu} idled for {length} while tasks waited"),
        Some((seen, 1)) => {
            let (who, place) = (called(&seen.name, seen.pid, seen.task), place(seen, tally));
            let part = if is_all(seen) { String::new() } else { format!(", for {} of it", seen.part) };
            format!("CPU {cpu} idled for {length} while task {who} waited{part} {place}")
        }
        // There may be just a few tasks that take turns, so their number would say little.
        Some((seen, _)) => {
            let (who, place) = (called(&seen.name, seen.pid, seen.task), place(seen, tally));
            let part = if is_all(seen) { String::new() } else { format!(", {} of it", seen.part) };
            format!(
                "CPU {cpu} idled for {length} while at least one task always waited; \
                 {who} waited longest, for {}{part} {place}",
                seen.met
            )
        }
    };
    let tasks = past.seen.iter().map(|(seen, _)| seen.task).collect();
    Finding {
        kind: Kind::WastedCore,
        blame: Blame::Scheduler,
        start: past.start,
        duration: length,
        threshold: SHORT,
        cpus: vec![cpu],
        tasks,
        events: vec![past.start, past.start + length],
        decision: past.seen.as_ref().and_then(|(seen, _)| seen.here.decision(seen.task)),
        text,
    }
}

/// Returns whether it was there for nearly all the time.
fn is_all(seen: &Seen) -> bool {
    seen.part.as_ns() as f64 >= seen.met.as_ns() as f64 * NEARLY_ALL
}

/// Where the task waited and who had put it there.
fn place(seen: &Seen, tally: &Tally) -> String {
    let waker = seen.waker.map(|waker| called(tally.name_of(waker.name), waker.pid, waker.task));
    seen.here.words(waker.as_deref())
}
