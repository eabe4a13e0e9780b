//! Address spaces: pages that processes share after a fork until one of them writes.
//!
//! If a page is written while another process still shares it, the writer copies it; its last user only makes it
//! writable again. So which process pays, and for how many pages, depends on which runs first. Both touch cache lines
//! that move between their CPUs: each page's count, and the tables and areas of an address space that is built on one
//! CPU and torn down on another. `stock.rs` has the memory for these, and what all processes share.

use crate::state::cost::{Bus, Costs, KernelLines};
use crate::state::machine::Machine;
use crate::state::objects::stock::Stocks;
use keel_abi::CpuId;
use keel_abi::lines::{Line, Transfers};
use std::ops::Range;

/// Page table entries per cache line.
const ENTRIES_PER_LINE: u64 = 8;

/// A page's size in KiB.
const PAGE_KB: u64 = 4;

/// An address space, by its index in [`Memory`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MmId(u32);

/// All address spaces and pages.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    spaces: Vec<Space>,
    free_spaces: Vec<u32>,
    pages: Vec<Page>,
    /// The last freed page is used first, as in the kernel, because it is still in the cache.
    free_pages: Vec<u32>,
    stocks: Stocks,
}

#[derive(Debug, Default)]
struct Space {
    users: u32,
    /// Stands for each of its lines: areas, files and page tables.
    line: Line,
    /// The line that a fault writes.
    head: Line,
    table: Vec<Entry>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    page: u32,
    /// It may be written without a fault.
    writable: bool,
}

#[derive(Debug, Default)]
struct Page {
    /// The number of address spaces that have it.
    sharers: u32,
    count: Line,
    /// Stands for each of its lines.
    content: Line,
}

/// The CPU whose step is charged, and its costs.
#[derive(Clone, Copy)]
pub(crate) struct On<'a> {
    pub(crate) costs: &'a Costs,
    pub(crate) transfers: &'a Transfers,
    pub(crate) bus: &'a Bus,
    pub(crate) cpu: CpuId,
}

impl<'a> On<'a> {
    pub(crate) fn new(machine: &'a Machine, lines: &'a KernelLines, bus: &'a Bus, cpu: CpuId) -> Self {
        Self { costs: &machine.costs, transfers: lines.transfers(), bus, cpu }
    }
}

impl Memory {
    /// An address space with this many pages of its own, as if created before the run began. `line` is the initial
    /// state of each of its lines.
    pub(crate) fn create(&mut self, pages: u32, line: Line) -> MmId {
        let table = (0..pages).map(|_| self.new_entry(line)).collect();
        self.add(Space { users: 1, line, head: line, table })
    }

    /// Another task uses it.
    pub(crate) fn join(&mut self, mm: MmId) {
        self.spaces[mm.0 as usize].users += 1;
    }

    /// `fork()`: a new address space that shares every page. Its price is in picoseconds.
    pub(crate) fn fork(&mut self, mm: MmId, on: On<'_>) -> (MmId, u64) {
        let parent = &mut self.spaces[mm.0 as usize];
        let pages = parent.table.len();
        let mut ps = on.transfers.write_ps(&mut parent.head, on.cpu);
        if pages > 0 {
            ps += self.stocks.begin(pages, on);
        }
        for entry in &mut parent.table {
            entry.writable = false;
            let page = &mut self.pages[entry.page as usize];
            page.sharers += 1;
            ps += on.costs.page_share_ns * 1000 + on.transfers.write_ps(&mut page.count, on.cpu);
        }
        let table = parent.table.clone();
        let mut line = Line::default();
        on.transfers.write_ps(&mut line, on.cpu);
        (self.add(Space { users: 1, line, head: line, table }), ps)
    }

    /// Drops one user; the last one frees the pages. The price is in picoseconds; without pages, memory is not modelled
    /// and the price is 0.
    pub(crate) fn leave(&mut self, mm: MmId, on: On<'_>) -> u64 {
        let space = &mut self.spaces[mm.0 as usize];
        space.users -= 1;
        if space.users > 0 {
            let counts = !space.table.is_empty();
            return if counts { on.transfers.write_ps(&mut space.head, on.cpu) } else { 0 };
        }
        let mut space = std::mem::take(space);
        self.free_spaces.push(mm.0);
        let pages = space.table.len();
        if pages == 0 {
            return 0;
        }
        let lines = lines_of(on.costs.process_bytes, on) + (pages as u64).div_ceil(ENTRIES_PER_LINE);
        let mut ps = lines * on.transfers.write_ps(&mut space.line, on.cpu) + self.stocks.end(pages, on);
        for entry in space.table {
            ps += on.costs.page_release_ns * 1000 + self.release(entry.page, on);
        }
        ps
    }

    /// A task leaves `old` and gets an empty address space instead. The price is in picoseconds.
    pub(crate) fn replace(&mut self, old: MmId, on: On<'_>) -> (MmId, u64) {
        let counts = !self.spaces[old.0 as usize].table.is_empty();
        let mut ps = self.leave(old, on);
        if counts {
            ps += self.stocks.begin(0, on);
        }
        (self.create(0, on.transfers.line_of(on.cpu)), ps)
    }

    /// Writes the pages of `numbers`, up to and including the first that has to be copied: other processes that share
    /// these pages may be writing them at the same time. Returns the price in picoseconds, and the first page left to
    /// write.
    pub(crate) fn write(&mut self, mm: MmId, numbers: Range<u32>, on: On<'_>) -> (u64, u32) {
        let mut ps = 0;
        for number in numbers.clone() {
            ps += match self.spaces[mm.0 as usize].table.get(number as usize).copied() {
                None => self.fault_in(mm, on),
                Some(entry) if self.pages[entry.page as usize].sharers > 1 => {
                    return (ps + self.copy(mm, number as usize, on), number + 1);
                }
                Some(entry) => self.store(mm, number as usize, entry, on),
            };
        }
        (ps, numbers.end)
    }

    fn fault_in(&mut self, mm: MmId, on: On<'_>) -> u64 {
        let mut entry = self.new_entry(Line::default());
        entry.writable = true;
        let page = &mut self.pages[entry.page as usize];
        let ps = on.transfers.write_ps(&mut page.count, on.cpu);
        on.transfers.write_ps(&mut page.content, on.cpu);
        let space = &mut self.spaces[mm.0 as usize];
        space.table.push(entry);
        ps + on.costs.page_fault_ns * 1000 + on.transfers.write_ps(&mut space.head, on.cpu)
    }

    fn copy(&mut self, mm: MmId, number: usize, on: On<'_>) -> u64 {
        let old = self.spaces[mm.0 as usize].table[number].page;
        let from = &mut self.pages[old as usize].content;
        let from_away = on.transfers.read_ps(from, on.cpu) > 0;
        let mut ps = (on.costs.write_fault_ns + on.costs.page_copy_ns) * 1000;
        ps += self.release(old, on);
        let mut entry = self.new_entry(Line::default());
        entry.writable = true;
        // The new page is the last freed one, possibly freed by another CPU, which then has its lines.
        let into_away = on.transfers.write_ps(&mut self.pages[entry.page as usize].content, on.cpu) > 0;
        let fetched = u64::from(from_away) + u64::from(into_away);
        ps += on.bus.slowed_ns(on.cpu, fetched * PAGE_KB * on.costs.memory_kb_ns) * 1000;
        let space = &mut self.spaces[mm.0 as usize];
        space.table[number] = entry;
        ps + on.transfers.write_ps(&mut space.head, on.cpu)
    }

    fn store(&mut self, mm: MmId, number: usize, entry: Entry, on: On<'_>) -> u64 {
        let page = &mut self.pages[entry.page as usize];
        let mut ps = on.transfers.write_ps(&mut page.content, on.cpu);
        if !entry.writable {
            let space = &mut self.spaces[mm.0 as usize];
            space.table[number].writable = true;
            ps += on.costs.write_fault_ns * 1000 + on.transfers.read_ps(&mut page.count, on.cpu);
            ps += on.transfers.write_ps(&mut space.head, on.cpu);
        }
        ps
    }

    fn release(&mut self, number: u32, on: On<'_>) -> u64 {
        let page = &mut self.pages[number as usize];
        page.sharers -= 1;
        if page.sharers == 0 {
            self.free_pages.push(number);
        }
        on.transfers.write_ps(&mut page.count, on.cpu)
    }

    /// An entry with a page of its own. The lines of a reused page stay where its last user left them.
    fn new_entry(&mut self, line: Line) -> Entry {
        let page = self.free_pages.pop().unwrap_or_else(|| {
            self.pages.push(Page { sharers: 0, count: line, content: line });
            self.pages.len() as u32 - 1
        });
        self.pages[page as usize].sharers = 1;
        Entry { page, writable: true }
    }

    fn add(&mut self, space: Space) -> MmId {
        match self.free_spaces.pop() {
            Some(free) => {
                self.spaces[free as usize] = space;
                MmId(free)
            }
            None => {
                self.spaces.push(space);
                MmId(self.spaces.len() as u32 - 1)
            }
        }
    }
}

/// The number of cache lines that `bytes` take.
pub(crate) fn lines_of(bytes: u64, on: On<'_>) -> u64 {
    bytes.div_ceil(1 << on.transfers.line_log2())
}

#[cfg(test)]
mod tests;
