//! The region: bytes at simulated addresses, with bounds, permissions and cache lines.
//!
//! Offsets from [`BASE`] run through three zones: read-only objects, which are all placed first, after an unused page;
//! the heap of small objects; and above it all large objects. `high_water` is the end of everything that was ever
//! allocated. An access is in bounds if it ends at or below it: one comparison, which native code makes itself, with
//! [`Limits`] that the region keeps up to date.
#![allow(unsafe_code)]

mod bytes;
mod crowded;
mod moves;
mod place;
mod plain;
mod watch;

use super::heap::Heap;
use super::live::Live;
use super::mapping::Mapping;
use super::window::{self, WINDOW_AT, WINDOW_BYTES, Window};
use super::{BASE, HUGE_BYTES, PAGE_BYTES, ReserveError};
use crate::races::Races;
use crowded::Crowded;
pub(crate) use crowded::KnownLine;
pub use crowded::RawCrowd;
use keel_abi::bpf::Ea;
use keel_abi::holders::HolderKey;
use keel_abi::lines::{Line, LineUse, Transfers};
use keel_abi::{CpuId, Instant};
pub(crate) use moves::Moved;
use moves::Moves;
pub use moves::RawMoves;
use plain::Plain;
use std::collections::BTreeMap;
use std::ptr::NonNull;
use watch::LineWatch;
pub use watch::Source;
pub(crate) use watch::{Blamed, Moved as Watched, NOBODY};

/// The end of the heap zone, in bytes, if the region is large enough.
const HEAP_END: u64 = 4 << 30;

/// Per access size (1, 2, 4 and 8 bytes), the highest offset at which an access is in bounds.
pub(crate) type Limits = [u64; 4];

/// The region as native code sees it. The pointers are valid as long as the region lives.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RawRegion {
    /// The byte at [`BASE`].
    pub base: *mut u8,
    /// Per cache line (offset >> `lines.log2`) the CPUs that hold it.
    pub sharers: *mut u64,
    /// Per cache line the number of the CPU that wrote it last, plus 1; 0 for a line that no CPU has held.
    pub writers: *mut u16,
    /// The state of lines that have moved.
    pub moves: RawMoves,
    /// How to find a line and its holders.
    pub lines: LineForm,
    /// The lines that crowd each other out of caches.
    pub crowded: RawCrowd,
}

/// How code finds the word of a cache line, and the meaning of the word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineForm {
    /// The logarithm to base 2 of a line's bytes.
    pub log2: u32,
    /// Whether a bit represents several CPUs ([`keel_abi::holders`]).
    pub grouped: bool,
    /// Whether lines evict each other.
    pub crowded: bool,
}

impl LineForm {
    /// The form for a machine with these transfers.
    pub fn of(transfers: &Transfers) -> Self {
        let grouped = transfers.holders().grouped();
        Self { log2: transfers.line_log2(), grouped, crowded: transfers.is_crowded() }
    }
}

/// Counts of invalid accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InvalidAccesses {
    /// Loads out of bounds, which read 0.
    pub loads: u64,
    /// Stores out of bounds, which were dropped.
    pub stores: u64,
    /// Frees of something other than a live object, which did nothing.
    pub frees: u64,
}

/// The memory of one simulation.
pub struct Region {
    // The tables that `bytes`, `sharers` and `writers` map; kept for their drop.
    bytes: Mapping,
    sharers: Mapping,
    writers: Mapping,
    /// The offset of the end of everything allocated. It only grows.
    high_water: u64,
    /// Copies of its limits, which change when it grows.
    limits: Vec<NonNull<Limits>>,
    /// The end of read-only objects.
    front: u64,
    /// Offsets below are read-only.
    writable_from: u64,
    capacity: u64,
    transfers: Transfers,
    crowded: Option<Crowded>,
    heap: Heap,
    heap_end: u64,
    /// The end of the large zone's used part.
    top: u64,
    /// Large objects that live, and freed ones by their size.
    large: BTreeMap<u64, u64>,
    large_free: BTreeMap<u64, Vec<u64>>,
    live: Option<Live>,
    window: Option<Window>,
    moves: Moves,
    /// Which code takes lines from others, for a profile.
    watch: Option<Box<LineWatch>>,
    /// The accesses, to detect races.
    races: Option<Box<Races>>,
    /// The fast check for most accesses of a word.
    plain: Plain,
    /// Where its first address is in the host's memory.
    plain_start: *mut u8,
    invalid: InvalidAccesses,
}

// SAFETY: the region owns everything that its pointers point to, and shares it with no other thread.
unsafe impl Send for Region {}

impl Region {
    /// Reserves a region of `capacity` bytes of address space (at least 1 MiB); with `checked`, it has a table of live
    /// objects.
    ///
    /// # Errors
    /// Fails if the host provides no address space.
    pub fn new(capacity: u64, checked: bool, transfers: Transfers) -> Result<Self, ReserveError> {
        Self::reserving(capacity, HEAP_END, checked, transfers)
    }

    /// Like `new` with space for an arena between heap and large objects, in addition to `capacity`.
    ///
    /// # Errors
    /// Fails if the host provides no address space.
    pub fn with_window(capacity: u64, checked: bool, transfers: Transfers) -> Result<Self, ReserveError> {
        let capacity = capacity.clamp(2 * window::START, 1 << 45) + (window::END - window::START);
        let mut region = Self::reserving(capacity, window::START, checked, transfers)?;
        region.window = Some(Window::new());
        region.raise(window::END);
        region.top = window::END;
        Ok(region)
    }

    fn reserving(
        capacity: u64,
        heap_end: u64,
        checked: bool,
        transfers: Transfers,
    ) -> Result<Self, ReserveError> {
        let capacity = capacity.clamp(1 << 20, 1 << 46).next_multiple_of(HUGE_BYTES);
        let lines = capacity >> transfers.line_log2();
        let [sharers, writers] = [size_of::<u64>(), size_of::<u16>()].map(|size| lines * size as u64);
        let moves = Moved::bytes(lines);
        let all = |e: ReserveError| ReserveError { bytes: capacity + sharers + writers + moves, ..e };
        let bytes = Mapping::new(capacity).map_err(all)?;
        let sharers = Mapping::new(sharers).map_err(all)?;
        let writers = Mapping::new(writers).map_err(all)?;
        let moves = Moves::new(lines).map_err(all)?;
        let heap_end = heap_end.min(capacity / 2);
        Ok(Self {
            bytes,
            sharers,
            writers,
            high_water: PAGE_BYTES,
            limits: Vec::new(),
            front: PAGE_BYTES,
            writable_from: PAGE_BYTES,
            capacity,
            transfers,
            crowded: None,
            heap: Heap::new(PAGE_BYTES, heap_end),
            heap_end,
            top: heap_end,
            large: BTreeMap::new(),
            large_free: BTreeMap::new(),
            live: checked.then(Live::default),
            window: None,
            moves,
            watch: None,
            races: None,
            plain: Plain::default(),
            plain_start: std::ptr::null_mut(),
            invalid: InvalidAccesses::default(),
        })
    }

    /// The view that native code needs.
    #[inline]
    pub fn raw(&self) -> RawRegion {
        RawRegion {
            base: self.bytes.start().as_ptr(),
            sharers: self.sharers.start().as_ptr().cast(),
            writers: self.writers.start().as_ptr().cast(),
            moves: self.moves.raw(),
            lines: LineForm::of(&self.transfers),
            crowded: self.crowded.as_ref().map_or(RawCrowd::NONE, Crowded::raw),
        }
    }

    /// Where the word of the line of an address would be, if that is in the region.
    pub(crate) fn word_of(&self, at: Ea) -> *const u64 {
        let line = self.line_at(at.0.wrapping_sub(BASE));
        self.sharers.start().as_ptr().cast::<u64>().wrapping_add(line as usize)
    }

    /// The words that stand for `cpu`.
    #[inline]
    pub fn key(&self, cpu: CpuId) -> HolderKey {
        self.transfers.key(cpu)
    }

    /// By a line's entry among the writers, the price for `cpu` to get it from there, if emitted code may move lines
    /// itself. Free ones are none.
    #[inline]
    pub(crate) fn prices_to(&self, cpu: CpuId) -> Option<&[u32]> {
        self.transfers.prices_to(cpu)
    }

    /// The offset of the end of everything allocated.
    #[inline]
    pub fn high_water(&self) -> u64 {
        self.high_water
    }

    /// Bytes of address space.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Invalid accesses so far.
    pub fn invalid(&self) -> InvalidAccesses {
        self.invalid
    }

    /// The offset of bytes that are all in bounds.
    #[inline]
    fn inside(&self, at: Ea, len: u64) -> Option<u64> {
        let off = at.0.wrapping_sub(BASE);
        let end = self.high_water();
        (len <= end && off <= end - len && self.is_backed(off, len)).then_some(off)
    }

    /// Returns whether none of these bytes is in an unbacked page of the arena.
    #[inline]
    pub(crate) fn is_backed(&self, off: u64, len: u64) -> bool {
        self.window.as_ref().is_none_or(|window| window.allows(off, len))
    }

    /// The bounds of the arena, if there is one.
    pub(crate) fn arena_bounds(&self) -> std::ops::Range<u64> {
        match self.window {
            Some(_) => BASE + WINDOW_AT..BASE + WINDOW_AT + WINDOW_BYTES,
            None => 0..0,
        }
    }

    /// Returns whether it is an address in the arena or its guards.
    pub(crate) fn is_arena(&self, at: Ea) -> bool {
        self.window.is_some() && Window::covers(at.0.wrapping_sub(BASE))
    }

    /// Copies `len` bytes within the region, even if they overlap. If any of them is out of bounds or the target is
    /// read-only, does nothing and returns false.
    #[inline]
    pub fn copy(&mut self, from: Ea, to: Ea, len: u64) -> bool {
        let Some(from) = self.inside(from, len) else { return false };
        let base = self.bytes.start().as_ptr();
        let Some(to) = self.slice_mut(to, len) else { return false };
        // SAFETY: `from` and its `len` bytes are in bounds, and so is `to`; `ptr::copy` allows
        // them to overlap.
        unsafe { std::ptr::copy(base.add(from as usize), to.as_mut_ptr(), len as usize) };
        true
    }

    /// The little-endian integer of `len` bytes (1 to 8) at `at`; out of bounds it is 0 and counted.
    #[inline]
    pub fn load(&mut self, at: Ea, len: u64) -> u64 {
        assert!((1..=8).contains(&len), "an integer has 1 to 8 bytes");
        let Some(bytes) = self.slice(at, len) else { return self.load_cold(at, len) };
        match *bytes {
            [a] => u64::from(a),
            [a, b] => u64::from(u16::from_le_bytes([a, b])),
            [a, b, c, d] => u64::from(u32::from_le_bytes([a, b, c, d])),
            [a, b, c, d, e, f, g, h] => u64::from_le_bytes([a, b, c, d, e, f, g, h]),
            _ => bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)),
        }
    }

    /// Stores the low `len` bytes (1 to 8) of `value`; if the target is out of bounds or read-only, the store is
    /// dropped and counted.
    #[inline]
    pub fn store(&mut self, at: Ea, len: u64, value: u64) {
        assert!((1..=8).contains(&len), "an integer has 1 to 8 bytes");
        match self.slice_mut(at, len) {
            Some(bytes) => match (len, value.to_le_bytes()) {
                (8, word) => bytes.copy_from_slice(&word),
                (4, [a, b, c, d, ..]) => bytes.copy_from_slice(&[a, b, c, d]),
                (_, word) => bytes.copy_from_slice(&word[..len as usize]),
            },
            None => self.store_cold(at, len, value),
        }
    }

    /// A load that is out of bounds: counted, and reads 0.
    #[cold]
    pub fn load_cold(&mut self, _at: Ea, _len: u64) -> u64 {
        self.invalid.loads += 1;
        0
    }

    /// A store that is out of bounds: counted, and dropped.
    #[cold]
    pub fn store_cold(&mut self, _at: Ea, _len: u64, _value: u64) {
        self.invalid.stores += 1;
    }

    /// Picoseconds that `cpu` waits for the lines of these bytes, which it then holds. Bytes out of bounds have no
    /// lines.
    #[inline]
    pub fn touch_ps(&mut self, at: Ea, len: u64, cpu: CpuId, write: bool) -> u64 {
        self.inside(at, len).map_or(0, |off| self.touch_inside_ps(off, len, cpu, write))
    }

    /// The same for bytes at an offset that are in bounds.
    #[inline]
    fn touch_inside_ps(&mut self, off: u64, len: u64, cpu: CpuId, write: bool) -> u64 {
        if len == 0 {
            return 0;
        }
        let (first, last) = (self.line_at(off), self.line_at(off + len - 1));
        let price = self.hold_line_ps(first, cpu, write);
        if first == last { price } else { price + self.hold_lines_ps(first + 1, last, cpu, write) }
    }

    /// Like `touch_ps` for four bytes that are written.
    #[inline(always)]
    pub(super) fn touch_word_ps(&mut self, at: Ea, cpu: CpuId) -> u64 {
        const BYTES: u64 = 4;
        // A word is in one line.
        match at.0.is_multiple_of(BYTES) && self.plain.holds(at, BYTES) {
            true => self.hold_line_ps(self.line_at(at.0.wrapping_sub(BASE)), cpu, true),
            false => self.touch_anywhere_ps(at, BYTES, cpu),
        }
    }

    /// Like `touch_word_ps` where that is usual: the CPU holds the line, or it comes from its last writer. Otherwise
    /// does nothing.
    #[inline(always)]
    pub(super) fn touch_word_at_once(&mut self, at: Ea, cpu: CpuId) -> Option<u64> {
        const BYTES: u64 = 4;
        if !at.0.is_multiple_of(BYTES) || !self.plain.holds(at, BYTES) {
            return None;
        }
        let line = self.line_at(at.0.wrapping_sub(BASE));
        // SAFETY: as in `hold_line_ps`.
        let sharers = unsafe { *self.sharers.start().as_ptr().cast::<u64>().add(line as usize) };
        if sharers == self.transfers.key(cpu).alone {
            return Some(0);
        }
        match self.watch.is_none() && self.crowded.is_none() {
            true => self.move_from_writer_ps(line, cpu, true),
            false => None,
        }
    }

    #[cold]
    #[inline(never)]
    fn touch_anywhere_ps(&mut self, at: Ea, len: u64, cpu: CpuId) -> u64 {
        self.touch_ps(at, len, cpu, true)
    }

    #[cold]
    fn hold_lines_ps(&mut self, first: u64, last: u64, cpu: CpuId, write: bool) -> u64 {
        (first..=last).map(|line| self.hold_line_ps(line, cpu, write)).sum()
    }

    /// Picoseconds that `cpu` waits for the line of the byte at `at`.
    #[inline]
    pub fn touch_line_ps(&mut self, at: Ea, cpu: CpuId, write: bool) -> u64 {
        self.inside(at, 1).map_or(0, |off| self.hold_line_ps(self.line_at(off), cpu, write))
    }

    /// Picoseconds that `cpu` waits for the line of the byte at `at`, which it changes by an atomic instruction at
    /// `now`: the time that the line takes, after earlier requests have been served.
    #[inline]
    pub fn touch_atomically_ps(&mut self, at: Ea, cpu: CpuId, now: Instant) -> u64 {
        let Some(off) = self.inside(at, 1) else { return 0 };
        let line = self.line_at(off);
        if self.holds(line, cpu, true) { 0 } else { self.move_line_atomically_ps(line, cpu, now) }
    }

    #[inline(never)]
    fn move_line_atomically_ps(&mut self, line: u64, cpu: CpuId, now: Instant) -> u64 {
        match self.move_line_ps(line, cpu, true) {
            0 => 0,
            transfer_ps => {
                let moved = self.moves.of(line);
                let price_ps = moved.transit.queue_ps(transfer_ps, now);
                moved.stall_ps += price_ps - transfer_ps;
                if let Some(watch) = &mut self.watch {
                    watch.waited(price_ps - transfer_ps);
                }
                price_ps
            }
        }
    }

    /// Starts race detection.
    pub(crate) fn start_races(&mut self) {
        self.races = Some(Box::default());
    }

    /// The races, if they are detected.
    #[inline]
    pub(crate) fn races(&mut self) -> Option<&mut Races> {
        self.races.as_deref_mut()
    }

    /// Like [`Region::races`], for reading.
    pub(crate) fn races_ref(&self) -> Option<&Races> {
        self.races.as_deref()
    }

    /// Starts recording which code takes lines from others.
    pub(crate) fn start_watch(&mut self) {
        let log2 = self.transfers.line_log2();
        self.watch = Some(Box::new(LineWatch::new(self.transfers.topology().cpus(), log2)));
    }

    /// Which code takes lines from others, if that is recorded.
    #[inline]
    pub(crate) fn watch(&mut self) -> Option<&mut LineWatch> {
        self.watch.as_deref_mut()
    }

    /// Which code took lines from others; empty if that is not recorded.
    pub(crate) fn watched(&self) -> impl Iterator<Item = (Watched, Blamed)> {
        self.watch.iter().flat_map(|watch| watch.moved())
    }

    /// The lines that moved, by the address of their first byte, and the cost.
    pub fn moved(&self) -> impl Iterator<Item = (Ea, LineUse)> + '_ {
        let log2 = self.transfers.line_log2();
        let counted =
            |line| self.crowded.as_ref().map_or(LineUse::default(), |crowded| crowded.counted(line));
        self.moves.sorted(counted).into_iter().map(move |(line, uses)| (Ea(BASE + (line << log2)), uses))
    }

    /// The state of the line of the byte at `at`; untouched if that is out of bounds.
    pub fn line(&self, at: Ea) -> Line {
        let Some(off) = self.inside(at, 1) else { return Line::default() };
        // SAFETY: both tables have an entry for every line of the region.
        unsafe {
            let line = self.line_at(off) as usize;
            let sharers = *self.sharers.start().as_ptr().cast::<u64>().add(line);
            line_of(sharers, *self.writers.start().as_ptr().cast::<u16>().add(line))
        }
    }

    #[inline]
    const fn line_at(&self, off: u64) -> u64 {
        off >> self.transfers.line_log2()
    }

    /// Like native code, checks only the sharers: a CPU that already holds the line in this way waits for nothing and
    /// changes nothing. `line` is below the high-water mark.
    #[inline]
    fn hold_line_ps(&mut self, line: u64, cpu: CpuId, write: bool) -> u64 {
        if self.holds(line, cpu, write) { 0 } else { self.move_line_ps(line, cpu, write) }
    }

    /// Returns whether the CPU holds a line in this way. `line` is below the high-water mark.
    #[inline]
    fn holds(&self, line: u64, cpu: CpuId, write: bool) -> bool {
        // SAFETY: the table has an entry for every line of the region.
        let sharers = unsafe { *self.sharers.start().as_ptr().cast::<u64>().add(line as usize) };
        let key = self.transfers.key(cpu);
        if write { sharers == key.alone } else { sharers & key.shared != 0 }
    }

    /// Picoseconds that `cpu` waits for the line of the byte at an offset that is in bounds, given that it does not
    /// hold the line in this way.
    #[inline]
    pub(crate) fn take_line_ps(&mut self, off: u64, cpu: CpuId, write: bool) -> u64 {
        assert!(off < self.high_water(), "the line is one of the region's");
        self.move_line_ps(self.line_at(off), cpu, write)
    }

    /// Like `take_line_ps` for a line by its number, in a region without an arena; `None` if it has one.
    #[inline]
    pub(crate) fn take_numbered_line_ps(&mut self, line: u64, cpu: CpuId, write: bool) -> Option<u64> {
        if self.window.is_some() {
            return None;
        }
        assert!(line << self.transfers.line_log2() < self.high_water(), "the line is one of the region's");
        Some(self.move_line_ps(line, cpu, write))
    }

    #[inline(never)]
    fn move_line_ps(&mut self, at: u64, cpu: CpuId, write: bool) -> u64 {
        if self.watch.is_none()
            && self.crowded.is_none()
            && let Some(price_ps) = self.move_from_writer_ps(at, cpu, write)
        {
            return price_ps;
        }
        self.move_rarely_ps(at, cpu, write)
    }

    #[inline(never)]
    fn move_rarely_ps(&mut self, at: u64, cpu: CpuId, write: bool) -> u64 {
        match self.watch.is_some() || self.crowded.is_some() {
            true => self.move_line_and_tell_ps(at, cpu, write),
            false => match self.move_between_groups_ps(at, cpu, write) {
                Some(price_ps) => price_ps,
                None => self.move_anyhow_ps(at, cpu, write),
            },
        }
    }

    #[cold]
    #[inline(never)]
    fn move_anyhow_ps(&mut self, at: u64, cpu: CpuId, write: bool) -> u64 {
        self.move_only_ps(at, cpu, write).1
    }

    /// Like `move_from_writer_ps` where a bit may stand for several CPUs.
    #[inline(always)]
    fn move_between_groups_ps(&mut self, at: u64, cpu: CpuId, write: bool) -> Option<u64> {
        // SAFETY: as in `move_only_ps`.
        let (sharers, writer) = unsafe {
            let sharers = self.sharers.start().as_ptr().cast::<u64>().add(at as usize);
            (sharers, self.writers.start().as_ptr().cast::<u16>().add(at as usize))
        };
        // SAFETY: the same.
        let mut line = unsafe { line_of(*sharers, *writer) };
        let moved = self.moves.known(at)?;
        let price_ps = self.transfers.moved_ps(&mut line, &self.transfers.holder(cpu), write)?;
        // SAFETY: the same.
        unsafe { (*sharers, *writer) = entries_of(line) };
        if price_ps > 0 {
            moved.count(price_ps);
        }
        Some(price_ps)
    }

    /// Moves a line that its last writer still has, and that has moved before, for a price, if a bit stands for one
    /// CPU; otherwise does nothing. As emitted code does.
    #[inline(always)]
    fn move_from_writer_ps(&mut self, at: u64, cpu: CpuId, write: bool) -> Option<u64> {
        if self.transfers.holders().grouped() {
            return None;
        }
        let prices = self.prices_to(cpu)?;
        // SAFETY: as in `move_only_ps`.
        let (sharers, writer) = unsafe {
            let sharers = self.sharers.start().as_ptr().cast::<u64>().add(at as usize);
            (sharers, self.writers.start().as_ptr().cast::<u16>().add(at as usize))
        };
        // SAFETY: the same.
        let (word, from) = unsafe { (*sharers, *writer) };
        // A bit stands for one CPU, and a CPU gets its own lines for nothing, as those that nobody has.
        let price = *prices.get(usize::from(from)).filter(|&&price| price > 0)?;
        let key = self.transfers.key(cpu);
        debug_assert!(u32::from(from) != cpu.0 + 1 && key.shared == 1 << cpu.0, "it is another CPU's");
        debug_assert!(word >> (from - 1) & 1 != 0, "no line is evicted, so its last writer has it");
        self.moves.known(at)?.count(price.into());
        // SAFETY: the same.
        unsafe {
            *sharers = if write { key.alone } else { word | key.shared };
            if write {
                *writer = entry_of(cpu.0 as u16);
            }
        }
        Some(price.into())
    }

    /// What the line was before, and the price.
    #[inline(always)]
    fn move_only_ps(&mut self, at: u64, cpu: CpuId, write: bool) -> (Line, u64) {
        // SAFETY: `at` is below the high-water mark, and both tables have an entry for every
        // line of the region; no other reference to the entries is alive.
        let (sharers, writer) = unsafe {
            let sharers = self.sharers.start().as_ptr().cast::<u64>().add(at as usize);
            let writer = self.writers.start().as_ptr().cast::<u16>().add(at as usize);
            (&mut *sharers, &mut *writer)
        };
        // Early, so that this processor has fetched it by the time it is written.
        let moved = self.moves.of(at);
        let before = line_of(*sharers, *writer);
        let mut line = before;
        let price = match write {
            _ if before.sharers == 0 => self.transfers.first_ps(&mut line, cpu),
            true => self.transfers.write_ps(&mut line, cpu),
            false => self.transfers.read_ps(&mut line, cpu),
        };
        (*sharers, *writer) = entries_of(line);
        if price > 0 {
            moved.count(price);
        }
        (before, price)
    }

    /// Like `move_only_ps` where a profile is kept, or lines crowd each other out of caches.
    #[inline(never)]
    fn move_line_and_tell_ps(&mut self, at: u64, cpu: CpuId, write: bool) -> u64 {
        let (before, price) = self.move_only_ps(at, cpu, write);
        let me = self.transfers.key(cpu).shared;
        if let Some(watch) = &mut self.watch {
            watch.took(&self.transfers, (at, before), cpu, write, price);
        }
        let Some(crowded) = &mut self.crowded else { return price };
        if write {
            crowded.lost(at, before.sharers & !me);
        }
        if before.sharers & me == 0 {
            // SAFETY: the table has an entry for every line below the high-water mark, where all that
            // crowd each other lie; no other reference to one of them is alive.
            let all = unsafe {
                std::slice::from_raw_parts_mut(
                    self.sharers.start().as_ptr().cast::<u64>(),
                    crowded.end() as usize,
                )
            };
            crowded.fetched(at, cpu, all, self.transfers.holders());
        }
        price
    }
}

/// A line as the tables say: a line that no CPU has held has 0 among the writers ([`RawRegion::writers`]).
#[inline(always)]
const fn line_of(sharers: u64, entry: u16) -> Line {
    Line { sharers, writer: entry.saturating_sub(1) }
}

/// A line that some CPU has held, as the tables say it.
#[inline(always)]
const fn entries_of(line: Line) -> (u64, u16) {
    (line.sharers, entry_of(line.writer))
}

/// What the table of writers has for one.
#[inline(always)]
const fn entry_of(writer: u16) -> u16 {
    writer + 1
}
