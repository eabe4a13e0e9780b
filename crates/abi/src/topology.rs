//! The shape of a machine of any size: which CPUs share a core, a last-level cache and a node, and how many hops apart
//! nodes are.

use crate::{CoreId, CpuId, CpuSet, LlcId, NodeId};

/// The position of one CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The physical core; CPUs with the same core are SMT siblings.
    pub core: CoreId,
    /// The last-level cache.
    pub llc: LlcId,
    /// The NUMA node.
    pub node: NodeId,
}

/// How far apart two CPUs are, nearest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Distance {
    /// The same CPU.
    Same,
    /// SMT siblings.
    Smt,
    /// Different cores under one last-level cache.
    Llc,
    /// Different caches on one node.
    Node,
    /// Different nodes, this many hops apart (at least 1).
    Hops(u8),
}

/// A machine's CPUs and how they are connected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    places: Vec<Place>,
    /// `hops[a][b]` between nodes; 0 on the diagonal.
    hops: Vec<Vec<u8>>,
}

impl Topology {
    /// Creates a machine from each CPU's place and the hops between nodes (`hops[a][b]`, 0 only on the diagonal).
    ///
    /// # Panics
    /// There is no CPU, or the matrix is not square or doesn't cover every node. Readers of machine files check this
    /// first and report errors.
    pub fn new(places: Vec<Place>, hops: Vec<Vec<u8>>) -> Self {
        assert!(!places.is_empty(), "a machine has at least one CPU");
        assert!(hops.iter().all(|row| row.len() == hops.len()), "hops form a square");
        assert!(places.iter().all(|p| p.node.index() < hops.len()), "every node has its hops");
        Self { places, hops }
    }

    /// Creates a machine with `cpus` CPUs on one node under one cache, without SMT.
    pub fn flat(cpus: u32) -> Self {
        Self::regular(1, 1, cpus, 1)
    }

    /// Creates a machine with `nodes` nodes of `llcs` caches of `cores` cores of `smt` threads. All nodes are one hop
    /// apart. SMT siblings have neighbouring numbers.
    pub fn regular(nodes: u32, llcs: u32, cores: u32, smt: u32) -> Self {
        let places = (0..nodes * llcs * cores * smt)
            .map(|cpu| Place {
                core: CoreId(cpu / smt),
                llc: LlcId(cpu / (smt * cores)),
                node: NodeId(cpu / (smt * cores * llcs)),
            })
            .collect();
        let hops = (0..nodes).map(|a| (0..nodes).map(|b| u8::from(a != b)).collect()).collect();
        Self::new(places, hops)
    }

    /// Returns the number of CPUs.
    #[inline]
    pub fn cpus(&self) -> u32 {
        self.places.len() as u32
    }

    /// Returns the number of nodes.
    pub fn nodes(&self) -> u32 {
        self.hops.len() as u32
    }

    /// Returns all CPUs, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = CpuId> + use<> {
        (0..self.cpus()).map(CpuId)
    }

    /// Returns the position of `cpu`.
    #[inline]
    pub fn place(&self, cpu: CpuId) -> Place {
        self.places[cpu.index()]
    }

    /// Returns the number of hops between two nodes: 0 for the same node.
    #[inline]
    pub fn hops(&self, a: NodeId, b: NodeId) -> u8 {
        self.hops[a.index()][b.index()]
    }

    /// Returns how far apart two CPUs are.
    #[inline]
    pub fn distance(&self, a: CpuId, b: CpuId) -> Distance {
        if a == b {
            return Distance::Same;
        }
        let (pa, pb) = (self.place(a), self.place(b));
        if pa.core == pb.core {
            Distance::Smt
        } else if pa.llc == pb.llc {
            Distance::Llc
        } else if pa.node == pb.node {
            Distance::Node
        } else {
            Distance::Hops(self.hops(pa.node, pb.node))
        }
    }

    /// Returns the CPUs whose places satisfy `wanted`.
    pub fn cpus_where(&self, wanted: impl Fn(Place) -> bool) -> CpuSet {
        self.iter().filter(|&cpu| wanted(self.place(cpu))).collect()
    }

    /// Returns whether any core has more than one CPU.
    pub fn has_smt(&self) -> bool {
        let mut cores: Vec<CoreId> = self.places.iter().map(|place| place.core).collect();
        cores.sort_unstable();
        cores.windows(2).any(|pair| pair[0] == pair[1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_follow_the_shape() {
        let t = Topology::regular(2, 2, 2, 2);
        let check = |a, b, expected| assert_eq!(t.distance(CpuId(a), CpuId(b)), expected);
        check(0, 0, Distance::Same);
        check(0, 1, Distance::Smt);
        check(0, 2, Distance::Llc);
        check(0, 4, Distance::Node);
        check(0, 8, Distance::Hops(1));
        assert_eq!(t.cpus(), 16);
        assert!(t.has_smt());
        assert!(!Topology::flat(4).has_smt());
    }
}
