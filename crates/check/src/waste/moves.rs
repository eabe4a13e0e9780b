//! Tasks run, wait and move from queue to queue. Except for wakeups, the scene still shows the tasks as they were
//! before the event.

use super::task::{Row, Waker};
use super::{Observer, Pending, Waste};
use crate::conduct::{Awake, Scene, Slots, State, Task, Turn};
use crate::matching;
use crate::origin::Act;
use crate::table::is_slot;
use keel_abi::{CpuId, Instant, TaskId};
use keel_trace::Why;

impl<O: Observer> Waste<O> {
    /// A CPU switches. A task that sleeps from now on has not waited if it has been running:
    /// [`Waste::sleeps_oddly`] is for others.
    #[inline(always)]
    pub(super) fn switch(
        &mut self,
        scene: &mut Scene,
        at: Instant,
        cpu: CpuId,
        slots: Slots,
        (prev, why): (TaskId, Why),
        turn: Turn,
    ) {
        match turn {
            Turn::Same => self.runs(scene, slots.near_next()),
            Turn::Begins if self.matching.take(slots.near_next(), cpu) => self.close(scene, at, cpu),
            Turn::Begins => self.begins(scene, cpu, slots.near_next()),
            // The next task is the idle one, which has not waited.
            Turn::Ends => {
                debug_assert!(slots.next().is_none());
                self.cpus.get(cpu).pending = Pending::default();
                self.matching.idle(cpu);
            }
        }
        if !why.is_sleep()
            && let Some(slot) = scene.tasks.slot(prev)
        {
            match why {
                Why::Exited => self.gone(scene, at, slot),
                _ => self.waits(scene, slot, cpu),
            }
        }
        self.followed(scene, at);
    }

    /// The task in `slot`, if it is one, starts running on `cpu`, which was idle, but perhaps not for that task.
    #[inline(never)]
    fn begins(&mut self, scene: &mut Scene, cpu: CpuId, slot: u32) {
        self.runs(scene, slot);
        self.matching.busy(cpu);
    }

    /// The task in `slot` goes to sleep, although it did not run as far as the stream shows: it may have waited.
    #[cold]
    #[inline(never)]
    pub(super) fn sleeps_oddly(&mut self, scene: &mut Scene, at: Instant, slot: u32) {
        self.matching.unwait(slot);
        self.followed(scene, at);
    }

    /// The task in `slot`, if it is one, starts running.
    #[inline(always)]
    fn runs(&mut self, scene: &mut Scene, slot: u32) {
        if !self.matching.leaves_queue(slot) {
            let is_paired = self.matching.paired(slot).is_some();
            self.matching.unwait(slot);
            // The pair's episode ends or gets another witness, which counts the old place until now.
            debug_assert!(!is_paired || self.matching.changed(), "the end of a pair is a change");
        }
        if self.matching.has_closed() {
            self.reopens(scene, slot);
        }
    }

    /// The task in `slot`, if it is one, starts running while some CPU is closed to a group.
    #[cold]
    #[inline(never)]
    fn reopens(&mut self, scene: &mut Scene, slot: u32) {
        if is_slot(slot) {
            self.reopen(scene, slot);
        }
    }

    pub(super) fn gone(&mut self, scene: &mut Scene, at: Instant, slot: u32) {
        self.reopen(scene, slot);
        self.matching.unwait(slot);
        // The episodes may still need the row of a witness that leaves.
        self.follow(scene, at);
        scene.tasks.at(slot).waste = Row::default();
    }

    #[inline(always)]
    pub(super) fn wake(&mut self, scene: &mut Scene, at: Instant, woken: Awake, act: Act, waker: TaskId) {
        let Awake { slot, waits, rq, class } = woken;
        let by = scene.tasks.find(waker);
        let class = if is_slot(by) { self.woken_by(scene, slot, act, (waker, by)) } else { class };
        if waits && let Some(cpu) = self.matching.begin(slot, class, rq) {
            self.witness(scene, at, cpu, slot);
        }
    }

    /// The task in `slot` was woken or created by another one, which is in slot `by`. Returns its class.
    #[inline(never)]
    fn woken_by(
        &mut self,
        scene: &mut Scene,
        slot: u32,
        act: Act,
        (task, by): (TaskId, u32),
    ) -> matching::Class {
        let &mut Task { pid, waste: Row { name_number: name, group, .. }, .. } = scene.tasks.at(by);
        // A child is in its parent's group.
        if act == Act::Forked && group != 0 {
            self.belongs(scene, slot, group);
        }
        let row = &mut scene.tasks.at(slot).waste;
        row.waker = Some(Waker { task, pid, name });
        row.class
    }

    #[inline]
    fn waits(&mut self, scene: &mut Scene, slot: u32, rq: CpuId) {
        let task = scene.tasks.at(slot);
        if !task.throttled {
            self.matching.wait(slot, task.waste.class, rq);
        }
    }

    pub(super) fn exit(&mut self, scene: &mut Scene, at: Instant, slots: Slots) {
        let Some(slot) = slots.task() else { return };
        // A task that is still running ends with the switch that follows.
        if scene.tasks.at(slot).state != State::Running {
            self.gone(scene, at, slot);
        }
    }

    /// Another decision about the task, if it has a row, is in force from now on.
    #[inline(always)]
    pub(super) fn moves(&mut self, scene: &mut Scene, at: Instant, slots: Slots) {
        self.part(scene, at, slots.near_task());
    }
}
