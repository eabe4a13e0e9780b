//! `ARENA`: pages that a program allocates, at addresses that user space would use (`kernel/bpf/arena.c`).
//!
//! A pointer in memory is a user-space address; `addr_space_cast` converts it to the address for loads and stores.
//! Without user space, only the loader ever faults a page in, for global variables. Otherwise the pages belong to a
//! file that user space has mapped, and its supervisor reports which of them it has touched.

use super::pages::FreePages;
use super::plan::Plan;
use super::{MapError, kinds};
use crate::memory::{BASE, PAGE_BYTES, Region, WINDOW_AT, WINDOW_BYTES};
use keel_abi::bpf::{Ea, Errno};
use keel_object::MapDef;

/// Where `mmap()` would put an arena whose definition names no address; the kernel's choice differs from run to run.
const USUAL_START: u64 = 0x7f00 << 32;

/// The user-space address of an arena's first page.
fn user_start(def: &MapDef) -> u64 {
    if def.extra == 0 { USUAL_START } else { def.extra }
}

/// The high half of user-space addresses, which `addr_space_cast` sets; `None` if the map is not an arena.
pub(crate) fn user_half(def: &MapDef) -> Option<u64> {
    let converts = def.flags & kinds::NO_USER_CONV == 0;
    (def.kind == kinds::ARENA).then(|| if converts { user_start(def) >> 32 << 32 } else { 0 })
}

/// The address at which loads and stores find user space's address with this low half.
pub(crate) const fn kernel_address(user: u64) -> u64 {
    BASE + WINDOW_AT + (user & 0xffff_ffff)
}

/// An arena.
pub(super) struct Arena {
    /// The user-space address of the first page.
    start: u64,
    /// How many pages it may have.
    pages: u64,
    free: FreePages,
    /// The offset of global variables in the arena, and their size.
    data: u64,
    data_len: u64,
}

impl Arena {
    /// `arena_map_alloc()`, and what libbpf does next: global variables are in the last pages.
    pub(super) fn new(plan: &Plan<'_>, region: &mut Region) -> Result<Self, MapError> {
        let def = plan.def;
        plan.require(def.key_size == 0 && def.value_size == 0, "an arena has neither key nor value")?;
        plan.require(def.max_entries > 0, "max_entries is 0")?;
        plan.require(def.flags & kinds::MMAPABLE != 0, "an arena needs BPF_F_MMAPABLE")?;
        let known = kinds::MMAPABLE | kinds::SEGV_ON_FAULT | kinds::NO_USER_CONV;
        plan.require(def.flags & !known == 0, "it has flags that arenas do not take")?;
        plan.require(def.extra.is_multiple_of(PAGE_BYTES), "map_extra is no address of a page")?;
        let bytes = u64::from(def.max_entries) * PAGE_BYTES;
        plan.require(bytes <= WINDOW_BYTES, "an arena has at most 4 GiB")?;
        let (start, pages) = (user_start(def), u64::from(def.max_entries));
        let last = start.checked_add(bytes - 1);
        plan.require(last.is_some_and(|last| last >> 32 == start >> 32), "it crosses a multiple of 4 GiB")?;
        // A program that maps it puts global variables wherever it likes, and initializes them itself.
        let data_len = if def.is_shared { bytes } else { def.initial.len() as u64 };
        let data = bytes.checked_sub(data_len.next_multiple_of(PAGE_BYTES));
        let data = data.ok_or_else(|| plan.too_large(data_len))?;
        let mut arena = Self { start, pages, free: FreePages::new(pages), data, data_len };
        if data_len > 0 && !def.is_shared {
            arena.back(region, data / PAGE_BYTES, data_len.div_ceil(PAGE_BYTES));
            let buffer = region.slice_mut(arena.kernel(data), data_len);
            buffer.expect("its pages are backed").copy_from_slice(&def.initial);
        }
        Ok(arena)
    }

    /// The address at which loads and stores find a byte of the arena.
    fn kernel(&self, off: u64) -> Ea {
        Ea(kernel_address(self.start + off))
    }

    /// The number in the window of a page of the arena.
    fn in_window(&self, page: u64) -> u64 {
        (self.start & 0xffff_ffff) / PAGE_BYTES + page
    }

    /// Its pages in the window: the first one's number, and their count.
    pub(super) fn window_pages(&self) -> (u64, u64) {
        (self.in_window(0), self.pages)
    }

    /// User space has touched these pages of the arena (`arena_vm_fault()`): free pages are allocated, with user
    /// space's contents.
    pub(super) fn touch(&mut self, region: &mut Region, first: u64, count: u64) {
        for page in first..first.saturating_add(count).min(self.pages) {
            if self.free.are_free(page, 1) {
                self.free.take(page, 1);
                region.keep_page(self.in_window(page));
            }
        }
    }

    fn back(&mut self, region: &mut Region, first: u64, count: u64) {
        self.free.take(first, count);
        region.back_pages(self.in_window(first), count);
    }

    /// `compute_pgoff()`: the page of an address; only the low half counts.
    fn page_of(&self, at: u64) -> u64 {
        (at.wrapping_sub(self.start) & 0xffff_ffff) / PAGE_BYTES
    }

    /// The user-space address of the byte `offset` of the global variables, as `ld_imm64` gives it.
    pub(super) fn variable_address(&self, offset: u32, len: u32) -> Option<Ea> {
        let fits = u64::from(offset) + u64::from(len) <= self.data_len;
        fits.then(|| Ea(self.start + self.data + u64::from(offset)))
    }

    /// The address at which the loader reads and writes a variable.
    pub(super) fn variable(&self, offset: u32, len: u32) -> Option<Ea> {
        self.variable_address(offset, len).map(|at| Ea(kernel_address(at.0)))
    }

    /// `bpf_arena_alloc_pages()`: the user-space address of `count` consecutive zeroed pages, at `at` unless that is
    /// null; `None` if there are none.
    pub(super) fn alloc(&mut self, region: &mut Region, at: Ea, count: u32) -> Option<Ea> {
        let count = u64::from(count);
        if count == 0 || count > self.pages {
            return None;
        }
        let first = if at.is_null() {
            self.free.find(count)?
        } else {
            let first = self.page_of(at.0);
            let fits = at.0.is_multiple_of(PAGE_BYTES) && first <= self.pages - count;
            Some(first).filter(|&first| fits && self.free.are_free(first, count))?
        };
        self.back(region, first, count);
        Some(Ea(self.start + first * PAGE_BYTES))
    }

    /// `bpf_arena_free_pages()`: frees pages at once, while the kernel does it a little later for programs that may not
    /// sleep. Pages that are not allocated are ignored; reserved pages can be allocated again. Returns the number of
    /// newly free pages.
    pub(super) fn free(&mut self, region: &mut Region, at: Ea, count: u32) -> u64 {
        let low = at.0 & 0xffff_ffff & !(PAGE_BYTES - 1);
        let user = self.start >> 32 << 32 | low;
        let end = self.start + self.pages * PAGE_BYTES;
        let until = end.min(user.saturating_add(u64::from(count) * PAGE_BYTES));
        if at.is_null() || user < self.start || user >= until {
            return 0;
        }
        let (first, count) = (self.page_of(low), (until - user) / PAGE_BYTES);
        self.free.give(first, count);
        region.unback_pages(self.in_window(first), count)
    }

    /// `bpf_arena_reserve_pages()`: these pages are not allocated unless asked for.
    ///
    /// # Errors
    /// EINVAL if the pages are beyond the arena's end, EBUSY if some are not free.
    pub(super) fn reserve(&mut self, at: Ea, count: u32) -> Result<(), Errno> {
        let first = self.page_of(at.0);
        if count == 0 || !at.0.is_multiple_of(PAGE_BYTES) {
            return Ok(());
        }
        if first + u64::from(count) > self.pages {
            return Err(Errno::EINVAL);
        }
        if !self.free.are_free(first, u64::from(count)) {
            return Err(Errno::EBUSY);
        }
        self.free.take(first, u64::from(count));
        Ok(())
    }
}
