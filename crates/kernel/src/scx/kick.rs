//! Kicks: asynchronous, one interrupt after the kicking callback's runqueue lock has been given
//! back, whatever number of times a CPU was named (`kick_cpus_irq_workfn()`).

use crate::frame::Frame;
use crate::kernel::Kernel;
use crate::sim::Sim;
use keel_abi::CpuId;
use keel_abi::bpf::Engine;
use keel_abi::scx::kick;
use keel_trace::{Class, What};

impl Kernel {
    /// Notes a kick for when `c` has left the scheduler's hands (`scx_kick_cpu()`).
    #[inline]
    pub(crate) fn note_kick(&mut self, target: CpuId, flags: u64) {
        if self.scx.bypassing {
            return;
        }
        // Only a CPU whose lock is free is known not to be going idle (`can_skip_idle_kick()`).
        let known = self.cpus[target].lock.holder.is_none();
        if flags & kick::IDLE != 0 && known && !self.cpus[target].is_idle() {
            return;
        }
        let kicks = &mut self.me().kicks;
        match kicks.iter_mut().find(|(noted, _)| *noted == target) {
            // A plain kick swallows an idle one.
            Some((_, noted)) => *noted = (*noted & !kick::IDLE) | (flags & (*noted | !kick::IDLE)),
            None => kicks.push((target, flags)),
        }
    }
}

impl<E: Engine> Sim<E> {
    /// [`crate::frame::Frame::Kick`]: `kick_one_cpu()` and `kick_one_cpu_if_idle()`.
    pub(crate) fn kick(&mut self, c: CpuId, target: CpuId, flags: u64) {
        if !self.k.lock_rq(c, target) {
            return self.k.me().stack.push(Frame::Kick { target, flags });
        }
        self.k.me().stack.push(Frame::Unlock { rq: target });
        let curr = self.k.cpus[target].curr;
        let there = self.k.cpus[target].alive || target == c;
        if !there || flags & kick::IDLE != 0 && !curr.is_idle() {
            return;
        }
        let send_ns = self.k.machine.costs.ipi_send_ns;
        self.k.charge_ns(c, send_ns);
        self.k.tell(Class::DECISIONS, c, What::Kick { target, flags });
        if flags & kick::PREEMPT != 0 && !curr.is_idle() {
            self.k.set_slice(self.vm.world(), curr, 0);
        }
        self.k.resched(c, target);
    }
}
