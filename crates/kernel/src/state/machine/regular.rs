//! Regular topologies, defined by the numbers of nodes, caches per node, cores per cache and threads per core.

use keel_abi::topology::Place;
use keel_abi::{CoreId, LlcId, NodeId, Topology};

/// The number of CPUs per LLC of a current server.
const CPUS_PER_LLC: u32 = 8;

/// The number of CPUs per node of a current server.
const CPUS_PER_NODE: u32 = 64;

/// A regular topology. The numbers are at least 1, and their product has been checked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Regular {
    pub(super) nodes: u32,
    pub(super) llcs: u32,
    pub(super) cores: u32,
    pub(super) threads: u32,
    /// Whether all first threads are numbered before all second ones, as most firmware does.
    pub(super) threads_last: bool,
}

impl Regular {
    pub(super) fn places(self) -> Vec<Place> {
        let cores = self.nodes * self.llcs * self.cores;
        let core_of = |cpu: u32| if self.threads_last { cpu % cores } else { cpu / self.threads };
        (0..cores * self.threads)
            .map(core_of)
            .map(|core| Place {
                core: CoreId(core),
                llc: LlcId(core / self.cores),
                node: NodeId(core / (self.cores * self.llcs)),
            })
            .collect()
    }
}

/// Returns the topology of a current server, whose last LLC and node may be smaller than the others.
pub(super) fn server(cpus: u32) -> Topology {
    let place =
        |cpu| Place { core: CoreId(cpu), llc: LlcId(cpu / CPUS_PER_LLC), node: NodeId(cpu / CPUS_PER_NODE) };
    let nodes = cpus.div_ceil(CPUS_PER_NODE) as usize;
    Topology::new((0..cpus).map(place).collect(), one_hop(nodes))
}

/// Returns the hops of nodes of which any two are one hop apart.
pub(super) fn one_hop(nodes: usize) -> Vec<Vec<u8>> {
    (0..nodes).map(|a| (0..nodes).map(|b| u8::from(a != b)).collect()).collect()
}
