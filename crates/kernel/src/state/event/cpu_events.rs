//! The earliest of the CPUs' own events.
//!
//! A key is the instant above the CPU's number, so keys of CPUs without an event come last. On a machine of at most
//! eight CPUs, their keys fill a cache line, and are all looked at when the earliest gets later. On others, CPUs in the
//! middle of a kernel path are in a list ([`Held`]) if they are due soon, and all others beside it ([`Others`]).

use crate::state::event::held::Held;
use crate::state::event::others::Others;
use crate::state::event::{MAX_HELD, MAX_INSTANT};
use keel_abi::{CpuId, Instant};

/// Bits of a key that hold the CPU's number.
pub(super) const CPU_BITS: u32 = 12;

/// No event. A CPU may also have a key with its number and [`AFTER_ALL`].
pub(super) const NEVER: u64 = u64::MAX;

/// The instant of keys that never come.
pub(super) const AFTER_ALL: Instant = Instant::from_ns(MAX_INSTANT.as_ns() + 1);

/// The CPUs of a group.
const LANES: usize = 8;

/// The keys of eight CPUs.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Group([u64; LANES]);

impl Group {
    #[inline]
    fn first(&self) -> u64 {
        let k = &self.0;
        let (a, b) = (k[0].min(k[1]), k[2].min(k[3]));
        let (c, d) = (k[4].min(k[5]), k[6].min(k[7]));
        a.min(b).min(c.min(d))
    }

    /// The earliest key; the second half is empty if the group `is_small`.
    #[inline]
    fn first_of(&self, is_small: bool) -> u64 {
        let k = &self.0;
        debug_assert!(!is_small || k[LANES / 2..].iter().all(|&key| key == NEVER), "no CPU is there");
        if is_small { k[0].min(k[1]).min(k[2].min(k[3])) } else { self.first() }
    }
}

/// The events of all CPUs.
#[derive(Clone, Debug)]
pub(super) struct CpuEvents {
    /// The earliest key of all CPUs.
    first: u64,
    /// The earliest key of the others.
    of_others: u64,
    /// CPUs that are not in the list, on a machine of more than eight.
    others: Option<Box<Others>>,
    /// There are so few CPUs that half a group holds them.
    is_small: bool,
    /// The keys of up to eight CPUs.
    group: Group,
    held: Held,
}

impl CpuEvents {
    pub(super) fn new(cpus: u32) -> Self {
        Self {
            first: NEVER,
            of_others: NEVER,
            others: (cpus as usize > LANES).then(|| Box::new(Others::new())),
            is_small: cpus as usize <= LANES / 2,
            group: Group([NEVER; LANES]),
            held: Held::new(),
        }
    }

    #[inline]
    pub(super) fn set(&mut self, cpu: CpuId, at: Instant) {
        self.change(cpu, key(cpu, at));
    }

    /// Sets the key of `cpu`, which has none.
    #[inline]
    pub(super) fn add(&mut self, cpu: CpuId, at: Instant) {
        match &mut self.others {
            None => self.set(cpu, at),
            Some(others) => {
                others.add(cpu, key(cpu, at));
                self.of_others = self.of_others.min(key(cpu, at));
                self.note();
            }
        }
    }

    /// Takes the event of `cpu`, which is not in the middle of a kernel path.
    #[inline]
    pub(super) fn take(&mut self, cpu: CpuId) {
        match &mut self.others {
            None => self.clear(cpu),
            Some(others) => {
                debug_assert_eq!(self.held.key(cpu), NEVER, "it is not in the list");
                self.of_others = others.remove(cpu);
                self.note();
            }
        }
    }

    /// Sets the key of `cpu`, which has none and is in the middle of a kernel path. It usually goes into the list; if it
    /// is due later than most there, it is one of the others.
    #[inline(always)]
    pub(super) fn hold(&mut self, cpu: CpuId, at: Instant) {
        match self.others {
            None => self.set(cpu, at),
            Some(_) => {
                self.hold_in_list(cpu, key_of_held(cpu, at));
                self.first = self.first.min(key_of_held(cpu, at));
            }
        }
    }

    /// Sets the key of `cpu`, which has none, and takes the event of the CPU that is due first; that comes before `cpu`
    /// at `at`. If `is_held`, `cpu` is in the middle of a kernel path.
    #[inline(always)]
    pub(super) fn exchange(&mut self, cpu: CpuId, at: Instant, is_held: bool) -> CpuId {
        let key = if is_held { key_of_held(cpu, at) } else { key(cpu, at) };
        let next = self.next_cpu();
        debug_assert!(self.first < key, "another CPU is due first");
        match &mut self.others {
            None => {
                self.group.0[next.index() % LANES] = NEVER;
                self.group.0[cpu.index() % LANES] = key;
                self.first = self.group.first_of(self.is_small);
            }
            Some(others) => {
                match is_held {
                    true => self.hold_in_list(cpu, key),
                    false => {
                        others.add(cpu, key);
                        self.of_others = self.of_others.min(key);
                    }
                }
                self.take_first_of_many();
            }
        }
        next
    }

    /// Like `exchange` for a CPU in the middle of a kernel path, if the first one is in the list of those, comes before
    /// `limit`, and `cpu` is to be in the list, too; otherwise does nothing.
    #[inline(always)]
    pub(super) fn change_places(&mut self, cpu: CpuId, at: Instant, limit: u64) -> Option<CpuId> {
        let first = self.held.first();
        if first >= limit || first != self.first || !self.held.try_change_places(key_of_held(cpu, at)) {
            return None;
        }
        self.note();
        Some(cpu_of(first))
    }

    /// Adds a CPU in the middle of a kernel path. It may be first: the caller knows.
    #[inline(always)]
    fn hold_in_list(&mut self, cpu: CpuId, key: u64) {
        if !self.held.try_add(key)
            && let Some(others) = &mut self.others
        {
            others.add_held(cpu, key);
            self.of_others = self.of_others.min(key);
        }
    }

    /// Returns whether `cpu` would be first if it were due at `at`. It is not due before that.
    #[inline]
    pub(super) fn would_be_first(&self, cpu: CpuId, at: Instant) -> bool {
        key(cpu, at) <= self.first
    }

    #[inline]
    pub(super) fn clear(&mut self, cpu: CpuId) {
        self.change(cpu, NEVER);
    }

    #[inline]
    pub(super) fn at(&self, cpu: CpuId) -> Instant {
        let key = match &self.others {
            None => self.group.0[cpu.index() % LANES],
            Some(others) => others.key(cpu).min(self.held.key(cpu)),
        };
        match instant(key) {
            at if at > MAX_INSTANT => Instant::NEVER,
            at => at,
        }
    }

    /// When the first CPU is due; after [`MAX_INSTANT`] if none is.
    #[inline]
    pub(super) fn next_at(&self) -> Instant {
        instant(self.first)
    }

    /// The key of the CPU that is due first.
    #[inline]
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// Takes the event of the CPU that is due first; only meaningful if one is due.
    #[inline]
    pub(super) fn take_first(&mut self) -> CpuId {
        let cpu = self.next_cpu();
        match self.others {
            None => {
                self.group.0[cpu.index() % LANES] = NEVER;
                self.first = self.group.first_of(self.is_small);
            }
            Some(_) => self.take_first_of_many(),
        }
        cpu
    }

    #[inline(always)]
    fn take_first_of_many(&mut self) {
        if self.first == self.held.first() {
            self.held.take_first();
        } else if let Some(others) = &mut self.others {
            self.of_others = others.take_first(self.first);
        }
        self.note();
    }

    #[inline(always)]
    fn note(&mut self) {
        self.first = self.of_others.min(self.held.first());
    }

    /// The CPU that is due first; only meaningful if one is due.
    #[inline]
    pub(super) fn next_cpu(&self) -> CpuId {
        cpu_of(self.first)
    }

    #[inline]
    fn change(&mut self, cpu: CpuId, key: u64) {
        if self.others.is_some() {
            return self.change_among_many(cpu, key);
        }
        let before = std::mem::replace(&mut self.group.0[cpu.index() % LANES], key);
        if key <= self.first {
            self.first = key;
        } else if before == self.first {
            self.first = self.group.first();
        }
    }

    #[inline(never)]
    fn change_among_many(&mut self, cpu: CpuId, key: u64) {
        self.held.remove(cpu);
        if let Some(others) = &mut self.others {
            self.of_others = others.remove_any(cpu).min(key);
            others.add(cpu, key);
        }
        self.note();
    }
}

#[inline]
pub(super) fn key(cpu: CpuId, at: Instant) -> u64 {
    first_key(at.min(AFTER_ALL)) | u64::from(cpu.0)
}

/// The key of a CPU in the middle of a kernel path, whose moment always fits.
#[inline]
fn key_of_held(cpu: CpuId, at: Instant) -> u64 {
    first_key(at) | u64::from(cpu.0)
}

/// The lowest key at `at`, which fits in it.
#[inline]
pub(super) fn first_key(at: Instant) -> u64 {
    debug_assert!(at <= MAX_HELD, "it is at most a step after the last moment of all");
    at.as_ns() << CPU_BITS
}

/// Whose key it is; meaningless if it never comes.
#[inline]
pub(super) fn cpu_of(key: u64) -> CpuId {
    CpuId((key & ((1 << CPU_BITS) - 1)) as u32)
}

/// When that CPU is due.
#[inline]
pub(super) fn instant(key: u64) -> Instant {
    Instant::from_ns(key >> CPU_BITS)
}
