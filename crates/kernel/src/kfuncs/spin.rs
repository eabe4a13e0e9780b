//! `bpf_spin_lock`, in virtual time.
//!
//! Nothing else in the simulation runs from lock to unlock, so a CPU that comes later finds a lock
//! whose release time is known, and waits until then; on machines with test-and-set locks the
//! hand-over takes longer the more CPUs wait.

use crate::kfuncs::Served;
use crate::state::bpf::spin::SpinPlace;
use crate::state::kernel::Kernel;
use keel_abi::bpf::{Ea, World};
use keel_abi::clocks::Sync;
use keel_abi::lines::whole_ns;
use keel_abi::{CpuId, Instant, Span};
use keel_trace::Lock;

impl Kernel {
    pub(super) fn spin_lock<W: World>(&mut self, w: &mut W, c: CpuId, lock: Ea) -> Served {
        let at = self.moment();
        if !self.cpus.this_cpu.callback.lets_others_past() {
            return refused("bpf_spin_lock() is called with a lock already held");
        }
        let line_ps = w.touch_lock_ps(lock, c);
        let took_ns = self.machine.costs.lock_acquire_ns + whole_ns(line_ps);
        let since = Instant::from_ns(at.as_ns() + took_ns);
        let place = self.spins.place(lock);
        if !self.spins.at(place).takes_free(at, c, since) {
            return self.wait_for_spin(c, (lock, place), (at, line_ps));
        }
        self.has_taken_spin(c, (lock, place), took_ns)
    }

    /// Takes a lock that was not free at the moment `at`. Its line cost `line_ps`.
    #[inline(never)]
    fn wait_for_spin(
        &mut self,
        c: CpuId,
        (lock, place): (Ea, SpinPlace),
        (at, line_ps): (Instant, u64),
    ) -> Served {
        let Some(taken) = self.spins.at(place).acquire(at, c, &self.machine.costs, line_ps) else {
            return refused("bpf_spin_lock() of a lock that an earlier callback still holds");
        };
        if taken.waited > Span::ZERO {
            self.waited_for(c, Lock::Bpf(lock.0), taken.waited);
        }
        self.has_taken_spin(c, (lock, place), taken.at.since(at).as_ns())
    }

    #[inline(always)]
    fn has_taken_spin(&mut self, c: CpuId, (lock, place): (Ea, SpinPlace), took_ns: u64) -> Served {
        if self.waits.is_some() || self.clocks.is_some() {
            self.note_spin(c, lock);
        }
        self.charge_ns(c, took_ns);
        self.this_cpu().takes_spin(lock, place);
        0.into()
    }

    #[cold]
    #[inline(never)]
    fn note_spin(&mut self, c: CpuId, lock: Ea) {
        self.note_taken(c, Lock::Bpf(lock.0));
        self.sync_acquired(c, Sync::Spin(lock.0));
    }

    pub(super) fn spin_unlock<W: World>(&mut self, w: &mut W, c: CpuId, lock: Ea) -> Served {
        let place = match self.cpus.this_cpu.callback.spin() {
            Some((held, place)) if held == lock => place,
            _ => return refused("bpf_spin_unlock() of a lock that is not held"),
        };
        // Nothing has run on another CPU since it took the lock, so it still has the line, unless it evicted that itself.
        if self.lines.transfers().is_crowded() {
            let line_ps = w.touch_lock_ps(lock, c);
            self.charge_ps(c, line_ps);
        } else {
            debug_assert_eq!(w.touch_lock_ps(lock, c), 0, "nobody takes its line away");
        }
        let at = self.moment();
        self.spins.at(place).release(at);
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
}

#[cold]
#[inline(never)]
fn refused(why: &str) -> Served {
    Served::forbidden(why.to_owned())
}
