//! When whoever runs has to go: at the end of its slice (`update_curr()`), for a task that wakes (`wakeup_preempt_fair()`).
//!
//! A CPU that another one asks is not interrupted: it looks when it next leaves the kernel, at its tick at the latest
//! (`resched_curr_lazy()`).

use super::queue::Pick;
use crate::class::SchedClass;
use crate::kernel::Kernel;
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

    /// The fair task that runs on `rq` has been charged: is its slice over, and is anybody else there (`update_curr()`)?
    pub(super) fn end_slice(&mut self, rq: CpuId) {
        let queue = &self.cpus[rq].fair;
        let Some(curr) = queue.curr() else { return };
        let entity = &self.fair.entities[curr.index()];
        if queue.queued() > 1 && entity.on_rq && !entity.is_protected() {
            self.resched_lazily(rq);
        }
    }

    /// The tick of a fair task (`task_tick_fair()`): a slice that is over goes to another, if there is one.
    pub(crate) fn tick_fair(&mut self, c: CpuId) {
        let cpu = &self.cpus[c];
        if cpu.rt.is_ready() && !cpu.fair_server.is_serving() {
            self.resched(c, c);
        }
        if let Some(curr) = self.cpus[c].fair.curr() {
            self.update_load(c, curr);
        }
        self.end_slice(c);
    }

    /// Among fair tasks one that wakes takes the CPU where it would be picked now (`wakeup_preempt_fair()`). One with a
    /// shorter slice than whoever runs heeds no protection (`PREEMPT_SHORT`).
    pub(crate) fn preempt_fair(&mut self, c: CpuId, rq: CpuId, task: TaskId) {
        let cpu = &self.cpus[rq];
        let curr = cpu.curr;
        let is_asked = cpu.need_resched && cpu.resched_at != Instant::NEVER;
        if curr == task || is_asked || self.class_of(curr) != SchedClass::Fair {
            return;
        }
        let (woken, running) = (self.fair.entities[task.index()], self.fair.entities[curr.index()]);
        match (running.is_idle, woken.is_idle) {
            (true, false) => return self.takes_over(c, rq, curr, Pick::Plain),
            (false, true) => return,
            _ if matches!(self.tasks[task].policy, Policy::Batch | Policy::Idle) => return,
            _ => {}
        }
        self.charge_fair_curr(rq);
        let pick = if woken.slice_ns < running.slice_ns { Pick::Plain } else { Pick::Protecting };
        let is_new = self.tasks[task].began == Instant::NEVER;
        if pick == Pick::Protecting && is_new {
            return;
        }
        if self.pick_awake(rq, pick) == Some(task) {
            self.takes_over(c, rq, curr, pick);
        } else {
            self.cpus[rq].fair.tighten(&mut self.fair.entities, curr);
        }
    }

    /// Whoever runs on `rq` must go. A CPU of another cache does a wakeup itself, interrupted for it
    /// (`ttwu_queue_cond()`), and so looks at once.
    fn takes_over(&mut self, c: CpuId, rq: CpuId, curr: TaskId, pick: Pick) {
        if pick == Pick::Plain {
            self.fair.entities[curr.index()].unprotect();
        }
        match self.share_cache(c, rq) {
            true => self.resched_lazily(rq),
            false => self.resched(c, rq),
        }
    }
}
