//! Which code takes cache lines, and which had them before; recorded only for a profile.
//!
//! Code that acts on a CPU declares what to blame ([`LineWatch::blame`]): an instruction by its number, or [`NOBODY`]
//! for the kernel outside of callbacks. A line remembers its last writer and the last code that fetched it.

use keel_abi::CpuId;
use keel_abi::lines::{Line, LineUse, Transfers};
use keel_abi::topology::Distance;
use std::collections::BTreeMap;

/// No instruction.
pub(crate) const NOBODY: u32 = u32::MAX;

/// Where a line came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// From memory.
    Memory,
    /// From the cache of a CPU this far away.
    Cache(Distance),
}

/// The key of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moved {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) source: Source,
    pub(crate) writes: bool,
}

/// The totals of moves with the same key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blamed {
    /// One of the lines, as an offset into the region.
    pub(crate) line: u64,
    pub(crate) several: bool,
    pub(crate) uses: LineUse,
}

#[derive(Clone, Copy, Debug)]
struct Last {
    writer: u32,
    fetcher: u32,
}

/// Lines whose last users are kept together.
const PAGE_LINES: u64 = 1 << 10;

type Page = Box<[Last; PAGE_LINES as usize]>;

/// The moves of a run's lines.
pub(crate) struct LineWatch {
    /// For each CPU, what to blame for its accesses.
    blamed: Vec<u32>,
    line_log2: u32,
    pages: BTreeMap<u64, Page>,
    moved: BTreeMap<Moved, Blamed>,
    /// The last move, to which a wait for an atomic instruction's turn belongs.
    latest: Option<Moved>,
}

impl LineWatch {
    pub(crate) fn new(cpus: u32, line_log2: u32) -> Self {
        let blamed = vec![NOBODY; cpus as usize];
        Self { blamed, line_log2, pages: BTreeMap::new(), moved: BTreeMap::new(), latest: None }
    }

    /// Blames this instruction for everything that `cpu` does from now on; returns the previous one.
    pub(crate) fn blame(&mut self, cpu: CpuId, insn: u32) -> u32 {
        std::mem::replace(&mut self.blamed[cpu.index()], insn)
    }

    /// An instruction has written at an offset into the region.
    pub(crate) fn wrote(&mut self, off: u64, insn: u32) {
        self.last(off >> self.line_log2).writer = insn;
    }

    fn last(&mut self, line: u64) -> &mut Last {
        let unknown = Last { writer: NOBODY, fetcher: NOBODY };
        let page =
            self.pages.entry(line / PAGE_LINES).or_insert_with(|| Box::new([unknown; PAGE_LINES as usize]));
        &mut page[(line % PAGE_LINES) as usize]
    }

    /// `cpu` has taken a line whose state was `before`.
    pub(super) fn took(
        &mut self,
        transfers: &Transfers,
        (line, before): (u64, Line),
        cpu: CpuId,
        writes: bool,
        price_ps: u64,
    ) {
        let to = self.blamed[cpu.index()];
        let source = match transfers.comes_from(&before, cpu, writes) {
            Some(holder) => Source::Cache(transfers.topology().distance(holder, cpu)),
            None => Source::Memory,
        };
        let is_first = before.sharers == 0;
        let last = self.last(line);
        // The last writer of a line has lost it to those that have fetched it since.
        let is_own = writes && before.writer == cpu.0 as u16;
        let from = if is_own { last.fetcher } else { last.writer };
        if writes || is_first {
            last.writer = to;
        }
        if !writes {
            last.fetcher = to;
        }
        if price_ps == 0 {
            return;
        }
        let moved = Moved { from, to, source, writes };
        let line = line << self.line_log2;
        let sum =
            self.moved.entry(moved).or_insert(Blamed { line, several: false, uses: LineUse::default() });
        sum.several |= sum.line != line;
        sum.uses.count(price_ps);
        self.latest = Some(moved);
    }

    /// The code that last took a line waited this much longer.
    pub(super) fn waited(&mut self, ps: u64) {
        if let Some(sum) = self.latest.and_then(|latest| self.moved.get_mut(&latest)) {
            sum.uses.stall_ps += ps;
        }
    }

    /// All moves, and their totals.
    pub(super) fn moved(&self) -> impl Iterator<Item = (Moved, Blamed)> {
        self.moved.iter().map(|(moved, blamed)| (*moved, *blamed))
    }

    /// Other code is loaded: the instructions' numbers are no longer valid.
    pub(crate) fn forget(&mut self) {
        self.blamed.fill(NOBODY);
        self.pages.clear();
        self.moved.clear();
        self.latest = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_abi::Topology;
    use keel_abi::lines::LineCosts;

    #[test]
    fn a_move_is_between_two_instructions() {
        let costs = LineCosts { llc_ps: 10, hop_ps: 100, memory_ps: 7, ..LineCosts::default() };
        let transfers = Transfers::new(Topology::regular(2, 1, 2, 1), costs);
        let mut watch = LineWatch::new(4, 6);
        let mut line = Line::default();
        // Instruction, CPU, and whether it writes.
        for (insn, cpu, writes) in [(1, 0, true), (2, 1, false), (3, 0, true), (4, 3, true), (5, 2, false)] {
            let (before, cpu) = (line, CpuId(cpu));
            let price = match writes {
                true => transfers.write_ps(&mut line, cpu),
                false => transfers.read_ps(&mut line, cpu),
            };
            watch.blame(cpu, insn);
            watch.took(&transfers, (8, before), cpu, writes, price);
        }
        let got: Vec<_> =
            watch.moved().map(|(m, b)| (m.from, m.to, m.source, m.writes, b.uses.stall_ps, b.line)).collect();
        let cache = Source::Cache;
        let expected = [
            (1, 2, cache(Distance::Llc), false, 10, 512),
            (2, 3, cache(Distance::Llc), true, 10, 512),
            (3, 4, cache(Distance::Hops(1)), true, 100, 512),
            (4, 5, cache(Distance::Llc), false, 10, 512),
            (NOBODY, 1, Source::Memory, true, 7, 512),
        ];
        assert_eq!(got, expected);
    }
}
