//! When whoever runs has to go: at the end of its slice (`update_curr()`), for a task that wakes (`wakeup_preempt_fair()`).
//!
//! A CPU that another one asks is not interrupted: it looks when it next leaves the kernel, at its tick at the latest
//! (`resched_curr_lazy()`).

use crate::state::class::SchedClass;
use crate::state::fair::ids::{EntityId, QueueId};
use crate::state::fair::queue::Pick;
use crate::state::kernel::Kernel;
use keel_abi::task::Policy;
use keel_abi::{CpuId, Instant, TaskId};

impl Kernel {
    /// Asks `rq`, which runs a fair task, to reschedule before it goes back to user mode (`resched_curr_lazy()`).
    fn resched_lazily(&mut self, rq: CpuId) {
        let to = &mut self.cpus[rq];
        if !to.need_resched && to.alive {
            to.need_resched = true;
            to.resched_at = Instant::NEVER;
        }
    }

    /// The fair task that runs on `rq` has been charged: is its slice over, or that of a group that it is in, and is anybody
    /// else there (`update_curr()`)?
    pub(super) fn end_slice(&mut self, rq: CpuId) {
        let mut at = QueueId::root(rq);
        loop {
            let queue = self.queue_at(at);
            let Some(curr) = queue.curr() else { return };
            let entity = &self.fair.entities[curr];
            if queue.entities() > 1 && entity.on_rq && !entity.is_protected() {
                self.stop_preferring(curr);
                return self.resched_lazily(rq);
            }
            let Some(below) = self.queue_below(curr) else { return };
            at = below;
        }
    }

    /// The tick of a fair task (`task_tick_fair()`): a slice that is over goes to another, if there is one.
    pub(crate) fn tick_fair(&mut self, c: CpuId) {
        let cpu = &self.cpus[c];
        if cpu.rt.is_ready() && !cpu.fair_server.is_serving() {
            self.resched(c, c);
        }
        if let Some(curr) = self.fair_curr(c) {
            self.tick_entities(curr);
            self.note_overuse(c);
        }
        self.end_slice(c);
    }

    /// `entity_tick()`, for the task and each group that it is in.
    fn tick_entities(&mut self, task: TaskId) {
        let at = self.fair.entities[task].queue;
        self.update_load(at, task.into());
        let mut above = at.group();
        while let Some(slot) = above {
            self.update_entity(slot.entity());
            above = self.fair.entities[slot.entity()].queue.group();
        }
    }

    /// Among fair tasks one that wakes takes the CPU where it, or the group that competes for it, would be picked now
    /// (`wakeup_preempt_fair()`). One with a shorter slice than the current one heeds no protection (`PREEMPT_SHORT`).
    pub(crate) fn preempt_fair(&mut self, c: CpuId, rq: CpuId, task: TaskId) {
        let cpu = &self.cpus[rq];
        let curr = cpu.curr;
        let is_asked = cpu.need_resched && cpu.resched_at != Instant::NEVER;
        if curr == task || is_asked || self.class_of(curr) != SchedClass::Fair {
            return;
        }
        if self.fair.entities[task].is_throttled || self.fair.entities[curr].is_throttled {
            return;
        }
        let (woken_id, curr_id, at) = self.matching(task, curr);
        let (woken, running) = (self.fair.entities[woken_id], self.fair.entities[curr_id]);
        match (running.is_idle, woken.is_idle) {
            (true, false) => return self.takes_over(c, rq, curr_id, Pick::Plain),
            (false, true) => return,
            _ if matches!(self.tasks[task].policy, Policy::Batch | Policy::Idle) => return,
            _ => {}
        }
        // The current task was charged when the task joined, and the runqueue's clock has stood still since.
        let pick = if woken.slice_ns < running.slice_ns { Pick::Plain } else { Pick::Protecting };
        let is_new = self.tasks[task].began == Instant::NEVER;
        if pick == Pick::Protecting && is_new {
            return;
        }
        if self.pick_entity(at, pick) == Some(woken_id) {
            self.takes_over(c, rq, curr_id, pick);
        } else {
            let (queue, entities) = self.queue_mut(at);
            queue.tighten(entities, curr_id);
        }
    }

    /// Whoever runs on `rq` must go. A CPU of another cache does a wakeup itself, interrupted for it
    /// (`ttwu_queue_cond()`), and so looks at once.
    fn takes_over(&mut self, c: CpuId, rq: CpuId, curr: EntityId, pick: Pick) {
        if pick == Pick::Plain {
            self.fair.entities[curr].unprotect();
            self.stop_preferring(curr);
        }
        match self.share_cache(c, rq) {
            true => self.resched_lazily(rq),
            false => self.resched(c, rq),
        }
    }
}
