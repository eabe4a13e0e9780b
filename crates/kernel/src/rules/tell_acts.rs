//! Events about what a task did itself.

use crate::state::kernel::Kernel;
use crate::state::task::Own;
use keel_abi::scx::wake;
use keel_abi::{CpuId, Span, TaskId};
use keel_trace::{Act, Class, What};

impl Kernel {
    /// Emits that a task acts, after the work it has done until then.
    pub(crate) fn tell_act(&mut self, c: CpuId, task: TaskId, act: Act) {
        if self.out.wants(Class::ACTS) {
            self.tell_worked(c, task);
            self.tell(Class::ACTS, c, What::Acts { task, act });
        }
    }

    /// Emits that a task wakes another; a timer or interrupt doesn't count as a task.
    ///
    /// Wakeups without work between them belong to one step: the task leaves the kernel only after the last of them. So
    /// the first wakeup of a step always follows work, even if that took no time.
    #[inline]
    pub(crate) fn tell_wakes(&mut self, c: CpuId, waker: TaskId, wakee: TaskId, flags: u64) {
        if !waker.is_idle() && flags & wake::FORK == 0 {
            let Own { user, kernel_ps, has_stepped } = self.tasks[waker].own;
            if has_stepped && user == Span::ZERO && kernel_ps == 0 {
                self.tell(Class::ACTS, c, What::Worked { task: waker, user, kernel_ps });
            }
            self.tell_act(c, waker, Act::Wakes { wakee, sync: flags & wake::SYNC != 0 });
        }
    }

    pub(crate) fn tell_worked(&mut self, c: CpuId, task: TaskId) {
        let Own { user, kernel_ps, .. } = std::mem::take(&mut self.task(task).own);
        let is_wanted = self.tasks[task].spec.is_some();
        if is_wanted && (user > Span::ZERO || kernel_ps > 0) {
            self.tell(Class::ACTS, c, What::Worked { task, user, kernel_ps });
        }
    }

    /// Emits the work that tasks have done since their last act, at the end of a run.
    pub(crate) fn tell_open_work(&mut self) {
        for task in self.tasks.ids() {
            let c = self.tasks[task].cpu;
            self.tell_worked(c, task);
        }
    }

    /// Emits the throughput of `task` since it was last reported.
    #[inline]
    pub(crate) fn tell_counts(&mut self, c: CpuId, task: TaskId) {
        if task.is_idle() {
            return;
        }
        let units = std::mem::take(&mut self.task(task).counted);
        if units > 0 {
            self.tell(Class::COUNTS, c, What::Count { task, units });
        }
    }

    pub(crate) fn tell_open_counts(&mut self) {
        for task in self.tasks.ids() {
            let c = self.tasks[task].cpu;
            self.tell_counts(c, task);
        }
    }
}
