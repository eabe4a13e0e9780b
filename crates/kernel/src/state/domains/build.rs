//! Builds each CPU's sched domains (`build_sched_domains()`, `cpu_attach_domain()`) from the machine's topology and the
//! active CPUs.
//!
//! The levels are x86's: SMT, cluster, LLC, package, node, then one for each distance between nodes. A level that has
//! one CPU, or the same CPUs as the level below, is left out but keeps its number. Nothing is built above the first
//! level that has all CPUs.

use crate::state::domains::flags;
use keel_abi::{CpuId, CpuSet, NodeId, Topology};

/// The names of the levels, by [`Kind`].
pub(super) const NAMES: [&str; 6] = ["SMT", "CLS", "MC", "PKG", "NODE", "NUMA"];

/// What the CPUs of a level share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Smt,
    /// A second-level cache. Here, each core has its own.
    Cluster,
    Cache,
    /// A socket. Here, each node is one.
    Package,
    Node,
    /// NUMA nodes within this many hops.
    Numa(u8),
}

impl Kind {
    /// Returns its index in [`NAMES`].
    pub(super) const fn number(self) -> usize {
        match self {
            Self::Smt => 0,
            Self::Cluster => 1,
            Self::Cache => 2,
            Self::Package => 3,
            Self::Node => 4,
            Self::Numa(_) => 5,
        }
    }
}

/// One domain of one CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Domain {
    pub(super) kind: Kind,
    /// The number of levels below it, including those left out.
    pub(super) level: u32,
    pub(super) span: CpuSet,
}

/// The properties that follow from a domain's kind (`sd_init()`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Traits {
    pub(super) flags: u32,
    pub(super) imbalance_pct: u32,
    pub(super) cache_nice_tries: u32,
}

/// The distance from a node to itself in the firmware's tables, and the distance of each hop.
const DISTANCE_SELF: u32 = 10;

const DISTANCE_HOP: u32 = 10;

/// `node_reclaim_distance`: new and waking tasks are not placed farther away.
const RECLAIM_DISTANCE: u32 = 30;

impl Domain {
    pub(super) fn traits(&self) -> Traits {
        const PLACING: u32 = flags::BALANCE_EXEC | flags::BALANCE_FORK | flags::WAKE_AFFINE;
        const PLAIN: u32 = PLACING | flags::BALANCE_NEWIDLE;
        const NEAR: u32 = PLAIN | flags::PREFER_SIBLING;
        let (flags, imbalance_pct, cache_nice_tries) = match self.kind {
            Kind::Smt => (NEAR | flags::SHARE_CPUCAPACITY | flags::SHARE_LLC, 110, 0),
            Kind::Cluster => (NEAR | flags::CLUSTER | flags::SHARE_LLC, 117, 1),
            Kind::Cache => (NEAR | flags::SHARE_LLC, 117, 1),
            Kind::Package | Kind::Node => (NEAR, 117, 1),
            Kind::Numa(hops) => {
                let far = DISTANCE_SELF + DISTANCE_HOP * u32::from(hops) > RECLAIM_DISTANCE;
                let placing = if far { PLAIN & !PLACING } else { PLAIN };
                (placing | flags::NUMA | flags::SERIALIZE, 117, 2)
            }
        };
        Traits { flags, imbalance_pct, cache_nice_tries }
    }

    /// Returns whether its CPUs share an LLC.
    pub(super) fn shares_cache(&self) -> bool {
        self.traits().flags & flags::SHARE_LLC != 0
    }
}

/// Returns each CPU's domains, the smallest first. CPUs that are not active have none.
pub(super) fn domains(topology: &Topology, active: &CpuSet) -> Vec<Vec<Domain>> {
    let masks = Masks::new(topology, active);
    let kinds = masks.kinds(topology);
    let of = |cpu: CpuId| match active.contains(cpu) {
        true => of_cpu(topology, active, &masks, &kinds, cpu),
        false => Vec::new(),
    };
    topology.iter().map(of).collect()
}

fn of_cpu(topology: &Topology, active: &CpuSet, masks: &Masks, kinds: &[Kind], cpu: CpuId) -> Vec<Domain> {
    let mut kept: Vec<Domain> = Vec::new();
    for (level, &kind) in (0..).zip(kinds) {
        let span = masks.of(topology, kind, cpu);
        if span.len() > 1 && kept.last().is_none_or(|below| below.span != *span) {
            kept.push(Domain { kind, level, span: span.clone() });
        }
        if span == active {
            break;
        }
    }
    kept
}

/// The active CPUs, grouped by what they share.
struct Masks {
    cores: Vec<CpuSet>,
    caches: Vec<CpuSet>,
    nodes: Vec<CpuSet>,
    /// For each distance in ascending order, by node: the CPUs within that distance.
    within: Vec<(u8, Vec<CpuSet>)>,
}

impl Masks {
    fn new(topology: &Topology, active: &CpuSet) -> Self {
        let group = |of: &dyn Fn(CpuId) -> usize| {
            let mut groups: Vec<CpuSet> = Vec::new();
            for cpu in active.iter() {
                let index = of(cpu);
                if groups.len() <= index {
                    groups.resize(index + 1, CpuSet::new());
                }
                groups[index].insert(cpu);
            }
            groups
        };
        let cores = group(&|cpu| topology.place(cpu).core.index());
        let caches = group(&|cpu| topology.place(cpu).llc.index());
        let mut nodes = group(&|cpu| topology.place(cpu).node.index());
        nodes.resize(topology.nodes() as usize, CpuSet::new());
        let within = within(topology, &nodes);
        Self { cores, caches, nodes, within }
    }

    /// Returns the machine's levels. There is no SMT level if no core has two CPUs.
    fn kinds(&self, topology: &Topology) -> Vec<Kind> {
        let smt = topology.has_smt().then_some(Kind::Smt);
        let near = [Kind::Cluster, Kind::Cache, Kind::Package, Kind::Node];
        smt.into_iter().chain(near).chain(self.within.iter().map(|&(hops, _)| Kind::Numa(hops))).collect()
    }

    fn of(&self, topology: &Topology, kind: Kind, cpu: CpuId) -> &CpuSet {
        let place = topology.place(cpu);
        match kind {
            Kind::Smt | Kind::Cluster => &self.cores[place.core.index()],
            Kind::Cache => &self.caches[place.llc.index()],
            Kind::Package | Kind::Node => &self.nodes[place.node.index()],
            Kind::Numa(hops) => {
                let level = self.within.iter().find(|(within, _)| *within == hops);
                &level.expect("a level a distance").1[place.node.index()]
            }
        }
    }
}

/// Returns for each distance between nodes with active CPUs, and for each node, the CPUs within that distance
/// (`sched_init_numa()`).
fn within(topology: &Topology, nodes: &[CpuSet]) -> Vec<(u8, Vec<CpuSet>)> {
    let ids = || (0..topology.nodes()).map(NodeId).filter(|node| !nodes[node.index()].is_empty());
    let hops: std::collections::BTreeSet<u8> =
        ids().flat_map(|a| ids().map(move |b| topology.hops(a, b))).filter(|&hops| hops > 0).collect();
    let around = |node: NodeId, most: u8| -> CpuSet {
        ids()
            .filter(|&other| topology.hops(node, other) <= most)
            .flat_map(|other| nodes[other.index()].iter())
            .collect()
    };
    let all = |hops: u8| (0..topology.nodes()).map(|node| around(NodeId(node), hops)).collect();
    hops.into_iter().map(|hops| (hops, all(hops))).collect()
}
