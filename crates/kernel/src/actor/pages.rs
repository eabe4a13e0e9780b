//! Address spaces: pages that processes share after a fork until one of them writes.
//!
//! A page that is written while another process still has it is copied by the one that writes;
//! the last that has it only gets it back for writing. So who pays, and for how many pages, follows from
//! who runs first. What both sides touch are cache lines, which move between their CPUs: each
//! page's count, and the tables and areas of an address space that is built on one CPU and taken down on another.

use crate::cost::Costs;
use keel_abi::CpuId;
use keel_abi::lines::{Line, Transfers};

/// Lines of an address space beside those of its page table: its head and its areas.
const LINES: u64 = 8;
/// Entries of a page table in a line.
const ENTRIES_PER_LINE: u64 = 8;
/// KiB of a page.
const PAGE_KB: u64 = 4;

/// An address space, by its place in [`Memory`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MmId(u32);

/// All address spaces and pages.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    spaces: Vec<Space>,
    free_spaces: Vec<u32>,
    pages: Vec<Page>,
    /// Last freed, first used, as the kernel does for the cache's sake.
    free_pages: Vec<u32>,
}

#[derive(Debug, Default)]
struct Space {
    users: u32,
    /// Stands for each of its lines.
    line: Line,
    table: Vec<Entry>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    page: u32,
    /// May be written without a fault.
    writable: bool,
}

#[derive(Debug, Default)]
struct Page {
    /// Address spaces that have it.
    sharers: u32,
    count: Line,
    /// Stands for each of its lines.
    content: Line,
}

/// Whose step costs what.
#[derive(Clone, Copy)]
pub(crate) struct On<'a> {
    pub(crate) costs: &'a Costs,
    pub(crate) transfers: &'a Transfers,
    pub(crate) cpu: CpuId,
}

impl Memory {
    /// An address space with this many pages of its own, as before the run began.
    pub(crate) fn create(&mut self, pages: u32, cpu: CpuId) -> MmId {
        let line = Line { holders: keel_abi::lines::holder_bit(cpu), writer: cpu.0 as u16 };
        let table = (0..pages).map(|_| self.new_entry(line)).collect();
        self.add(Space { users: 1, line, table })
    }

    /// One more task uses it.
    pub(crate) fn join(&mut self, mm: MmId) {
        self.spaces[mm.0 as usize].users += 1;
    }

    /// `fork()`: a new address space that shares every page. Its price is in picoseconds.
    pub(crate) fn fork(&mut self, mm: MmId, on: On<'_>) -> (MmId, u64) {
        let parent = &mut self.spaces[mm.0 as usize];
        let mut ps = on.transfers.write_ps(&mut parent.line, on.cpu);
        for entry in &mut parent.table {
            entry.writable = false;
            let page = &mut self.pages[entry.page as usize];
            page.sharers += 1;
            ps += on.costs.page_share_ns * 1000 + on.transfers.write_ps(&mut page.count, on.cpu);
        }
        let table = parent.table.clone();
        let mut line = Line::default();
        on.transfers.write_ps(&mut line, on.cpu);
        (self.add(Space { users: 1, line, table }), ps)
    }

    /// One task less uses it; the last gives its pages up. The price is in picoseconds; where there is no
    /// page, nobody asked for memory to be modelled, and it is 0.
    pub(crate) fn leave(&mut self, mm: MmId, on: On<'_>) -> u64 {
        let space = &mut self.spaces[mm.0 as usize];
        space.users -= 1;
        if space.users > 0 {
            let counts = !space.table.is_empty();
            return if counts { on.transfers.write_ps(&mut space.line, on.cpu) } else { 0 };
        }
        let mut space = std::mem::take(space);
        self.free_spaces.push(mm.0);
        let table_lines = (space.table.len() as u64).div_ceil(ENTRIES_PER_LINE);
        let lines = if table_lines > 0 { LINES + table_lines } else { 0 };
        let mut ps = lines * on.transfers.write_ps(&mut space.line, on.cpu);
        for entry in space.table {
            ps += on.costs.page_release_ns * 1000 + self.release(entry.page, on);
        }
        ps
    }

    /// The first `pages` pages are written. The price is in picoseconds.
    pub(crate) fn write(&mut self, mm: MmId, pages: u32, on: On<'_>) -> u64 {
        let mut ps = 0;
        for number in 0..pages as usize {
            ps += match self.spaces[mm.0 as usize].table.get(number).copied() {
                None => self.fault_in(mm, on),
                Some(entry) if self.pages[entry.page as usize].sharers > 1 => self.copy(mm, number, on),
                Some(entry) => self.store(mm, number, entry, on),
            };
        }
        ps
    }

    fn fault_in(&mut self, mm: MmId, on: On<'_>) -> u64 {
        let mut entry = self.new_entry(Line::default());
        entry.writable = true;
        let page = &mut self.pages[entry.page as usize];
        let ps = on.transfers.write_ps(&mut page.count, on.cpu);
        on.transfers.write_ps(&mut page.content, on.cpu);
        let space = &mut self.spaces[mm.0 as usize];
        space.table.push(entry);
        ps + on.costs.page_fault_ns * 1000 + on.transfers.write_ps(&mut space.line, on.cpu)
    }

    fn copy(&mut self, mm: MmId, number: usize, on: On<'_>) -> u64 {
        let old = self.spaces[mm.0 as usize].table[number].page;
        let from = &mut self.pages[old as usize].content;
        let away = on.transfers.read_ps(from, on.cpu) > 0;
        let fetch_ns = if away { PAGE_KB * on.costs.memory_kb_ns } else { 0 };
        let mut ps = (on.costs.write_fault_ns + on.costs.page_copy_ns + fetch_ns) * 1000;
        ps += self.release(old, on);
        let mut entry = self.new_entry(Line::default());
        entry.writable = true;
        on.transfers.write_ps(&mut self.pages[entry.page as usize].content, on.cpu);
        let space = &mut self.spaces[mm.0 as usize];
        space.table[number] = entry;
        ps + on.transfers.write_ps(&mut space.line, on.cpu)
    }

    fn store(&mut self, mm: MmId, number: usize, entry: Entry, on: On<'_>) -> u64 {
        let page = &mut self.pages[entry.page as usize];
        let mut ps = on.transfers.write_ps(&mut page.content, on.cpu);
        if !entry.writable {
            let space = &mut self.spaces[mm.0 as usize];
            space.table[number].writable = true;
            ps += on.costs.write_fault_ns * 1000 + on.transfers.read_ps(&mut page.count, on.cpu);
            ps += on.transfers.write_ps(&mut space.line, on.cpu);
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

    /// An entry with a page of its own. A page that was in use before is where that left it.
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

#[cfg(test)]
mod tests {
    use super::*;
    use keel_abi::Topology;
    use keel_abi::lines::LineCosts;

    fn with(test: impl FnOnce(&mut Memory, On<'_>)) {
        let costs = Costs {
            page_share_ns: 1,
            page_release_ns: 10,
            page_fault_ns: 100,
            write_fault_ns: 1_000,
            page_copy_ns: 10_000,
            ..Costs::default()
        };
        let transfers = Transfers::new(Topology::regular(1, 1, 2, 1), LineCosts::default());
        test(&mut Memory::default(), On { costs: &costs, transfers: &transfers, cpu: CpuId(0) });
    }

    #[test]
    fn who_writes_first_copies_and_the_other_gets_the_page_back() {
        with(|memory, on| {
            let parent = memory.create(5, on.cpu);
            assert_eq!(memory.write(parent, 3, on), 0, "all its own");
            let (child, ps) = memory.fork(parent, on);
            assert_eq!(ps, 5_000);
            assert_eq!(memory.write(parent, 2, on), 2 * 11_000_000, "parent first: it copies");
            assert_eq!(
                memory.write(child, 3, on),
                2 * 1_000_000 + 11_000_000,
                "two are the child's alone by now"
            );
            assert_eq!(memory.write(child, 3, on), 0);
        });
    }

    #[test]
    fn a_child_that_is_gone_leaves_cheap_faults() {
        with(|memory, on| {
            let parent = memory.create(5, on.cpu);
            let (child, _) = memory.fork(parent, on);
            assert_eq!(memory.leave(child, on), 5 * 10_000);
            assert_eq!(memory.write(parent, 5, on), 5 * 1_000_000);
            assert_eq!(memory.write(parent, 6, on), 100_000, "one that was not there");
        });
    }

    #[test]
    fn threads_share_and_the_last_gives_up() {
        with(|memory, on| {
            let mm = memory.create(4, on.cpu);
            memory.join(mm);
            assert_eq!([memory.leave(mm, on), memory.leave(mm, on)], [0, 40_000]);
            assert_eq!(memory.free_pages.len(), 4);
            let again = memory.create(4, on.cpu);
            assert_eq!((again, memory.pages.len()), (mm, 4), "pages are used again");
        });
    }

    #[test]
    fn a_child_on_another_cpu_makes_lines_move() {
        let costs = Costs { memory_kb_ns: 5, ..Costs::default() };
        let lines = LineCosts { llc_ps: 7, ..LineCosts::default() };
        let transfers = Transfers::new(Topology::regular(1, 1, 2, 1), lines);
        let on = |cpu| On { costs: &costs, transfers: &transfers, cpu: CpuId(cpu) };
        let mut memory = Memory::default();
        let parent = memory.create(16, CpuId(0));
        let mut round = |cpu| {
            let (child, fork_ps) = memory.fork(parent, on(0));
            let copy_ps = memory.write(child, 1, on(cpu));
            let exit_ps = memory.leave(child, on(cpu));
            (fork_ps, copy_ps, exit_ps)
        };
        assert_eq!(round(0), (0, 0, 0));
        let (fork_ps, copy_ps, exit_ps) = round(1);
        assert_eq!((fork_ps, copy_ps), (0, 4 * 5 * 1000 + 7 + 7));
        assert_eq!(exit_ps, 16 * 7, "each count, the new page's too; the tables came with the copy");
        assert_eq!(round(0).0, 16 * 7, "the counts come back");
    }
}
