//! `bpf_spin_lock`s that were ever taken.

use crate::state::cost::lock::{LockName, LockUse, VirtualLock};
use keel_abi::bpf::Ea;
use std::collections::BTreeMap;

/// The number of locks that are found without a search.
const NEAR: usize = 64;
/// An address at which there is no lock.
const NO_LOCK: u64 = u64::MAX;

/// Each lock that was ever taken.
#[derive(Debug)]
pub(crate) struct SpinLocks {
    locks: Vec<VirtualLock>,
    /// By their addresses.
    places: BTreeMap<u64, SpinPlace>,
    /// Address and place of the most recently used locks, by some bits of the address.
    near: [(u64, SpinPlace); NEAR],
}

/// Where a lock is. It stays there until the scheduler is loaded again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SpinPlace(u32);

impl SpinPlace {
    /// Where no lock is.
    pub(crate) const NONE: Self = Self(u32::MAX);
}

impl Default for SpinLocks {
    fn default() -> Self {
        Self { locks: Vec::new(), places: BTreeMap::new(), near: [(NO_LOCK, SpinPlace::NONE); NEAR] }
    }
}

impl SpinLocks {
    /// The use of each lock.
    pub(crate) fn uses(&self) -> impl Iterator<Item = (LockName, LockUse)> {
        self.places.iter().map(|(&at, &place)| (LockName::Bpf(Ea(at)), self.locks[place.0 as usize].uses()))
    }

    /// Where the lock at an address is, from now on: a free one if it was never taken.
    #[inline(always)]
    pub(crate) fn place(&mut self, lock: Ea) -> SpinPlace {
        match self.near_place(lock) {
            Some(place) => place,
            None => self.search(lock),
        }
    }

    /// As `place`, if that is found without a search.
    #[inline(always)]
    pub(crate) fn near_place(&self, lock: Ea) -> Option<SpinPlace> {
        let (address, place) = self.near[near(lock)];
        (address == lock.0).then_some(place)
    }

    /// Like `at`, but does not panic.
    #[inline(always)]
    pub(crate) fn get(&mut self, SpinPlace(place): SpinPlace) -> Option<&mut VirtualLock> {
        self.locks.get_mut(place as usize)
    }

    /// The lock at a place.
    #[inline(always)]
    pub(crate) fn at(&mut self, SpinPlace(place): SpinPlace) -> &mut VirtualLock {
        &mut self.locks[place as usize]
    }

    /// Where the lock at an address is, which is found without a search from now on.
    #[cold]
    #[inline(never)]
    fn search(&mut self, lock: Ea) -> SpinPlace {
        let next = SpinPlace(self.locks.len() as u32);
        let place = *self.places.entry(lock.0).or_insert(next);
        if place == next {
            self.locks.push(VirtualLock::default());
        }
        self.near[near(lock)] = (lock.0, place);
        place
    }
}

/// Where a lock may be found without a search. Locks are in cache lines of their own, or side by side.
#[inline(always)]
fn near(lock: Ea) -> usize {
    (lock.0 >> 6 ^ lock.0 >> 2) as usize % NEAR
}
