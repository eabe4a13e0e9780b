//! The stall watchdog: it ends the scheduler if a task stays runnable for longer than the timeout without running
//! (`check_rq_for_timeouts()`).

use crate::paths::sim::Sim;
use crate::state::timer_number;
use keel_abi::bpf::Engine;
use keel_abi::scx::ExitKind;
use keel_abi::{CpuId, Span, TaskId};

impl<E: Engine> Sim<E> {
    /// Checks every runnable task. The next check is half the timeout later.
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
