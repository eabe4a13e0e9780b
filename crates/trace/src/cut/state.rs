//! Tracks the state of a stream: what follows from everything so far.

use crate::{Class, Event, Meta, Sink, TaskInfo, What, Why};
use keel_abi::{CpuId, DsqId, Instant, TaskId};
use std::collections::{BTreeMap, BTreeSet};

/// The state on which the rest of a stream depends. It grows with the number of live tasks, not with the stream.
#[derive(Clone, Default)]
pub(crate) struct State {
    start: Option<Meta>,
    tasks: BTreeMap<TaskId, TaskInfo>,
    running: BTreeMap<CpuId, TaskId>,
    waiting: BTreeMap<TaskId, Waits>,
    offline: BTreeSet<CpuId>,
    /// The last event with a task's priority.
    priorities: BTreeMap<TaskId, What>,
    unknown: Option<Meta>,
    clock: Option<Meta>,
    chance: Option<Meta>,
    /// Groups by number, and each task's scheduling.
    groups: BTreeMap<u32, Meta>,
    scheduled: BTreeMap<TaskId, Meta>,
    /// The names of DSQs.
    queues: BTreeMap<DsqId, Meta>,
    /// Throttled tasks, with the group that has the limit.
    throttled: BTreeMap<TaskId, u32>,
    reserved: BTreeSet<CpuId>,
}

/// Where a task waits.
#[derive(Clone, Copy)]
struct Waits {
    cpu: CpuId,
    /// The event that put it into its DSQ or into the scheduler's custody.
    queue: Option<What>,
}

impl State {
    /// Passes the state to `sink` as of the instant `at`. The state is empty afterwards, except for facts that must not
    /// be emitted twice.
    pub(crate) fn open(&mut self, at: Instant, sink: &mut dyn Sink) {
        let tasks = std::mem::take(&mut self.tasks).into_values().map(Meta::Task);
        let queues = std::mem::take(&mut self.queues).into_values();
        let reported = self
            .start
            .take()
            .into_iter()
            .chain(self.unknown.take())
            .chain(self.clock.take())
            .chain(self.chance.take());
        let groups = std::mem::take(&mut self.groups).into_values();
        let scheduled = std::mem::take(&mut self.scheduled).into_values();
        for meta in reported.chain(queues).chain(groups).chain(tasks).chain(scheduled) {
            sink.meta(at, &meta);
        }
        let offline = self.offline.iter().map(|&cpu| (cpu, What::Online { target: cpu, up: false }));
        let running = self
            .running
            .iter()
            .map(|(&cpu, &next)| (cpu, What::Switch { prev: TaskId::IDLE, why: Why::WasIdle, next }));
        let waiting = self.waiting.iter().flat_map(|(&child, &Waits { cpu, queue })| {
            let came = What::Fork { child, target: cpu, parent: child };
            [Some(came), queue].into_iter().flatten().map(move |what| (cpu, what))
        });
        let priorities = self.priorities.values().map(|&what| (CpuId(0), what));
        let throttled = self.throttled.iter().map(|(&task, &group)| {
            let cpu = self.waiting.get(&task).map_or(CpuId(0), |waits| waits.cpu);
            (cpu, What::Throttled { task, on: true, group })
        });
        let reserved = self.reserved.iter().map(|&cpu| (cpu, What::Reserved { target: cpu, on: true }));
        let wants = sink.wants();
        let events = offline
            .chain(priorities)
            .chain(running)
            .chain(waiting)
            .chain(throttled)
            .chain(reserved)
            .filter(|(_, what)| wants.has(what.class()));
        let events: Vec<Event> = events.map(|(cpu, what)| Event { at, cpu, what }).collect();
        sink.events(&events);
    }

    /// Applies an event.
    pub(crate) fn remember(&mut self, event: &Event) {
        let waits = |cpu| Waits { cpu, queue: None };
        match event.what {
            What::Switch { prev, why, next } => {
                if matches!(why, Why::Preempted | Why::Yielded) {
                    self.waiting.insert(prev, waits(event.cpu));
                }
                self.waiting.remove(&next);
                self.throttled.remove(&next);
                match next {
                    TaskId::IDLE => self.running.remove(&event.cpu),
                    next => self.running.insert(event.cpu, next),
                };
            }
            What::Wakeup { task, target: cpu, .. }
            | What::Woken { task, target: cpu, .. }
            | What::Fork { child: task, target: cpu, .. }
            | What::Migrate { task, to: cpu, .. }
            | What::Pulled { task, to: cpu, .. } => {
                let queue = self.waiting.get(&task).and_then(|waits| waits.queue);
                self.waiting.insert(task, Waits { cpu, queue });
            }
            What::Exit { task } => {
                self.tasks.remove(&task);
                self.scheduled.remove(&task);
                self.priorities.remove(&task);
                self.throttled.remove(&task);
            }
            What::Online { target, up: true } => drop(self.offline.remove(&target)),
            What::Online { target, up: false } => drop(self.offline.insert(target)),
            What::Throttled { task, on: true, group } => drop(self.throttled.insert(task, group)),
            What::Throttled { task, on: false, .. } => drop(self.throttled.remove(&task)),
            What::Reserved { target, on: true } => drop(self.reserved.insert(target)),
            What::Reserved { target, on: false } => drop(self.reserved.remove(&target)),
            What::Queued { task, .. } | What::Held { task } => self.queue(task, Some(event.what)),
            What::Unqueued { task, .. } => self.queue(task, None),
            What::Priority { task, .. } => drop(self.priorities.insert(task, event.what)),
            What::Placed { .. }
            | What::Awaits { .. }
            | What::Kick { .. }
            | What::Callback { .. }
            | What::LockWait { .. }
            | What::LockWaits { .. }
            | What::Count { .. }
            | What::Bypass { .. }
            | What::Worked { .. }
            | What::Acts { .. }
            | What::Waited { .. }
            | What::Piped { .. }
            | What::Lost { .. } => {}
        }
    }

    fn queue(&mut self, task: TaskId, queue: Option<What>) {
        if let Some(waits) = self.waiting.get_mut(&task) {
            waits.queue = queue;
        }
    }

    /// Applies a rarer fact.
    pub(crate) fn note(&mut self, meta: &Meta) {
        match meta {
            Meta::Start { .. } => self.start = Some(meta.clone()),
            Meta::Unknown(_) => self.unknown = Some(meta.clone()),
            Meta::Clock { .. } => self.clock = Some(meta.clone()),
            Meta::Chance { .. } => self.chance = Some(meta.clone()),
            Meta::Queue { id, .. } => drop(self.queues.insert(*id, meta.clone())),
            Meta::Group(info) => drop(self.groups.insert(info.group, meta.clone())),
            Meta::Scheduled { task, .. } => drop(self.scheduled.insert(*task, meta.clone())),
            Meta::Task(info) => drop(self.tasks.insert(info.task, info.clone())),
            Meta::Member { .. }
            | Meta::Asks { .. }
            | Meta::SchedulerExit { .. }
            | Meta::Policy(_)
            | Meta::End => {}
        }
    }
}

impl Sink for State {
    fn wants(&self) -> Class {
        Class::CORE.with(Class::QUEUES)
    }

    fn events(&mut self, events: &[Event]) {
        events.iter().for_each(|event| self.remember(event));
    }

    fn meta(&mut self, _: Instant, meta: &Meta) {
        self.note(meta);
    }
}
