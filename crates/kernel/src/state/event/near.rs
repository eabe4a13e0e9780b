//! CPUs that are due within the next microseconds, by the nanosecond, when a day of the calendar has too many to search.
//!
//! On a machine of hundreds of CPUs, hundreds may be in the middle of a kernel path, each of them due again before
//! some of the others and after the rest. Here none is compared with another: each nanosecond has a chain of its CPUs,
//! in order. While no day is crowded, nobody is here.

use crate::state::event::MAX_CPUS;
use crate::state::event::cpu_events::{CPU_BITS, NEVER, cpu_of};
use keel_abi::CpuId;

/// The nanoseconds that have chains: so many from `start` on.
const SLOTS: usize = 1 << 12;

const WORDS: usize = SLOTS / 64;

const MOST: usize = MAX_CPUS as usize;

/// The start while nobody may be added.
const CLOSED: u64 = u64::MAX;

/// No CPU.
const NONE: u16 = u16::MAX;

const _: () = assert!(WORDS == 64 && MOST < NONE as usize);

#[derive(Clone, Debug)]
pub(super) struct Near {
    /// The earliest key, or [`NEVER`].
    first: u64,
    /// No CPU is due before this moment, in nanoseconds; [`CLOSED`] if there are none.
    start: u64,
    /// Which words of the next bitmap are not 0.
    top: u64,
    /// Which chains have CPUs.
    words: [u64; WORDS],
    /// The last CPU of each chain.
    lasts: [u16; SLOTS],
    /// The CPU after each one in its chain; after the last one comes the first.
    next: [u16; MOST],
    /// The key of each CPU that is here.
    keys: [u64; MOST],
}

impl Near {
    pub(super) fn new() -> Self {
        Self {
            first: NEVER,
            start: CLOSED,
            top: 0,
            words: [0; WORDS],
            lasts: [NONE; SLOTS],
            next: [NONE; MOST],
            keys: [NEVER; MOST],
        }
    }

    /// The earliest key, or [`NEVER`].
    #[inline]
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// The key of `cpu`, or [`NEVER`].
    #[inline]
    pub(super) fn key(&self, cpu: CpuId) -> u64 {
        self.keys[cpu.index() % MOST]
    }

    /// Until the last CPU leaves, others may be added from now on, if they are due soon after the last CPU that was
    /// taken; or soon after the one that is to be first, if nobody is here. Returns whether that one may be.
    pub(super) fn opens(&mut self, taken: u64, first: u64) -> bool {
        debug_assert!(taken <= self.first, "it was the first of all");
        self.start = if self.first == NEVER { first } else { taken } >> CPU_BITS;
        (first >> CPU_BITS).wrapping_sub(self.start) < SLOTS as u64
    }

    /// Adds a CPU, which is not here, if this is open and it is due soon; returns whether it is.
    #[inline]
    pub(super) fn try_add(&mut self, key: u64) -> bool {
        let at = key >> CPU_BITS;
        if at.wrapping_sub(self.start) >= SLOTS as u64 {
            return false;
        }
        let (slot, cpu) = (at as usize % SLOTS, cpu_of(key).index() % MOST);
        self.first = self.first.min(key);
        self.keys[cpu] = key;
        let last = std::mem::replace(&mut self.lasts[slot], cpu as u16);
        if last == NONE {
            self.words[slot / 64] |= 1 << (slot % 64);
            self.top |= 1 << (slot / 64);
            self.next[cpu] = cpu as u16;
        } else {
            self.chain(slot, cpu, last);
        }
        true
    }

    /// Adds a CPU to a chain that has this last one.
    #[inline(never)]
    fn chain(&mut self, slot: usize, cpu: usize, last: u16) {
        let mut before = usize::from(last) % MOST;
        if cpu < before {
            self.lasts[slot] = last;
            while usize::from(self.next[before]) < cpu {
                before = usize::from(self.next[before]) % MOST;
            }
        }
        self.next[cpu] = std::mem::replace(&mut self.next[before], cpu as u16);
    }

    /// Removes the CPU that is due first.
    #[inline]
    pub(super) fn take_first(&mut self) {
        let (slot, cpu) = ((self.first >> CPU_BITS) as usize % SLOTS, cpu_of(self.first).index() % MOST);
        let last = usize::from(self.lasts[slot]) % MOST;
        self.keys[cpu] = NEVER;
        self.start = self.first >> CPU_BITS;
        if last != cpu {
            self.next[last] = self.next[cpu];
            self.first = self.keys[usize::from(self.next[cpu]) % MOST];
        } else {
            self.empty(slot);
            self.first = self.search(slot);
        }
    }

    /// Removes `cpu`, if it is here.
    #[inline]
    pub(super) fn remove(&mut self, cpu: CpuId) {
        let key = self.key(cpu);
        if key == self.first && key != NEVER {
            self.take_first();
        } else if key != NEVER {
            self.leave(cpu.index() % MOST, (key >> CPU_BITS) as usize % SLOTS);
        }
    }

    /// Removes a CPU that is not due first from its chain.
    #[inline(never)]
    fn leave(&mut self, cpu: usize, slot: usize) {
        self.keys[cpu] = NEVER;
        let next = usize::from(self.next[cpu]) % MOST;
        if next == cpu {
            return self.empty(slot);
        }
        let mut before = next;
        while usize::from(self.next[before]) != cpu {
            before = usize::from(self.next[before]) % MOST;
        }
        self.next[before] = next as u16;
        if usize::from(self.lasts[slot]) == cpu {
            self.lasts[slot] = before as u16;
        }
    }

    /// Its last CPU has left a chain.
    #[inline]
    fn empty(&mut self, slot: usize) {
        self.lasts[slot] = NONE;
        self.words[slot / 64] &= !(1 << (slot % 64));
        if self.words[slot / 64] == 0 {
            self.top &= !(1 << (slot / 64));
        }
    }

    /// The earliest key, which is in no chain before this one, around the end.
    #[inline]
    fn search(&mut self, slot: usize) -> u64 {
        let word = slot / 64;
        let here = self.words[word] & u64::MAX << (slot % 64);
        let slot = if here != 0 {
            word * 64 + here.trailing_zeros() as usize
        } else if self.top != 0 {
            let after = word + 1;
            let word = (after + self.top.rotate_right(after as u32).trailing_zeros() as usize) % WORDS;
            word * 64 + self.words[word].trailing_zeros() as usize
        } else {
            self.start = CLOSED;
            return NEVER;
        };
        let last = usize::from(self.lasts[slot % SLOTS]) % MOST;
        self.keys[usize::from(self.next[last]) % MOST]
    }
}
