//! What it costs to move a cache line between CPUs, depending on how far apart they are.
//!
//! Each line, of 64 bytes on most machines, has a set of sharers and a last writer. A CPU that holds a line reads it
//! for free; a CPU that is the only sharer also writes it for free. Otherwise the line comes from its last writer, or
//! from memory when it is first touched. The sharers are encoded in one word ([`crate::holders`]).

mod access;
mod prices;

use crate::crowd::Crowd;
use crate::holders::{HolderKey, Holders};
use crate::{CpuId, Instant, Span, Topology};
use prices::{Prices, Row};

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

    /// Returns what `cpu` needs to take lines.
    #[inline]
    pub fn holder(&self, cpu: CpuId) -> Holder {
        Holder { cpu, key: self.key(cpu), row: self.prices.row_of(cpu) }
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
        match self.prices.between_ps(from, to) {
            Some(price) => u64::from(price),
            None => prices::distance_ps(&self.topology, &self.costs, from, to),
        }
    }

    /// Returns 0, and then how long it takes `to` to get a line, in picoseconds, for each CPU that may have it, or `None`
    /// if the machine is too large for a table. On large machines, the entry for `to` itself may be any.
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

    /// Returns the caches that hold the lines of tasks' structures, which have so many each, or `None` if they hold all.
    pub fn crowd(&self, lines: u32) -> Option<Crowd> {
        Crowd::new(self.topology.cpus(), self.costs.tasks_held, lines)
    }

    /// Returns how long it takes to get a line that no CPU has touched, in picoseconds.
    #[inline]
    pub fn memory_ps(&self) -> u64 {
        self.costs.memory_ps
    }
}

/// A CPU that takes lines: how it is written into a line, and where its prices are. Computed once for each CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder {
    cpu: CpuId,
    key: HolderKey,
    /// Where its prices are.
    row: Row,
}

impl Holder {
    /// The CPU itself.
    #[inline]
    pub const fn cpu(&self) -> CpuId {
        self.cpu
    }

    /// The words that represent it.
    #[inline]
    pub const fn key(&self) -> HolderKey {
        self.key
    }

    /// A line that it holds exclusively.
    #[inline]
    const fn line(&self) -> Line {
        Line { sharers: self.key.alone, writer: self.cpu.0 as u16 }
    }

    /// Returns whether it may read the line as it is.
    #[inline]
    const fn reads(&self, line: &Line) -> bool {
        line.sharers & self.key.shared != 0
    }

    /// Returns whether it may write the line as it is. If so, it has written it.
    #[inline]
    pub const fn writes(&self, line: &mut Line) -> bool {
        let is_alone = line.sharers == self.key.alone;
        if is_alone {
            line.writer = self.cpu.0 as u16;
        }
        is_alone
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

/// Returns a time in whole nanoseconds, rounded up. `div_ceil` takes longer, because it is right for any number.
#[inline(always)]
pub const fn whole_ns(ps: u64) -> u64 {
    full_ns(ps + 999)
}

/// Returns how many nanoseconds have passed in full. A division would be right for any number, and so takes longer than
/// this product with the inverse, which is exact up to [`MOST_PS`].
#[inline(always)]
pub const fn full_ns(ps: u64) -> u64 {
    debug_assert!(ps <= MOST_PS, "a step of a run takes hours");
    const INVERSE: u128 = (1 << 64) / 1000 + 1;
    ((ps as u128 * INVERSE) >> 64) as u64
}

/// The longest time that [`full_ns`] takes: the costs of one step are never near these 10 hours.
pub const MOST_PS: u64 = 1 << 55;

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
        self.arrives = now + Span::from_ns(whole_ns(price_ps));
        (price_ps, waits)
    }

    /// Returns whether the line has reached every CPU that has requested it.
    #[inline]
    pub fn has_arrived(&self, now: Instant) -> bool {
        self.arrives <= now
    }

    /// Like [`InTransit::wait_ps`] for a line that has arrived.
    #[inline]
    pub fn take_arrived(&mut self, transfer_ps: u64, now: Instant) {
        debug_assert!(self.has_arrived(now), "a CPU waits for a line on its way");
        self.arrives = Instant::from_ns(now.as_ns() + whole_ns(transfer_ps));
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
    fn whole_nanoseconds_are_those_of_a_division() {
        let near = |ps: u64| {
            (ps - 2..=ps + 2).all(|ps| (full_ns(ps), whole_ns(ps)) == (ps / 1000, ps.div_ceil(1000)))
        };
        let mut at = 2;
        while at < MOST_PS / 3 {
            assert!(near(at) && near(at / 1000 * 1000 + 1000), "{at}");
            at = at * 3 / 2 + 1;
        }
        assert!(near(MOST_PS / 1000 * 1000 - 3000));
        assert_eq!(
            [0, 999, MOST_PS - 1, MOST_PS].map(full_ns),
            [0, 999, MOST_PS - 1, MOST_PS].map(|ps| ps / 1000)
        );
    }

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
            let before = line;
            assert_eq!(t.read_and_write_ps(&mut line, &t.holder(CpuId(cpu))), expected);
            assert_eq!(line, other);
            let (mut counted, mut uses) = (before, LineUse::default());
            assert_eq!(t.read_and_write_counted_ps(&mut counted, &t.holder(CpuId(cpu)), &mut uses), expected);
            let moves = [expected.0, expected.1].iter().filter(|&&ps| ps > 0).count() as u64;
            assert_eq!((counted, uses), (other, LineUse { moves, stall_ps: expected.0 + expected.1 }));
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
    fn on_large_machines_a_line_costs_what_its_way_costs() {
        let costs = LineCosts {
            smt_ps: 1,
            llc_ps: 10,
            node_ps: 100,
            hop_ps: 1000,
            more_hops_ps: 500,
            memory_ps: 7,
            ..LineCosts::default()
        };
        // With a table by CPU, and with one by cache.
        for (nodes, llcs, cores, smt) in [(8, 4, 8, 2), (16, 4, 8, 2)] {
            check_prices(&Transfers::new(Topology::regular(nodes, llcs, cores, smt), costs));
        }
    }

    fn check_prices(t: &Transfers) {
        let some = || [0, 1, 2, 17, 40, 300, 511].map(CpuId).into_iter();
        for (from, to) in some().flat_map(|from| some().map(move |to| (from, to))).filter(|(a, b)| a != b) {
            let (line, by) = (t.line_of(from), t.holder(to));
            let check = |write: bool, price: u64, after: Line| {
                let mut expected = line;
                let right = match write {
                    true => t.take_anyhow_ps(&mut expected, to),
                    false => t.share_anyhow_ps(&mut expected, to),
                };
                assert_eq!((price, after), (right, expected), "{from:?} {to:?} {write}");
                let mut moved = line;
                assert_eq!(t.moved_ps(&mut moved, &by, write), Some(right));
                assert_eq!(moved, expected);
            };
            let mut taken = line;
            check(true, t.write_ps(&mut taken, to), taken);
            let mut shared = line;
            if !by.reads(&shared) {
                check(false, t.read_ps(&mut shared, to), shared);
            }
        }
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
