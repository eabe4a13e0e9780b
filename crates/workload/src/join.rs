//! Joins several workloads into one: the tasks of all run together on one machine, and share nothing.
//!
//! The numbers of items (tasks, mutexes, channels and so on) continue after those of earlier parts. A name that an
//! earlier part has already used gets the part's number: `hog#2`. Only cgroups belong to the machine: the same path is
//! the same cgroup, with the settings of the first part that declares it.

use crate::cgroups::{Cgroups, MAX_CGROUPS};
use crate::compile::{MAX_INSTANCES, MAX_STEPS};
use keel_abi::task::{ObjectId, Step, TaskSpec, Workload};
use keel_abi::timeline::{Change, MAX_HAPPENINGS};
use std::collections::{BTreeMap, BTreeSet};

/// The maximum number of parts of a name such as `chat:10:20:100+hogs`.
pub const MAX_PARTS: usize = 16;
/// The sign between the parts of a name.
const JOINT: char = '+';
/// The maximum length of a task's name in the kernel, in bytes: `TASK_COMM_LEN` without the terminating zero.
const NAME_BYTES: usize = 15;

/// Splits a name such as `interactive+chat:10:20:100` into its parts.
///
/// A file takes precedence over the sign in its name: the longest sequence of pieces that `is_file` recognises as one
/// file's name is one part. The error is a sentence about an empty part, or about too many parts.
pub fn parts(name: &str, is_file: impl Fn(&str) -> bool) -> Result<Vec<&str>, String> {
    let mut parts = Vec::new();
    let mut rest = Some(name);
    while let Some(text) = rest {
        if parts.len() == MAX_PARTS {
            return Err(format!("more than {MAX_PARTS} workloads are joined by '{JOINT}'"));
        }
        let end = part_end(text, &is_file);
        if end == 0 && name.contains(JOINT) {
            return Err(format!("part {} of the joined workloads is empty; write A+B", parts.len() + 1));
        }
        parts.push(&text[..end]);
        rest = text.get(end + JOINT.len_utf8()..);
    }
    Ok(parts)
}

/// Returns the end of a text's first part.
fn part_end(text: &str, is_file: &impl Fn(&str) -> bool) -> usize {
    let joints: Vec<usize> = text.match_indices(JOINT).map(|(at, _)| at).take(MAX_PARTS).collect();
    let Some(&first) = joints.first() else { return text.len() };
    let ends = std::iter::once(text.len()).chain(joints.into_iter().rev());
    ends.filter(|&end| end > first).find(|&end| is_file(&text[..end])).unwrap_or(first)
}

/// Joins one or more workloads.
///
/// If all parts count in the same unit, they count together. Otherwise only the first part counts, in its own unit. The
/// run is as long as the longest part requires. The error says what there is too much of.
pub fn join(parts: Vec<Workload>) -> Result<Workload, String> {
    let same_unit = parts.iter().all(|part| part.unit == parts[0].unit);
    let own_timers = parts.iter().map(|part| part.timers).max().unwrap_or(0);
    let names: Vec<String> = parts.iter().map(|part| part.name.clone()).collect();
    let mut joined = Joined { own_timers, ..Joined::default() };
    for (at, mut part) in parts.into_iter().enumerate() {
        if at > 0 && !same_unit {
            part.tasks.iter_mut().for_each(|task| task.steps = without_counts(&task.steps));
        }
        joined.add(part, at + 1)?;
    }
    Ok(Workload { name: names.join("+"), timers: own_timers, cgroups: joined.cgroups.list, ..joined.whole })
}

/// What has been joined so far.
#[derive(Default)]
struct Joined {
    whole: Workload,
    names: BTreeSet<String>,
    cgroups: Cgroups,
    processes: u32,
    sessions: u32,
    instances: u64,
    steps: usize,
    own_timers: u32,
    shared_timers: u32,
}

impl Joined {
    /// Adds a part: the `number`th, from 1.
    fn add(&mut self, mut part: Workload, number: usize) -> Result<(), String> {
        if part.recorded.is_some() {
            return Err(
                "a recording replays by itself; write it to a file first (keel workload from)".to_owned()
            );
        }
        self.bound(&part)?;
        self.make_unique(&mut part.tasks, number);
        let (mut processes, mut sessions) = (BTreeMap::new(), BTreeMap::new());
        for task in &mut part.tasks {
            let next = self.processes + processes.len() as u32;
            task.process = *processes.entry(task.process).or_insert(next);
            // From 1 on, because each joined part is started from its own terminal.
            let next = self.sessions + sessions.len() as u32 + 1;
            task.session = *sessions.entry(task.session).or_insert(next);
        }
        self.processes += processes.len() as u32;
        self.sessions += sessions.len() as u32;
        let cgroups = self.cgroups.merge(std::mem::take(&mut part.cgroups));
        let cgroups = cgroups.ok_or_else(|| format!("together they have more than {MAX_CGROUPS} cgroups"))?;
        for task in &mut part.tasks {
            cgroups.renumber_task(task);
        }
        let mut shared = 0;
        for step in part.tasks.iter_mut().flat_map(|task| &mut task.steps) {
            self.renumber(step, part.timers, &mut shared);
        }
        self.shared_timers += shared;
        for happening in &mut part.timeline {
            if let Change::Affinity { spec, .. } | Change::Nice { spec, .. } | Change::Policy { spec, .. } =
                &mut happening.change
            {
                *spec += self.whole.tasks.len() as u32;
            }
        }
        let whole = &mut self.whole;
        whole.timeline.extend(part.timeline);
        if number == 1 {
            whole.unit = part.unit;
        }
        whole.tasks.extend(part.tasks);
        whole.barriers.extend(part.barriers);
        whole.flags += part.flags;
        whole.channels.extend(part.channels);
        whole.inheriting.extend(part.inheriting.iter().map(|id| ObjectId(whole.mutexes + id.0)));
        whole.mutexes += part.mutexes;
        whole.conditions += part.conditions;
        whole.semaphores += part.semaphores;
        whole.duration = whole.duration.max(part.duration);
        Ok(())
    }

    fn bound(&mut self, part: &Workload) -> Result<(), String> {
        self.instances += part.tasks.iter().map(|task| u64::from(task.instances)).sum::<u64>();
        self.steps += part.tasks.iter().map(|task| task.steps.len()).sum::<usize>();
        if self.instances > u64::from(MAX_INSTANCES) {
            return Err(format!("together they have more than {MAX_INSTANCES} instances"));
        }
        if self.whole.timeline.len() + part.timeline.len() > MAX_HAPPENINGS {
            return Err(format!("together their timelines have more than {MAX_HAPPENINGS} entries"));
        }
        match self.steps > MAX_STEPS {
            true => Err(format!("together they have more than {MAX_STEPS} steps")),
            false => Ok(()),
        }
    }

    /// Renames those tasks of a part whose names an earlier part has used.
    fn make_unique(&mut self, tasks: &mut [TaskSpec], number: usize) {
        let own: BTreeSet<String> = tasks.iter().map(|task| cut(&task.name, NAME_BYTES).to_owned()).collect();
        let free = |name: &String| !self.names.contains(name) && !own.contains(name);
        let new: BTreeMap<&String, String> = own
            .iter()
            .filter(|name| self.names.contains(*name))
            .filter_map(|name| Some((name, (number..).map(|n| numbered(name, n)).find(free)?)))
            .collect();
        for task in tasks {
            if let Some(name) = new.get(&cut(&task.name, NAME_BYTES).to_owned()) {
                task.name.clone_from(name);
            }
        }
        let new: Vec<String> = new.into_values().collect();
        self.names.extend(own.into_iter().chain(new));
    }

    /// Renumbers a step so that it refers to the part's items. The part has this many timers of each task's own.
    fn renumber(&self, step: &mut Step, own_timers: u32, shared: &mut u32) {
        let whole = &self.whole;
        let on = |id: &mut ObjectId, by: u32| id.0 += by;
        match step {
            Step::Lock(id) | Step::Unlock(id) => on(id, whole.mutexes),
            Step::Wait { condition, mutex } | Step::Sync { condition, mutex } => {
                on(condition, whole.conditions);
                on(mutex, whole.mutexes);
            }
            Step::Signal(id) | Step::Broadcast(id) => on(id, whole.conditions),
            Step::Barrier(id) | Step::SpinBarrier { barrier: id, .. } => on(id, whole.barriers.len() as u32),
            Step::Raise(id) | Step::Lower(id) => on(id, whole.flags),
            Step::Fork(spec) | Step::Spawn(spec) => *spec += whole.tasks.len() as u32,
            Step::Send { channel, .. } | Step::Receive { channel, .. } => {
                on(channel, whole.channels.len() as u32);
            }
            Step::Post { semaphore: id, .. } | Step::Await(id) => on(id, whole.semaphores),
            Step::Timer { timer, .. } if timer.0 >= own_timers => {
                let nth = timer.0 - own_timers;
                *shared = (*shared).max(nth + 1);
                *timer = ObjectId(self.own_timers + self.shared_timers + nth);
            }
            Step::Timer { .. }
            | Step::Run(_)
            | Step::RunFor(_)
            | Step::Sleep(_)
            | Step::SleepDeferrable(_)
            | Step::Yield
            | Step::Exec => {}
            Step::Setsid
            | Step::AutogroupNice(_)
            | Step::WaitChild
            | Step::Write(_)
            | Step::Touch(_)
            | Step::Play
            | Step::Syscall
            | Step::Begin
            | Step::Nice(_) => {}
            Step::Affinity(_) | Step::Loop { .. } | Step::Count | Step::Cgroup(_) => {}
            Step::Policy(_) | Step::MigrateDisable | Step::MigrateEnable | Step::Accompany(_) => {}
        }
    }
}

/// Removes the counting from these steps.
fn without_counts(steps: &[Step]) -> Vec<Step> {
    let mut dropped_before = Vec::with_capacity(steps.len());
    let mut dropped = 0;
    for step in steps {
        dropped_before.push(dropped);
        dropped += u32::from(*step == Step::Count);
    }
    let kept = steps.iter().filter(|step| **step != Step::Count).cloned();
    kept.map(|step| match step {
        Step::Loop { to, times, slot } => Step::Loop { to: to - dropped_before[to as usize], times, slot },
        other => other,
    })
    .collect()
}

/// Appends a number to a name, and shortens the name to the kernel's maximum length.
fn numbered(name: &str, number: usize) -> String {
    let number = format!("#{number}");
    format!("{}{number}", cut(name, NAME_BYTES - number.len().min(NAME_BYTES)))
}

/// Truncates a name to at most this many bytes, at a character boundary.
fn cut(name: &str, bytes: usize) -> &str {
    &name[..name.floor_char_boundary(bytes)]
}

#[cfg(test)]
#[path = "join_tests.rs"]
mod tests;
