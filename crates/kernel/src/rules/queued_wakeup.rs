//! Decides which wakeups are queued for the target CPU (`ttwu_queue_cond()`). `paths::queued_wakeup` does the rest.

use crate::state::class::SchedClass;
use crate::state::kernel::Kernel;
use keel_abi::scx::{ops_flags, wake};
use keel_abi::{CpuId, TaskId};

impl Kernel {
    /// Returns whether the wakeup is queued for `target` (`ttwu_queue_cond()`). For its own tasks, a sched_ext
    /// scheduler has to allow this, because `ops.select_cpu()` may be skipped.
    pub(crate) fn should_queue_wakeup(&self, c: CpuId, task: TaskId, target: CpuId, flags: u64) -> bool {
        let is_wakeup = flags & wake::TTWU != 0;
        if target == c || !is_wakeup || !self.allows_queued_wakeup(task) {
            return false;
        }
        let cpu = &self.cpus[target];
        let is_usable = cpu.online && self.tasks[task].allows(target);
        // A fair task that sleeps on a runqueue is woken there by the waker (`ttwu_runnable()`).
        is_usable && self.sleeps_in(task).is_none() && (!self.share_cache(c, target) || cpu.nr_running == 0)
    }

    /// `scx_allow_ttwu_queue()`.
    fn allows_queued_wakeup(&self, task: TaskId) -> bool {
        self.tasks[task].class != SchedClass::Ext || self.scx.flags & ops_flags::ALLOW_QUEUED_WAKEUP != 0
    }
}
