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
            return Served::forbidden("bpf_spin_lock() is called with a lock already held".into());
        }
        let stall = w.touch_ps(lock, 4, c, true);
        let spin = self.spins.at(lock);
        let Some(taken) = spin.acquire(at, c, &self.machine.costs, stall) else {
            return Served::forbidden(
                "bpf_spin_lock() of a lock that an earlier callback still holds".into(),
            );
        };
        if taken.waited > Span::ZERO {
            self.waited_for(c, Lock::Bpf(lock.0), taken.waited);
        }
        self.note_taken(c, Lock::Bpf(lock.0));
        self.sync_acquired(c, Sync::Spin(lock.0));
        self.charge_ns(c, taken.at.since(at).as_ns());
        self.this_cpu().takes_spin(lock);
        0.into()
    }

    pub(super) fn spin_unlock<W: World>(&mut self, w: &mut W, c: CpuId, lock: Ea) -> Served {
        if self.spin_held() != Some(lock) {
            return Served::forbidden("bpf_spin_unlock() of a lock that is not held".into());
        }
        let stall = w.touch_ps(lock, 4, c, true);
        self.charge_ps(c, stall);
        let at = self.moment();
        self.spins.release(lock, at);
        self.sync_released(c, Sync::Spin(lock.0));
        self.this_cpu().releases_spin();
        0.into()
    }

    fn spin_held(&self) -> Option<Ea> {
        self.cpus.this_cpu.callback.spin
    }
}
