//! Decides when the running task has to yield because its slice ends (`update_curr()`, `task_tick_fair()`).
//!
//! A CPU that is asked to reschedule lazily is not interrupted. It does so when it next leaves the kernel, which is at
//! its next tick at the latest (`resched_curr_lazy()`).

use crate::state::fair::ids::QueueId;
use crate::state::kernel::Kernel;
use keel_abi::{CpuId, Instant, TaskId};

impl Kernel {
    /// Asks `rq`, which runs a fair task, to reschedule before it returns to user mode (`resched_curr_lazy()`).
    pub(crate) fn resched_lazily(&mut self, rq: CpuId) {
        let to = &mut self.cpus[rq];
        if !to.need_resched && to.alive {
            to.need_resched = true;
            to.resched_at = Instant::NEVER;
        }
    }

    /// Called after the fair task that runs on `rq` has been charged: reschedules if its slice has ended, or that of a
    /// group above it, and other tasks wait there (`update_curr()`).
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

    /// Handles a tick of a fair task (`task_tick_fair()`): if its slice has ended, the next waiting task runs.
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
}
