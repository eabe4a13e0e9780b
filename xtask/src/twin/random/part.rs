//! Finds where a simulated run and a real one diverge. Puts the tasks of a name side by side, in the order of their
//! first runs, turn by turn on a CPU. Reports the first turn that ends differently, or is much longer or later.

use crate::Failure;
use keel_abi::{Instant, TaskId};
use keel_trace::{Class, Event, Meta, Reader, Sink, What, Why};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

/// Turns that differ by less than this, in length or in the wait before them, are equal: one tick of the guest.
const ALIKE_NS: u64 = 4_000_000;

/// A task's turn on a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Turn {
    /// Since the workload's first task first ran.
    at_ns: u64,
    cpu: u32,
    /// How long it had been ready to run before.
    waited_ns: u64,
    ran_ns: u64,
    why: Why,
    /// Which task took the CPU.
    next: TaskId,
}

/// The turns of the tasks of some names.
#[derive(Default)]
struct Turns {
    names: BTreeMap<TaskId, String>,
    /// Since when each task has been ready, and what it did.
    ready: BTreeMap<TaskId, Instant>,
    /// Where and since when each task runs.
    running: BTreeMap<TaskId, (u32, Instant)>,
    turns: BTreeMap<TaskId, Vec<Turn>>,
}

impl Sink for Turns {
    fn wants(&self) -> Class {
        Class::CORE
    }

    fn events(&mut self, events: &[Event]) {
        for event in events {
            match event.what {
                What::Wakeup { task, .. } => {
                    self.ready.insert(task, event.at);
                }
                What::Fork { child, .. } => {
                    self.ready.insert(child, event.at);
                }
                What::Switch { prev, why, next } => self.switched(event, prev, why, next),
                _ => {}
            }
        }
    }

    fn meta(&mut self, _: Instant, meta: &Meta) {
        if let Meta::Task(info) = meta {
            self.names.insert(info.task, info.name.clone());
        }
    }
}

impl Turns {
    fn of(trace: &Path) -> Result<Self, Failure> {
        let fail = |why: String| format!("{}: {why}", trace.display());
        let file = File::open(trace).map_err(|e| fail(e.to_string()))?;
        let mut turns = Self::default();
        let mut reader = Reader::new(BufReader::new(file)).map_err(|e| fail(e.to_string()))?;
        reader.pump(&mut turns).map_err(|e| fail(e.to_string()))?;
        Ok(turns)
    }

    fn switched(&mut self, event: &Event, prev: TaskId, why: Why, next: TaskId) {
        if let Some((cpu, since)) = self.running.remove(&prev) {
            let ready = self.ready.remove(&prev).unwrap_or(since);
            let (waited, ran) = (since.since(ready.min(since)), event.at.since(since));
            let turn =
                Turn { at_ns: since.as_ns(), cpu, waited_ns: waited.as_ns(), ran_ns: ran.as_ns(), why, next };
            self.turns.entry(prev).or_default().push(turn);
            if matches!(why, Why::Preempted | Why::Yielded) {
                self.ready.insert(prev, event.at);
            }
        }
        if !next.is_idle() {
            self.running.insert(next, (event.cpu.0, event.at));
        }
    }

    /// The turns of each task of a name, in the order of their first runs, from the instant when any task of the
    /// workload first ran.
    fn of_name(&self, name: &str, workload: &[String]) -> Vec<Vec<Turn>> {
        let of = |wanted: &dyn Fn(&str) -> bool| {
            let tasks = self.turns.iter().filter(|(task, _)| self.names.get(task).is_some_and(|n| wanted(n)));
            tasks.map(|(_, turns)| turns.clone()).collect::<Vec<_>>()
        };
        let begun =
            of(&|n| workload.iter().any(|w| w == n)).iter().map(|turns| turns[0].at_ns).min().unwrap_or(0);
        let mut own = of(&|n| n == name);
        own.sort_by_key(|turns| turns[0].at_ns);
        own.iter_mut().flatten().for_each(|turn| turn.at_ns -= begun);
        own
    }

    fn who(&self, task: TaskId) -> &str {
        if task.is_idle() { "nobody" } else { self.names.get(&task).map_or("?", String::as_str) }
    }

    fn text(&self, turn: &Turn) -> String {
        let ms = |ns: u64| ns as f64 / 1e6;
        let end = match turn.why {
            Why::Preempted => format!("lost its CPU to {}", self.who(turn.next)),
            Why::Yielded => "yielded".to_owned(),
            Why::Blocked => "slept".to_owned(),
            Why::Exited => "ended".to_owned(),
            Why::WasIdle => "was idle".to_owned(),
        };
        format!(
            "at {:.1} ms it ran on CPU {} after {:.1} ms of waiting, and {end} {:.1} ms later",
            ms(turn.at_ns),
            turn.cpu,
            ms(turn.waited_ns),
            ms(turn.ran_ns)
        )
    }
}

/// Describes where the tasks of a name first diverge.
///
/// # Errors
/// If a trace cannot be read.
pub(super) fn sentence(
    simulated: &Path,
    real: &Path,
    name: &str,
    workload: &[String],
) -> Result<String, Failure> {
    let [simulated, real] = [Turns::of(simulated)?, Turns::of(real)?];
    let [ours, theirs] = [&simulated, &real].map(|turns| turns.of_name(name, workload));
    let parted = ours.iter().zip(&theirs).map(|(a, b)| (started(a), started(b))).enumerate();
    let parted = parted.filter_map(|(nth, (a, b))| first(a, b).map(|at| (nth, at, a[at], b[at])));
    let earliest = parted.min_by_key(|(_, _, a, b)| a.at_ns.min(b.at_ns));
    Ok(match earliest {
        None => "no turn differs".to_owned(),
        Some((nth, at, a, b)) => format!(
            "task {} of {}, turn {}: simulated, {}; real, {}",
            nth + 1,
            ours.len(),
            at + 1,
            simulated.text(&a),
            real.text(&b)
        ),
    })
}

/// Turns before this belong to the programs' start.
const STARTED_NS: u64 = 100_000_000;

/// A task's turns, without those of its program's start.
fn started(turns: &[Turn]) -> &[Turn] {
    let from = turns.iter().position(|turn| turn.at_ns >= STARTED_NS).unwrap_or(turns.len());
    &turns[from..]
}

/// The first turn that differs.
fn first(a: &[Turn], b: &[Turn]) -> Option<usize> {
    let far = |a: u64, b: u64| a.abs_diff(b) >= ALIKE_NS;
    let differ =
        |(a, b): (&Turn, &Turn)| a.why != b.why || far(a.ran_ns, b.ran_ns) || far(a.waited_ns, b.waited_ns);
    a.iter().zip(b).position(differ)
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_abi::CpuId;

    const MS: u64 = 1_000_000;

    fn turns(switches: &[(u64, u32, u32, Why, u32)]) -> Turns {
        let mut turns =
            Turns { names: [(TaskId(1), "a".into()), (TaskId(2), "b".into())].into(), ..Turns::default() };
        let event = |&(ms, cpu, prev, why, next): &(u64, u32, u32, Why, u32)| Event {
            at: Instant::from_ns(ms * MS),
            cpu: CpuId(cpu),
            what: What::Switch { prev: TaskId(prev), why, next: TaskId(next) },
        };
        turns.events(&switches.iter().map(event).collect::<Vec<_>>());
        turns
    }

    #[test]
    fn the_first_turn_that_differs_is_found() {
        let idle = TaskId::IDLE.0;
        let ours = turns(&[
            (10, 0, idle, Why::WasIdle, 1),
            (20, 0, 1, Why::Preempted, 2),
            (24, 0, 2, Why::Blocked, 1),
            (60, 0, 1, Why::Blocked, idle),
        ]);
        let theirs = turns(&[
            (5, 0, idle, Why::WasIdle, 1),
            (18, 0, 1, Why::Preempted, 2),
            (22, 0, 2, Why::Blocked, 1),
            (30, 0, 1, Why::Preempted, 2),
        ]);
        let names = ["a".to_owned(), "b".to_owned()];
        let [a, b] = [&ours, &theirs].map(|turns| turns.of_name("a", &names));
        assert_eq!(first(&a[0], &b[0]), Some(1));
        assert_eq!(first(&a[0], &a[0]), None);
        assert_eq!(
            ours.text(&a[0][1]),
            "at 14.0 ms it ran on CPU 0 after 4.0 ms of waiting, and slept 36.0 ms later"
        );
        assert!(theirs.text(&b[0][1]).ends_with("and lost its CPU to b 8.0 ms later"));
    }
}
