//! Decides whether a waking real-time task preempts the running task (`wakeup_preempt_rt()`): it does if its priority is
//! higher, or if it is equal and the running task can move to another CPU.

use crate::state::kernel::Kernel;
use keel_abi::{CpuId, TaskId};

impl Kernel {
    /// Preempts the running task if its priority is lower, or if it is equal and the running task can move elsewhere
    /// (`wakeup_preempt_rt()`).
    pub(crate) fn preempt_rt(&mut self, c: CpuId, rq: CpuId, task: TaskId) {
        let (curr, priority) = (self.cpus[rq].curr, self.tasks[task].rt_priority());
        let running = self.priority_of(curr);
        if priority > running || (priority == running && self.makes_room(rq, curr, task)) {
            self.resched(c, rq);
        }
    }

    /// Returns whether `curr` should look for another CPU because `task`, which has just arrived with equal priority,
    /// has no other (`check_preempt_equal_prio()`). If so, `task` goes first.
    pub(crate) fn makes_room(&mut self, rq: CpuId, curr: TaskId, task: TaskId) -> bool {
        let can_move = |k: &Self, task| k.tasks[task].nr_allowed > 1 && k.lowest_for(task).is_some();
        if curr.is_idle() || self.cpus[rq].need_resched || !can_move(self, curr) || can_move(self, task) {
            return false;
        }
        let priority = self.tasks[task].rt_priority();
        self.cpu(rq).rt.requeue(task, priority, true);
        true
    }
}
