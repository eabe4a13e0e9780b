//! Data races: accesses by two CPUs to the same bytes, where at least one writes, at least one is not atomic, and
//! neither is ordered after the other.
//!
//! Only the interpreter detects them, in a separate copy of itself, so that other runs don't pay for it. The host
//! defines the order ([`Clocks`]). An atomic instruction with a result also orders: the kernel's "RMW operations that
//! have a return value are fully ordered", and a failed compare-and-exchange does not write and orders nothing
//! (`Documentation/atomic_t.txt`).
#![allow(unsafe_code)]

use crate::code::Code;
use crate::code::op::Size;
use crate::context::Context;
use crate::memory::{BASE, Region};
use keel_abi::CpuId;
use keel_abi::bpf::{CallPlace, Ea, MapId};
use keel_abi::clocks::{Clocks, Sync};
use std::collections::BTreeMap;

/// Bytes that are looked at together.
const CELL_BYTES: u64 = 8;
/// Once a cell has this many accesses, those that every CPU has seen are dropped.
const MANY: usize = 64;
/// At most this many accesses of a cell are kept.
const MOST: usize = 1024;
/// At most this many pairs of instructions are reported.
const MOST_PAIRS: usize = 1 << 14;

/// How an instruction accesses memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct How {
    /// It writes.
    pub writes: bool,
    /// It is an atomic instruction.
    pub atomic: bool,
}

/// An instruction, and how it accesses memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Site {
    function: u32,
    insn: u32,
    how: How,
}

#[derive(Clone, Copy, Debug)]
struct Access {
    site: Site,
    cpu: CpuId,
    when: u32,
    /// A bit for each byte of the cell.
    mask: u8,
}

#[derive(Clone, Copy, Debug)]
struct Found {
    at: Ea,
    map: MapId,
    times: u64,
}

/// One side of a race.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    /// The instruction.
    pub place: CallPlace,
    /// What it does.
    pub how: How,
}

/// Two instructions that race.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Race {
    /// The two, which may be one on two CPUs.
    pub sides: [Side; 2],
    /// One address that both access.
    pub at: Ea,
    /// The map that it is in; global data is one.
    pub map: MapId,
    /// How often.
    pub times: u64,
}

/// Memory that no map has: the kernel's, or a stack. It is not looked at.
#[derive(Debug)]
enum Cell {
    Ignored,
    Of(MapId, Vec<Access>),
}

/// The latest accesses, and the races that were found.
#[derive(Debug, Default)]
pub(crate) struct Races {
    cells: BTreeMap<u64, Cell>,
    found: BTreeMap<[Site; 2], Found>,
}

impl Races {
    /// Forgets who has accessed these bytes: they are another object's now.
    pub(crate) fn forget(&mut self, off: u64, len: u64) {
        let cells = off / CELL_BYTES..(off + len).div_ceil(CELL_BYTES);
        let gone: Vec<u64> = self.cells.range(cells).map(|(cell, _)| *cell).collect();
        gone.iter().for_each(|cell| drop(self.cells.remove(cell)));
    }

    /// Forgets all accesses.
    pub(crate) fn forget_all(&mut self) {
        self.cells.clear();
    }

    /// The races so far, of this code.
    pub(crate) fn found(&self, code: &Code) -> Vec<Race> {
        let side = |site: Site| Side { place: code.place_of(site.function, site.insn), how: site.how };
        let race = |(sites, found): (&[Site; 2], &Found)| Race {
            sides: sites.map(side),
            at: found.at,
            map: found.map,
            times: found.times,
        };
        self.found.iter().map(race).collect()
    }

    /// Other code is loaded.
    pub(crate) fn renew(&mut self) {
        *self = Self::default();
    }

    fn access(
        &mut self,
        clocks: &Clocks,
        (site, cpu): (Site, CpuId),
        (off, len): (u64, u64),
        map_of: &dyn Fn(Ea) -> Option<MapId>,
    ) {
        for cell in off / CELL_BYTES..=(off + len - 1) / CELL_BYTES {
            let first = cell * CELL_BYTES;
            let mask = (first..first + CELL_BYTES)
                .zip(0..)
                .filter(|(byte, _)| (off..off + len).contains(byte))
                .fold(0, |mask, (_, bit): (u64, u32)| mask | 1 << bit);
            let new = Access { site, cpu, when: clocks.now(cpu), mask };
            self.access_cell(clocks, cell, new, map_of);
        }
    }

    fn access_cell(
        &mut self,
        clocks: &Clocks,
        number: u64,
        new: Access,
        map_of: &dyn Fn(Ea) -> Option<MapId>,
    ) {
        let at = Ea(BASE + number * CELL_BYTES);
        let cell = self.cells.entry(number).or_insert_with(|| {
            map_of(at.offset(u64::from(new.mask.trailing_zeros())))
                .map_or(Cell::Ignored, |map| Cell::Of(map, Vec::new()))
        });
        let Cell::Of(map, accesses) = cell else { return };
        for old in accesses.iter().filter(|old| races(clocks, old, &new)) {
            let mut sites = [old.site, new.site];
            sites.sort();
            if self.found.len() < MOST_PAIRS || self.found.contains_key(&sites) {
                let at = at.offset(u64::from((old.mask & new.mask).trailing_zeros()));
                self.found.entry(sites).or_insert(Found { at, map: *map, times: 0 }).times += 1;
            }
        }
        let is_same = |old: &&mut Access| (old.cpu, old.site, old.mask) == (new.cpu, new.site, new.mask);
        match accesses.iter_mut().find(is_same) {
            Some(old) => old.when = new.when,
            None => accesses.push(new),
        }
        if accesses.len() >= MANY {
            accesses.retain(|old| !clocks.all_have_seen(old.cpu, old.when));
        }
        if accesses.len() > MOST {
            accesses.remove(0);
        }
    }
}

fn races(clocks: &Clocks, old: &Access, new: &Access) -> bool {
    let (a, b) = (old.site.how, new.site.how);
    old.cpu != new.cpu
        && old.mask & new.mask != 0
        && (a.writes || b.writes)
        && !(a.atomic && b.atomic)
        && !clocks.has_seen(new.cpu, old.cpu, old.when)
}

impl Region {
    /// These bytes belong to another object now: earlier accesses to them race with nothing.
    pub(crate) fn forget_accesses(&mut self, at: Ea, len: u64) {
        if let Some(races) = self.races() {
            races.forget(at.0.wrapping_sub(BASE), len);
        }
    }
}

impl Context {
    /// An instruction has accessed memory at an offset into the region. An atomic one with a result also orders.
    ///
    /// # Safety
    /// Called on the context's own fiber, whose host is the one it was entered with.
    pub(crate) unsafe fn note_access(
        this: *mut Self,
        (function, insn): (u32, u32),
        (off, size): (u64, Size),
        how: How,
        orders: bool,
    ) {
        // SAFETY: the host's clocks and the world are apart, and nothing else uses them while the fiber runs code.
        unsafe {
            let ask = (*this).host_clocks.expect("set on entry");
            let Some(clocks) = ask(this) else { return };
            let clocks = &mut *clocks;
            let cpu = (*this).place.cpu;
            let word = Sync::Word(off);
            if orders {
                clocks.acquire(cpu, word);
            }
            let (maps, region) = (*(*this).world).maps_mut();
            let arena = region.arena_bounds();
            let map_of = |at: Ea| maps.map_of(at, arena.contains(&at.0));
            if let Some(races) = region.races() {
                races.access(clocks, (Site { function, insn, how }, cpu), (off, size.bytes()), &map_of);
            }
            if orders {
                clocks.release(cpu, word);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOAD: How = How { writes: false, atomic: false };
    const STORE: How = How { writes: true, atomic: false };
    const ADD: How = How { writes: true, atomic: true };
    const LOCK: Sync = Sync::Spin(0);

    enum Act {
        /// An access of this many bytes, starting at an offset.
        To(u32, How, u64, u64),
        Unlock(u32),
        Lock(u32),
    }
    use Act::{Lock, To, Unlock};

    fn check(acts: &[Act], expected: u64) {
        let (mut clocks, mut races) = (Clocks::new(2), Races::default());
        for (insn, act) in (0..).zip(acts) {
            match *act {
                To(cpu, how, off, len) => {
                    let site = Site { function: 0, insn, how };
                    let map_of = |at: Ea| (at.0 < BASE + 64).then_some(MapId(3));
                    races.access(&clocks, (site, CpuId(cpu)), (off, len), &map_of);
                }
                Unlock(cpu) => clocks.release(CpuId(cpu), LOCK),
                Lock(cpu) => clocks.acquire(CpuId(cpu), LOCK),
            }
        }
        let times: u64 = races.found.values().map(|found| found.times).sum();
        assert_eq!(times, expected);
        assert!(races.found.values().all(|found| found.map == MapId(3)));
    }

    #[test]
    fn two_accesses_race_where_one_writes_one_is_plain_and_nothing_orders_them() {
        check(&[To(0, STORE, 8, 8), To(1, LOAD, 8, 8)], 1);
        check(&[To(0, LOAD, 8, 8), To(1, STORE, 8, 8)], 1);
        check(&[To(0, LOAD, 8, 8), To(1, LOAD, 8, 8)], 0);
        check(&[To(0, ADD, 8, 8), To(1, ADD, 8, 8)], 0);
        check(&[To(0, ADD, 8, 8), To(1, LOAD, 8, 8)], 1);
        check(&[To(0, STORE, 8, 8), To(0, LOAD, 8, 8)], 0);
        check(&[To(0, STORE, 8, 8), Unlock(0), Lock(1), To(1, STORE, 8, 8)], 0);
        check(&[Unlock(0), To(0, STORE, 8, 8), Lock(1), To(1, STORE, 8, 8)], 1);
    }

    #[test]
    fn only_the_same_bytes_of_maps_race() {
        check(&[To(0, STORE, 8, 4), To(1, STORE, 12, 4)], 0);
        check(&[To(0, STORE, 8, 4), To(1, STORE, 11, 1)], 1);
        // Over the end of a cell: once for each.
        check(&[To(0, STORE, 12, 8), To(1, STORE, 12, 8)], 2);
        check(&[To(0, STORE, 64, 8), To(1, STORE, 64, 8)], 0);
    }

    #[test]
    fn memory_that_is_used_again_is_another_object() {
        let (clocks, mut races) = (Clocks::new(2), Races::default());
        let store = |cpu: u32, races: &mut Races| {
            let site = Site { function: 0, insn: 0, how: STORE };
            races.access(&clocks, (site, CpuId(cpu)), (16, 8), &|_| Some(MapId(0)));
        };
        store(0, &mut races);
        races.forget(16, 8);
        store(1, &mut races);
        assert!(races.found.is_empty());
        store(0, &mut races);
        assert_eq!(races.found.len(), 1);
    }
}
