//! Kicks: asynchronous, one interrupt after the kicking callback's runqueue lock has been given
//! back, whatever number of times a CPU was named (`kick_cpus_irq_workfn()`).
//!
//! With `SCX_KICK_WAIT` the kicking CPU picks again itself, and then waits until the CPUs that it kicked have, too
//! (`kick_sync_wait_bal_cb()`).

use crate::sim::Sim;
use crate::state::class::SchedClass;
use crate::state::frame::Frame;
use crate::state::kernel::{Kernel, SPIN_NS};
use keel_abi::CpuId;
use keel_abi::bpf::Engine;
use keel_abi::scx::kick;
use keel_trace::{Class, What};

impl Kernel {
    /// Notes a kick for when `c` has left the scheduler's hands (`scx_kick_cpu()`).
    #[inline]
    pub(crate) fn note_kick(&mut self, target: CpuId, flags: u64) {
        if self.this_cpu().bypassing {
            return;
        }
        // Only a CPU whose lock is free is known not to be going idle (`can_skip_idle_kick()`).
        let known = self.cpus[target].lock.holder.is_none();
        if flags & kick::IDLE != 0 && known && !self.cpus[target].is_idle() {
            return;
        }
        let kicks = &mut self.this_cpu().kicks;
        match kicks.iter_mut().find(|(noted, _)| *noted == target) {
            // A plain kick swallows an idle one.
            Some((_, noted)) => *noted = (*noted & !kick::IDLE) | (flags & (*noted | !kick::IDLE)),
            None => kicks.push((target, flags)),
        }
    }
}

impl<E: Engine> Sim<E> {
    /// [`crate::state::frame::Frame::Kick`]: `kick_one_cpu()` and `kick_one_cpu_if_idle()`.
    pub(crate) fn kick(&mut self, c: CpuId, target: CpuId, flags: u64) {
        if !self.k.lock_rq(c, target) {
            return self.k.this_cpu().stack.push(Frame::Kick { target, flags });
        }
        self.k.this_cpu().stack.push(Frame::Unlock { rq: target });
        let curr = self.k.cpus[target].curr;
        let there = self.k.cpus[target].alive || target == c;
        if !there || flags & kick::IDLE != 0 && !curr.is_idle() {
            return;
        }
        // A higher class's CPU is nothing that the scheduler has a say over.
        if self.k.class_of(curr) > SchedClass::Ext {
            return;
        }
        let send_ns = self.k.machine.costs.ipi_send_ns;
        self.k.charge_ns(c, send_ns);
        self.k.tell(Class::DECISIONS, c, What::Kick { target, flags });
        if flags & kick::PREEMPT != 0 && !curr.is_idle() {
            self.k.set_slice(self.vm.world(), curr, 0);
        }
        self.k.resched(c, target);
        if flags & kick::WAIT != 0 && !curr.is_idle() {
            let picks = self.k.cpus[target].picks;
            self.k.this_cpu().to_sync.push((target, picks));
            self.k.this_cpu().sync_pending = true;
            self.k.scx.needs_slow_path = true;
            self.k.resched(c, c);
        }
    }

    /// After a pick, the runqueue still locked: is there somebody to wait for?
    #[cold]
    pub(crate) fn begin_sync_wait(&mut self) {
        if self.k.this_cpu().sync_pending {
            return;
        }
        if self.k.still_to_sync() {
            self.k.this_cpu().stack.push(Frame::SyncWait);
        }
    }

    /// [`Frame::SyncWait`]: whoever waits counts as having picked, lest CPUs wait for each other.
    pub(crate) fn sync_wait(&mut self) {
        self.k.this_cpu().picks += 1;
        if self.k.still_to_sync() {
            self.k.this_cpu().spent_ps += SPIN_NS * 1000;
            self.k.this_cpu().stack.push(Frame::SyncWait);
        }
    }
}

impl Kernel {
    /// Has any of the CPUs that this one kicked not picked since?
    fn still_to_sync(&mut self) -> bool {
        let mut waits_for = std::mem::take(&mut self.this_cpu().to_sync);
        waits_for.retain(|&(cpu, picks)| !self.cpus.is_running(cpu) && self.cpus[cpu].picks == picks);
        let is_left = !waits_for.is_empty();
        self.this_cpu().to_sync = waits_for;
        is_left
    }
}
