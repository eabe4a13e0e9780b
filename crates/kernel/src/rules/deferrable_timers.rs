//! Deferrable timers (`TIMER_DEFERRABLE`): they expire at a tick of their CPU. An idle CPU has no ticks and is not
//! woken for them, so they wait until it is busy (`run_timer_softirq()`, `BASE_DEF`).

use crate::state::cpu::Irq;
use crate::state::kernel::Kernel;
use keel_abi::{CpuId, Instant, TaskId};

impl Kernel {
    /// Arms a deferrable timer on `c` for the current sleep of `task`.
    pub(crate) fn arm_deferrable(&mut self, c: CpuId, task: TaskId, at: Instant) {
        let sleep = self.tasks[task].sleeps;
        self.cpu(c).deferrable.add((at, task, sleep));
    }

    /// A tick of the running CPU: expired timers become an interrupt that follows the tick's own work.
    #[inline]
    pub(crate) fn expire_deferrable(&mut self) {
        let cpu = self.this_cpu();
        let now = cpu.clock;
        while let Some((task, sleep)) = cpu.deferrable.pop_due(now) {
            cpu.errands.add_irq(Irq::Sleeper(task, sleep));
        }
    }

    /// `from` goes offline: its timers go to `to` (`timers_dead_cpu()`).
    pub(crate) fn move_deferrable(&mut self, from: CpuId, to: CpuId) {
        let moved = std::mem::take(&mut self.cpu(from).deferrable);
        for timer in moved.due {
            self.cpu(to).deferrable.add(timer);
        }
    }
}
