//! Deferrable timers (`TIMER_DEFERRABLE`), which expire at a tick of their CPU. An idle CPU has no tick and is not
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

    /// Turns the expired timers into interrupts that follow the work of the running CPU's tick.
    #[inline]
    pub(crate) fn expire_deferrable(&mut self) {
        let cpu = self.this_cpu();
        let now = cpu.clock;
        while let Some((task, sleep)) = cpu.deferrable.pop_due(now) {
            cpu.errands.add_irq(Irq::Sleeper(task, sleep));
        }
    }

    /// Moves the timers of `from`, which goes offline, to `to` (`timers_dead_cpu()`).
    pub(crate) fn move_deferrable(&mut self, from: CpuId, to: CpuId) {
        let moved = std::mem::take(&mut self.cpu(from).deferrable);
        for timer in moved.due {
            self.cpu(to).deferrable.add(timer);
        }
    }
}
