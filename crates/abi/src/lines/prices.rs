//! Tables of what it costs to move a line from one CPU to another.
//!
//! All but the largest machines have a table by CPU. CPUs of the same core, or cache, pay the same for a line of any CPU
//! elsewhere, so on large machines they share a row. Where even that table would be too large, there is one by last-level
//! cache, because the price between two caches is the same for all of their CPUs. The largest have none, and each price
//! is computed from the topology.

use super::LineCosts;
use crate::topology::Distance;
use crate::{CpuId, Topology};
use std::collections::BTreeMap;

/// The maximum number of CPUs with a row each in the table by CPU.
const ROW_EACH: u32 = 256;
/// The maximum number of prices in that table. A larger one would displace other data from the host's caches.
const TABLED: usize = 1 << 18;
/// The maximum number of caches of a machine with a table by cache.
const TABLED_CACHES: usize = 256;

/// The prices of one machine, in picoseconds.
#[derive(Clone, Debug)]
pub(super) struct Prices {
    /// The prices of each row.
    each: u32,
    /// Where the row of each CPU begins that gets lines.
    starts: Box<[u32]>,
    /// The rows, by the CPU that holds a line; empty if there is no such table. Each row begins with a 0, as if for a
    /// line that nobody holds.
    table: Box<[u32]>,
    /// Empty if there is that table, or none at all: there are too many caches, or a price has more than 32 bits.
    by_cache: ByCache,
}

/// Prices between two caches, and within one.
#[derive(Clone, Debug, Default)]
struct ByCache {
    /// Each CPU's place.
    seats: Box<[Seat]>,
    caches: u32,
    /// Indexed by the cache that gets a line and the one that holds it.
    table: Box<[u32]>,
    smt_ps: u32,
}

/// A CPU's core and last-level cache.
#[derive(Clone, Copy, Debug)]
struct Seat {
    core: u32,
    cache: u32,
}

/// Where the prices of a CPU that gets lines are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// Where its row, or its cache's, begins.
    start: u32,
    /// Its core, if the table is by cache.
    core: u32,
}

impl Prices {
    pub(super) fn new(topology: &Topology, costs: &LineCosts) -> Self {
        let each = topology.cpus() + 1;
        let (starts, table) = by_cpu(topology, costs).unwrap_or_default();
        let is_for_caches = table.is_empty() && topology.cpus() > ROW_EACH;
        let by_cache = if is_for_caches { ByCache::new(topology, costs) } else { None };
        Self { each, starts, table, by_cache: by_cache.unwrap_or_default() }
    }

    /// Where the prices of the CPU `to` are.
    #[inline]
    pub(super) fn row_of(&self, to: CpuId) -> Row {
        match self.by_cache.seats.get(to.index()) {
            None => Row { start: self.starts.get(to.index()).map_or(0, |start| start + 1), core: 0 },
            Some(seat) => Row { start: seat.cache * self.by_cache.caches, core: seat.core },
        }
    }

    /// The price for the CPU with this row to get a line from another CPU, by a table by CPU, or by cache if `BY_CACHE`;
    /// `None` if there is no such table.
    #[inline(always)]
    pub(super) fn in_row_ps<const BY_CACHE: bool>(&self, row: Row, from: usize) -> Option<u32> {
        match BY_CACHE {
            false => self.table.get(row.start as usize + from).copied(),
            true => self.by_cache.in_row_ps(row, from),
        }
    }

    /// Returns 0, and the price for `to` to get a line, for each other CPU that may hold it, if there is a table by CPU.
    #[inline]
    pub(super) fn to(&self, to: CpuId) -> Option<&[u32]> {
        let start = *self.starts.get(to.index())? as usize;
        self.table.get(start..start + self.each as usize)
    }

    /// Returns the price for `to` to get a line from `from`: 0 for the same one, `None` without a table.
    #[inline]
    pub(super) fn between_ps(&self, from: CpuId, to: CpuId) -> Option<u32> {
        let (row, writer) = (self.row_of(to), from.index());
        match from == to {
            true => Some(0),
            false => self.in_row_ps::<false>(row, writer).or_else(|| self.in_row_ps::<true>(row, writer)),
        }
    }
}

impl ByCache {
    fn new(topology: &Topology, costs: &LineCosts) -> Option<Self> {
        let places: Vec<_> = topology.iter().map(|cpu| topology.place(cpu)).collect();
        let caches = places.iter().map(|place| place.llc.index() + 1).max()?;
        if caches > TABLED_CACHES {
            return None;
        }
        // Any CPU of each cache.
        let member = |llc: usize| places.iter().position(|place| place.llc.index() == llc);
        let members: Vec<usize> = (0..caches).map(member).collect::<Option<_>>()?;
        let mut table = Vec::with_capacity(caches * caches);
        for &to in &members {
            for &from in &members {
                let between = distance_ps(topology, costs, CpuId(from as u32), CpuId(to as u32));
                table.push(u32::try_from(if from == to { costs.llc_ps } else { between }).ok()?);
            }
        }
        Some(Self {
            seats: places.iter().map(|place| Seat { core: place.core.0, cache: place.llc.0 }).collect(),
            caches: caches as u32,
            table: table.into(),
            smt_ps: u32::try_from(costs.smt_ps).ok()?,
        })
    }

    #[inline(always)]
    fn in_row_ps(&self, row: Row, from: usize) -> Option<u32> {
        let seat = self.seats.get(from)?;
        match seat.core == row.core {
            true => Some(self.smt_ps),
            false => self.table.get(row.start as usize + seat.cache as usize).copied(),
        }
    }
}

/// Where each CPU's row begins, and the table of rows.
type Rows = (Box<[u32]>, Box<[u32]>);

/// Returns the rows by CPU, if their table is not too large and each price fits into 32 bits.
fn by_cpu(topology: &Topology, costs: &LineCosts) -> Option<Rows> {
    // For each row, the first CPU with it, and perhaps another one.
    let mut rows: BTreeMap<u32, (CpuId, Option<CpuId>)> = BTreeMap::new();
    let row_of = |cpu: CpuId| match topology.place(cpu) {
        _ if topology.cpus() <= ROW_EACH => cpu.0,
        place if topology.has_smt() => place.core.0,
        place => place.llc.0,
    };
    for cpu in topology.iter() {
        rows.entry(row_of(cpu)).and_modify(|(_, other)| *other = Some(cpu)).or_insert((cpu, None));
    }
    let each = topology.cpus() as usize + 1;
    if rows.len() * each > TABLED {
        return None;
    }
    let numbers: BTreeMap<u32, usize> = rows.keys().copied().zip(0..).collect();
    let starts = topology.iter().map(|cpu| (numbers[&row_of(cpu)] * each) as u32).collect();
    let mut table = Vec::with_capacity(rows.len() * each);
    for &(first, other) in rows.values() {
        table.push(0);
        for from in topology.iter() {
            // A CPU's own price is not asked for. Beside the first CPU, the others with its row have theirs for it.
            let to = if from == first { other.unwrap_or(first) } else { first };
            table.push(u32::try_from(distance_ps(topology, costs, from, to)).ok()?);
        }
    }
    Some((starts, table.into()))
}

/// Returns how long it takes `to` to get a line from `from` over this distance, in picoseconds.
pub(super) fn distance_ps(topology: &Topology, costs: &LineCosts, from: CpuId, to: CpuId) -> u64 {
    match topology.distance(from, to) {
        Distance::Same => 0,
        Distance::Smt => costs.smt_ps,
        Distance::Llc => costs.llc_ps,
        Distance::Node => costs.node_ps,
        Distance::Hops(n) => costs.hop_ps + costs.more_hops_ps * u64::from(n.saturating_sub(1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COSTS: LineCosts = LineCosts {
        bytes: 64,
        smt_ps: 1,
        llc_ps: 10,
        node_ps: 100,
        hop_ps: 1000,
        more_hops_ps: 500,
        memory_ps: 7,
        tasks_held: 0,
    };

    fn check(topology: &Topology, costs: LineCosts, expected: fn(&Prices) -> bool) {
        let prices = Prices::new(topology, &costs);
        assert!(expected(&prices), "{} CPUs", topology.cpus());
        let some = || [0, 1, 2, 9, 17, 40, 300, 511].map(|cpu| CpuId(cpu % topology.cpus())).into_iter();
        for (from, to) in some().flat_map(|from| some().map(move |to| (from, to))) {
            let tabled = prices.between_ps(from, to);
            let right = distance_ps(topology, &costs, from, to);
            assert!(tabled.is_none_or(|price| u64::from(price) == right), "{from:?} {to:?} {tabled:?}");
        }
    }

    fn rows(prices: &Prices) -> usize {
        prices.table.len() / prices.each as usize
    }

    fn is_untabled(prices: &Prices) -> bool {
        prices.table.is_empty() && prices.by_cache.seats.is_empty()
    }

    #[test]
    fn prices_are_those_of_distances() {
        check(&Topology::regular(4, 2, 4, 2), COSTS, |prices| rows(prices) == 64);
        check(&Topology::regular(8, 4, 8, 2), COSTS, |prices| rows(prices) == 256);
        check(&Topology::regular(8, 8, 16, 1), COSTS, |prices| rows(prices) == 64);
        check(&Topology::regular(16, 4, 8, 2), COSTS, |prices| !prices.by_cache.seats.is_empty());
        check(&Topology::regular(8, 128, 1, 1), COSTS, is_untabled);
        let large = LineCosts { hop_ps: 1 << 40, ..COSTS };
        check(&Topology::regular(8, 4, 8, 2), large, is_untabled);
    }
}
