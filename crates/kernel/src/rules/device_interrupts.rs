//! Device interrupts, with the softirqs that they raise. They take time from the CPU's task.

use crate::state::cpu::Irq;
use crate::state::kernel::Kernel;
use crate::state::timer_number::FIRST_INTERRUPT;
use keel_abi::{CpuId, Instant, Span};

impl Kernel {
    /// Schedules the next interrupt of `c`, after `now`.
    pub(super) fn arm_interrupt(&mut self, c: CpuId, now: Instant) {
        let Some(profile) = self.noise.profile else { return };
        let wait_ns = self.noise.interrupts[c.0 as usize].below(2 * profile.interrupt_every.as_ns());
        self.queue.push(now + Span::from_ns(wait_ns), FIRST_INTERRUPT + c.0);
    }

    /// Delivers a device's interrupt to `c`. On an idle CPU it has no effect.
    pub(crate) fn device_interrupts(&mut self, c: CpuId, at: Instant) -> Option<(CpuId, Irq)> {
        self.arm_interrupt(c, at);
        let cpu = &self.cpus[c];
        (cpu.alive && !cpu.is_idle()).then_some((c, Irq::Device))
    }

    /// Charges `c` for handling an interrupt.
    pub(crate) fn serve_device(&mut self, c: CpuId) {
        let Some(profile) = self.noise.profile else { return };
        let insns = self.noise.interrupts[c.0 as usize].below(2 * profile.interrupt_insns + 1);
        self.charge_ps(c, insns * self.machine.costs.insn_ps);
    }
}
