//! Kicks CPUs. A kick is asynchronous: one interrupt is sent after the callback's runqueue lock has been released,
//! however often the callback kicked the CPU (`kick_cpus_irq_workfn()`).
//!
//! With `SCX_KICK_WAIT`, the kicking CPU itself picks again, and then waits until the CPUs that it kicked have picked
//! too (`kick_sync_wait_bal_cb()`).

use crate::paths::sim::Sim;
use crate::state::class::SchedClass;
use crate::state::frame::Frame;
use crate::state::kernel::SPIN_NS;
use keel_abi::CpuId;
use keel_abi::bpf::Engine;
use keel_abi::scx::kick;
use keel_trace::{Class, What};

impl<E: Engine> Sim<E> {
    /// Runs [`Frame::Kick`]: `kick_one_cpu()` and `kick_one_cpu_if_idle()`.
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
        // The scheduler cannot preempt a task of a higher class.
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

    /// After a pick, with the runqueue still locked: begins to wait if there is a CPU to wait for.
    #[cold]
    pub(crate) fn begin_sync_wait(&mut self) {
        if self.k.this_cpu().sync_pending {
            return;
        }
        if self.k.still_to_sync() {
            self.k.this_cpu().stack.push(Frame::SyncWait);
        }
    }

    /// Runs [`Frame::SyncWait`]. A waiting CPU counts as having picked, so that CPUs never wait for each other.
    pub(crate) fn sync_wait(&mut self) {
        self.k.this_cpu().picks += 1;
        if self.k.still_to_sync() {
            self.k.this_cpu().spent_ps += SPIN_NS * 1000;
            self.k.this_cpu().stack.push(Frame::SyncWait);
        }
    }
}
