//! CPUs that were interrupted in the middle of a kernel path, and are due again before most others.
//!
//! On a machine with many CPUs, a few run kernel code at the same time: each takes a step, finds another due first, and
//! is due again some nanoseconds later. A short sorted list of those costs less than a tournament among all CPUs. A CPU
//! that is due later than [`NEAR`] of them, because it waits for a lock, stays in the tournament: it is not due soon.

use crate::state::event::MAX_CPUS;
use crate::state::event::tournament::{NEVER, comes, cpu_of};
use keel_abi::CpuId;
use std::cell::Cell;

/// How many CPUs the list holds at most.
const MOST: usize = 16;
/// A CPU that is due later than so many in the list is not added.
const NEAR: usize = 8;

#[derive(Clone, Debug)]
pub(super) struct Held {
    /// Their keys, the earliest last.
    keys: [u64; MOST],
    len: usize,
    /// The earliest, or [`NEVER`].
    first: u64,
    /// By CPU: whether it is here.
    is_here: Box<[bool; MAX_CPUS as usize]>,
}

impl Held {
    pub(super) fn new() -> Self {
        Self { keys: [NEVER; MOST], len: 0, first: NEVER, is_here: Box::new([false; MAX_CPUS as usize]) }
    }

    /// The earliest key, or [`NEVER`].
    #[inline]
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    #[inline]
    fn shrink(&mut self) {
        self.len -= 1;
        self.first = self.keys[..self.len].last().copied().unwrap_or(NEVER);
    }

    /// The key of `cpu`, or [`NEVER`].
    #[inline]
    pub(super) fn key(&self, cpu: CpuId) -> u64 {
        match self.len > 0 && self.is_here[cpu.index() % MAX_CPUS as usize] {
            true => self.keys[self.place(cpu)],
            false => NEVER,
        }
    }

    #[cold]
    fn place(&self, cpu: CpuId) -> usize {
        let is_its = |&key: &u64| cpu_of(key) == cpu;
        self.keys[..self.len].iter().position(is_its).expect("it is here")
    }

    /// Adds `cpu`, which is not here, if it is due soon; returns whether it is.
    #[inline]
    pub(super) fn try_add(&mut self, cpu: CpuId, key: u64) -> bool {
        let len = self.len;
        if len == MOST || !self.is_near(len, key) {
            return false;
        }
        self.sort_in(len, key);
        self.len += 1;
        self.first = self.first.min(key);
        self.is_here[cpu.index() % MAX_CPUS as usize] = true;
        true
    }

    /// Adds `cpu`, which is not here, in place of the first, `next`, which is due before it, if it is due soon; returns
    /// whether it is.
    #[inline]
    pub(super) fn changes_places(&mut self, (cpu, key): (CpuId, u64), next: CpuId) -> bool {
        debug_assert!(self.len > 0 && self.first < key, "{next:?} is here, and is due first");
        let last = self.len - 1;
        if !self.is_near(last, key) {
            return false;
        }
        self.sort_in(last, key);
        self.first = self.keys[last % MOST];
        self.is_here[next.index() % MAX_CPUS as usize] = false;
        self.is_here[cpu.index() % MAX_CPUS as usize] = true;
        true
    }

    /// Returns whether a key is due soon, compared with the first ones of a list of this length.
    #[inline]
    fn is_near(&self, len: usize, key: u64) -> bool {
        comes(key) && (len < NEAR || key <= self.keys[(len - NEAR) % MOST])
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
        if self.len > 0 && self.is_here[cpu.index() % MAX_CPUS as usize] {
            self.take(cpu);
        }
    }

    #[cold]
    fn take(&mut self, cpu: CpuId) {
        let place = self.place(cpu);
        self.keys.copy_within(place + 1..self.len, place);
        self.shrink();
        self.is_here[cpu.index() % MAX_CPUS as usize] = false;
    }

    /// Removes the first, which is that of `cpu`.
    #[inline]
    pub(super) fn take_first(&mut self, cpu: CpuId) {
        self.shrink();
        self.is_here[cpu.index() % MAX_CPUS as usize] = false;
    }
}
