//! CPUs in the middle of a kernel path that are due one after the other, in a queue beside the calendar.
//!
//! Hundreds of CPUs may wait for one lock. Each gets it after the one before, so it is due last of them when it begins
//! to wait: it joins the end of this queue, and nothing has to be compared until it leaves at the front. A CPU that is
//! due before the last in the queue has no place in it.

use crate::state::event::MAX_CPUS;
use crate::state::event::cpu_events::{NEVER, cpu_of};
use keel_abi::CpuId;

/// One place more than CPUs, up to a power of two.
const PLACES: usize = 2 * MOST;

const MOST: usize = MAX_CPUS as usize;

const _: () = assert!(PLACES.is_power_of_two() && MOST.is_power_of_two());

#[derive(Clone, Debug)]
pub(super) struct Waiters {
    /// Counts the CPUs that have left.
    start: usize,
    /// Counts those that have joined.
    end: usize,
    /// A ring of their keys, ascending, and [`NEVER`] behind them.
    keys: [u64; PLACES],
    /// For each CPU, its key when it last joined.
    joined: [u64; MOST],
}

impl Waiters {
    pub(super) fn new() -> Self {
        Self { start: 0, end: 0, keys: [NEVER; PLACES], joined: [NEVER; MOST] }
    }

    /// The earliest key, or [`NEVER`].
    #[inline]
    pub(super) fn first(&self) -> u64 {
        self.keys[self.start % PLACES]
    }

    /// The key of `cpu`, or [`NEVER`].
    pub(super) fn key(&self, cpu: CpuId) -> u64 {
        self.place(cpu).map_or(NEVER, |place| self.keys[place % PLACES])
    }

    #[inline]
    fn place(&self, cpu: CpuId) -> Option<usize> {
        let key = self.joined[cpu.index() % MOST];
        // It has left in its turn.
        if key < self.first() {
            return None;
        }
        (self.start..self.end).find(|&place| self.keys[place % PLACES] == key)
    }

    /// Adds a CPU, which is not here, if it is due after all others; returns whether it is.
    #[inline]
    pub(super) fn try_join(&mut self, key: u64) -> bool {
        let is_last = self.start == self.end || key > self.keys[(self.end - 1) % PLACES];
        if is_last {
            self.keys[self.end % PLACES] = key;
            self.end += 1;
            self.keys[self.end % PLACES] = NEVER;
            self.joined[cpu_of(key).index() % MOST] = key;
        }
        is_last
    }

    /// Removes the first.
    #[inline]
    pub(super) fn take_first(&mut self) {
        self.start += 1;
    }

    /// Removes `cpu`, if it is here.
    #[inline]
    pub(super) fn remove(&mut self, cpu: CpuId) {
        if let Some(place) = self.place(cpu) {
            self.take(place);
        }
    }

    #[cold]
    #[inline(never)]
    fn take(&mut self, place: usize) {
        for place in (self.start..place).rev() {
            self.keys[(place + 1) % PLACES] = self.keys[place % PLACES];
        }
        self.start += 1;
    }
}
