//! `bpf_spin_lock`, in virtual time.
//!
//! Nothing else in the simulation runs from lock to unlock, so a CPU that comes later finds a lock
//! whose release time is known, and waits until then; on machines with test-and-set locks the
//! hand-over takes longer the more CPUs wait.

use crate::kfuncs::Served;
use crate::state::kernel::Kernel;
use keel_abi::bpf::{Ea, World};
use keel_abi::clocks::Sync;
use keel_abi::{CpuId, Span};
use keel_trace::Lock;

impl Kernel {
    pub(super) fn spin_lock<W: World>(&mut self, w: &mut W, c: CpuId, lock: Ea) -> Served {
        let at = self.moment();
        if !self.cpus.this_cpu.callback.lets_others_past() {
            return refused("bpf_spin_lock() is called with a lock already held");
        }
        let line_ps = w.touch_lock_ps(lock, c);
        let Some(taken) = self.spins.at(lock).acquire(at, c, &self.machine.costs, line_ps) else {
            return refused("bpf_spin_lock() of a lock that an earlier callback still holds");
        };
        if taken.waited > Span::ZERO {
            self.waited_for_spin(c, lock, taken.waited);
        }
        if self.waits.is_some() || self.clocks.is_some() {
            self.note_spin(c, lock);
        }
        self.charge_ns(c, taken.at.since(at).as_ns());
        self.this_cpu().takes_spin(lock);
        0.into()
    }

    #[cold]
    #[inline(never)]
    fn waited_for_spin(&mut self, c: CpuId, lock: Ea, waited: Span) {
        self.waited_for(c, Lock::Bpf(lock.0), waited);
    }

    #[cold]
    #[inline(never)]
    fn note_spin(&mut self, c: CpuId, lock: Ea) {
        self.note_taken(c, Lock::Bpf(lock.0));
        self.sync_acquired(c, Sync::Spin(lock.0));
    }

    pub(super) fn spin_unlock<W: World>(&mut self, w: &mut W, c: CpuId, lock: Ea) -> Served {
        if self.spin_held() != Some(lock) {
            return refused("bpf_spin_unlock() of a lock that is not held");
        }
        let line_ps = w.touch_lock_ps(lock, c);
        self.charge_ps(c, line_ps);
        let at = self.moment();
        self.spins.release(lock, at);
        if self.clocks.is_some() {
            self.note_spin_release(c, lock);
        }
        self.this_cpu().releases_spin();
        0.into()
    }

    #[cold]
    #[inline(never)]
    fn note_spin_release(&mut self, c: CpuId, lock: Ea) {
        self.sync_released(c, Sync::Spin(lock.0));
    }

    fn spin_held(&self) -> Option<Ea> {
        self.cpus.this_cpu.callback.spin
    }
}

#[cold]
#[inline(never)]
fn refused(why: &str) -> Served {
    Served::forbidden(why.to_owned())
}
