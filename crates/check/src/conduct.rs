//! The checks of how tasks fare: one pass over the stream tracks which tasks run and wait ([`scene`]), and gives each
//! check the events that concern it. An event costs the same however many tasks there are; memory is one row per task
//! and CPU.

mod bouncing;
mod lock_wait;
mod long_delay;
mod owners;
mod realtime;
mod scene;
mod stall;
mod starvation;
#[cfg(test)]
mod tests;
mod unfair;

pub use bouncing::{BLOCK, LEAST_MOVES, MOVE_WORTH, NEAR};
pub use lock_wait::{CONTENDED, LOCK_WAIT};
pub use long_delay::DELAY;
pub use realtime::{MOST_URGENT_WAITS, URGENT_WAIT};
pub use stall::HOLD;
pub use starvation::BOUND;
pub use unfair::{LEAST_SHARE, WINDOW};

use crate::finding::{Kind, shared};
use crate::longest::{Found, OfKind};
use crate::origin::{Act, Origins};
use crate::place::{Course, Queue};
use bouncing::Bouncing;
use keel_abi::{CpuId, DsqId, Instant, Span, TaskId};
use keel_trace::{Chooser, Class, Event, Meta, Sink, TaskInfo, What, Why};
use lock_wait::LockWaits;
use long_delay::LongDelays;
use realtime::Realtime;
use scene::{Scene, State, Woken, running_on};
use stall::Stalls;
use starvation::Starvation;
use std::sync::Arc;
use unfair::Unfair;

/// Optional limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Report wakeup-to-run delays longer than this, whatever else runs; by default [`DELAY`] plus what sharing adds.
    pub delay: Option<Span>,
    /// If the stream does not record which CPUs tasks may use or when they are throttled, assume that neither limits
    /// them.
    pub assume_unrestricted: bool,
}

/// Listens to a run and finds tasks that fare badly.
#[derive(Clone, Debug)]
pub struct Conduct {
    scene: Scene,
    /// Shorter waits need no check.
    least: Span,
    starvation: Starvation,
    delays: LongDelays,
    bouncing: Bouncing,
    stalls: Stalls,
    realtime: Realtime,
    unfair: Unfair,
    locks: LockWaits,
}

impl Conduct {
    /// Keeps the `keep` longest findings of each kind.
    pub fn new(limits: Limits, keep: usize) -> Self {
        let found = || Found::new(keep);
        Self {
            scene: Scene::default(),
            least: limits.delay.unwrap_or(DELAY).min(BOUND),
            starvation: Starvation { found: found() },
            delays: LongDelays { found: found(), limit: limits.delay },
            bouncing: Bouncing { found: found() },
            stalls: Stalls { found: found() },
            realtime: Realtime::new(found(), found()),
            unfair: Unfair::new(found()),
            locks: LockWaits::new(found()),
        }
    }

    /// The longest findings of each kind and how many there were, in the order of [`Kind::ALL`]. What is under way
    /// counts up to the last event.
    pub fn into_findings(mut self) -> Vec<OfKind> {
        self.end();
        let (inverted, misplaced) = self.realtime.found();
        let found = [
            (Kind::Starvation, self.starvation.found),
            (Kind::LongDelay, self.delays.found),
            (Kind::Bouncing, self.bouncing.found),
            (Kind::Stall, self.stalls.found),
            (Kind::PriorityInversion, inverted),
            (Kind::MisplacedRealtime, misplaced),
            (Kind::UnfairShare, self.unfair.found),
            (Kind::LockWait, self.locks.found),
        ];
        found.into_iter().map(|(kind, found)| found.all(kind)).collect()
    }

    /// How tasks came to their places, for another check that sees each event before this one.
    #[inline]
    pub(crate) fn origins(&mut self) -> &mut impl Origins {
        &mut self.scene
    }

    /// Judges everything that is still open.
    fn end(&mut self) {
        let at = self.scene.now;
        for cpu in (0..self.scene.cpus.len()).map(CpuId) {
            self.stalls.look(&mut self.scene, at, cpu);
        }
        for slot in 0..self.scene.tasks.slots() {
            let Some(task) = self.scene.tasks.at(slot) else { continue };
            if task.state == State::Waiting {
                self.waited(at, slot, None);
                self.realtime.stops(&mut self.scene, at, slot);
            }
            self.bouncing.end(&mut self.scene, slot);
            self.locks.settle(&mut self.scene, &mut self.realtime, at, slot);
            self.unfair.end(&mut self.scene, slot);
        }
    }

    #[inline(always)]
    pub(crate) fn event(&mut self, at: Instant, cpu: CpuId, what: What) {
        self.scene.now = at;
        match what {
            What::Switch { prev, why, next } => self.switch(at, cpu, prev, why, next),
            What::Wakeup { task, target, waker } => self.wakes(at, cpu, Act::Woken, task, target, waker),
            What::Fork { child, target, parent } => self.wakes(at, cpu, Act::Forked, child, target, parent),
            What::Exit { task } => self.exit(at, task),
            What::Migrate { task, from, to } => self.migrate(at, cpu, task, from, to),
            What::Placed { task, prev, chosen, by, .. } => self.placed(at, cpu, task, prev, chosen, by),
            What::Queued { task, dsq, .. } => self.queued(at, cpu, task, dsq),
            What::Held { task } => self.enters(at, cpu, task, |_| Queue::Held),
            What::Unqueued { task, .. } => self.unqueued(task),
            What::Online { target, up } => self.online(at, target, up),
            What::Throttled { task, on, .. } => self.throttled(at, task, on),
            What::Reserved { target, on } => {
                self.scene.cpus.get(target).reserved = on;
                self.realtime.switched(&mut self.scene, at, target);
            }
            What::Priority { task, prio, weight } => self.priority(at, task, prio, weight),
            What::Awaits { task, mutex, owner } => self.awaits(at, task, mutex, owner),
            What::LockWait { lock, waited } => self.locks.contended(at, cpu, lock, waited),
            _ => {}
        }
        if self.unfair.is_due(at) {
            self.unfair.close(&mut self.scene, at);
        }
    }

    fn switch(&mut self, at: Instant, cpu: CpuId, prev: TaskId, why: Why, next: TaskId) {
        if prev == next {
            return;
        }
        self.stalls.look(&mut self.scene, at, cpu);
        let next_slot = self.scene.tasks.slot(next);
        if let Some(slot) = next_slot {
            self.comes(at, cpu, slot);
        }
        let row = self.scene.cpus.get(cpu);
        (row.running, row.since) = (next_slot.map(|slot| (next, slot)), at);
        if let Some(slot) = self.scene.tasks.slot(prev) {
            self.leaves(at, cpu, slot, why);
        }
        self.realtime.switched(&mut self.scene, at, cpu);
    }

    /// The task in `slot` starts running.
    #[inline]
    fn comes(&mut self, at: Instant, cpu: CpuId, slot: u32) {
        let Some(task) = self.scene.tasks.at(slot) else { return };
        let mut waited = Span::ZERO;
        match task.state {
            State::Waiting => {
                let rq = task.rq;
                waited = at.since(task.since);
                if task.is_urgent() {
                    self.realtime.stops(&mut self.scene, at, slot);
                }
                if waited > self.least {
                    self.waited(at, slot, Some(cpu));
                }
                self.leaves_queue(at, rq);
            }
            // The recording has lost its wakeup.
            State::Asleep => task.share.breaks(),
            State::Throttled | State::Running => {}
        }
        let Some(task) = self.scene.tasks.at(slot) else { return };
        task.waited += waited;
        (task.state, task.since, task.throttled) = (State::Running, at, false);
        let moved = task.origin.last_cpu.is_some_and(|last| last != cpu);
        task.origin.runs(cpu);
        let (awaits, weight) = (task.awaited.is_some(), task.reweigh());
        self.scene.reweighed(weight);
        if awaits {
            self.locks.comes(&mut self.scene, at, slot);
        }
        if moved {
            self.bouncing.moved(&mut self.scene, at, slot, cpu);
        }
    }

    #[inline]
    fn leaves(&mut self, at: Instant, cpu: CpuId, slot: u32, why: Why) {
        let Some(task) = self.scene.tasks.at(slot) else { return };
        match task.state {
            State::Running => task.ran += at.since(task.since),
            State::Waiting => self.stops_waiting(at, slot),
            State::Asleep | State::Throttled => {}
        }
        let Some(task) = self.scene.tasks.at(slot) else { return };
        let awaited = task.awaited.as_ref().is_some_and(|awaited| awaited.got.is_some());
        (task.state, task.since) = (State::Asleep, at);
        let weight = task.reweigh();
        self.scene.reweighed(weight);
        if awaited {
            self.locks.settle(&mut self.scene, &mut self.realtime, at, slot);
        }
        match why {
            Why::Preempted | Why::Yielded => {
                self.scene.tasks.at(slot).into_iter().for_each(|task| task.origin.leaves(at, cpu, why));
                self.waits(at, slot, cpu, None);
            }
            Why::Exited => self.gone(at, slot),
            Why::Blocked | Why::WasIdle => {
                self.scene.tasks.at(slot).into_iter().for_each(|task| task.share.breaks());
            }
        }
    }

    /// A wait begins.
    #[inline]
    fn waits(&mut self, at: Instant, slot: u32, rq: CpuId, woken: Option<Woken>) {
        let (crowd, beside) = (self.scene.waiting + 1, self.scene.runs_on(rq));
        let Some(task) = self.scene.tasks.at(slot) else { return };
        if task.throttled {
            (task.state, task.since, task.rq) = (State::Throttled, at, rq);
            task.share.breaks();
            return self.scene.weigh(slot);
        }
        self.scene.waiting = crowd;
        (task.state, task.since, task.rq, task.beside) = (State::Waiting, at, rq, beside);
        (task.woken, task.crowd) = (woken, crowd);
        task.course = Course::begin(at);
        let (urgent, weight, weighs) = (task.is_urgent(), task.reweigh(), task.weighs.1 > 0);
        self.scene.reweighed(weight);
        if weighs {
            let load = self.scene.load(slot);
            self.scene.tasks.at(slot).into_iter().for_each(|task| task.load = load);
        }
        self.enters_queue(at, slot, rq);
        if urgent {
            self.realtime.waits(&mut self.scene, at, slot);
        }
    }

    #[inline]
    fn enters_queue(&mut self, at: Instant, slot: u32, rq: CpuId) {
        let cpu = self.scene.cpus.get(rq);
        if cpu.queued == 0 {
            (cpu.queued_since, cpu.first) = (at, slot);
        }
        cpu.queued += 1;
    }

    /// A wait is over: the task in `slot` is in no queue.
    fn stops_waiting(&mut self, at: Instant, slot: u32) {
        let Some(task) = self.scene.tasks.at(slot) else { return };
        let rq = task.rq;
        task.waited += at.since(task.since);
        self.leaves_queue(at, rq);
    }

    /// A task in the queue of `rq` leaves it.
    #[inline]
    fn leaves_queue(&mut self, at: Instant, rq: CpuId) {
        self.scene.waiting = self.scene.waiting.saturating_sub(1);
        self.takes_from(at, rq);
    }

    #[inline]
    fn takes_from(&mut self, at: Instant, rq: CpuId) {
        if self.scene.cpus.get(rq).queued == 1 {
            self.stalls.look(&mut self.scene, at, rq);
        }
        let cpu = self.scene.cpus.get(rq);
        cpu.queued = cpu.queued.saturating_sub(1);
    }

    /// A long wait ends, on `cpu` if it did not last until the end.
    #[cold]
    fn waited(&mut self, at: Instant, slot: u32, cpu: Option<CpuId>) {
        if !self.starvation.judge(&mut self.scene, at, slot, cpu.is_none()) {
            self.delays.judge(&mut self.scene, at, slot, cpu);
        }
    }

    /// A wait ends when the task is throttled, and another begins when it no longer is.
    fn throttled(&mut self, at: Instant, task: TaskId, on: bool) {
        let Some(slot) = self.scene.tasks.slot(task) else { return };
        let Some(row) = self.scene.tasks.at(slot) else { return };
        row.throttled = on;
        let rq = row.rq;
        match (row.state, on) {
            (State::Waiting, true) => {
                self.starvation.judge(&mut self.scene, at, slot, false);
                self.realtime.stops(&mut self.scene, at, slot);
                self.stops_waiting(at, slot);
                self.waits(at, slot, rq, None);
            }
            (State::Throttled, false) => self.waits(at, slot, rq, None),
            _ => {}
        }
    }

    fn wakes(&mut self, at: Instant, by: CpuId, act: Act, task: TaskId, to: CpuId, waker: TaskId) {
        let Some(slot) = self.scene.tasks.slot(task) else { return };
        let Some(row) = self.scene.tasks.at(slot) else { return };
        if row.state != State::Asleep {
            return;
        }
        row.origin.wakes(act, at, by, to, waker);
        let woken = Woken { by: row.origin.decision().map(|_| (act, waker)), to };
        if row.awaited.is_some() {
            self.locks.woken(&mut self.scene, at, slot);
        }
        self.waits(at, slot, to, Some(woken));
    }

    fn migrate(&mut self, at: Instant, by: CpuId, task: TaskId, from: CpuId, to: CpuId) {
        let Some(slot) = self.scene.tasks.slot(task) else { return };
        let beside = self.scene.runs_on(to);
        let Some(row) = self.scene.tasks.at(slot) else { return };
        let waits = row.state == State::Waiting;
        if waits {
            row.turns(at);
            row.beside = beside;
        }
        row.origin.migrates(at, by, from, to);
        let rq = std::mem::replace(&mut row.rq, to);
        if !waits {
            return;
        }
        let urgent = row.is_urgent();
        if rq != to {
            let weight = row.reweigh();
            self.takes_from(at, rq);
            self.enters_queue(at, slot, to);
            self.scene.reweighed(weight);
        }
        if urgent {
            self.realtime.moved(&mut self.scene, at, slot);
        }
    }

    fn placed(&mut self, at: Instant, by: CpuId, task: TaskId, prev: CpuId, to: CpuId, chooser: Chooser) {
        let Some(row) = self.scene.tasks.get(task) else { return };
        match row.state {
            State::Asleep => row.origin.chosen(chooser, prev),
            State::Waiting => {
                row.turns(at);
                row.origin.dispatched(at, by, row.rq, to);
                row.beside = running_on(&mut self.scene.cpus, row.rq);
            }
            State::Throttled => row.origin.dispatched(at, by, row.rq, to),
            State::Running => {}
        }
    }

    fn queued(&mut self, at: Instant, by: CpuId, task: TaskId, dsq: DsqId) {
        self.enters(at, by, task, |rq| Queue::from_dsq(dsq, rq));
    }

    /// A task enters a queue; a running task leaves its CPU at the same time, and waits in the queue.
    #[inline]
    fn enters(&mut self, at: Instant, by: CpuId, task: TaskId, queue: impl Fn(CpuId) -> Queue) {
        let Some(row) = self.scene.tasks.get(task) else { return };
        match row.state {
            State::Waiting => {
                row.turns(at);
                row.origin.enters(at, by, row.rq, queue(row.rq));
                row.beside = running_on(&mut self.scene.cpus, row.rq);
            }
            State::Throttled => row.origin.enters(at, by, row.rq, queue(row.rq)),
            State::Running => row.origin.will_be_in(Some(queue(by))),
            State::Asleep => {}
        }
    }

    fn unqueued(&mut self, task: TaskId) {
        let Some(row) = self.scene.tasks.get(task).filter(|row| row.state == State::Running) else { return };
        row.origin.will_be_in(None);
    }

    fn priority(&mut self, at: Instant, task: TaskId, prio: i16, weight: u32) {
        let Some(slot) = self.scene.tasks.slot(task) else { return };
        let Some(row) = self.scene.tasks.at(slot) else { return };
        if row.weight != weight || row.prio.is_some_and(|before| (before < 100) != (prio < 100)) {
            row.share.breaks();
        }
        row.weight = weight;
        let is_new = row.prio.replace(prio) != Some(prio);
        self.scene.weigh(slot);
        if is_new {
            self.realtime.reprioritised(&mut self.scene, at, slot);
        }
    }

    fn awaits(&mut self, at: Instant, task: TaskId, mutex: u32, owner: TaskId) {
        if let Some(slot) = self.scene.tasks.slot(task) {
            self.locks.awaits(&mut self.scene, &mut self.realtime, (at, slot), mutex, owner);
        }
    }

    fn exit(&mut self, at: Instant, task: TaskId) {
        let Some(slot) = self.scene.tasks.slot(task) else { return };
        // A task that is still running ends with the switch that follows.
        match self.scene.tasks.at(slot).map(|row| row.state) {
            Some(State::Running) | None => {}
            Some(State::Asleep | State::Throttled) => self.gone(at, slot),
            Some(State::Waiting) => {
                self.starvation.judge(&mut self.scene, at, slot, false);
                self.realtime.stops(&mut self.scene, at, slot);
                self.stops_waiting(at, slot);
                self.gone(at, slot);
            }
        }
    }

    fn gone(&mut self, at: Instant, slot: u32) {
        self.bouncing.end(&mut self.scene, slot);
        self.locks.settle(&mut self.scene, &mut self.realtime, at, slot);
        self.unfair.end(&mut self.scene, slot);
        if let Some(task) = self.scene.tasks.at(slot) {
            task.state = State::Asleep;
            self.scene.weigh(slot);
        }
        if let Some(id) = self.scene.tasks.at(slot).map(|task| task.id) {
            self.scene.tasks.end(id);
        }
    }

    /// What a task is; `name` is as it is kept.
    pub(crate) fn about(&mut self, at: Instant, info: &TaskInfo, name: &Arc<str>) {
        self.scene.now = at;
        self.scene.about(info, name);
    }

    fn online(&mut self, at: Instant, target: CpuId, up: bool) {
        let cpu = self.scene.cpus.get(target);
        if cpu.offline == up {
            cpu.offline = !up;
            self.scene.online.add(at, if up { 1 } else { -1 });
            self.realtime.switched(&mut self.scene, at, target);
        }
    }
}

impl Sink for Conduct {
    fn wants(&self) -> Class {
        Class::CORE.with(Class::DECISIONS).with(Class::QUEUES).with(Class::LOCKS)
    }

    fn events(&mut self, events: &[Event]) {
        for &Event { at, cpu, what } in events {
            self.event(at, cpu, what);
        }
    }

    fn meta(&mut self, at: Instant, meta: &Meta) {
        self.scene.now = at;
        match meta {
            Meta::Start { topology, .. } => self.scene.start(at, topology.cpus()),
            Meta::Task(info) => self.about(at, info, &shared(&info.name)),
            Meta::Unknown(unknown) => self.realtime.unknown = *unknown,
            Meta::Clock { .. }
            | Meta::Chance { .. }
            | Meta::Queue { .. }
            | Meta::Member { .. }
            | Meta::Asks { .. }
            | Meta::Group(_)
            | Meta::Scheduled { .. } => {}
            Meta::SchedulerExit { .. } | Meta::Policy(_) | Meta::End => {}
        }
    }
}
