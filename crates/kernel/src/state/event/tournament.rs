//! The earliest of the CPUs' own events, by a tournament among groups of eight.
//!
//! A key is the instant above the CPU's number, so keys of CPUs without an event come last. Groups fill a cache line
//! each; a changed key plays again only in the groups above it, and only as far as a winner changes. A whole group is
//! looked at only when its winner gets later: one that becomes first is known to win. A CPU that is interrupted before it
//! is due gives up its key in its own group only: it soon gets another one. Groups above may still have the old key, but
//! never the final, whose winner is always due.
//!
//! On a machine of several groups, CPUs in the middle of a kernel path are in a list of their own ([`Held`]), or in a
//! queue ([`Waiters`]).

use crate::state::event::held::Held;
use crate::state::event::waiters::Waiters;
use crate::state::event::{MAX_HELD, MAX_INSTANT};
use keel_abi::{CpuId, Instant};

/// Bits of a key that hold the CPU's number.
pub(super) const CPU_BITS: u32 = 12;

/// No event. A CPU may also have a key with its number and [`AFTER_ALL`].
pub(super) const NEVER: u64 = u64::MAX;

/// The instant of keys that never come.
const AFTER_ALL: Instant = Instant::from_ns(MAX_INSTANT.as_ns() + 1);

/// The players of a group.
const LANES: usize = 8;

/// The keys of eight CPUs, or the winners of eight groups.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Group([u64; LANES]);

impl Group {
    #[inline]
    fn winner(&self) -> u64 {
        let k = &self.0;
        let (a, b) = (k[0].min(k[1]), k[2].min(k[3]));
        let (c, d) = (k[4].min(k[5]), k[6].min(k[7]));
        a.min(b).min(c.min(d))
    }

    /// The winner of the only group, whose second half is empty if it `is_small`.
    #[inline]
    fn winner_of(&self, is_small: bool) -> u64 {
        let k = &self.0;
        debug_assert!(!is_small || k[LANES / 2..].iter().all(|&key| key == NEVER), "nobody plays there");
        if is_small { k[0].min(k[1]).min(k[2].min(k[3])) } else { self.winner() }
    }

    /// Sets a lane's key, because that of `cpu` changes; `before` is the group's winner so far. Returns the winner if it
    /// changes.
    #[inline]
    fn replace(&mut self, lane: usize, key: u64, before: u64, cpu: CpuId) -> Option<u64> {
        self.0[lane % LANES] = key;
        let winner = if key <= before {
            key
        } else if cpu_of(before) == cpu {
            self.winner()
        } else {
            return None;
        };
        (winner != before).then_some(winner)
    }
}

#[derive(Clone, Debug)]
pub(super) struct Tournament {
    /// The final first, then round by round: the players of group `n` are the winners of groups `8n + 1` to `8n + 8`,
    /// or the CPUs themselves.
    groups: Vec<Group>,
    /// The index of the CPUs, counted as if they were groups.
    cpus: usize,
    /// The earliest key of all CPUs.
    winner: u64,
    /// The winner of the final, where there are several groups.
    of_final: u64,
    /// The earlier one of that and of the first of the waiters.
    of_others: u64,
    /// There are so few CPUs that half a group holds them.
    is_small: bool,
    held: Held,
    waiters: Waiters,
}

impl Tournament {
    pub(super) fn new(cpus: u32) -> Self {
        let (mut total, mut round) = (0, 1);
        while total == 0 || round < cpus as usize {
            total += round;
            round *= LANES;
        }
        Self {
            groups: vec![Group([NEVER; LANES]); total],
            cpus: total,
            winner: NEVER,
            of_final: NEVER,
            of_others: NEVER,
            is_small: cpus as usize <= LANES / 2,
            held: Held::new(),
            waiters: Waiters::new(if total == 1 { 0 } else { cpus as usize }),
        }
    }

    #[inline]
    pub(super) fn set(&mut self, cpu: CpuId, at: Instant) {
        self.play(cpu, key(cpu, at));
    }

    /// Sets the key of `cpu`, which has none.
    #[inline]
    pub(super) fn add(&mut self, cpu: CpuId, at: Instant) {
        match self.groups.len() {
            1 => self.set(cpu, at),
            _ => {
                self.play_rounds(cpu, key(cpu, at));
                self.winner = self.of_others.min(self.held.first());
            }
        }
    }

    /// Takes the event of `cpu`, which is not in the middle of a kernel path.
    #[inline]
    pub(super) fn take(&mut self, cpu: CpuId) {
        debug_assert!(self.held.key(cpu).min(self.waiters.key(cpu)) == NEVER, "it is in none of the lists");
        if self.groups.len() == 1 || cpu_of(self.of_final) == cpu {
            self.clear(cpu);
        } else {
            let place = self.place(cpu);
            self.groups[place / LANES].0[place % LANES] = NEVER;
        }
    }

    /// Sets the key of `cpu`, which has none and is in the middle of a kernel path: it is due soon.
    #[inline(always)]
    pub(super) fn hold(&mut self, cpu: CpuId, at: Instant) {
        match self.groups.len() {
            1 => self.set(cpu, at),
            _ => self.hold_in_list(cpu, key_of_held(cpu, at)),
        }
    }

    /// Sets the key of `cpu`, which has none, and takes the event of the CPU that is due first; that comes before `cpu`
    /// at `at`. If `is_held`, `cpu` is in the middle of a kernel path.
    #[inline(always)]
    pub(super) fn exchange(&mut self, cpu: CpuId, at: Instant, is_held: bool) -> CpuId {
        let key = if is_held { key_of_held(cpu, at) } else { key(cpu, at) };
        let next = self.next_cpu();
        debug_assert!(self.winner < key, "another CPU is due first");
        match self.groups.as_mut_slice() {
            [only] => {
                only.0[next.index() % LANES] = NEVER;
                only.0[cpu.index() % LANES] = key;
                self.winner = only.winner_of(self.is_small);
            }
            _ => self.exchange_in_rounds((cpu, key), next, is_held),
        }
        next
    }

    /// Like `exchange` for a CPU in the middle of a kernel path, if the first one is in the list of those, comes before
    /// `limit`, and `cpu` is to be in the list, too; otherwise does nothing.
    #[inline(always)]
    pub(super) fn change_places(&mut self, cpu: CpuId, at: Instant, limit: u64) -> Option<CpuId> {
        let first = self.held.first();
        if first >= limit || first != self.winner || !self.held.changes_places(key_of_held(cpu, at)) {
            return None;
        }
        self.winner = self.of_others.min(self.held.first());
        Some(cpu_of(first))
    }

    #[inline(always)]
    fn exchange_in_rounds(&mut self, (cpu, key): (CpuId, u64), next: CpuId, is_held: bool) {
        match is_held {
            true => self.hold_in_list(cpu, key),
            false => self.play_rounds(cpu, key),
        }
        self.take_from_rounds(next);
    }

    #[inline(always)]
    fn hold_in_list(&mut self, cpu: CpuId, key: u64) {
        if self.held.try_add(key) {
            self.winner = self.winner.min(key);
        } else {
            self.hold_elsewhere(cpu, key);
            self.winner = self.winner.min(self.of_others);
        }
    }

    #[inline(never)]
    fn hold_elsewhere(&mut self, cpu: CpuId, key: u64) {
        if self.waiters.joins(key) {
            self.of_others = self.of_others.min(key);
        } else {
            self.play_rounds(cpu, key);
        }
    }

    /// Returns whether `cpu` would be first if it were due at `at`. It is not due before that.
    #[inline]
    pub(super) fn would_win(&self, cpu: CpuId, at: Instant) -> bool {
        key(cpu, at) <= self.winner
    }

    #[inline]
    pub(super) fn clear(&mut self, cpu: CpuId) {
        self.play(cpu, NEVER);
    }

    #[inline]
    pub(super) fn at(&self, cpu: CpuId) -> Instant {
        match instant(self.own_key(cpu).min(self.held.key(cpu)).min(self.waiters.key(cpu))) {
            at if at > MAX_INSTANT => Instant::NEVER,
            at => at,
        }
    }

    /// When the first CPU is due; after [`MAX_INSTANT`] if none is.
    #[inline]
    pub(super) fn next_at(&self) -> Instant {
        instant(self.winner)
    }

    /// The key of the CPU that is due first.
    #[inline]
    pub(super) fn first(&self) -> u64 {
        self.winner
    }

    /// Takes the event of the CPU that is due first; only meaningful if one is due. Every group above it gets another
    /// winner, whatever the others' keys.
    #[inline]
    pub(super) fn take_first(&mut self) -> CpuId {
        let cpu = self.next_cpu();
        match self.groups.as_mut_slice() {
            [only] => {
                only.0[cpu.index() % LANES] = NEVER;
                self.winner = only.winner_of(self.is_small);
            }
            _ => self.take_from_rounds(cpu),
        }
        cpu
    }

    #[inline(always)]
    fn take_from_rounds(&mut self, cpu: CpuId) {
        if self.winner == self.held.first() {
            self.held.take_first();
        } else {
            self.take_from_others(cpu);
        }
        self.winner = self.of_others.min(self.held.first());
    }

    #[inline(never)]
    fn take_from_others(&mut self, cpu: CpuId) {
        if self.winner == self.waiters.first() {
            self.waiters.take_first();
        } else {
            self.take_from_final(cpu);
        }
        self.of_others = self.of_final.min(self.waiters.first());
    }

    /// Takes the event of the final's winner, which is that of `cpu`.
    #[inline(always)]
    fn take_from_final(&mut self, mut cpu: CpuId) {
        loop {
            let (mut key, mut place) = (NEVER, self.place(cpu));
            loop {
                let group = &mut self.groups[place / LANES];
                group.0[place % LANES] = key;
                key = group.winner();
                if place < LANES {
                    break;
                }
                place = place / LANES - 1;
            }
            self.of_final = key;
            if !self.is_given_up(key) {
                return;
            }
            cpu = cpu_of(key);
        }
    }

    /// Returns whether a key that has won is one that its CPU has given up.
    #[inline]
    fn is_given_up(&self, key: u64) -> bool {
        key != NEVER && self.own_key(cpu_of(key)) != key
    }

    /// Ensures that the final's winner is due.
    #[cold]
    #[inline(never)]
    fn end_given_up(&mut self) {
        if self.is_given_up(self.of_final) {
            self.take_from_final(cpu_of(self.of_final));
        }
    }

    /// Where a CPU plays.
    #[inline]
    fn place(&self, cpu: CpuId) -> usize {
        self.cpus + cpu.index() - 1
    }

    /// The key with which a CPU plays.
    #[inline]
    fn own_key(&self, cpu: CpuId) -> u64 {
        let place = self.place(cpu);
        self.groups[place / LANES].0[place % LANES]
    }

    /// The CPU that is due first; only meaningful if one is due.
    #[inline]
    pub(super) fn next_cpu(&self) -> CpuId {
        cpu_of(self.winner)
    }

    #[inline]
    fn play(&mut self, cpu: CpuId, key: u64) {
        match self.groups.as_mut_slice() {
            [only] => {
                if let Some(winner) = only.replace(cpu.index(), key, self.winner, cpu) {
                    self.winner = winner;
                }
            }
            _ => self.play_after_list(cpu, key),
        }
    }

    #[inline(never)]
    fn play_after_list(&mut self, cpu: CpuId, key: u64) {
        self.held.remove(cpu);
        if self.waiters.remove(cpu) {
            self.of_others = self.of_final.min(self.waiters.first());
        }
        self.play_rounds(cpu, key);
        self.winner = self.of_others.min(self.held.first());
    }

    #[inline(never)]
    fn play_rounds(&mut self, cpu: CpuId, key: u64) {
        let (mut key, mut place) = (key, self.place(cpu));
        while place >= LANES {
            let group = place / LANES;
            let above = (group - 1) / LANES;
            let before = self.groups[above].0[(group - 1) % LANES];
            let Some(winner) = self.groups[group].replace(place, key, before, cpu) else { return };
            (key, place) = (winner, group - 1);
        }
        if let Some(winner) = self.groups[0].replace(place, key, self.of_final, cpu) {
            self.of_final = winner;
            if cpu_of(winner) != cpu {
                self.end_given_up();
            }
            self.of_others = self.of_final.min(self.waiters.first());
        }
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
