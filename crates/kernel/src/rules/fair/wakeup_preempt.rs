//! Decides whether a waking fair task preempts the running task (`wakeup_preempt_fair()`): it does if it would be picked
//! now.

use crate::state::class::SchedClass;
use crate::state::fair::ids::EntityId;
use crate::state::fair::queue::Pick;
use crate::state::kernel::Kernel;
use keel_abi::task::Policy;
use keel_abi::{CpuId, Instant, TaskId};

impl Kernel {
    /// Preempts the running task if the waking one, or the group that competes for it, would be picked now
    /// (`wakeup_preempt_fair()`). If its slice is shorter than the running task's, the running task is not protected
    /// (`PREEMPT_SHORT`).
    pub(crate) fn preempt_fair(&mut self, rq: CpuId, task: TaskId) {
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
            (true, false) => return self.takes_over(rq, curr_id, Pick::Plain),
            (false, true) => return,
            _ if matches!(self.tasks[task].policy, Policy::Batch | Policy::Idle) => return,
            _ => {}
        }
        // The running task was charged when the other one joined, and the runqueue's clock has not advanced since.
        let pick = if woken.slice_ns < running.slice_ns { Pick::Plain } else { Pick::Protecting };
        let is_new = self.tasks[task].began == Instant::NEVER;
        if pick == Pick::Protecting && is_new {
            return;
        }
        if self.pick_entity(at, pick) == Some(woken_id) {
            self.takes_over(rq, curr_id, pick);
        } else {
            let (queue, entities) = self.queue_mut(at);
            queue.tighten(entities, curr_id);
        }
    }

    /// Makes `rq` reschedule, and ends the running entity's protection if the pick ignores it.
    fn takes_over(&mut self, rq: CpuId, curr: EntityId, pick: Pick) {
        if pick == Pick::Plain {
            self.fair.entities[curr].unprotect();
            self.stop_preferring(curr);
        }
        self.resched_lazily(rq);
    }
}
