//! Releases `bpf_res_spin_lock`s: which CPU gets a lock next, and what happens to locks that a callback still holds
//! when it ends.

use crate::state::bpf::res_spin::ResLocks;
use crate::state::bpf::res_spin::held::Held;
use crate::state::kernel::Kernel;
use keel_abi::bpf::Ea;
use keel_abi::clocks::Sync;
use keel_abi::{CpuId, Instant};
use keel_trace::Lock;

impl Kernel {
    /// Releases the lock that `c` took last. Returns the CPU that waits for it, if any.
    pub(crate) fn res_spin_release(&mut self, c: CpuId, at: Instant) -> Option<CpuId> {
        let ResLocks { locks, tables } = &mut self.res_spins;
        let Held { lock, .. } = tables.released(c)?;
        let of = locks.get_mut(&lock.0)?;
        of.lock.release(at);
        let next = of.waiters.pop_front();
        self.sync_released(c, Sync::Spin(lock.0));
        next
    }

    /// Hands the lock to `next`, which has been waiting for it.
    pub(crate) fn res_spin_hand_over(&mut self, lock: Ea, next: CpuId, at: Instant, line_ps: u64) {
        let ResLocks { locks, tables } = &mut self.res_spins;
        let of = locks.entry(lock.0).or_default();
        let since = tables.grant(next);
        let others = of.waiters.len() as u64;
        let resumes = of.lock.hand_to(next, (since, at), &self.machine.costs, line_ps, others);
        tables.advance(&of.waiters, resumes);
        self.waited_for(next, Lock::Bpf(lock.0), resumes.since(since));
        self.note_taken(next, Lock::Bpf(lock.0));
        self.sync_acquired(next, Sync::Spin(lock.0));
        self.res_spin_wake(next, resumes);
    }

    /// Makes a waiter look at the lock at `at` instead of at the next planned time, up to which its callback has
    /// already been charged.
    pub(crate) fn res_spin_wake(&mut self, waiter: CpuId, at: Instant) {
        let planned = self.res_spins.tables.next_look(waiter);
        let cpu = self.cpu(waiter);
        cpu.callback.charged_ps += at.since(planned).as_ns() * 1000;
        cpu.callback.charged_ps -= planned.since(at).as_ns() * 1000;
        cpu.clock = at;
        self.queue.set_cpu(waiter, at);
    }

    /// Releases the `count` locks that a callback still holds when it ends.
    #[cold]
    pub(crate) fn res_spin_drop(&mut self, c: CpuId, count: u32) {
        let at = self.moment();
        for _ in 0..count {
            let Some(Held { lock, .. }) = self.res_spins.tables.last(c) else { return };
            if let Some(next) = self.res_spin_release(c, at) {
                self.res_spin_hand_over(lock, next, at, 0);
            }
        }
    }
}
