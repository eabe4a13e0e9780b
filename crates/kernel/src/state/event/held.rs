//! CPUs that were interrupted in the middle of a kernel path, and are due again before most others.
//!
//! On a machine with many CPUs, a few run kernel code at the same time: each takes a step, finds another due first, and
//! is due again some nanoseconds later. A short sorted list of those costs less than the calendar. A CPU that is due
//! later than [`NEAR`] of them, because it waits for a lock, is elsewhere.

use crate::state::event::cpu_events::{NEVER, cpu_of};
use keel_abi::CpuId;
use std::cell::Cell;

/// How many CPUs the list holds at most.
const MOST: usize = 64;
/// A CPU that is due later than so many in the list is not added.
const NEAR: usize = 8;

#[derive(Clone, Debug)]
pub(super) struct Held {
    /// Their keys, the earliest last.
    keys: [u64; MOST],
    len: usize,
    /// The earliest, or [`NEVER`].
    first: u64,
}

impl Held {
    pub(super) fn new() -> Self {
        Self { keys: [NEVER; MOST], len: 0, first: NEVER }
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

    /// Where the key of `cpu` is. The list is short, and hardly ever asked: a CPU that is here goes on before anything
    /// else happens to it.
    #[inline]
    fn place(&self, cpu: CpuId) -> Option<usize> {
        self.keys[..self.len].iter().position(|&key| cpu_of(key) == cpu)
    }

    /// Adds a CPU, which is not here, if it is due soon; returns whether it is.
    #[inline]
    pub(super) fn try_add(&mut self, key: u64) -> bool {
        let len = self.len;
        if len == MOST || !self.is_near(len, key) {
            return false;
        }
        self.sort_in(len, key);
        self.len += 1;
        self.first = self.first.min(key);
        true
    }

    /// Takes the first CPU and adds another one, which is due after it and is not here; or does neither, if that one is
    /// not due soon. Returns which.
    #[inline]
    pub(super) fn try_change_places(&mut self, key: u64) -> bool {
        debug_assert!(self.len > 0 && self.first < key, "another one is here, and is due first");
        let last = self.len - 1;
        if !self.is_near(last, key) {
            return false;
        }
        self.sort_in(last, key);
        self.first = self.keys[last % MOST];
        true
    }

    /// Returns whether a key is due soon, compared with the first ones of a list of this length.
    #[inline]
    fn is_near(&self, len: usize, key: u64) -> bool {
        len < NEAR || key <= self.keys[(len - NEAR) % MOST]
    }

    /// Moves the earlier of the first `len` keys up by one, and puts the key before them.
    #[inline]
    fn sort_in(&mut self, len: usize, key: u64) {
        let keys = Cell::from_mut(&mut self.keys[..=len]).as_slice_of_cells();
        for pair in keys.windows(2).rev() {
            if pair[0].get() >= key {
                return pair[1].set(key);
            }
            pair[1].set(pair[0].get());
        }
        keys[0].set(key);
    }

    /// Removes `cpu`, if it is here.
    #[inline]
    pub(super) fn remove(&mut self, cpu: CpuId) {
        if let Some(place) = self.place(cpu) {
            self.take(place);
        }
    }

    #[cold]
    fn take(&mut self, place: usize) {
        self.keys.copy_within(place + 1..self.len, place);
        self.take_first();
    }

    /// Removes the first.
    #[inline]
    pub(super) fn take_first(&mut self) {
        self.len -= 1;
        self.first = self.keys[..self.len].last().copied().unwrap_or(NEVER);
    }
}
