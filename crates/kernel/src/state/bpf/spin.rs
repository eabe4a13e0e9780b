//! `bpf_spin_lock`s that were ever taken.

use crate::state::cost::lock::{LockName, LockUse, VirtualLock};
use keel_abi::Instant;
use keel_abi::bpf::Ea;
use std::collections::BTreeMap;

/// The number of locks that are found without a search.
const NEAR: usize = 64;

/// Each lock that was ever taken.
#[derive(Debug)]
pub(crate) struct SpinLocks {
    locks: Vec<VirtualLock>,
    /// By their addresses.
    places: BTreeMap<u64, usize>,
    /// Address and place of the most recently used locks, by some bits of the address. No lock is at address 0.
    near: [(u64, usize); NEAR],
}

impl Default for SpinLocks {
    fn default() -> Self {
        Self { locks: Vec::new(), places: BTreeMap::new(), near: [(0, 0); NEAR] }
    }
}

impl SpinLocks {
    /// The use of each lock.
    pub(crate) fn uses(&self) -> impl Iterator<Item = (LockName, LockUse)> {
        self.places.iter().map(|(&at, &place)| (LockName::Bpf(Ea(at)), self.locks[place].uses()))
    }

    /// The lock at an address, a free one if it was never taken.
    #[inline]
    pub(crate) fn at(&mut self, lock: Ea) -> &mut VirtualLock {
        // Locks are in cache lines of their own, or side by side.
        let near = (lock.0 >> 6 ^ lock.0 >> 2) as usize % NEAR;
        let (at, mut place) = self.near[near];
        if at != lock.0 || lock.is_null() {
            place = self.find(lock);
            self.near[near] = (lock.0, place);
        }
        &mut self.locks[place]
    }

    #[inline(never)]
    fn find(&mut self, lock: Ea) -> usize {
        let next = self.locks.len();
        let place = *self.places.entry(lock.0).or_insert(next);
        if place == next {
            self.locks.push(VirtualLock::default());
        }
        place
    }

    /// Releases a held lock.
    #[inline]
    pub(crate) fn release(&mut self, lock: Ea, at: Instant) {
        self.at(lock).release(at);
    }
}
