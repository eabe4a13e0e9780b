//! Determines a machine's topology from the sets of CPUs that share something.

use keel_abi::cpuset::MAX_CPUS;
use keel_abi::topology::Place;
use keel_abi::{CoreId, CpuId, CpuSet, LlcId, NodeId, Topology};

/// The maximum number of nodes of a machine.
const MOST_NODES: usize = 1024;

/// CPUs that share a core, a last-level cache, a package, a node; empty if unknown.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parts {
    pub(crate) cores: Vec<CpuSet>,
    pub(crate) caches: Vec<CpuSet>,
    pub(crate) packages: Vec<CpuSet>,
    pub(crate) nodes: Vec<CpuSet>,
}

impl Parts {
    /// Parses sets from the kernel's lists. Leaves out invalid lists.
    pub(crate) fn sets(lists: &[String]) -> Vec<CpuSet> {
        lists
            .iter()
            .filter_map(|list| list.trim().parse().ok())
            .filter(|set: &CpuSet| !set.is_empty())
            .collect()
    }

    /// Returns the topology of `cpus` CPUs, or `None` if unknown. The distances between nodes are not known, so each is
    /// one hop.
    pub(crate) fn topology(&self, cpus: u32) -> Option<Topology> {
        let known =
            [&self.cores, &self.caches, &self.packages, &self.nodes].iter().any(|sets| !sets.is_empty());
        if !known || cpus == 0 || cpus > MAX_CPUS || self.nodes.len() > MOST_NODES {
            return None;
        }
        let nodes = self.nodes.len().max(1);
        // No cache is larger than a package or a node.
        let caches = [&self.caches, &self.packages, &self.nodes].into_iter().find(|sets| !sets.is_empty());
        let index = |sets: &[CpuSet], cpu: CpuId| sets.iter().position(|set| set.contains(cpu));
        let lowest = |sets: &[CpuSet], cpu: CpuId| {
            let set = sets.iter().find(|set| set.contains(cpu));
            set.and_then(CpuSet::lowest).filter(|low| low.0 < cpus).unwrap_or(cpu).0
        };
        let place = |cpu: CpuId| Place {
            core: CoreId(lowest(&self.cores, cpu)),
            llc: LlcId(caches.map_or(0, |caches| lowest(caches, cpu))),
            node: NodeId(index(&self.nodes, cpu).unwrap_or(0) as u32),
        };
        let places = (0..cpus).map(CpuId).map(place).collect();
        let hops = (0..nodes).map(|a| (0..nodes).map(|b| u8::from(a != b)).collect()).collect();
        Some(Topology::new(places, hops))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_abi::topology::Distance;

    #[test]
    fn what_is_shared_makes_the_shape() {
        let sets =
            |lists: &[&str]| Parts::sets(&lists.iter().map(|&list| list.to_owned()).collect::<Vec<_>>());
        let parts = Parts {
            cores: sets(&["0,4", "1,5", "2,6", "3,7"]),
            caches: sets(&["0-1,4-5", "2-3,6-7"]),
            packages: sets(&["0-7"]),
            nodes: sets(&["0-1,4-5", "2-3,6-7", ""]),
        };
        let shape = parts.topology(8).expect("it is known");
        let check = |a, b, expected| assert_eq!(shape.distance(CpuId(a), CpuId(b)), expected, "{a} {b}");
        check(0, 4, Distance::Smt);
        check(0, 5, Distance::Llc);
        check(0, 2, Distance::Hops(1));
        assert_eq!(shape.nodes(), 2);
        assert_eq!(Parts::default().topology(8), None);
        assert_eq!(parts.topology(0), None);
    }
}
