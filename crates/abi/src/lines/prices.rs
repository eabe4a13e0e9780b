//! Tables of what it costs to move a line from one CPU to another.
//!
//! Small machines have a table by CPU, larger ones by last-level cache, because the price between two caches is the
//! same for all of their CPUs. The largest have none, and each price is computed from the topology.

use super::LineCosts;
use crate::topology::Distance;
use crate::{CpuId, Topology};
use std::iter;

/// The maximum number of CPUs of a machine with a table by CPU. A larger table would displace other data from the
/// host's caches.
const TABLED_CPUS: u32 = 256;
/// The maximum number of caches of a machine with a table by cache.
const TABLED_CACHES: usize = 256;

/// The prices of one machine, in picoseconds.
#[derive(Clone, Debug)]
pub(super) struct Prices {
    cpus: usize,
    /// Indexed by the CPU that gets a line and the one that holds it; empty if there is no such table. Each row begins
    /// with a 0, as if for a line that nobody holds.
    table: Box<[u32]>,
    /// `None` if there is that table, or none at all: there are too many caches, or a price has more than 32 bits.
    by_cache: Option<ByCache>,
}

/// Prices between two caches, and within one.
#[derive(Clone, Debug)]
pub(super) struct ByCache {
    /// Each CPU's core and last-level cache.
    seats: Box<[(u32, u32)]>,
    caches: usize,
    /// Indexed by the cache that gets a line and the one that holds it.
    table: Box<[u32]>,
    smt_ps: u32,
}

impl Prices {
    pub(super) fn new(topology: &Topology, costs: &LineCosts) -> Self {
        let is_small = topology.cpus() <= TABLED_CPUS;
        Self {
            cpus: topology.cpus() as usize,
            table: is_small.then(|| by_cpu(topology, costs)).flatten().unwrap_or_default(),
            by_cache: if is_small { None } else { ByCache::new(topology, costs) },
        }
    }

    /// Where the row of the CPU `to` begins in the table by CPUs.
    #[inline]
    pub(super) const fn row_of(&self, to: CpuId) -> usize {
        to.index() * (self.cpus + 1) + 1
    }

    /// The price for the CPU with this row to get a line from another CPU, if there is a table by CPUs.
    #[inline]
    pub(super) fn in_row_ps(&self, row: usize, from: usize) -> Option<u32> {
        self.table.get(row + from).copied()
    }

    /// Returns 0, and the price for `to` to get a line, for each CPU that may hold it, if there is a table by CPU.
    #[inline]
    pub(super) fn to(&self, to: CpuId) -> Option<&[u32]> {
        let row = self.row_of(to);
        self.table.get(row - 1..row + self.cpus)
    }

    /// Returns the price for the CPU with the number `to` to get a line from `from`: 0 for the same one, `None` without
    /// a table, or without such a CPU.
    #[inline]
    pub(super) fn between_ps(&self, from: usize, to: usize) -> Option<u32> {
        match &self.by_cache {
            None => self.in_row_ps(self.row_of(CpuId(to as u32)), from),
            Some(_) if from == to => Some(0),
            Some(by_cache) => by_cache.between_ps(from, to),
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
            seats: places.iter().map(|place| (place.core.0, place.llc.0)).collect(),
            caches,
            table: table.into(),
            smt_ps: u32::try_from(costs.smt_ps).ok()?,
        })
    }

    #[inline]
    fn between_ps(&self, from: usize, to: usize) -> Option<u32> {
        let (&(core, has), &(own, gets)) = (self.seats.get(from)?, self.seats.get(to)?);
        match core == own {
            true => Some(self.smt_ps),
            false => self.table.get(gets as usize * self.caches + has as usize).copied(),
        }
    }
}

/// Returns the table by CPU, if each price fits into 32 bits.
fn by_cpu(topology: &Topology, costs: &LineCosts) -> Option<Box<[u32]>> {
    let price = |from, to| u32::try_from(distance_ps(topology, costs, from, to)).ok();
    let row = |to| iter::once(Some(0)).chain(topology.iter().map(move |from| price(from, to)));
    topology.iter().flat_map(row).collect()
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
            let tabled = prices.between_ps(from.index(), to.index());
            let right = distance_ps(topology, &costs, from, to);
            assert!(tabled.is_none_or(|price| u64::from(price) == right), "{from:?} {to:?} {tabled:?}");
        }
    }

    fn is_untabled(prices: &Prices) -> bool {
        prices.table.is_empty() && prices.by_cache.is_none()
    }

    #[test]
    fn prices_are_those_of_distances() {
        check(&Topology::regular(4, 2, 4, 2), COSTS, |prices| !prices.table.is_empty());
        check(&Topology::regular(8, 4, 8, 2), COSTS, |prices| prices.by_cache.is_some());
        check(&Topology::regular(8, 64, 1, 1), COSTS, is_untabled);
        let large = LineCosts { hop_ps: 1 << 40, ..COSTS };
        check(&Topology::regular(8, 4, 8, 2), large, is_untabled);
    }
}
