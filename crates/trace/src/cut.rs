//! A part of a stream, as a stream of its own.
//!
//! The state at the beginning of the part is emitted first: which CPUs are offline, who runs, and, as if they had
//! come just then, who waits and in which queue. Instants stay those of the whole.

use crate::{Class, Event, Meta, Sink, TaskInfo, What, Why};
use keel_abi::{CpuId, DsqId, Instant, TaskId};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Passes on what happens in a range of time.
pub struct Cut<'a> {
    sink: &'a mut dyn Sink,
    range: Range<Instant>,
    stage: Stage,
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
    /// The names of queues.
    queues: BTreeMap<DsqId, Meta>,
    /// Throttled tasks, and by which group's limit.
    throttled: BTreeMap<TaskId, u32>,
    reserved: BTreeSet<CpuId>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Before,
    Within,
    After,
}

/// Where a task waits.
#[derive(Clone, Copy)]
struct Waits {
    cpu: CpuId,
    /// The event that brought it into its queue or into the scheduler's hands.
    queue: Option<What>,
}

impl<'a> Cut<'a> {
    /// What happens in `range`, for `sink`.
    pub fn new(range: Range<Instant>, sink: &'a mut dyn Sink) -> Self {
        Self {
            sink,
            range,
            stage: Stage::Before,
            start: None,
            tasks: BTreeMap::new(),
            running: BTreeMap::new(),
            waiting: BTreeMap::new(),
            offline: BTreeSet::new(),
            priorities: BTreeMap::new(),
            unknown: None,
            clock: None,
            chance: None,
            queues: BTreeMap::new(),
            throttled: BTreeMap::new(),
            reserved: BTreeSet::new(),
        }
    }

    /// False where the stream was over before the range began: then nothing was passed on.
    pub fn has_begun(&self) -> bool {
        self.stage != Stage::Before
    }

    /// Begins or ends the part if it is time to.
    fn arrive(&mut self, now: Instant) {
        if self.stage == Stage::Before && now >= self.range.start {
            self.stage = Stage::Within;
            self.open();
        }
        if self.stage == Stage::Within && now >= self.range.end {
            self.stage = Stage::After;
            self.sink.meta(self.range.end, &Meta::End);
        }
    }

    fn open(&mut self) {
        let at = self.range.start;
        let tasks = std::mem::take(&mut self.tasks).into_values().map(Meta::Task);
        let queues = std::mem::take(&mut self.queues).into_values();
        let reported = self
            .start
            .take()
            .into_iter()
            .chain(self.unknown.take())
            .chain(self.clock.take())
            .chain(self.chance.take());
        for meta in reported.chain(queues).chain(tasks) {
            self.sink.meta(at, &meta);
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
        let wants = self.sink.wants();
        let events = offline
            .chain(priorities)
            .chain(running)
            .chain(waiting)
            .chain(throttled)
            .chain(reserved)
            .filter(|(_, what)| wants.has(what.class()));
        let events: Vec<Event> = events.map(|(cpu, what)| Event { at, cpu, what }).collect();
        self.sink.events(&events);
    }

    /// What an event before the part changes.
    fn remember(&mut self, event: &Event) {
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
            | What::Fork { child: task, target: cpu, .. }
            | What::Migrate { task, to: cpu, .. } => {
                let queue = self.waiting.get(&task).and_then(|waits| waits.queue);
                self.waiting.insert(task, Waits { cpu, queue });
            }
            What::Exit { task } => {
                self.tasks.remove(&task);
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
            | What::Count { .. }
            | What::Bypass { .. }
            | What::Worked { .. }
            | What::Acts { .. }
            | What::Lost { .. } => {}
        }
    }

    fn queue(&mut self, task: TaskId, queue: Option<What>) {
        if let Some(waits) = self.waiting.get_mut(&task) {
            waits.queue = queue;
        }
    }
}

impl Sink for Cut<'_> {
    fn wants(&self) -> Class {
        self.sink.wants().with(Class::CORE).with(Class::QUEUES)
    }

    fn events(&mut self, events: &[Event]) {
        let wants = self.sink.wants();
        let is_within = self.stage == Stage::Within && events.last().is_some_and(|e| e.at < self.range.end);
        if is_within && wants.has(self.wants()) {
            return self.sink.events(events);
        }
        for event in events {
            self.arrive(event.at);
            match self.stage {
                Stage::Before => self.remember(event),
                Stage::Within if wants.has(event.what.class()) => self.sink.events(&[*event]),
                Stage::Within | Stage::After => {}
            }
        }
    }

    fn meta(&mut self, at: Instant, meta: &Meta) {
        self.arrive(at);
        match (self.stage, meta) {
            (Stage::Within, Meta::End) => {
                self.stage = Stage::After;
                self.sink.meta(at, meta);
            }
            (Stage::Within, _) if self.sink.wants().has(meta.class()) => self.sink.meta(at, meta),
            (Stage::Before, Meta::Start { .. }) => self.start = Some(meta.clone()),
            (Stage::Before, Meta::Unknown(_)) => self.unknown = Some(meta.clone()),
            (Stage::Before, Meta::Clock { .. }) => self.clock = Some(meta.clone()),
            (Stage::Before, Meta::Chance { .. }) => self.chance = Some(meta.clone()),
            (Stage::Before, Meta::Queue { id, .. }) => drop(self.queues.insert(*id, meta.clone())),
            (Stage::Before, Meta::Task(info)) => drop(self.tasks.insert(info.task, info.clone())),
            (Stage::Before | Stage::Within | Stage::After, _) => {}
        }
    }
}

#[cfg(test)]
mod tests;
