//! `bpf_spin_lock`, in virtual time.
//!
//! From lock to unlock nothing else of the simulation runs, so whoever comes later finds a lock
//! that is known to become free at a certain moment, and waits until then; the hand-over grows
//! with those who wait, where the machine's locks are test-and-set.

use super::Served;
use crate::cost::lock::{LockName, LockUse, VirtualLock};
use crate::kernel::Kernel;
use keel_abi::bpf::{Ea, World};
use keel_abi::{CpuId, Instant, Span};
use keel_trace::Lock;
use std::collections::BTreeMap;

/// So many locks are found at once.
const NEAR: usize = 64;

/// Each lock that was ever taken.
#[derive(Debug)]
pub(crate) struct SpinLocks {
    locks: Vec<VirtualLock>,
    /// By their addresses.
    places: BTreeMap<u64, usize>,
    /// Address and place of those that were asked for last, by some bits of the address. No lock is at address 0.
    near: [(u64, usize); NEAR],
}

impl Default for SpinLocks {
    fn default() -> Self {
        Self { locks: Vec::new(), places: BTreeMap::new(), near: [(0, 0); NEAR] }
    }
}

impl SpinLocks {
    /// What each has been used for.
    pub(crate) fn uses(&self) -> impl Iterator<Item = (LockName, LockUse)> {
        self.places.iter().map(|(&at, &place)| (LockName::Bpf(Ea(at)), self.locks[place].uses()))
    }

    /// The lock at an address, free where it was never taken.
    #[inline]
    fn at(&mut self, lock: Ea) -> &mut VirtualLock {
        // Locks lie in lines of their own, or side by side.
        let near = &mut self.near[(lock.0 >> 6 ^ lock.0 >> 2) as usize % NEAR];
        if near.0 != lock.0 || lock.is_null() {
            let next = self.locks.len();
            let place = *self.places.entry(lock.0).or_insert(next);
            if place == next {
                self.locks.push(VirtualLock::default());
            }
            *near = (lock.0, place);
        }
        &mut self.locks[near.1]
    }

    /// Gives a lock back that is held.
    pub(crate) fn release(&mut self, lock: Ea, at: Instant) {
        self.at(lock).release(at);
    }
}

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
        self.charge_ns(c, taken.at.since(at).as_ns());
        self.this_cpu().callback.spin = Some(lock);
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
        self.this_cpu().callback.spin = None;
        0.into()
    }

    fn spin_held(&self) -> Option<Ea> {
        self.cpus.this_cpu.callback.spin
    }
}
