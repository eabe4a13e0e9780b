//! Decides which waiting real-time task a CPU pulls from another when its own highest priority drops.

use crate::state::cpu::Irq;
use crate::state::kernel::Kernel;
use keel_abi::{CpuId, TaskId};

impl Kernel {
    /// Returns whether `c`, whose highest priority was `before`, may have something to pull (`need_pull_rt_task()`).
    pub(crate) fn needs_pull(&self, c: CpuId, before: u8) -> bool {
        let cpu = &self.cpus[c];
        cpu.online && cpu.rt.highest() < before && self.overload.is_elsewhere(c)
    }

    /// Returns the most urgent task that waits on `source` and may run on `c` (`pick_highest_pushable_task()`).
    pub(crate) fn pullable(&self, c: CpuId, source: CpuId) -> Option<TaskId> {
        self.cpus[source].rt.pushable().find(|&task| self.tasks[task].allows(c))
    }

    /// Returns whether `c` should pull `task` from `source`. It should not if the task is about to run there.
    pub(crate) fn is_worth_pulling(&self, c: CpuId, source: CpuId, task: TaskId) -> bool {
        let t = &self.tasks[task];
        let waits = t.rt_priority() <= self.priority_of(self.cpus[source].curr);
        waits && t.rt_priority() > self.cpus[c].rt.highest() && t.migration_disabled == 0
    }

    /// Runs `RtFrame::AskNext`.
    pub(crate) fn ask_next(&mut self, c: CpuId) {
        if let Some(next) = self.overload.next_asked() {
            self.ask(c, next);
        }
    }

    /// Sends `target` the interrupt that asks it to push (`irq_work_queue_on()`).
    pub(crate) fn ask(&mut self, c: CpuId, target: CpuId) {
        self.send_irq(c, target, Irq::PushRt);
    }
}
