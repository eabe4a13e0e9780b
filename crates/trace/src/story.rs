//! Converts records to events: tracks which tasks run where and which wait, so that the stream is consistent.
//!
//! Recorders of real kernels, and readers of others' recordings, pass their records ([`Raw`]) to a [`Story`] in order
//! of time ([`Merge`] sorts them), after describing the initial state of the machine ([`open`]).
//!
//! The kernel reports more than happens: a wakeup of a task that never slept, a migration of a sleeping task. These are
//! left out. If records were lost, as few missing events as possible are inferred, and counted: a task whose departure
//! from a CPU was not recorded is assumed to have blocked, and one whose arrival was not recorded to have arrived at
//! that moment.

mod groups;
mod merge;
mod opening;
mod raw;
#[cfg(test)]
pub(crate) mod script;

pub use merge::Merge;
pub use opening::open;
pub use raw::{Doing, GroupRecord, Key, Raw, RawWhat, TaskRecord};

use groups::Groups;

use crate::{Call, Event, Meta, Piping, Policy, Sink, Source, TaskInfo, What, Why};
use keel_abi::tape::Room;
use keel_abi::{CpuId, CpuSet, Instant, Pid, TaskId};
use rustc_hash::FxHashMap;

/// The number of events that are passed on in one batch.
const BATCH: usize = 1024;

/// A live task.
#[derive(Clone, Debug)]
struct Task {
    /// Its number, once it has appeared in the stream. Tasks that do nothing don't appear.
    id: Option<TaskId>,
    /// Its pid; 0 until known.
    pid: Pid,
    /// Its description, until it has appeared in the stream.
    task_record: Option<Box<TaskRecord>>,
    doing: Doing,
    /// Its priority, if known.
    prio: Option<i16>,
    /// Its weight; 0 if unknown.
    weight: u32,
    /// Whether the kernel throttles it.
    throttled: bool,
    /// Its policy and the number of its group, as emitted.
    scheduled: Option<(u32, u32)>,
}

impl Task {
    /// Returns a task with only its pid known.
    fn new(pid: Pid) -> Self {
        Self {
            id: None,
            pid,
            task_record: None,
            doing: Doing::Asleep,
            prio: None,
            weight: 0,
            throttled: false,
            scheduled: None,
        }
    }

    /// Returns the event with its priority, if known.
    fn priority(&self) -> Option<What> {
        Some(What::Priority { task: self.id?, prio: self.prio?, weight: self.weight })
    }
}

/// Counts of the conversion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The number of events that were passed on.
    pub events: u64,
    /// The number of events that did not fit the kernel's buffers.
    pub lost: u64,
    /// The number of tasks that did something.
    pub tasks: u32,
    /// The number of switches that were inferred.
    pub made_up: u64,
    /// How often a task ran without a recorded wakeup, so that its wait is unknown.
    pub unwoken: u64,
    /// The number of decisions that the scheduler reported.
    pub decisions: u64,
}

/// The state of the machine, as the records describe it.
pub struct Story {
    start: u64,
    now: u64,
    /// The task that runs on each CPU.
    cpus: Vec<Key>,
    /// CPUs that idle on purpose.
    reserved: CpuSet,
    all: CpuSet,
    tasks: FxHashMap<Key, Task>,
    groups: Groups,
    /// The numbers of pipes.
    pipes: FxHashMap<Key, u32>,
    batch: Vec<Event>,
    counts: Counts,
}

impl Story {
    /// Creates a machine of `cpus` idle CPUs without tasks, at `start`.
    pub fn new(start: u64, cpus: u32) -> Self {
        Self {
            start,
            now: start,
            cpus: vec![Key::IDLE; cpus as usize],
            reserved: CpuSet::new(),
            all: CpuSet::first(cpus),
            tasks: FxHashMap::default(),
            groups: Groups::default(),
            pipes: FxHashMap::default(),
            batch: Vec::new(),
            counts: Counts::default(),
        }
    }

    /// Returns the counts so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Processes a record. Instants must not decrease.
    pub fn take(&mut self, raw: &Raw, sink: &mut dyn Sink) {
        self.reach(raw.at);
        if raw.lost > 0 {
            self.lost(raw.writer, raw.lost);
        }
        match &raw.what {
            RawWhat::Switch { cpu, prev, why, next, prio } => {
                self.switch(*cpu, *prev, *why, *next, sink);
                prio.iter().for_each(|&prio| self.priority(*next, prio));
            }
            RawWhat::Wakeup { cpu, task, target, waker, waited } => {
                self.wakeup(*cpu, *task, (*target, *waker), *waited, sink);
            }
            RawWhat::Fork { cpu, child, target, parent } => self.fork(*cpu, *child, *target, *parent, sink),
            RawWhat::Migrate { cpu, task, from, to } => self.migrate(*cpu, *task, *from, *to, sink),
            RawWhat::Kick { cpu, target } => self.kick(*cpu, *target),
            RawWhat::Online { cpu, target, up } => self.online(*cpu, *target, *up),
            RawWhat::Stopped { target } => self.stopped(*target, sink),
            RawWhat::Priority { task, prio } => self.priority(*task, *prio),
            RawWhat::Throttled { cpu, task, on, group } => self.throttled(*cpu, *task, *on, *group, sink),
            RawWhat::Reserved { cpu, target, on } => self.reserved(*cpu, *target, *on),
            RawWhat::Piped { cpu, task, pipe, bytes, room, how } => {
                self.piped(*cpu, (*task, *pipe), (*bytes, *room), *how, sink);
            }
            RawWhat::Task(task_record) => self.announce(task_record, sink),
            RawWhat::Group(record) => self.group(record, sink),
            RawWhat::Decision(policy) => self.decided(policy, sink),
        }
        if self.batch.len() >= BATCH {
            self.flush(sink);
        }
    }

    /// Advances the stream's time to `at`, if it was earlier.
    pub fn reach(&mut self, at: u64) {
        self.now = at.max(self.now);
    }

    /// Notes that `cpu` lost this many records just before.
    pub fn lost(&mut self, cpu: CpuId, events: u32) {
        self.counts.lost += u64::from(events);
        self.emit(cpu, What::Lost { events });
    }

    /// Notes that a CPU goes online or offline.
    pub fn online(&mut self, cpu: CpuId, target: CpuId, up: bool) {
        if self.has(target) {
            self.emit(cpu, What::Online { target, up });
        }
    }

    /// Notes that the kernel throttles or unthrottles a task. `group` is as in [`RawWhat::Throttled`].
    pub fn throttled(&mut self, cpu: CpuId, task: Key, on: bool, group: Key, sink: &mut dyn Sink) {
        let was = self.tasks.get(&task).is_some_and(|task| task.throttled);
        if was == on || task.is_idle() {
            return;
        }
        let id = self.id(task, sink);
        let group = self.groups.number(group);
        self.emit(cpu, What::Throttled { task: id, on, group });
        self.tasks.entry(task).and_modify(|task| task.throttled = on);
    }

    /// Emits a group's description, unless that has already been done.
    fn group(&mut self, record: &GroupRecord, sink: &mut dyn Sink) {
        if let Some(info) = self.groups.news(record) {
            self.say(&Meta::Group(Box::new(info)), sink);
        }
    }

    /// Notes that a CPU starts or stops idling on purpose.
    pub fn reserved(&mut self, cpu: CpuId, target: CpuId, on: bool) {
        if !self.has(target) || self.reserved.contains(target) == on {
            return;
        }
        if on {
            self.reserved.insert(target);
        } else {
            self.reserved.remove(target);
        }
        self.emit(cpu, What::Reserved { target, on });
    }

    /// Notes a task's description, new or changed.
    pub fn announce(&mut self, task_record: &TaskRecord, sink: &mut dyn Sink) {
        // Another task now has the address of a task whose exit was lost.
        let known = self.tasks.get(&task_record.task);
        if known.is_some_and(|old| task_record.first && old.pid != task_record.pid && old.pid != Pid(0)) {
            self.retire(task_record.task);
        }
        let task = self.tasks.entry(task_record.task).or_insert_with(|| Task::new(task_record.pid));
        task.pid = task_record.pid;
        match task.id {
            Some(id) => self.introduce(id, task_record, sink),
            None => task.task_record = Some(Box::new(task_record.clone())),
        }
        if let Some(prio) = task_record.prio {
            self.ranks(task_record.task, prio, Some(task_record.weight));
        }
    }

    /// Notes the priority of an announced task: the kernel's `p->prio`.
    pub fn priority(&mut self, key: Key, prio: i16) {
        self.ranks(key, prio, None);
    }

    /// Like [`Story::priority`], with the weight if that is known.
    fn ranks(&mut self, key: Key, prio: i16, weight: Option<u32>) {
        let Some(task) = self.tasks.get_mut(&key) else { return };
        let weight = weight.unwrap_or(task.weight);
        if (task.prio, task.weight) == (Some(prio), weight) {
            return;
        }
        (task.prio, task.weight) = (Some(prio), weight);
        if let Some(what) = task.priority() {
            self.emit(CpuId(0), what);
        }
    }

    fn introduce(&mut self, task: TaskId, task_record: &TaskRecord, sink: &mut dyn Sink) {
        let cpus = task_record.cpus.and(&self.all);
        // A set of CPUs beyond the machine looks empty.
        let cpus = if cpus.is_empty() { self.all.clone() } else { cpus };
        let (pid, name, nice) = (task_record.pid, task_record.name.clone(), task_record.nice);
        self.say(&Meta::Task(TaskInfo { task, pid, name, nice, cpus }), sink);
        let Some((policy, group)) = task_record.scheduled else { return };
        let now = (policy, self.groups.number(group));
        let known = self.tasks.get_mut(&task_record.task);
        if known.is_some_and(|known| known.scheduled.replace(now) != Some(now)) {
            let (policy, group) = now;
            self.say(&Meta::Scheduled { task, policy, group }, sink);
        }
    }

    /// Notes a task that runs when the recording begins.
    pub fn runs_already(&mut self, cpu: CpuId, task: Key, sink: &mut dyn Sink) {
        let unwoken = self.counts.unwoken;
        self.switch(cpu, Key::IDLE, Why::WasIdle, task, sink);
        // It ran before the recording began.
        self.counts.unwoken = unwoken;
    }

    /// Notes a task that waits when the recording begins.
    pub fn waits_already(&mut self, cpu: CpuId, task: Key, sink: &mut dyn Sink) {
        // Its parent is unknown, so the event names the task itself.
        self.fork(cpu, task, cpu, task, sink);
    }

    fn decided(&mut self, policy: &Policy, sink: &mut dyn Sink) {
        self.counts.decisions += 1;
        self.say(&Meta::Policy(Box::new(policy.clone())), sink);
    }

    /// Ends the stream, at `at` or at the last event, whichever is later.
    pub fn end(&mut self, at: u64, sink: &mut dyn Sink) {
        self.reach(at);
        self.say(&Meta::End, sink);
    }

    /// Passes on the gathered events.
    pub fn flush(&mut self, sink: &mut dyn Sink) {
        self.counts.events += self.batch.len() as u64;
        sink.events(&self.batch);
        self.batch.clear();
    }

    /// Passes on the gathered events, and then a rarer fact.
    pub fn say(&mut self, meta: &Meta, sink: &mut dyn Sink) {
        self.flush(sink);
        sink.meta(self.at(), meta);
    }

    fn at(&self) -> Instant {
        Instant::from_ns(self.now - self.start)
    }

    fn emit(&mut self, cpu: CpuId, what: What) {
        if self.has(cpu) {
            let at = self.at();
            self.batch.push(Event { at, cpu, what });
        }
    }

    /// Returns whether this CPU runs its idle task.
    pub fn idles(&self, cpu: CpuId) -> bool {
        self.cpus.get(cpu.index()).is_some_and(|task| task.is_idle())
    }

    /// Returns what a task is doing, if it was announced.
    pub fn doing(&self, task: Key) -> Option<Doing> {
        self.tasks.get(&task).map(|task| task.doing)
    }

    fn has(&self, cpu: CpuId) -> bool {
        cpu.index() < self.cpus.len()
    }

    fn switch(&mut self, cpu: CpuId, prev: Key, why: Why, next: Key, sink: &mut dyn Sink) {
        if !self.has(cpu) || prev == next {
            return;
        }
        let task_record = self.cpus[cpu.index()];
        if task_record != prev {
            self.leave_unseen(prev, cpu, sink);
            self.switch_unseen(cpu, prev, sink);
        }
        self.leave_unseen(next, cpu, sink);
        self.counts.unwoken +=
            u64::from(!next.is_idle() && self.doing(next).is_none_or(|was| was == Doing::Asleep));
        let (left, comes) = (self.id(prev, sink), self.id(next, sink));
        if why == Why::Exited {
            self.emit(cpu, What::Exit { task: left });
        }
        self.emit(cpu, What::Switch { prev: left, why, next: comes });
        self.runs(next, cpu);
        self.cpus[cpu.index()] = next;
        match why {
            Why::Exited => drop(self.tasks.remove(&prev)),
            Why::Preempted | Why::Yielded => self.set(prev, Doing::Waiting(cpu)),
            Why::Blocked | Why::WasIdle => self.set(prev, Doing::Asleep),
        }
    }

    /// Infers that a task that runs, or is about to run, on `cpu` has left the CPU on which it ran before.
    fn leave_unseen(&mut self, task: Key, cpu: CpuId, sink: &mut dyn Sink) {
        match self.doing(task) {
            Some(Doing::Running(other)) if other != cpu => self.switch_unseen(other, Key::IDLE, sink),
            _ => {}
        }
    }

    /// Infers a switch to `next`, which ran on `cpu` although there is no record of that switch.
    fn switch_unseen(&mut self, cpu: CpuId, next: Key, sink: &mut dyn Sink) {
        self.counts.made_up += 1;
        let prev = std::mem::replace(&mut self.cpus[cpu.index()], next);
        let why = if prev.is_idle() { Why::WasIdle } else { Why::Blocked };
        let (left, comes) = (self.id(prev, sink), self.id(next, sink));
        self.emit(cpu, What::Switch { prev: left, why, next: comes });
        self.set(prev, Doing::Asleep);
        self.runs(next, cpu);
    }

    fn wakeup(
        &mut self,
        cpu: CpuId,
        task: Key,
        (target, waker): (CpuId, Key),
        waited: Option<(Call, Source)>,
        sink: &mut dyn Sink,
    ) {
        if task.is_idle() || !self.has(target) {
            return;
        }
        let (id, by) = (self.id(task, sink), self.known(waker));
        if self.doing(task) == Some(Doing::Asleep) {
            if let Some((call, source)) = waited {
                self.emit(cpu, What::Waited { task: id, call, source });
            }
            self.emit(cpu, What::Wakeup { task: id, target, waker: by });
            self.set(task, Doing::Waiting(target));
        }
    }

    /// Notes that a task uses a pipe, to which the stream assigns a number.
    fn piped(
        &mut self,
        cpu: CpuId,
        (task, pipe): (Key, Key),
        (bytes, room): (u32, Room),
        how: Piping,
        sink: &mut dyn Sink,
    ) {
        if task.is_idle() {
            return;
        }
        let (task, next) = (self.id(task, sink), self.pipes.len() as u32);
        let pipe = *self.pipes.entry(pipe).or_insert(next);
        self.emit(cpu, What::Piped { task, pipe, bytes, room, how });
    }

    fn fork(&mut self, cpu: CpuId, child: Key, target: CpuId, parent: Key, sink: &mut dyn Sink) {
        if child.is_idle() || !self.has(target) {
            return;
        }
        // A new task is announced asleep. If it is not asleep, it is an earlier task whose exit was lost.
        if self.doing(child).is_some_and(|doing| doing != Doing::Asleep) {
            self.retire(child);
        }
        let (id, by) = (self.id(child, sink), self.known(parent));
        self.emit(cpu, What::Fork { child: id, target, parent: by });
        self.set(child, Doing::Waiting(target));
    }

    fn migrate(&mut self, cpu: CpuId, task: Key, from: CpuId, to: CpuId, sink: &mut dyn Sink) {
        if !matches!(self.doing(task), Some(Doing::Waiting(_))) || !self.has(from) || !self.has(to) {
            return;
        }
        let id = self.id(task, sink);
        self.emit(cpu, What::Migrate { task: id, from, to });
        self.set(task, Doing::Waiting(to));
    }

    fn stopped(&mut self, cpu: CpuId, sink: &mut dyn Sink) {
        if let Some(&last) = self.cpus.get(cpu.index()) {
            self.switch(cpu, last, Why::Blocked, Key::IDLE, sink);
        }
    }

    fn kick(&mut self, cpu: CpuId, target: CpuId) {
        if self.has(target) {
            self.emit(cpu, What::Kick { target, flags: 0 });
        }
    }

    /// Ends a task whose address or number another task now has.
    pub fn retire(&mut self, key: Key) {
        let Some(Task { id: Some(task), doing, .. }) = self.tasks.remove(&key) else { return };
        let at = match doing {
            Doing::Running(cpu) | Doing::Waiting(cpu) => cpu,
            Doing::Asleep => CpuId(0),
        };
        self.emit(at, What::Exit { task });
        if let Doing::Running(cpu) = doing {
            self.counts.made_up += 1;
            self.emit(cpu, What::Switch { prev: task, why: Why::Exited, next: TaskId::IDLE });
            self.cpus[cpu.index()] = Key::IDLE;
        }
    }

    /// Notes that a task runs. Switching to a task also ends its throttling.
    fn runs(&mut self, task: Key, cpu: CpuId) {
        if let Some(task) = self.tasks.get_mut(&task) {
            (task.doing, task.throttled) = (Doing::Running(cpu), false);
        }
    }

    fn set(&mut self, task: Key, doing: Doing) {
        if let Some(task) = self.tasks.get_mut(&task) {
            task.doing = doing;
        }
    }

    /// Returns a waker's number. The task may have exited, or there may be none.
    fn known(&self, task: Key) -> TaskId {
        self.tasks.get(&task).and_then(|task| task.id).unwrap_or(TaskId::IDLE)
    }

    /// Returns a task's number. The first time, emits its description or, if that is unknown, its existence.
    fn id(&mut self, key: Key, sink: &mut dyn Sink) -> TaskId {
        if key.is_idle() {
            return TaskId::IDLE;
        }
        let task = self.tasks.entry(key).or_insert_with(|| Task::new(Pid(0)));
        if let Some(id) = task.id {
            return id;
        }
        let id = TaskId(self.counts.tasks);
        self.counts.tasks += 1;
        task.id = Some(id);
        let task_record = task.task_record.take().unwrap_or_else(|| Box::new(TaskRecord::unknown(key)));
        let priority = task.priority();
        self.introduce(id, &task_record, sink);
        if let Some(what) = priority {
            self.emit(CpuId(0), what);
        }
        id
    }
}

#[cfg(test)]
mod tests;
