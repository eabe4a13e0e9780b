//! Determines the state in which a recording begins.
//!
//! A snapshot of all tasks takes a while, and meanwhile the machine keeps running. So the first record about a task
//! shows what it was doing before; the snapshot covers tasks without a record. The first switch on a CPU shows which
//! task ran there.

use super::Story;
use super::raw::{Doing, Key, Raw, RawWhat, TaskRecord};
use crate::Sink;
use keel_abi::{CpuId, CpuSet};
use std::collections::{BTreeMap, BTreeSet};

/// What the first records show about the time before them.
#[derive(Debug, Default)]
struct Before {
    /// Each task's state; `None` if it did not exist yet.
    tasks: BTreeMap<Key, Option<Doing>>,
    /// The task that ran on each CPU.
    cpus: BTreeMap<CpuId, Key>,
    /// Descriptions of tasks that the snapshot may have missed.
    task_record: BTreeMap<Key, TaskRecord>,
    /// Whether tasks were throttled.
    throttled: BTreeMap<Key, bool>,
    /// Whether CPUs idled on purpose.
    reserved: BTreeMap<CpuId, bool>,
}

impl Before {
    fn of(records: &[Raw], start: u64) -> Self {
        let mut before = Self::default();
        for raw in records {
            match &raw.what {
                RawWhat::Task(task_record) => drop(
                    before.task_record.entry(task_record.task).or_insert_with(|| (**task_record).clone()),
                ),
                _ if raw.at < start => {}
                RawWhat::Switch { cpu, prev, next, .. } => {
                    before.cpus.entry(*cpu).or_insert(*prev);
                    before.task(*prev, Some(Doing::Running(*cpu)));
                    before.task(*next, Some(Doing::Waiting(*cpu)));
                }
                RawWhat::Wakeup { task, .. } => before.task(*task, Some(Doing::Asleep)),
                RawWhat::Fork { child, .. } => before.task(*child, None),
                RawWhat::Migrate { task, from, .. } => before.task(*task, Some(Doing::Waiting(*from))),
                RawWhat::Throttled { task, on, .. } => drop(before.throttled.entry(*task).or_insert(!on)),
                RawWhat::Reserved { target, on, .. } => drop(before.reserved.entry(*target).or_insert(!on)),
                RawWhat::Online { .. }
                | RawWhat::Kick { .. }
                | RawWhat::Stopped { .. }
                | RawWhat::Priority { .. }
                | RawWhat::Group(_)
                | RawWhat::Piped { .. }
                | RawWhat::Decision(_) => {}
            }
        }
        before
    }

    fn task(&mut self, task: Key, doing: Option<Doing>) {
        self.tasks.entry(task).or_insert(doing);
    }

    /// Returns what the recorded task was doing, or `None` if it did not exist yet.
    fn doing(&self, task_record: &TaskRecord) -> Option<Doing> {
        let seen = self.tasks.get(&task_record.task).copied();
        seen.unwrap_or(Some(task_record.doing.unwrap_or(Doing::Asleep)))
    }
}

/// Passes `story` the machine's state at `start`: which CPUs are offline, and which tasks exist, run and wait. Of
/// earlier records, only tasks' descriptions count: while the recorder's programs were being attached one by one, they
/// did not record everything.
pub fn open(
    story: &mut Story,
    start: u64,
    snapshot: &[TaskRecord],
    records: &[Raw],
    offline: &CpuSet,
    sink: &mut dyn Sink,
) {
    offline.iter().for_each(|cpu| story.online(cpu, cpu, false));
    let before = Before::of(records, start);
    let mut there = BTreeSet::new();
    let mut tasks: Vec<(Key, Doing)> = Vec::new();
    for task_record in snapshot.iter().chain(before.task_record.values()) {
        if let Some(doing) = before.doing(task_record)
            && there.insert(task_record.task)
        {
            story.announce(task_record, sink);
            tasks.push((task_record.task, doing));
        }
    }
    let mut running: BTreeMap<CpuId, Key> = BTreeMap::new();
    for &(task, doing) in &tasks {
        if let Doing::Running(cpu) = doing {
            running.entry(cpu).or_insert(task);
        }
    }
    running.extend(before.cpus);
    for (&cpu, &task) in running.iter().filter(|(_, task)| !task.is_idle()) {
        story.runs_already(cpu, task, sink);
    }
    for (task, doing) in tasks {
        if let Doing::Waiting(cpu) = doing {
            story.waits_already(cpu, task, sink);
        }
    }
    for (&task, _) in before.throttled.iter().filter(|&(_, &was)| was) {
        story.throttled(CpuId(0), task, true, Key(0), sink);
    }
    for (&cpu, _) in before.reserved.iter().filter(|&(_, &was)| was) {
        story.reserved(cpu, cpu, true);
    }
}

#[cfg(test)]
mod tests;
