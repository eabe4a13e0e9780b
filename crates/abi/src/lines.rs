//! What it costs to move a cache line between CPUs, depending on how far apart they are.
//!
//! Each line, of 64 bytes on most machines, has a set of sharers and a last writer. A CPU that holds a line reads it
//! for free; a CPU that is the only sharer also writes it for free. Otherwise the line comes from its last writer, or
//! from memory when it is first touched. The sharers are encoded in one word ([`crate::holders`]).

mod prices;

use crate::crowd::Crowd;
use crate::holders::{HolderKey, Holders};
use crate::{CpuId, Instant, Span, Topology};
use prices::Prices;

/// The size of the largest cache line, in bytes. Data that must not share a line is aligned to it.
pub const LINE_BYTES: u64 = 64;
/// The size of the smallest cache line, in bytes.
pub const LEAST_LINE_BYTES: u64 = 16;
/// The number of line sizes: the powers of two between these.
pub const LINE_SIZES: usize = 3;

/// The costs of transfers in picoseconds, by distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineCosts {
    /// The size of a line in bytes: a power of two from [`LEAST_LINE_BYTES`] to [`LINE_BYTES`].
    pub bytes: u64,
    /// Between SMT siblings.
    pub smt_ps: u64,
    /// Within a last-level cache.
    pub llc_ps: u64,
    /// Between caches of one node.
    pub node_ps: u64,
    /// Between nodes one hop apart.
    pub hop_ps: u64,
    /// Added by each hop beyond the first.
    pub more_hops_ps: u64,
    /// From memory, if no CPU has accessed the line, or its last writer's cache no longer holds it.
    pub memory_ps: u64,
    /// How many tasks' structures a CPU's cache holds at once, if they evict each other ([`crowd`](crate::crowd)); 0
    /// for all.
    pub tasks_held: u64,
}

impl Default for LineCosts {
    /// Returns the costs of lines of 64 bytes that move for free.
    fn default() -> Self {
        Self {
            bytes: LINE_BYTES,
            smt_ps: 0,
            llc_ps: 0,
            node_ps: 0,
            hop_ps: 0,
            more_hops_ps: 0,
            memory_ps: 0,
            tasks_held: 0,
        }
    }
}

/// A machine's costs of transfers from one CPU's cache to another's.
#[derive(Clone, Debug)]
pub struct Transfers {
    topology: Topology,
    holders: Holders,
    costs: LineCosts,
    prices: Prices,
}

impl Transfers {
    /// Creates the transfers of a machine with this shape and these costs.
    ///
    /// # Panics
    /// The line size is invalid.
    pub fn new(topology: Topology, costs: LineCosts) -> Self {
        let fits = (LEAST_LINE_BYTES..=LINE_BYTES).contains(&costs.bytes);
        assert!(fits && costs.bytes.is_power_of_two(), "lines of {} bytes", costs.bytes);
        let (holders, prices) = (Holders::new(&topology), Prices::new(&topology, &costs));
        Self { topology, holders, costs, prices }
    }

    /// Returns how CPUs are encoded in a line's word.
    pub const fn holders(&self) -> &Holders {
        &self.holders
    }

    /// Returns the words that represent `cpu`.
    #[inline]
    pub fn key(&self, cpu: CpuId) -> HolderKey {
        self.holders.key(cpu)
    }

    /// Returns a line that `cpu` holds exclusively.
    pub fn line_of(&self, cpu: CpuId) -> Line {
        Line { sharers: self.key(cpu).alone, writer: cpu.0 as u16 }
    }

    /// Returns the machine's shape.
    pub const fn topology(&self) -> &Topology {
        &self.topology
    }

    /// Returns how long it takes `to` to get a line last written by `from`, in picoseconds: 0 for the same CPU.
    #[inline]
    pub fn between_ps(&self, from: CpuId, to: CpuId) -> u64 {
        match self.prices.between_ps(from.index(), to.index()) {
            Some(price) => u64::from(price),
            None => prices::distance_ps(&self.topology, &self.costs, from, to),
        }
    }

    /// Returns how long it takes `to` to get a line, in picoseconds, for each CPU that may have it, or `None` if the
    /// machine is too large for a table.
    #[inline]
    pub fn prices_to(&self, to: CpuId) -> Option<&[u32]> {
        self.prices.to(to)
    }

    /// Returns the base-2 logarithm of the line size.
    #[inline]
    pub const fn line_log2(&self) -> u32 {
        self.costs.bytes.trailing_zeros()
    }

    /// Returns whether tasks' structures evict each other.
    pub const fn is_crowded(&self) -> bool {
        self.costs.tasks_held > 0
    }

    /// Returns the caches that hold one line of each task's structure, or `None` if they hold all.
    pub fn crowd(&self) -> Option<Crowd> {
        Crowd::new(self.topology.cpus(), self.costs.tasks_held)
    }

    /// Returns how long it takes to get a line that no CPU has touched, in picoseconds.
    #[inline]
    pub fn memory_ps(&self) -> u64 {
        self.costs.memory_ps
    }

    /// Returns the price of a read of `line` by `cpu`, and updates the line.
    #[inline]
    pub fn read_ps(&self, line: &mut Line, cpu: CpuId) -> u64 {
        let key = self.key(cpu);
        if line.sharers & key.shared != 0 {
            return 0;
        }
        self.share_ps(line, cpu, key.shared)
    }

    /// Like [`Transfers::read_ps`], and counts the access. One that costs nothing needs no count.
    #[inline]
    pub fn read_counted_ps(&self, line: &mut Line, cpu: CpuId, uses: &mut LineUse) -> u64 {
        let key = self.key(cpu);
        if line.sharers & key.shared != 0 {
            return 0;
        }
        self.share_counted_ps(line, cpu, key.shared, uses)
    }

    #[inline(never)]
    fn share_counted_ps(&self, line: &mut Line, cpu: CpuId, shared: u64, uses: &mut LineUse) -> u64 {
        uses.count(self.shared_ps(line, cpu, shared))
    }

    /// Returns the price of a line that no CPU holds, when `cpu` reads or writes it.
    #[inline]
    pub fn first_ps(&self, line: &mut Line, cpu: CpuId) -> u64 {
        debug_assert_eq!(line.sharers, 0, "nobody has it");
        *line = self.line_of(cpu);
        self.memory_ps()
    }

    /// Like [`Transfers::take_ps`], for a read of a line that `cpu` doesn't have yet. `shared` is the word of that CPU.
    #[inline(never)]
    fn share_ps(&self, line: &mut Line, cpu: CpuId, shared: u64) -> u64 {
        self.shared_ps(line, cpu, shared)
    }

    #[inline(always)]
    fn shared_ps(&self, line: &mut Line, cpu: CpuId, shared: u64) -> u64 {
        if let Some(price) = self.tabled_ps(line, cpu) {
            line.sharers = self.holders.joined(line.sharers, shared);
            return price;
        }
        self.share_rarely_ps(line, cpu)
    }

    #[cold]
    #[inline(never)]
    fn share_rarely_ps(&self, line: &mut Line, cpu: CpuId) -> u64 {
        let price = self.fetch_ps(line, cpu);
        match line.sharers {
            0 => *line = self.line_of(cpu),
            others => line.sharers = self.holders.with(others, cpu),
        }
        price
    }

    /// Returns the price of a line that another CPU wrote last and still has, if it is in the table.
    #[inline(always)]
    fn tabled_ps(&self, line: &Line, cpu: CpuId) -> Option<u64> {
        let (writer, cpu) = (usize::from(line.writer), cpu.index());
        let has = self.holders.get(writer)?;
        if line.sharers & has.shared == 0 || writer == cpu {
            return None;
        }
        self.prices.between_ps(writer, cpu).map(u64::from)
    }

    /// Returns the price of a write to `line` by `cpu`, and updates the line.
    #[inline]
    pub fn write_ps(&self, line: &mut Line, cpu: CpuId) -> u64 {
        let key = self.key(cpu);
        if line.sharers == key.alone {
            line.writer = cpu.0 as u16;
            return 0;
        }
        self.take_ps(line, cpu, key.alone)
    }

    /// Like [`Transfers::write_ps`], and counts the access. One that costs nothing needs no count.
    #[inline]
    pub fn write_counted_ps(&self, line: &mut Line, cpu: CpuId, uses: &mut LineUse) -> u64 {
        let key = self.key(cpu);
        if line.sharers == key.alone {
            line.writer = cpu.0 as u16;
            return 0;
        }
        self.take_counted_ps(line, cpu, key.alone, uses)
    }

    #[inline(never)]
    fn take_counted_ps(&self, line: &mut Line, cpu: CpuId, alone: u64, uses: &mut LineUse) -> u64 {
        uses.count(self.taken_ps(line, cpu, alone))
    }

    /// Returns the prices of a read of `line` by `cpu`, and of a write right after it.
    #[inline]
    pub fn read_and_write_ps(&self, line: &mut Line, cpu: CpuId) -> (u64, u64) {
        let key = self.key(cpu);
        if line.sharers == key.alone {
            line.writer = cpu.0 as u16;
            return (0, 0);
        }
        self.share_and_take_ps(line, cpu, key)
    }

    /// The same, counted. What costs nothing needs no count.
    #[inline]
    pub fn read_and_write_counted_ps(&self, line: &mut Line, cpu: CpuId, uses: &mut LineUse) -> (u64, u64) {
        let key = self.key(cpu);
        if line.sharers == key.alone {
            line.writer = cpu.0 as u16;
            return (0, 0);
        }
        self.share_and_take_counted_ps(line, cpu, key, uses)
    }

    #[inline(never)]
    fn share_and_take_counted_ps(
        &self,
        line: &mut Line,
        cpu: CpuId,
        key: HolderKey,
        uses: &mut LineUse,
    ) -> (u64, u64) {
        let (share_ps, take_ps) = self.shared_and_taken_ps(line, cpu, key);
        (uses.count(share_ps), uses.count(take_ps))
    }

    #[inline(never)]
    fn share_and_take_ps(&self, line: &mut Line, cpu: CpuId, key: HolderKey) -> (u64, u64) {
        self.shared_and_taken_ps(line, cpu, key)
    }

    #[inline(always)]
    fn shared_and_taken_ps(&self, line: &mut Line, cpu: CpuId, key: HolderKey) -> (u64, u64) {
        if line.sharers & key.shared == 0
            && let Some(price) = self.tabled_ps(line, cpu)
        {
            // The writer still has the line after the read, so the write costs the same.
            *line = Line { sharers: key.alone, writer: cpu.0 as u16 };
            return (price, price);
        }
        (self.read_ps(line, cpu), self.write_ps(line, cpu))
    }

    /// Returns the price of a line that other CPUs have, or none. This is a separate function to keep the path for
    /// lines already held short. Mostly the last writer still has the line, and the price is in the table. `alone` is
    /// the word of a line that `cpu` holds exclusively.
    #[inline(never)]
    fn take_ps(&self, line: &mut Line, cpu: CpuId, alone: u64) -> u64 {
        self.taken_ps(line, cpu, alone)
    }

    #[inline(always)]
    fn taken_ps(&self, line: &mut Line, cpu: CpuId, alone: u64) -> u64 {
        if let Some(price) = self.tabled_ps(line, cpu) {
            *line = Line { sharers: alone, writer: cpu.0 as u16 };
            return price;
        }
        self.take_rarely_ps(line, cpu)
    }

    #[cold]
    #[inline(never)]
    fn take_rarely_ps(&self, line: &mut Line, cpu: CpuId) -> u64 {
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

/// The state of one line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// The CPUs that hold it ([`crate::holders`]); 0 if none has touched it.
    pub sharers: u64,
    /// The CPU that wrote it last, or first read it.
    pub writer: u16,
}

/// What the lines of one object have cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineUse {
    /// How often a line moved to another CPU, or from memory.
    pub moves: u64,
    /// How long CPUs waited for that, in picoseconds.
    pub stall_ps: u64,
}

impl LineUse {
    /// Counts an access with this price, and returns the price. An access that costs nothing moves nothing.
    #[inline]
    pub fn count(&mut self, price_ps: u64) -> u64 {
        self.moves += u64::from(price_ps > 0);
        self.stall_ps += price_ps;
        price_ps
    }
}

/// A line in transit, which CPUs change by atomic instructions. It moves from one CPU to the next in the order in which
/// they request it: a CPU that requests it while it is on its way to another one waits until it has arrived there.
#[derive(Clone, Copy, Debug, Default)]
pub struct InTransit {
    arrives: Instant,
}

impl InTransit {
    /// Returns how many picoseconds it takes until a CPU has the line that it requests at `now`, if the transfer alone
    /// takes `transfer_ps`: 0 if the CPU already has the line (`transfer_ps` is 0).
    #[inline]
    pub fn queue_ps(&mut self, transfer_ps: u64, now: Instant) -> u64 {
        if transfer_ps == 0 { 0 } else { self.wait_ps(transfer_ps, now).0 }
    }

    /// Like [`InTransit::queue_ps`], for a transfer that isn't free. Also returns how long it first waits for others.
    #[inline]
    pub fn wait_ps(&mut self, transfer_ps: u64, now: Instant) -> (u64, Span) {
        let waits = self.arrives.since(now);
        let price_ps = waits.as_ns() * 1000 + transfer_ps;
        self.arrives = now + Span::from_ns(price_ps.div_ceil(1000));
        (price_ps, waits)
    }

    /// Returns how many picoseconds it takes until the line has reached every CPU that has requested it.
    #[inline]
    pub fn left_ps(&self, now: Instant) -> u64 {
        self.arrives.since(now).as_ns() * 1000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_for_a_line_on_its_way_waits_until_it_has_arrived() {
        let mut line = InTransit::default();
        let asked = [(100_000, 0), (20_000, 10), (0, 20), (20_000, 500), (20_000, 510)];
        let prices = asked.map(|(ps, now)| line.queue_ps(ps, Instant::from_ns(now)) / 1000);
        assert_eq!(prices, [100, 110, 0, 20, 30]);
    }

    #[test]
    fn a_line_costs_when_it_moves_and_only_then() {
        let costs = LineCosts {
            smt_ps: 1,
            llc_ps: 10,
            node_ps: 100,
            hop_ps: 1000,
            more_hops_ps: 500,
            memory_ps: 7,
            ..LineCosts::default()
        };
        let t = Transfers::new(Topology::regular(2, 1, 2, 1), costs);
        let mut line = Line::default();
        let mut read = |cpu| t.read_ps(&mut line, CpuId(cpu));
        assert_eq!([read(0), read(0), read(1), read(1), read(2)], [7, 0, 10, 0, 1000]);
        let both = |mut line: Line, cpu| {
            let mut other = line;
            let expected = (t.read_ps(&mut other, CpuId(cpu)), t.write_ps(&mut other, CpuId(cpu)));
            assert_eq!(t.read_and_write_ps(&mut line, CpuId(cpu)), expected);
            assert_eq!(line, other);
        };
        (0..4).for_each(|cpu| both(line, cpu));
        (0..4).for_each(|cpu| both(Line::default(), cpu));
        (0..4).for_each(|cpu| both(t.line_of(CpuId(1)), cpu));
        let mut write = |cpu| t.write_ps(&mut line, CpuId(cpu));
        assert_eq!([write(0), write(0), write(3), write(3), write(2)], [10, 0, 1000, 0, 10]);
        assert_eq!(t.read_ps(&mut line, CpuId(3)), 10);
        assert_eq!(t.write_ps(&mut line, CpuId(2)), 10);
    }

    #[test]
    fn a_line_that_its_writer_gave_up_comes_from_memory() {
        let costs = LineCosts { llc_ps: 10, memory_ps: 7, ..LineCosts::default() };
        let t = Transfers::new(Topology::regular(1, 1, 3, 1), costs);
        let (mut line, writer) = (Line::default(), CpuId(0));
        assert_eq!([t.write_ps(&mut line, writer), t.read_ps(&mut line, CpuId(1))], [7, 10]);
        line.sharers = t.holders().without(line.sharers, writer);
        assert_eq!([t.read_ps(&mut line, CpuId(2)), t.read_ps(&mut line, writer)], [7, 7]);
        line.sharers = 0;
        assert_eq!(t.write_ps(&mut line, CpuId(1)), 7);
    }
}
