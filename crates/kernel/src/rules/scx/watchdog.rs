//! Records since when tasks have been waiting, for the stall watchdog.

use crate::state::kernel::Kernel;
use keel_abi::TaskId;
use keel_abi::bpf::World;

impl Kernel {
    /// Records that the task begins to wait for a CPU, unless it is already waiting (`set_task_runnable()`).
    #[inline]
    pub(crate) fn set_runnable<W: World>(&mut self, world: &mut W, task: TaskId) {
        let now = self.now;
        if self.task(task).begins_to_wait(now) {
            self.mirror_runnable_at(world, task);
        }
    }

    /// Records that the task is no longer runnable (`clr_task_runnable()`).
    #[inline]
    pub(crate) fn clear_runnable(&mut self, task: TaskId) {
        self.task(task).watched = false;
    }
}

impl crate::state::task::Task {
    /// Resets the waiting time of a task that runs (`clr_task_runnable()`).
    #[inline]
    pub(crate) fn note_running(&mut self) {
        self.watched = false;
        self.reset_runnable_at = true;
    }
}
