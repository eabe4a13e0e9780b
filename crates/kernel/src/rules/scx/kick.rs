//! Records the kicks that callbacks request, and the CPUs that a kicking CPU still waits for.

use crate::state::kernel::Kernel;
use keel_abi::CpuId;
use keel_abi::scx::kick;

impl Kernel {
    /// Records a kick that is sent after the callback returns (`scx_kick_cpu()`).
    #[inline]
    pub(crate) fn note_kick(&mut self, target: CpuId, flags: u64) {
        if self.this_cpu().bypassing {
            return;
        }
        // Only if its lock is free is it certain that a CPU is not going idle (`can_skip_idle_kick()`).
        let known = self.cpus[target].lock.holder.is_none();
        if flags & kick::IDLE != 0 && known && !self.cpus[target].is_idle() {
            return;
        }
        let errands = &mut self.this_cpu().errands;
        match errands.kick_of(target) {
            // A plain kick replaces an idle one.
            Some(noted) => *noted = (*noted & !kick::IDLE) | (flags & (*noted | !kick::IDLE)),
            None => errands.add_kick(target, flags),
        }
    }
}

impl Kernel {
    /// Returns whether a CPU that this one waits for has not picked since it was kicked.
    pub(crate) fn still_to_sync(&mut self) -> bool {
        let mut waits_for = std::mem::take(&mut self.this_cpu().to_sync);
        waits_for.retain(|&(cpu, picks)| !self.cpus.is_running(cpu) && self.cpus[cpu].picks == picks);
        let is_left = !waits_for.is_empty();
        self.this_cpu().to_sync = waits_for;
        is_left
    }
}
