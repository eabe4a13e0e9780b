//! CPUs in the middle of a kernel path that are due one after the other, in a queue beside the tournament.
//!
//! Hundreds of CPUs may wait for one lock. Each gets it after the one before, so it is due last of them when it begins
//! to wait: it joins the end of this queue, and nothing has to be compared until it leaves at the front. A CPU that is
//! due before the last in the queue has no place in it.

use crate::state::event::tournament::{NEVER, cpu_of};
use keel_abi::CpuId;

#[derive(Clone, Debug)]
pub(super) struct Waiters {
    /// Their keys from `start` to `end`, ascending. There are two places for each CPU: the queue moves up until it
    /// reaches the end, and then back to the beginning.
    keys: Box<[u64]>,
    start: usize,
    end: usize,
    /// The earliest, or [`NEVER`].
    first: u64,
    /// For each CPU, its key when it last joined.
    joined: Box<[u64]>,
}

impl Waiters {
    /// An empty queue for so many CPUs.
    pub(super) fn new(cpus: usize) -> Self {
        let keys = vec![NEVER; 2 * cpus].into();
        Self { keys, start: 0, end: 0, first: NEVER, joined: vec![NEVER; cpus].into() }
    }

    /// The earliest key, or [`NEVER`].
    #[inline]
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// The key of `cpu`, or [`NEVER`].
    pub(super) fn key(&self, cpu: CpuId) -> u64 {
        self.place(cpu).map_or(NEVER, |place| self.keys[place])
    }

    #[inline]
    fn place(&self, cpu: CpuId) -> Option<usize> {
        let key = *self.joined.get(cpu.index())?;
        if key < self.first {
            return None;
        }
        let found = self.keys[self.start..self.end].binary_search(&key).ok()?;
        Some(self.start + found)
    }

    /// Adds a CPU, which is not here, if it is due after all others; returns whether it is.
    #[inline]
    pub(super) fn joins(&mut self, key: u64) -> bool {
        if self.start == self.end {
            (self.start, self.end, self.first) = (0, 0, key);
        } else if key < self.keys[self.end - 1] {
            return false;
        } else if self.end == self.keys.len() {
            self.move_back();
        }
        self.keys[self.end] = key;
        self.end += 1;
        self.joined[cpu_of(key).index()] = key;
        true
    }

    #[cold]
    #[inline(never)]
    fn move_back(&mut self) {
        self.keys.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
    }

    /// Removes the first.
    #[inline]
    pub(super) fn take_first(&mut self) {
        self.start += 1;
        self.first = self.keys[self.start..self.end].first().copied().unwrap_or(NEVER);
    }

    /// Removes `cpu`, if it is here; returns whether it was.
    #[inline]
    pub(super) fn remove(&mut self, cpu: CpuId) -> bool {
        let place = self.place(cpu);
        if let Some(place) = place {
            self.take(place);
        }
        place.is_some()
    }

    #[cold]
    #[inline(never)]
    fn take(&mut self, place: usize) {
        self.keys.copy_within(self.start..place, self.start + 1);
        self.take_first();
    }
}
