//! Since when a task has been waiting, for the stall watchdog.

use crate::state::kernel::Kernel;
use keel_abi::TaskId;
use keel_abi::bpf::World;

impl Kernel {
    /// The task waits for a CPU from now on, unless it has been waiting since before
    /// (`set_task_runnable()`).
    #[inline]
    pub(crate) fn set_runnable<W: World>(&mut self, world: &mut W, task: TaskId) {
        let now = self.now;
        let t = self.task(task);
        t.watched = true;
        if std::mem::take(&mut t.reset_runnable_at) {
            t.runnable_at = now;
            self.mirror_runnable_at(world, task);
        }
    }

    /// It is not runnable any more (`clr_task_runnable()`).
    #[inline]
    pub(crate) fn clear_runnable(&mut self, task: TaskId) {
        self.task(task).watched = false;
    }
}

impl crate::state::task::Task {
    /// It runs, which only resets its waiting time (`clr_task_runnable()`).
    #[inline]
    pub(crate) fn runs(&mut self) {
        self.watched = false;
        self.reset_runnable_at = true;
    }
}
