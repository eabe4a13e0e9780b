//! CPUs in user mode or idle, by the moment of their next event: a year of days of 2 us each.
//!
//! A CPU that enters user mode is due soon compared with a year, and often leaves it before that, so it must be easy to
//! add and to remove. Each day has a ring of its CPUs, in no order. The first day that has any is searched for the
//! earliest key when that changes; a crowded day is emptied instead ([`Others`](super::others::Others)).

use crate::state::event::MAX_CPUS;
use crate::state::event::cpu_events::{AFTER_ALL, CPU_BITS, NEVER, cpu_of, first_key};
use keel_abi::CpuId;

/// 2^11 ns per day.
const DAY_BITS: u32 = 11;

/// The days of a year.
const DAYS: usize = 1 << 13;

const WORDS: usize = DAYS / 64;

/// The places of CPUs come before those of the days.
const PLACES: usize = 2 * DAYS;

const MOST: usize = MAX_CPUS as usize;

const _: () = assert!(MOST <= DAYS && PLACES <= 1 << 16);

/// The neighbours of a day or a CPU in the ring of that day.
#[derive(Clone, Copy, Debug)]
struct Link {
    next: u16,
    before: u16,
}

#[derive(Clone, Debug)]
pub(super) struct Calendar {
    /// The earliest key, or [`NEVER`].
    first: u64,
    /// The day of the last CPU that was due first: a year begins here.
    today: u64,
    /// Which days have CPUs.
    words: [u64; WORDS],
    /// The key of each CPU that is here.
    keys: [u64; MOST],
    links: [Link; PLACES],
}

impl Calendar {
    pub(super) fn new() -> Self {
        let links = std::array::from_fn(|place| Link { next: place as u16, before: place as u16 });
        Self { first: NEVER, today: 0, words: [0; WORDS], keys: [NEVER; MOST], links }
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

    /// Adds a CPU, which is not here; one that is never due stays away.
    #[inline]
    pub(super) fn add(&mut self, cpu: CpuId, key: u64) {
        debug_assert_eq!(self.key(cpu), NEVER, "it has no event");
        let day = day_of(key);
        if day.wrapping_sub(self.today) < DAYS as u64 {
            self.enter(cpu, key, day);
        } else {
            self.add_beyond(cpu, key);
        }
    }

    /// Adds a CPU that is due before today or after this year, as one of today or of the last day.
    #[cold]
    #[inline(never)]
    fn add_beyond(&mut self, cpu: CpuId, key: u64) {
        if key < first_key(AFTER_ALL) {
            self.enter(cpu, key, day_of(key).clamp(self.today, self.today + DAYS as u64 - 1));
        }
    }

    #[inline(always)]
    fn enter(&mut self, cpu: CpuId, key: u64, day: u64) {
        let (day, cpu) = (day as usize % DAYS, cpu.index() % MOST);
        self.first = self.first.min(key);
        self.keys[cpu] = key;
        self.words[day / 64] |= 1 << (day % 64);
        let next = std::mem::replace(&mut self.links[DAYS + day].next, cpu as u16);
        self.links[cpu] = Link { next, before: (DAYS + day) as u16 };
        self.links[usize::from(next) % PLACES].before = cpu as u16;
    }

    /// Removes a CPU, which may be here; returns whether it was.
    #[inline]
    pub(super) fn remove(&mut self, cpu: CpuId) -> bool {
        let key = self.key(cpu);
        if key != NEVER {
            self.leave(cpu);
            if key == self.first {
                self.search();
            }
        }
        key != NEVER
    }

    /// Removes the CPU that is due first. Returns how many had to be looked at to find the next one.
    #[inline(always)]
    pub(super) fn take_first(&mut self) -> usize {
        let day = day_of(self.first);
        self.leave(cpu_of(self.first));
        if day.wrapping_sub(self.today) < DAYS as u64 {
            self.today = day;
        } else {
            self.pass_rarely(day);
        }
        self.search()
    }

    /// The CPU that was due first was so before today or after this year. In the second case, all others are due after
    /// this year, too: they are added again.
    #[cold]
    #[inline(never)]
    fn pass_rarely(&mut self, day: u64) {
        if day > self.today {
            let last = self.today + DAYS as u64 - 1;
            self.today = day;
            self.add_again(last);
        }
    }

    /// Adds the CPUs of a day again.
    fn add_again(&mut self, day: u64) {
        for key in self.empty(day as usize % DAYS) {
            self.add(cpu_of(key), key);
        }
    }

    /// Removes all CPUs of the first day that has any, and returns their keys.
    pub(super) fn take_day(&mut self) -> Vec<u64> {
        let keys = self.first_day().map_or(Vec::new(), |day| self.empty(day));
        self.search();
        keys
    }

    /// Removes the CPUs of a day, and returns their keys.
    fn empty(&mut self, day: usize) -> Vec<u64> {
        let mut keys = Vec::new();
        while usize::from(self.links[DAYS + day].next) != DAYS + day {
            let cpu = CpuId(self.links[DAYS + day].next.into());
            keys.push(self.key(cpu));
            self.leave(cpu);
        }
        keys
    }

    #[inline(always)]
    fn leave(&mut self, cpu: CpuId) {
        let Link { next, before } = self.links[cpu.index() % MOST];
        self.keys[cpu.index() % MOST] = NEVER;
        self.links[usize::from(before) % PLACES].next = next;
        self.links[usize::from(next) % PLACES].before = before;
        // Only the day itself can be on both sides.
        if next == before {
            let day = usize::from(next) % DAYS;
            self.words[day / 64] &= !(1 << (day % 64));
        }
    }

    /// Finds the CPU that is due first. Returns how many had to be looked at.
    #[inline]
    fn search(&mut self) -> usize {
        let Some(day) = self.first_day() else {
            self.first = NEVER;
            return 0;
        };
        let (mut first, mut place, mut cpus) = (NEVER, usize::from(self.links[DAYS + day].next), 0);
        while place != DAYS + day {
            let cpu = place % MOST;
            first = first.min(self.keys[cpu]);
            place = usize::from(self.links[cpu].next);
            cpus += 1;
        }
        self.first = first;
        let days = (day as u64).wrapping_sub(self.today) % DAYS as u64;
        if day_of(first) > self.today + days {
            return self.search_beyond(days);
        }
        cpus
    }

    /// The first day that has any CPUs is so many days from today, and they are due after it. No others are due before
    /// them if it is the last day of this year; otherwise they are added again.
    #[cold]
    #[inline(never)]
    fn search_beyond(&mut self, days: u64) -> usize {
        if days == DAYS as u64 - 1 {
            return 0;
        }
        self.add_again(self.today + days);
        self.search()
    }

    /// The first day from today on that has a CPU.
    #[inline(always)]
    fn first_day(&self) -> Option<usize> {
        let lowest = |word: usize, days: u64| word * 64 + days.trailing_zeros() as usize;
        let today = self.today as usize % DAYS;
        let word = today / 64;
        let near = self.words[word] & u64::MAX << (today % 64);
        if near != 0 {
            return Some(lowest(word, near));
        }
        (1..=WORDS)
            .map(|n| (word + n) % WORDS)
            .find_map(|word| (self.words[word] != 0).then(|| lowest(word, self.words[word])))
    }
}

#[inline(always)]
fn day_of(key: u64) -> u64 {
    key >> (CPU_BITS + DAY_BITS)
}
