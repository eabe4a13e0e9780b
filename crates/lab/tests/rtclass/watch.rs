//! Watches a run of real-time tasks, and measures how long tasks wait although a CPU that they may use runs a less
//! urgent one.

use crate::harness::{Run, Scenario, Spec};
use keel_abi::{CpuId, Instant, TaskId};
use keel_trace::What;
use std::collections::BTreeMap;

/// A scenario whose tasks' priorities are known.
pub(crate) struct Watched {
    /// By name.
    pub(crate) priorities: BTreeMap<String, u8>,
    pub(crate) run: Run,
}

/// Runs the scenario with these real-time tasks, besides those it already has.
pub(crate) fn watched(scenario: Scenario, tasks: impl IntoIterator<Item = Spec>) -> Watched {
    let mut priorities = BTreeMap::new();
    let mut scenario = scenario;
    for task in tasks {
        priorities.insert(task.0.name.clone(), task.0.policy.rt_priority());
        scenario = scenario.task(task);
    }
    Watched { priorities, run: scenario.survives() }
}

/// The machine's state, updated by each event.
struct State {
    running: Vec<u8>,
    /// Since when, and on which CPU.
    waiting: BTreeMap<TaskId, CpuId>,
    /// Since when there has been a better CPU, and for which task.
    wrong_since: Option<(Instant, TaskId)>,
}

impl Watched {
    /// The longest time in nanoseconds that a task waited although a CPU that it might use ran a less urgent one, and
    /// its name. Tasks that may use only one CPU count for that CPU.
    pub(crate) fn longest_wrong(&self, cpus: usize) -> (u64, String) {
        let names = self.run.names();
        let priority =
            |task: &TaskId| names.get(task).and_then(|name| self.priorities.get(name)).copied().unwrap_or(0);
        let mut state = State { running: vec![0; cpus], waiting: BTreeMap::new(), wrong_since: None };
        let mut longest = (0, String::new());
        for event in &self.run.events {
            match event.what {
                What::Wakeup { task, target, .. } | What::Fork { child: task, target, .. }
                    if priority(&task) > 0 =>
                {
                    state.waiting.insert(task, target);
                }
                What::Migrate { task, to, .. } => {
                    state.waiting.entry(task).and_modify(|cpu| *cpu = to);
                }
                What::Switch { prev, why, next } => {
                    if priority(&prev) > 0 && why == keel_trace::event::Why::Preempted {
                        state.waiting.insert(prev, event.cpu);
                    }
                    state.waiting.remove(&next);
                    state.running[event.cpu.index()] = priority(&next);
                }
                _ => continue,
            }
            let lowest = state.running.iter().copied().min().unwrap_or(0);
            let pinned = |task: &TaskId| self.run.mask(&names[task]).len() == 1;
            let wrong = state.waiting.iter().find(|(task, cpu)| {
                let there = if pinned(task) { state.running[cpu.index()] } else { lowest };
                priority(task) > there
            });
            match (wrong.map(|(task, _)| *task), state.wrong_since) {
                (None, Some((since, task))) => {
                    let span = event.at.since(since).as_ns();
                    longest = longest.max((span, format!("{} from {since:?}", names[&task])));
                    state.wrong_since = None;
                }
                (Some(task), None) => state.wrong_since = Some((event.at, task)),
                (Some(task), Some((_, other))) if task != other => {
                    let since = state.wrong_since.expect("it is some").0;
                    let span = event.at.since(since).as_ns();
                    longest = longest.max((span, format!("{} from {since:?}", names[&other])));
                    state.wrong_since = Some((event.at, task));
                }
                _ => {}
            }
        }
        if let Some((since, task)) = state.wrong_since {
            let span = self.run.outcome.end.since(since).as_ns();
            longest = longest.max((span, format!("{} from {since:?} to the end", names[&task])));
        }
        longest
    }
}
