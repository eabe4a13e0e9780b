//! Which waiting real-time task a CPU takes from another when its own most urgent task becomes less urgent.

use crate::state::cpu::Irq;
use crate::state::kernel::Kernel;
use keel_abi::{CpuId, TaskId};

impl Kernel {
    /// Does `c`, whose most urgent task had the priority `before`, have something to pull (`need_pull_rt_task()`)?
    pub(crate) fn needs_pull(&self, c: CpuId, before: u8) -> bool {
        let cpu = &self.cpus[c];
        cpu.online && cpu.rt.highest() < before && self.overload.is_elsewhere(c)
    }

    /// The most urgent task that waits on `source` and may run on `c` (`pick_highest_pushable_task()`).
    pub(crate) fn pullable(&self, c: CpuId, source: CpuId) -> Option<TaskId> {
        self.cpus[source].rt.pushable().find(|&task| self.tasks[task].allows(c))
    }

    /// Should `c` pull `task` from `source`? Not if it is about to run there.
    pub(crate) fn is_worth_pulling(&self, c: CpuId, source: CpuId, task: TaskId) -> bool {
        let t = &self.tasks[task];
        let waits = t.rt_priority() <= self.priority_of(self.cpus[source].curr);
        waits && t.rt_priority() > self.cpus[c].rt.highest() && t.migration_disabled == 0
    }

    /// `RtFrame::AskNext`.
    pub(crate) fn ask_next(&mut self, c: CpuId) {
        if let Some(next) = self.overload.next_asked() {
            self.ask(c, next);
        }
    }

    /// Sends `target` the interrupt that makes it push (`irq_work_queue_on()`).
    pub(crate) fn ask(&mut self, c: CpuId, target: CpuId) {
        self.send_irq(c, target, Irq::PushRt);
    }
}
