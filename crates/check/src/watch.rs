//! The sanity checker of the Wasted Cores paper: a core that idles while a task that it could run waits is a suspect.
//! It becomes a finding if nothing resolves it while it is watched.
//!
//! [`suspects`] judges a snapshot of a live machine. [`Confirm`] then receives every event, and keeps a suspicion as
//! long as its CPU idles and, at every instant, some task that may run there waits, the same one or different ones.
//! This is the waste of [`WastedCores`](crate::WastedCores) with one difference: if two CPUs idle while one task waits,
//! both are suspects.

mod confirm;
mod resolution;

pub use confirm::{Confirm, Confirmed, MOST_SUSPECTS, Outcome};
pub use resolution::Resolution;

use crate::finding::called;
use keel_abi::{CpuId, CpuSet, Span, TaskId};
use keel_trace::story::{Doing, TaskRecord};

/// The number of tasks that a sentence names.
const NAMED: usize = 3;

/// The idle CPUs that could run a waiting task.
pub fn suspects(idle: &CpuSet, waiting: &[TaskRecord]) -> CpuSet {
    let could_run = |cpu: &CpuId| waiting.iter().any(|task| may_run(task, *cpu));
    idle.iter().filter(could_run).collect()
}

/// The waiting tasks that one of these CPUs could run.
pub fn passed_over<'a>(cpus: &CpuSet, waiting: &'a [TaskRecord]) -> Vec<&'a TaskRecord> {
    waiting.iter().filter(|task| cpus.iter().any(|cpu| may_run(task, cpu))).collect()
}

/// A task whose CPUs are unknown may run anywhere.
fn may_run(task: &TaskRecord, cpu: CpuId) -> bool {
    task.cpus.is_empty() || task.cpus.contains(cpu)
}

/// A finding as a sentence, without a full stop, safe to print: `cpus` idled for `watched` while tasks, including
/// these, waited.
pub fn sentence(cpus: &CpuSet, watched: Span, waiting: &[&TaskRecord]) -> String {
    let idled = if cpus.len() == 1 { "CPU" } else { "CPUs" };
    let mut text = format!(
        "{idled} {cpus} idled for {watched} while at least one task that could run there always waited"
    );
    if waiting.is_empty() {
        return text;
    }
    let name = |task: &&TaskRecord| called(&task.name, task.pid, TaskId(task.pid.0));
    let mut names: Vec<String> = waiting.iter().take(NAMED).map(name).collect();
    match waiting.len() - names.len() {
        0 => {}
        more => names.push(format!("{more} more")),
    }
    text += ": ";
    text += &match names.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    };
    let on: CpuSet = waiting.iter().filter_map(|task| waits_on(task)).collect();
    match on.len() {
        0 => text,
        1 => text + &format!(" on CPU {on}"),
        _ => text + &format!(" on CPUs {on}"),
    }
}

/// The CPU on whose runqueue a task waits.
pub fn waits_on(task: &TaskRecord) -> Option<CpuId> {
    match task.doing {
        Some(Doing::Waiting(cpu)) => Some(cpu),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
