//! What an access to a line costs, and who has the line afterwards. A read and a write each have a path for lines that
//! are held, which is inlined, one for prices in the table by CPU, and one for all others.

use super::{Holder, Line, LineUse, Transfers};
use crate::CpuId;

impl Transfers {
    /// Returns the price of a read of `line` by `cpu`, and updates the line.
    #[inline]
    pub fn read_ps(&self, line: &mut Line, cpu: CpuId) -> u64 {
        self.read_by_ps(line, &self.holder(cpu))
    }

    /// Like `read_ps` for a CPU whose part is known.
    #[inline]
    pub fn read_by_ps(&self, line: &mut Line, by: &Holder) -> u64 {
        if by.reads(line) { 0 } else { self.share_ps(line, by) }
    }

    /// Like [`Transfers::read_ps`], and counts the access. One that costs nothing needs no count. Lines whose accesses
    /// are counted evict each other nowhere.
    #[inline]
    pub fn read_counted_ps(&self, line: &mut Line, by: &Holder, uses: &mut LineUse) -> u64 {
        if by.reads(line) { 0 } else { self.share_counted_ps(line, by, uses) }
    }

    #[inline(never)]
    fn share_counted_ps(&self, line: &mut Line, by: &Holder, uses: &mut LineUse) -> u64 {
        self.share_counted_here_ps(line, by, uses)
    }

    /// Like [`Transfers::read_counted_ps`], for a loop over lines of which few are held.
    #[inline(always)]
    pub fn read_each_counted_ps(&self, line: &mut Line, by: &Holder, uses: &mut LineUse) -> u64 {
        if by.reads(line) { 0 } else { self.share_counted_here_ps(line, by, uses) }
    }

    #[inline(always)]
    fn share_counted_here_ps(&self, line: &mut Line, by: &Holder, uses: &mut LineUse) -> u64 {
        match self.shared_ps::<false, false>(line, by) {
            Some(price) => uses.count(price),
            None => self.share_rarely_counted_ps(line, by, uses),
        }
    }

    #[inline(never)]
    fn share_rarely_counted_ps(&self, line: &mut Line, by: &Holder, uses: &mut LineUse) -> u64 {
        uses.count(self.share_untabled_ps::<false>(line, by))
    }

    /// Returns the price of a line that no CPU holds, when `cpu` reads or writes it.
    #[inline]
    pub fn first_ps(&self, line: &mut Line, cpu: CpuId) -> u64 {
        debug_assert_eq!(line.sharers, 0, "nobody has it");
        *line = self.line_of(cpu);
        self.memory_ps()
    }

    /// Like [`Transfers::take_ps`], for a read of a line that a CPU doesn't have yet.
    #[inline(never)]
    fn share_ps(&self, line: &mut Line, by: &Holder) -> u64 {
        match self.shared_ps::<true, false>(line, by) {
            Some(price) => price,
            None => self.share_rarely_ps(line, by),
        }
    }

    /// The price of a line that `by` may not read yet. Nothing, and the line stays as it is, if that is not in the table.
    #[inline(always)]
    fn shared_ps<const EVICTS: bool, const BY_CACHE: bool>(
        &self,
        line: &mut Line,
        by: &Holder,
    ) -> Option<u64> {
        debug_assert!(!by.reads(line), "so `by` is not a writer that still has the line");
        let price = self.writers_ps::<EVICTS, BY_CACHE>(line, by, usize::from(line.writer))?;
        line.sharers = self.holders.joined(line.sharers, by.key.shared);
        Some(price)
    }

    #[inline(never)]
    fn share_rarely_ps(&self, line: &mut Line, by: &Holder) -> u64 {
        self.share_untabled_ps::<true>(line, by)
    }

    /// Like `share_ps` where no table by CPU has the price.
    #[inline(always)]
    fn share_untabled_ps<const EVICTS: bool>(&self, line: &mut Line, by: &Holder) -> u64 {
        match self.shared_ps::<EVICTS, true>(line, by) {
            Some(price) => price,
            None => self.share_anyhow_ps(line, by.cpu),
        }
    }

    #[inline(never)]
    pub(super) fn share_anyhow_ps(&self, line: &mut Line, cpu: CpuId) -> u64 {
        let price = self.fetch_ps(line, cpu);
        match line.sharers {
            0 => *line = self.line_of(cpu),
            others => line.sharers = self.holders.with(others, cpu),
        }
        price
    }

    /// Returns the price of a line that another CPU wrote last and still has, if it is in the table by CPU, or by cache.
    #[inline(always)]
    fn tabled_ps<const EVICTS: bool, const BY_CACHE: bool>(&self, line: &Line, by: &Holder) -> Option<u64> {
        let writer = usize::from(line.writer);
        let price = self.writers_ps::<EVICTS, BY_CACHE>(line, by, writer)?;
        (writer != by.cpu.index()).then_some(price)
    }

    /// Like `tabled_ps` if the last writer is another CPU, or has lost the line. Only a cache that `EVICTS` loses lines
    /// that nobody has written since; otherwise the last writer has a line if anybody has.
    #[inline(always)]
    fn writers_ps<const EVICTS: bool, const BY_CACHE: bool>(
        &self,
        line: &Line,
        by: &Holder,
        writer: usize,
    ) -> Option<u64> {
        // First, because it tells which tables there are.
        let price = self.prices.in_row_ps::<BY_CACHE>(by.row, writer)?;
        debug_assert!(EVICTS || line.sharers == 0 || line.sharers & self.holders.get(writer)?.shared != 0);
        let has = if EVICTS { self.holders.get(writer)?.shared } else { u64::MAX };
        (line.sharers & has != 0).then_some(u64::from(price))
    }

    /// Returns the price of a write to `line` by `cpu`, and updates the line.
    #[inline]
    pub fn write_ps(&self, line: &mut Line, cpu: CpuId) -> u64 {
        self.write_by_ps(line, &self.holder(cpu))
    }

    /// Like `write_ps` for a CPU whose part is known.
    #[inline]
    pub fn write_by_ps(&self, line: &mut Line, by: &Holder) -> u64 {
        if by.writes(line) { 0 } else { self.take_ps(line, by) }
    }

    /// Like [`Transfers::write_ps`], and counts the access. One that costs nothing needs no count.
    #[inline]
    pub fn write_counted_ps(&self, line: &mut Line, by: &Holder, uses: &mut LineUse) -> u64 {
        if by.writes(line) { 0 } else { self.take_counted_ps(line, by, uses) }
    }

    #[inline(never)]
    fn take_counted_ps(&self, line: &mut Line, by: &Holder, uses: &mut LineUse) -> u64 {
        self.take_counted_here_ps(line, by, uses)
    }

    /// Like [`Transfers::write_counted_ps`], for lines that are mostly others'.
    #[inline(always)]
    pub fn write_others_counted_ps(&self, line: &mut Line, by: &Holder, uses: &mut LineUse) -> u64 {
        if by.writes(line) { 0 } else { self.take_counted_here_ps(line, by, uses) }
    }

    #[inline(always)]
    fn take_counted_here_ps(&self, line: &mut Line, by: &Holder, uses: &mut LineUse) -> u64 {
        match self.taken_ps::<false, false>(line, by) {
            Some(price) => uses.count(price),
            None => self.take_rarely_counted_ps(line, by, uses),
        }
    }

    #[inline(never)]
    fn take_rarely_counted_ps(&self, line: &mut Line, by: &Holder, uses: &mut LineUse) -> u64 {
        uses.count(self.take_untabled_ps::<false>(line, by))
    }

    /// Returns the prices of a read of `line`, and of a write right after it.
    #[inline]
    pub fn read_and_write_ps(&self, line: &mut Line, by: &Holder) -> (u64, u64) {
        if by.writes(line) { (0, 0) } else { self.share_and_take_ps(line, by) }
    }

    /// Like `read_and_write_ps`, counted. What costs nothing needs no count.
    #[inline]
    pub fn read_and_write_counted_ps(&self, line: &mut Line, by: &Holder, uses: &mut LineUse) -> (u64, u64) {
        if by.writes(line) { (0, 0) } else { self.share_and_take_counted_ps(line, by, uses) }
    }

    #[inline(never)]
    fn share_and_take_counted_ps(&self, line: &mut Line, by: &Holder, uses: &mut LineUse) -> (u64, u64) {
        match self.shared_and_taken_ps::<false>(line, by) {
            Some(price) => (uses.count(price), uses.count(price)),
            None => self.share_and_take_rarely_counted_ps(line, by, uses),
        }
    }

    #[inline(never)]
    fn share_and_take_rarely_counted_ps(
        &self,
        line: &mut Line,
        by: &Holder,
        uses: &mut LineUse,
    ) -> (u64, u64) {
        if !by.reads(line)
            && let Some(price) = self.taken_ps::<false, true>(line, by)
        {
            return (uses.count(price), uses.count(price));
        }
        (self.read_counted_ps(line, by, uses), self.write_counted_ps(line, by, uses))
    }

    #[inline(never)]
    fn share_and_take_ps(&self, line: &mut Line, by: &Holder) -> (u64, u64) {
        match self.shared_and_taken_ps::<true>(line, by) {
            Some(price) => (price, price),
            None => self.share_and_take_rarely_ps(line, by),
        }
    }

    #[inline(never)]
    fn share_and_take_rarely_ps(&self, line: &mut Line, by: &Holder) -> (u64, u64) {
        if !by.reads(line)
            && let Some(price) = self.taken_ps::<true, true>(line, by)
        {
            return (price, price);
        }
        (self.read_by_ps(line, by), self.write_by_ps(line, by))
    }

    /// Like `read_and_write_ps` for a line that costs the same twice: from the CPU that wrote it last. `None`, and the
    /// line stays as it is, if that price is not in the table by CPU. It must be known whether a cache `EVICTS` such lines.
    #[inline(always)]
    pub fn shared_and_taken_ps<const EVICTS: bool>(&self, line: &mut Line, by: &Holder) -> Option<u64> {
        if by.reads(line) {
            return None;
        }
        // The writer still has the line after the read, so the write costs the same.
        self.taken_ps::<EVICTS, false>(line, by)
    }

    /// Returns the price of a line that other CPUs have, or none. This is a separate function to keep the path for
    /// lines already held short. Mostly the last writer still has the line, and the price is in the table.
    #[inline(never)]
    fn take_ps(&self, line: &mut Line, by: &Holder) -> u64 {
        match self.taken_ps::<true, false>(line, by) {
            Some(price) => price,
            None => self.take_rarely_ps(line, by),
        }
    }

    /// Returns the price of a line that `by` does not hold in this mode yet, and updates the line. `None`, and the line
    /// stays as it is, if its last writer is `by` or no longer has it, or that price is in no table.
    #[inline(always)]
    pub fn moved_ps(&self, line: &mut Line, by: &Holder, write: bool) -> Option<u64> {
        match write {
            true => self.taken_ps::<true, true>(line, by).or_else(|| self.taken_ps::<true, false>(line, by)),
            false => {
                self.shared_ps::<true, true>(line, by).or_else(|| self.shared_ps::<true, false>(line, by))
            }
        }
    }

    /// Nothing, and the line stays as it is, if the price is not in the table.
    #[inline(always)]
    fn taken_ps<const EVICTS: bool, const BY_CACHE: bool>(
        &self,
        line: &mut Line,
        by: &Holder,
    ) -> Option<u64> {
        let price = self.tabled_ps::<EVICTS, BY_CACHE>(line, by)?;
        *line = by.line();
        Some(price)
    }

    #[inline(never)]
    fn take_rarely_ps(&self, line: &mut Line, by: &Holder) -> u64 {
        self.take_untabled_ps::<true>(line, by)
    }

    /// Like `take_ps` where no table by CPU has the price.
    #[inline(always)]
    fn take_untabled_ps<const EVICTS: bool>(&self, line: &mut Line, by: &Holder) -> u64 {
        match self.taken_ps::<EVICTS, true>(line, by) {
            Some(price) => price,
            None => self.take_anyhow_ps(line, by.cpu),
        }
    }

    #[inline(never)]
    pub(super) fn take_anyhow_ps(&self, line: &mut Line, cpu: CpuId) -> u64 {
        let price = self.claim_ps(line, cpu);
        *line = self.line_of(cpu);
        price
    }

    /// Returns from which CPU's cache a line comes when `cpu` accesses it and doesn't have it in this mode yet, or
    /// `None` if it comes from memory.
    pub fn comes_from(&self, line: &Line, cpu: CpuId, write: bool) -> Option<CpuId> {
        let writer = CpuId(u32::from(line.writer));
        match () {
            () if line.sharers == 0 => None,
            () if write && writer == cpu => Some(self.holders.other(line.sharers, cpu)),
            () => (line.sharers & self.key(writer).shared != 0).then_some(writer),
        }
    }

    #[inline]
    fn fetch_ps(&self, line: &Line, cpu: CpuId) -> u64 {
        let writer = CpuId(u32::from(line.writer));
        match line.sharers & self.key(writer).shared {
            0 => self.memory_ps(),
            _ => self.between_ps(writer, cpu),
        }
    }

    /// Returns the price of taking the line away from every other sharer, which a write must do. The farthest one
    /// counts; the last writer represents them unless that is `cpu` itself.
    #[inline]
    fn claim_ps(&self, line: &Line, cpu: CpuId) -> u64 {
        let writer = CpuId(u32::from(line.writer));
        if line.sharers == 0 || writer != cpu {
            return self.fetch_ps(line, cpu);
        }
        self.between_ps(self.holders.other(line.sharers, cpu), cpu)
    }
}
