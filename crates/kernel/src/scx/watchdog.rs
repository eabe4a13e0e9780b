//! The stall watchdog: a task that stays runnable without running for longer than the timeout
//! ends the scheduler (`check_rq_for_timeouts()`).

use crate::sim::Sim;
use crate::state::timer_number::timer_number;
use keel_abi::bpf::{Engine, World};
use keel_abi::scx::ExitKind;
use keel_abi::{CpuId, Span, TaskId};

impl<E: Engine> Sim<E> {
    /// Looks at every runnable task, and comes again after half the timeout.
    pub(crate) fn watchdog(&mut self, c: CpuId) {
        if self.k.scx.is_disabling() || self.k.now < self.k.scx.watchdog_at {
            return;
        }
        let half = Span::from_ns(self.k.scx.timeout.as_ns() / 2);
        let next = self.k.this_cpu().clock + half;
        self.k.scx.watchdog_at = next;
        self.k.queue.push(next, timer_number::WATCHDOG);
        for task in self.k.tasks.ids() {
            let t = &self.k.tasks[task];
            let waited = self.k.now.since(t.runnable_at);
            if t.watched && waited > self.k.scx.timeout {
                return self.stalled(c, task, waited);
            }
        }
    }

    fn stalled(&mut self, c: CpuId, task: TaskId, waited: Span) {
        let ms = waited.as_ns() / 1_000_000;
        let who = self.k.name_of(task);
        let message = format!("{who} failed to run for {}.{:03}s", ms / 1000, ms % 1000);
        self.k.end_scheduler(c, ExitKind::ErrorStall, 0, message);
    }
}

impl crate::state::kernel::Kernel {
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
