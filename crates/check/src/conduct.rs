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
mod switches;
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
use crate::matching;
use crate::origin::Act;
use crate::place::Queue;
use bouncing::Bouncing;
use keel_abi::{CpuId, DsqId, Instant, Span, TaskId};
use keel_trace::{Chooser, Class, Event, Meta, Sink, TaskInfo, What};
use lock_wait::LockWaits;
use long_delay::LongDelays;
use realtime::Realtime;
use scene::Woken;
pub(crate) use scene::{OFFLINE, RESERVED, RUNS, Scene, Slots, State, Task};
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

/// A task that is awake now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Awake {
    pub(crate) slot: u32,
    /// It waits for a CPU: it is not throttled.
    pub(crate) waits: bool,
    /// The CPU in whose queue it is.
    pub(crate) rq: CpuId,
    /// Its class, as far as nobody is known to have woken it.
    pub(crate) class: matching::Class,
}

/// What a switch changes about whether a CPU could run a waiting task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Nothing.
    Same,
    /// It could before, and can't any more.
    Begins,
    /// It can from now on.
    Ends,
}

impl Conduct {
    /// Keeps the `keep` longest findings of each kind.
    pub fn new(limits: Limits, keep: usize) -> Self {
        let found = || Found::new(keep);
        let least = limits.delay.unwrap_or(DELAY).min(BOUND);
        // A wait that is looked at has a part longer than that, unless it has more than a thousand parts.
        let least_part = Span::from_ns((least.as_ns() / 1000).max(1));
        Self {
            scene: Scene::new(least_part),
            least,
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

    /// The machine and its tasks, for another check that sees each event before this one.
    #[inline]
    pub(crate) fn scene(&mut self) -> &mut Scene {
        &mut self.scene
    }

    /// Returns whether requests for rows pay off.
    #[inline]
    pub(crate) fn has_many_tasks(&self) -> bool {
        self.scene.tasks.are_many()
    }

    /// Requests a task's row. Returns its slot.
    #[inline(always)]
    pub(crate) fn fetch(&self, task: TaskId) -> Option<u32> {
        let (slot, row) = self.scene.tasks.peek_in_slot(task)?;
        row.fetch();
        Some(slot)
    }

    /// Finds the rows of the tasks that an event is about.
    #[inline(always)]
    pub(crate) fn slots(&mut self, what: What) -> Slots {
        Slots::of(&mut self.scene.tasks, what)
    }

    /// Judges everything that is still open.
    fn end(&mut self) {
        let at = self.scene.now;
        for cpu in (0..self.scene.cpus.len()).map(CpuId) {
            self.stalls.look(&mut self.scene, at, cpu);
        }
        for slot in 0..self.scene.tasks.slots() {
            if self.scene.tasks.at(slot).state == State::Waiting {
                self.waited(at, slot, None);
                self.realtime.stops(&mut self.scene, at, slot);
            }
            self.bouncing.end(&mut self.scene, slot);
            self.locks.settle(&mut self.scene, &mut self.realtime, at, slot);
            self.unfair.end(&mut self.scene, slot);
        }
    }

    /// `slots` is what [`Conduct::slots`] found for it; `wakee` is a task that is woken or created and whose figures
    /// are yet to know that, which they do afterwards if they are here. Returns a task that slept and was woken, or is new.
    #[inline(always)]
    pub(crate) fn event(
        &mut self,
        at: Instant,
        cpu: CpuId,
        what: What,
        slots: Slots,
        wakee: &mut Option<TaskId>,
    ) -> Option<Awake> {
        match what {
            What::Switch { prev, next, .. } if prev == next => {}
            What::Switch { prev, why, next } => {
                self.turns(at, cpu, slots, next);
                self.switches(at, cpu, slots, (prev, why), |_, _| {});
            }
            What::Wakeup { target, waker, .. } => {
                return self.wakes((at, cpu), (Act::Woken, waker), slots, target, None, wakee);
            }
            What::Woken { target, waker, prev, by, inserted, .. } => {
                let placed = Some((by, prev, inserted));
                return self.wakes((at, cpu), (Act::Woken, waker), slots, target, placed, wakee);
            }
            What::Fork { target, parent, .. } => {
                return self.wakes((at, cpu), (Act::Forked, parent), slots, target, None, wakee);
            }
            What::Pulled { from, to, .. } => self.pulled(at, cpu, slots.near_task(), from, to),
            What::LockWait { lock, waited } => self.locks.contended(at, cpu, lock, waited),
            What::Online { target, up } => self.online(at, target, up),
            What::Reserved { target, on } => {
                self.scene.cpus.get(target).set(RESERVED, on);
                self.realtime.switched(&mut self.scene, at, target);
            }
            _ => self.of_task(at, cpu, slots, what),
        }
        None
    }

    /// How many of these events come until the next comparison of shares is due, the one that makes it due included.
    #[inline]
    pub(crate) fn until_due(&self, events: &[Event]) -> usize {
        match events.last() {
            Some(last) if self.unfair.is_due(last.at) => {
                let early = events.partition_point(|event| !self.unfair.is_due(event.at));
                // Not every stream has each count, so they make no comparison due.
                let counts =
                    events[early..].iter().take_while(|event| matches!(event.what, What::Count { .. }));
                (early + counts.count() + 1).min(events.len())
            }
            _ => events.len(),
        }
    }

    /// The stream has come to `at`, and all events up to there were heard.
    #[inline]
    pub(crate) fn passed(&mut self, at: Instant) {
        self.scene.now = at;
        if self.unfair.is_due(at) {
            self.unfair.close(&mut self.scene, at);
        }
    }

    /// An event about a task. The frequent ones find its row in one step.
    #[inline(always)]
    fn of_task(&mut self, at: Instant, cpu: CpuId, slots: Slots, what: What) {
        let slot = slots.near_task();
        match what {
            What::Migrate { from, to, .. } => return self.migrate(at, cpu, slot, from, to),
            What::Placed { prev, chosen, by, .. } => return self.placed(at, cpu, slot, prev, chosen, by),
            What::Queued { dsq, .. } => return self.enters(at, cpu, slot, |rq| Queue::from_dsq(dsq, rq)),
            What::Held { .. } => return self.enters(at, cpu, slot, |_| Queue::HELD),
            What::Unqueued { .. } => return self.unqueued(slot),
            _ => {}
        }
        if let Some(slot) = slots.task() {
            self.of_task_rarely(at, slot, what);
        }
    }

    #[inline]
    fn of_task_rarely(&mut self, at: Instant, slot: u32, what: What) {
        match what {
            What::Exit { .. } => self.exit(at, slot),
            What::Throttled { on, .. } => self.throttled(at, slot, on),
            What::Priority { prio, weight, .. } => self.priority(at, slot, prio, weight),
            What::Awaits { mutex, owner, .. } => {
                self.locks.awaits(&mut self.scene, &mut self.realtime, (at, slot), mutex, owner);
            }
            _ => {}
        }
    }

    /// A wait is over: the task in `slot` is in no queue.
    fn stops_waiting(&mut self, at: Instant, slot: u32) {
        let task = self.scene.tasks.at(slot);
        let rq = task.rq;
        task.waited += at.since(task.since);
        self.leaves_queue(at, rq);
    }

    /// A task in the queue of `rq` leaves it.
    fn leaves_queue(&mut self, at: Instant, rq: CpuId) {
        self.scene.waiting -= 1;
        self.takes_from(at, rq);
    }

    #[inline(always)]
    fn takes_from(&mut self, at: Instant, rq: CpuId) {
        let mut row = self.scene.cpus.get(rq);
        if row.is_held(at) {
            self.look_at_last(at, rq);
            row = self.scene.cpus.get(rq);
        }
        row.leaves();
    }

    /// Called when the last waiting task leaves a CPU that may be held.
    #[cold]
    fn look_at_last(&mut self, at: Instant, rq: CpuId) {
        if self.scene.cpus.get(rq).queued == 1 {
            self.stalls.look(&mut self.scene, at, rq);
        }
    }

    /// A long wait ends, on `cpu` if it did not last until the end.
    #[cold]
    fn waited(&mut self, at: Instant, slot: u32, cpu: Option<CpuId>) {
        if !self.starvation.judge(&mut self.scene, at, slot, cpu.is_none()) {
            self.delays.judge(&mut self.scene, at, slot, cpu);
        }
    }

    /// A wait ends when the task is throttled, and another begins when it no longer is.
    fn throttled(&mut self, at: Instant, slot: u32, on: bool) {
        let row = self.scene.tasks.at(slot);
        row.throttled = on;
        let rq = row.rq;
        match (row.state, on) {
            (State::Waiting, true) => {
                self.starvation.judge(&mut self.scene, at, slot, false);
                self.realtime.stops(&mut self.scene, at, slot);
                self.stops_waiting(at, slot);
                self.scene.unweigh(slot);
                self.waits_again(at, slot, rq);
            }
            (State::Throttled, false) => self.waits_again(at, slot, rq),
            _ => {}
        }
    }

    /// A wait begins that is not due to a wakeup.
    #[inline(never)]
    fn waits_again(&mut self, at: Instant, slot: u32, rq: CpuId) {
        let (task, mut machine) = self.scene.split(slot);
        task.woken = None;
        machine.begins(task, at, slot, rq);
        if task.state == State::Waiting && task.is_urgent() {
            self.realtime.waits(&mut self.scene, at, slot);
        }
    }

    /// A task is woken or created; `placed` if the same event says who chose its CPU, where it was before, and whether it
    /// enters that CPU's queue at once.
    #[inline(always)]
    fn wakes(
        &mut self,
        (at, by): (Instant, CpuId),
        (act, waker): (Act, TaskId),
        slots: Slots,
        to: CpuId,
        placed: Option<(Chooser, CpuId, bool)>,
        wakee: &mut Option<TaskId>,
    ) -> Option<Awake> {
        let slot = slots.near_task();
        let (task, mut machine) = self.scene.find(slot)?;
        task.figures.wakes_if(at, wakee);
        if task.state != State::Asleep {
            if placed.is_some() {
                self.dispatched(at, by, slot, to);
            }
            return None;
        }
        if let Some((chooser, prev, _)) = placed {
            task.origin.chosen(chooser, prev);
        }
        let special = task.is_special();
        task.origin.wakes(act, at, by, to, waker);
        if let Some((.., inserted)) = placed {
            // The queue is the one where it is by its wakeup.
            task.origin.has_entered(inserted);
        }
        task.woken = Some(Woken { by: task.origin.here.act().map(|act| (act, waker)), to });
        machine.begins(task, at, slot, to);
        let woken = Awake { slot, waits: task.state == State::Waiting, rq: to, class: task.waste.wakes() };
        if special {
            self.woken_specially(at, slot);
        }
        Some(woken)
    }

    /// The task in `slot` is woken. It has waited for a mutex, or is a real-time task.
    #[cold]
    fn woken_specially(&mut self, at: Instant, slot: u32) {
        let task = self.scene.tasks.at(slot);
        let waits = task.is_urgent() && task.state == State::Waiting;
        if task.awaited().is_some() {
            self.locks.woken(&mut self.scene, at, slot);
        }
        if waits {
            self.realtime.waits(&mut self.scene, at, slot);
        }
    }

    #[inline(always)]
    fn migrate(&mut self, at: Instant, by: CpuId, slot: u32, from: CpuId, to: CpuId) {
        let Some((row, mut machine)) = self.scene.find(slot) else { return };
        if row.state != State::Waiting {
            row.origin.migrates(at, by, from, to);
            row.rq = to;
            return;
        }
        row.turns(at);
        row.origin.migrates(at, by, from, to);
        let there = machine.cpus.get(to);
        row.beside = there.runs;
        let rq = std::mem::replace(&mut row.rq, to);
        let urgent = row.is_urgent();
        if rq != to {
            there.enters(at, slot);
            machine.shifts(row.heft, rq, to);
            self.takes_from(at, rq);
        }
        if urgent {
            self.realtime.moved(&mut self.scene, at, slot);
        }
    }

    /// A task moves to another runqueue, and into that CPU's local queue: [`Conduct::migrate`] and [`Conduct::enters`].
    #[inline(always)]
    pub(crate) fn pulled(&mut self, at: Instant, by: CpuId, slot: u32, from: CpuId, to: CpuId) {
        let Some((row, mut machine)) = self.scene.find(slot) else { return };
        let rq = row.rq;
        if row.state != State::Waiting || row.is_urgent() || rq == to || machine.cpus.get(rq).is_held(at) {
            return self.pulled_otherwise(at, by, slot, from, to);
        }
        row.turns(at);
        row.origin.pulled(at, by, from, to);
        let there = machine.cpus.get(to);
        (row.beside, row.rq) = (there.runs, to);
        there.enters(at, slot);
        machine.shifts(row.heft, rq, to);
        machine.cpus.get(rq).leaves();
    }

    /// Like `pulled` for a task that does not wait, a real-time task, and one in the queue of a CPU that is held.
    #[inline(never)]
    fn pulled_otherwise(&mut self, at: Instant, by: CpuId, slot: u32, from: CpuId, to: CpuId) {
        self.migrate(at, by, slot, from, to);
        self.enters(at, by, slot, |_| Queue::of(to));
    }

    #[inline(always)]
    fn placed(&mut self, at: Instant, by: CpuId, slot: u32, prev: CpuId, to: CpuId, chooser: Chooser) {
        let Some(row) = self.scene.tasks.row(slot) else { return };
        if row.state == State::Asleep {
            return row.origin.chosen(chooser, prev);
        }
        self.dispatched(at, by, slot, to);
    }

    /// A task that does not sleep is dispatched to a CPU.
    #[inline(never)]
    fn dispatched(&mut self, at: Instant, by: CpuId, slot: u32, to: CpuId) {
        let row = self.scene.tasks.at(slot);
        match row.state {
            State::Waiting => {
                row.turns(at);
                row.origin.dispatched(at, by, row.rq, to);
                row.beside = self.scene.cpus.get(row.rq).runs;
            }
            State::Throttled => row.origin.dispatched(at, by, row.rq, to),
            State::Running | State::Asleep => {}
        }
    }

    /// A task enters a queue; a running task leaves its CPU at the same time, and waits in the queue.
    #[inline(always)]
    pub(crate) fn enters(&mut self, at: Instant, by: CpuId, slot: u32, queue: impl Fn(CpuId) -> Queue) {
        let Some(row) = self.scene.tasks.row(slot) else { return };
        if row.state == State::Waiting {
            row.turns(at);
            row.origin.enters(at, by, row.rq, queue(row.rq));
            row.beside = self.scene.cpus.get(row.rq).runs;
            return;
        }
        self.enters_otherwise(at, by, slot, queue);
    }

    /// Like `enters` for any queue by its id.
    #[inline(never)]
    pub(crate) fn enters_built_in(&mut self, at: Instant, by: CpuId, slot: u32, dsq: DsqId) {
        self.enters(at, by, slot, |rq| Queue::from_dsq(dsq, rq));
    }

    /// Like `enters` for a task that does not wait.
    #[inline(never)]
    fn enters_otherwise(&mut self, at: Instant, by: CpuId, slot: u32, queue: impl Fn(CpuId) -> Queue) {
        let row = self.scene.tasks.at(slot);
        match row.state {
            State::Throttled => row.origin.enters(at, by, row.rq, queue(row.rq)),
            State::Running => row.origin.will_be_in(Some(queue(by))),
            State::Waiting | State::Asleep => {}
        }
    }

    #[inline(always)]
    fn unqueued(&mut self, slot: u32) {
        let Some(row) = self.scene.tasks.row(slot) else { return };
        if row.state == State::Running {
            row.origin.will_be_in(None);
        }
    }

    fn priority(&mut self, at: Instant, slot: u32, prio: i16, weight: u32) {
        let row = self.scene.tasks.at(slot);
        if row.weight != weight || row.prio.is_some_and(|before| (before < 100) != (prio < 100)) {
            row.share.breaks();
        }
        self.scene.unweigh(slot);
        let row = self.scene.tasks.at(slot);
        row.weight = weight;
        let is_new = row.prio.replace(prio) != Some(prio);
        row.heft = row.heft();
        row.set_urgent(prio < 100);
        self.scene.weigh(slot);
        if is_new {
            self.realtime.reprioritised(&mut self.scene, at, slot);
        }
    }

    fn exit(&mut self, at: Instant, slot: u32) {
        // A task that is still running ends with the switch that follows.
        match self.scene.tasks.at(slot).state {
            State::Running => {}
            State::Asleep | State::Throttled => self.gone(at, slot),
            State::Waiting => {
                self.starvation.judge(&mut self.scene, at, slot, false);
                self.realtime.stops(&mut self.scene, at, slot);
                self.stops_waiting(at, slot);
                self.scene.unweigh(slot);
                self.gone(at, slot);
            }
        }
    }

    #[cold]
    fn gone(&mut self, at: Instant, slot: u32) {
        self.bouncing.end(&mut self.scene, slot);
        self.locks.settle(&mut self.scene, &mut self.realtime, at, slot);
        self.unfair.end(&mut self.scene, slot);
        let task = self.scene.tasks.at(slot);
        let id = task.id;
        self.scene.end(id);
    }

    /// What a task is; `name` is as it is kept.
    pub(crate) fn about(&mut self, at: Instant, info: &TaskInfo, name: &Arc<str>) {
        self.scene.now = at;
        self.scene.about(info, name);
    }

    fn online(&mut self, at: Instant, target: CpuId, up: bool) {
        let cpu = self.scene.cpus.get(target);
        if cpu.is(OFFLINE) == up {
            cpu.set(OFFLINE, !up);
            self.scene.online.add(at, if up { 1 } else { -1 });
            self.realtime.switched(&mut self.scene, at, target);
        }
    }
}

impl Sink for Conduct {
    fn wants(&self) -> Class {
        Class::CORE.with(Class::DECISIONS).with(Class::PLACES).with(Class::LOCKS)
    }

    fn events(&mut self, events: &[Event]) {
        let mut rest = events;
        while !rest.is_empty() {
            let (part, later) = rest.split_at(self.until_due(rest));
            for &Event { at, cpu, what } in part {
                let slots = self.slots(what);
                self.event(at, cpu, what, slots, &mut None);
            }
            part.last().into_iter().for_each(|last| self.passed(last.at));
            rest = later;
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
