//! The memory bus that the CPUs of a node share: a CPU that fetches a lot of data while many others run waits longer.
//!
//! Up to `bus_free_cpus` busy CPUs of a node get their memory at full speed; each further CPU takes
//! `bus_loss_per_mille` of that speed from all. No CPU gets less than an equal share of the bandwidth of
//! `bus_free_cpus` CPUs. A fetch is priced when it starts, by how many CPUs run at that moment. Approximate: every busy
//! CPU counts as one that uses memory, whatever it runs, and a node's memory serves only that node's CPUs.

use crate::state::cost::Costs;
use keel_abi::{CpuId, Topology};

/// How many CPUs of each node run tasks.
#[derive(Debug, Default)]
pub(crate) struct Bus {
    /// By node.
    busy: Vec<u64>,
    /// The node of each CPU.
    node_of: Vec<usize>,
    free: u64,
    loss_per_mille: u64,
}

impl Bus {
    pub(crate) fn new(topology: &Topology, costs: &Costs) -> Self {
        let node_of: Vec<usize> = topology.iter().map(|c| topology.place(c).node.index()).collect();
        let busy = vec![0; topology.nodes() as usize];
        Self { busy, node_of, free: costs.bus_free_cpus, loss_per_mille: costs.bus_loss_per_mille }
    }

    /// `c` starts or stops running tasks.
    #[inline]
    pub(crate) fn note(&mut self, c: CpuId, busy: bool) {
        let count = &mut self.busy[self.node_of[c.index()]];
        match busy {
            true => *count += 1,
            false => *count -= 1,
        }
    }

    /// The time that `c` now needs for a memory transfer that takes `ns` on an idle bus, rounded up.
    pub(crate) fn slowed_ns(&self, c: CpuId, ns: u64) -> u64 {
        let busy = self.busy[self.node_of[c.index()]];
        let beyond = busy.saturating_sub(self.free);
        if beyond == 0 || self.loss_per_mille == 0 {
            return ns;
        }
        let equal_part = (1000 * self.free / busy).max(1);
        let speed = 1000_u64.saturating_sub(beyond * self.loss_per_mille).max(equal_part);
        (u128::from(ns) * 1000).div_ceil(u128::from(speed)).try_into().unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How long 1000 ns of transfer take the first CPU with `busy` busy CPUs on a node.
    fn check(free: u64, loss_per_mille: u64, busy: u32, expected: u64) {
        let costs = Costs { bus_free_cpus: free, bus_loss_per_mille: loss_per_mille, ..Costs::default() };
        let mut bus = Bus::new(&Topology::regular(2, 1, 8, 1), &costs);
        for c in 0..busy {
            bus.note(CpuId(c), true);
        }
        assert_eq!(bus.slowed_ns(CpuId(0), 1000), expected, "{busy} busy");
        assert_eq!(bus.slowed_ns(CpuId(8), 1000), 1000, "the other node has memory of its own");
        for c in 0..busy {
            bus.note(CpuId(c), false);
        }
        assert_eq!(bus.slowed_ns(CpuId(0), 1000), 1000, "nobody is left");
    }

    #[test]
    fn demand_beyond_the_limit_slows_every_cpu() {
        check(4, 100, 4, 1000);
        check(4, 100, 5, 1112);
        check(4, 100, 8, 1667);
        check(4, 0, 8, 1000);
    }

    #[test]
    fn no_cpu_gets_less_than_an_equal_part() {
        check(4, 400, 8, 2000);
        check(0, 1000, 8, 1_000_000);
    }
}
