//! The placement of objects and areas in the region, and which of them are live.
#![allow(unsafe_code)]

use super::{Limits, Plain, Region};
use crate::memory::heap::{Heap, MAX_SMALL, SPAN_BYTES};
use crate::memory::window::{self, WINDOW_AT, WINDOW_BYTES};
use crate::memory::{BASE, HUGE_BYTES, PAGE_BYTES};
use keel_abi::bpf::{Ea, InvalidPlace};
use keel_abi::lines::LINE_BYTES;
use std::io;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;

impl Region {
    pub(super) fn raise(&mut self, end: u64) {
        debug_assert!(end <= self.capacity, "a place is in the region");
        if end > self.high_water() {
            self.high_water = end;
            self.note_plain();
            let limits = self.current_limits();
            for copy in &self.limits {
                // SAFETY: it is valid until it is forgotten, and native code does not run while `self` is in use.
                unsafe { copy.write(limits) };
            }
        }
    }

    fn current_limits(&self) -> Limits {
        [1, 2, 4, 8].map(|bytes| self.high_water() - bytes)
    }

    /// Sets these limits, here and whenever the region grows, until [`Region::forget_limits`].
    ///
    /// # Safety
    /// Until then they stay where they are, and nobody uses a reference to them while the region may grow.
    pub(crate) unsafe fn keep_limits(&mut self, limits: NonNull<Limits>) {
        // SAFETY: as above.
        unsafe { limits.write(self.current_limits()) };
        self.limits.push(limits);
    }

    /// No limits are kept up to date any more.
    pub(crate) fn forget_limits(&mut self) {
        self.limits.clear();
    }

    /// The end of allocated memory, or the beginning of writable memory, has changed.
    fn note_plain(&mut self) {
        let behind = if self.window.is_some() { window::END } else { 0 };
        let from = self.writable_from.max(behind);
        self.plain = Plain::new(from, self.high_water());
        self.plain_start = self.bytes.start().as_ptr().wrapping_add(from as usize);
    }

    fn born(&mut self, off: u64, len: u64, writable: bool) -> Ea {
        self.raise(off + len);
        if let Some(live) = &mut self.live {
            live.add(off, len, writable);
        }
        Ea(BASE + off)
    }

    /// Memory that programs can only read, aligned to 64 bytes; `None` if it does not fit. Panics if the heap is
    /// already in use: read-only memory comes first.
    pub fn place_read_only(&mut self, len: u64) -> Option<Ea> {
        assert!(self.heap.is_unused(), "read-only memory is placed before the heap is used");
        let off = self.front.next_multiple_of(LINE_BYTES);
        let end = off.checked_add(len).filter(|&end| end <= self.heap_end)?;
        self.front = end;
        self.writable_from = end.next_multiple_of(SPAN_BYTES);
        self.heap = Heap::new(self.writable_from, self.heap_end);
        self.note_plain();
        Some(self.born(off, len, false))
    }

    /// Zeroed memory in the large zone, never freed, aligned to `align` (a power of two, at least 64); `None` if it
    /// does not fit.
    pub fn place(&mut self, len: u64, align: u64) -> Option<Ea> {
        assert!(align.is_power_of_two() && align >= LINE_BYTES, "lines have one owner");
        let off = self.top.checked_next_multiple_of(align)?;
        let end = off.checked_add(len).filter(|&end| end <= self.capacity)?;
        self.top = end;
        Some(self.born(off, len, true))
    }

    /// From now on these bytes, a whole number of pages, are those of a file.
    ///
    /// # Errors
    /// Fails if they are out of bounds, or with the host's message.
    pub fn share(&mut self, at: Ea, len: u64, file: BorrowedFd<'_>) -> io::Result<()> {
        let off = self.inside(at, len).ok_or_else(|| io::Error::other("out of bounds"))?;
        self.bytes.share(off, len, file)
    }

    /// From now on these pages of the window are those of a file.
    ///
    /// # Errors
    /// Fails if there is no window, or with the host's message.
    pub(crate) fn share_window(&mut self, first: u64, count: u64, file: BorrowedFd<'_>) -> io::Result<()> {
        let window = self.window.as_mut().ok_or_else(|| io::Error::other("there is no arena"))?;
        window.is_shared = true;
        self.bytes.share(WINDOW_AT + first * PAGE_BYTES, count * PAGE_BYTES, file)
    }

    /// Unbacks all pages of a shared window: their contents stay in the file. False if there is no such window.
    pub(crate) fn empty_shared_window(&mut self) -> bool {
        let Some(window) = self.window.as_mut().filter(|window| window.is_shared) else { return false };
        window.set(0, WINDOW_BYTES / PAGE_BYTES, false);
        let (line, lines) = (self.line_at(WINDOW_AT), self.line_at(WINDOW_BYTES));
        self.sharers.clear(line * size_of::<u64>() as u64, lines * size_of::<u64>() as u64);
        self.writers.clear(line * size_of::<u16>() as u64, lines * size_of::<u16>() as u64);
        true
    }

    /// Backs a page of a shared window with its present contents.
    pub(crate) fn keep_page(&mut self, page: u64) {
        self.window.as_mut().expect("the region has a window").set(page, 1, true);
    }

    /// Asks the host for huge pages under these bytes, and under the state of their lines beyond its first 2 MiB: that
    /// much is the state of 16 MiB.
    pub fn advise_huge(&self, at: Ea, len: u64) {
        let Some(off) = self.inside(at, len) else { return };
        self.bytes.advise_huge(off, len);
        let (first, lines) = (self.line_at(off), self.line_at(len));
        for (state, bytes) in [(&self.sharers, size_of::<u64>()), (&self.writers, size_of::<u16>())] {
            let (from, len) = (first * bytes as u64 + HUGE_BYTES, lines * bytes as u64);
            state.advise_huge(from, len.saturating_sub(HUGE_BYTES));
        }
    }

    /// Zeroed memory, aligned to a page and never freed; nothing when it does not fit. Huge pages back it beyond the
    /// first 2 MiB, so use it from its start and densely.
    pub fn reserve(&mut self, len: u64) -> Option<Ea> {
        if len < 2 * HUGE_BYTES {
            return self.place(len, PAGE_BYTES);
        }
        let at = self.place(len, HUGE_BYTES)?;
        self.advise_huge(Ea(at.0 + HUGE_BYTES), len - HUGE_BYTES);
        Some(at)
    }

    /// A zeroed object, aligned to 8 bytes, or to 64 if it is at least that long; `None` if it does not fit.
    pub fn alloc(&mut self, len: u64) -> Option<Ea> {
        let len = len.max(1);
        if len > MAX_SMALL {
            return self.alloc_large(len);
        }
        let (off, size) = self.heap.alloc(len)?;
        self.raise(off + size);
        let at = self.born(off, len, true);
        self.clear(at, size);
        self.forget_accesses(at, size);
        Some(at)
    }

    fn alloc_large(&mut self, len: u64) -> Option<Ea> {
        let size = len.checked_next_multiple_of(PAGE_BYTES)?;
        let freed = self.large_free.get_mut(&size).and_then(Vec::pop);
        let at = match freed {
            Some(off) => self.born(off, size, true),
            None => self.place(size, PAGE_BYTES)?,
        };
        self.large.insert(at.0 - BASE, size);
        if freed.is_some() {
            self.clear(at, size);
        }
        Some(at)
    }

    /// Clears memory even if there was no object before: a program may have written there by mistake.
    fn clear(&mut self, at: Ea, len: u64) {
        self.slice_mut_anyway(at, len).expect("the object was just placed").fill(0);
    }

    /// Frees an object from [`Region::alloc`]. Anything else is counted and ignored.
    pub fn free(&mut self, at: Ea) {
        let off = at.0.wrapping_sub(BASE);
        let known = if off < self.heap_end { self.heap.free(off) } else { self.free_large(off) };
        if !known {
            self.invalid.frees += 1;
            return;
        }
        if let Some(live) = &mut self.live {
            live.remove(off);
        }
    }

    fn free_large(&mut self, off: u64) -> bool {
        let size = self.large.remove(&off);
        size.map(|size| self.large_free.entry(size).or_default().push(off)).is_some()
    }

    /// Backs pages of the window, zeroed. Panics if the region has no window.
    pub(crate) fn back_pages(&mut self, first: u64, count: u64) {
        self.window.as_mut().expect("the region has a window").set(first, count, true);
        self.clear_head(first);
    }

    /// Only an access's first byte is checked, so one from the page before may have written here.
    fn clear_head(&mut self, page: u64) {
        self.bytes.clear(WINDOW_AT + page * PAGE_BYTES, 8);
    }

    /// Unbacks pages of the window: no CPU holds their lines any more, and their contents are gone. Returns how many
    /// were backed. Panics if the region has no window.
    pub(crate) fn unback_pages(&mut self, first: u64, count: u64) -> u64 {
        let changed = self.window.as_mut().expect("the region has a window").set(first, count, false);
        if changed == 0 {
            return 0;
        }
        let (off, len) = (WINDOW_AT + first * PAGE_BYTES, count * PAGE_BYTES);
        let (line, lines) = (self.line_at(off), self.line_at(len));
        self.forget_accesses(Ea(BASE + off), len);
        match self.window.as_ref().is_some_and(|window| window.is_shared) {
            true => self.bytes.punch(off, len),
            false => self.bytes.clear(off, len),
        }
        self.sharers.clear(line * size_of::<u64>() as u64, lines * size_of::<u64>() as u64);
        self.writers.clear(line * size_of::<u16>() as u64, lines * size_of::<u16>() as u64);
        if !self.is_backed(off + len, 1) {
            self.clear_head(first + count);
        }
        changed
    }

    /// Marks a placed area as not being one live object: its owner knows which parts of it are live.
    pub(crate) fn disown(&mut self, at: Ea) {
        if let Some(live) = &mut self.live {
            live.forget(at.0.wrapping_sub(BASE));
        }
    }

    /// What is at the address of an access for which [`Region::is_live`] is false.
    pub(crate) fn invalid_place(&self, at: Ea, len: u64) -> InvalidPlace {
        /// The most that a displacement adds.
        const NEAR: u64 = 64 << 10;
        let off = at.0.wrapping_sub(BASE);
        let ended = self.live.as_ref().is_some_and(|live| live.has_ended(off));
        match () {
            () if at.0.wrapping_add(NEAR / 2) < NEAR + NEAR / 2 => InvalidPlace::Null,
            () if self.is_arena(at) => InvalidPlace::Arena,
            () if self.is_live(at, len, false) => InvalidPlace::ReadOnly,
            () if ended => InvalidPlace::Freed,
            () => InvalidPlace::Nowhere,
        }
    }

    /// Returns whether all these bytes belong to one live object, which may be written if `write`. Without the checked
    /// mode: whether they are in bounds (and not read-only).
    pub fn is_live(&self, at: Ea, len: u64, write: bool) -> bool {
        let Some(off) = self.inside(at, len) else { return false };
        match &self.live {
            // The pages of an arena are one object.
            _ if self.is_arena(at) => true,
            Some(live) => live.covers(off, len, write),
            None => off >= if write { self.writable_from } else { PAGE_BYTES },
        }
    }
}
