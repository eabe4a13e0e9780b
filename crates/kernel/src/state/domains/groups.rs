//! The sched domains as the fair class balances over them: each CPU's levels, and the groups of each level
//! (`build_sched_groups()`, `build_overlap_sched_groups()`).
//!
//! A group is the span of a lower level of one of the CPUs. CPUs that see the same groups share them. If nodes are not
//! equally far apart, groups overlap, and each CPU has its own list.

use crate::state::domains::build::{Domain, Kind, domains};
use crate::state::domains::flags;
use keel_abi::{CpuId, CpuSet, Topology};

/// CPUs that are treated as one at a level (`struct sched_group`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) cpus: CpuSet,
    /// The first of them.
    pub(crate) lowest: CpuId,
    /// The number of CPUs.
    pub(crate) weight: u32,
    /// The flags of the lower level that it spans; 0 for a single CPU.
    flags: u32,
    /// The number of cores that its CPUs belong to.
    pub(crate) cores: u32,
    /// The CPUs that balance for the group (`group_balance_mask()`).
    pub(crate) balancers: CpuSet,
}

impl Group {
    /// Returns whether its CPUs are the threads of one core (`SD_SHARE_CPUCAPACITY`).
    pub(crate) fn is_core(&self) -> bool {
        self.flags & flags::SHARE_CPUCAPACITY != 0
    }

    /// Returns whether tasks are spread to sibling groups first (`SD_PREFER_SIBLING`).
    pub(crate) fn prefers_sibling(&self) -> bool {
        self.flags & flags::PREFER_SIBLING != 0
    }

    /// Returns the CPU that identifies the group (`group_balance_cpu()`).
    pub(crate) fn first_balancer(&self) -> CpuId {
        self.balancers.lowest().unwrap_or(self.lowest)
    }
}

/// The immutable part of a CPU's sched domain (`struct sched_domain`).
#[derive(Clone, Debug)]
pub(crate) struct Level {
    pub(crate) span: CpuSet,
    /// The number of CPUs in the span (`span_weight`).
    pub(crate) weight: u32,
    flags: u32,
    pub(crate) imbalance_pct: u64,
    pub(crate) cache_nice_tries: u32,
    /// By how many tasks NUMA nodes may differ (`imb_numa_nr`).
    pub(crate) numa_allowance: u64,
    /// Whether its CPUs differ in capacity (`SD_ASYM_CPUCAPACITY`).
    pub(crate) is_uneven: bool,
    /// Its number on the machine, counting levels that are left out.
    pub(crate) number: u32,
    ring: usize,
    first: usize,
}

impl Level {
    fn has(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }

    pub(crate) fn balances_newidle(&self) -> bool {
        self.has(flags::BALANCE_NEWIDLE)
    }

    pub(crate) fn balances_fork(&self) -> bool {
        self.has(flags::BALANCE_FORK)
    }

    pub(crate) fn balances_exec(&self) -> bool {
        self.has(flags::BALANCE_EXEC)
    }

    pub(crate) fn wakes_affine(&self) -> bool {
        self.has(flags::WAKE_AFFINE)
    }

    pub(crate) fn is_core(&self) -> bool {
        self.has(flags::SHARE_CPUCAPACITY)
    }

    pub(crate) fn shares_cache(&self) -> bool {
        self.has(flags::SHARE_LLC)
    }

    pub(crate) fn is_numa(&self) -> bool {
        self.has(flags::NUMA)
    }
}

/// The levels of all CPUs.
#[derive(Debug, Default)]
pub(crate) struct Hierarchy {
    levels: Vec<Vec<Level>>,
    rings: Vec<Vec<Group>>,
}

impl Hierarchy {
    /// Builds the domains of a machine with these active CPUs and these capacities. If no capacities are given, all are
    /// equal.
    pub(crate) fn new(topology: &Topology, active: &CpuSet, capacity: &[u16]) -> Self {
        let all = domains(topology, active);
        let mut hierarchy = Self::default();
        for cpu in topology.iter() {
            let own = &all[cpu.index()];
            let levels =
                (0..own.len()).map(|at| hierarchy.level(topology, &all, capacity, cpu, at)).collect();
            hierarchy.levels.push(levels);
        }
        hierarchy
    }

    /// Returns a CPU's levels, the smallest first.
    pub(crate) fn levels(&self, cpu: CpuId) -> &[Level] {
        &self.levels[cpu.index()]
    }

    /// Returns a level's groups, beginning with the group of the level's CPU.
    pub(crate) fn groups(&self, level: &Level) -> impl Iterator<Item = &Group> {
        let ring = &self.rings[level.ring];
        ring[level.first..].iter().chain(&ring[..level.first])
    }

    /// Returns the group of the level's CPU.
    pub(crate) fn local(&self, level: &Level) -> &Group {
        &self.rings[level.ring][level.first]
    }

    /// Returns the highest level whose CPUs share an LLC (`sd_llc`).
    pub(crate) fn cache(&self, cpu: CpuId) -> Option<&Level> {
        self.levels(cpu).iter().rfind(|level| level.shares_cache())
    }

    fn level(
        &mut self,
        topology: &Topology,
        all: &[Vec<Domain>],
        capacity: &[u16],
        cpu: CpuId,
        at: usize,
    ) -> Level {
        let domain = &all[cpu.index()][at];
        let traits = domain.traits();
        let ring = self.ring(topology, all, cpu, domain);
        let first = self.rings[ring].iter().position(|group| group.cpus.contains(cpu));
        let of = |cpu: CpuId| capacity.get(cpu.index());
        let one = domain.span.lowest().and_then(of);
        Level {
            span: domain.span.clone(),
            weight: domain.span.len() as u32,
            flags: traits.flags,
            imbalance_pct: u64::from(traits.imbalance_pct),
            cache_nice_tries: traits.cache_nice_tries,
            numa_allowance: numa_allowance(topology, all, cpu, at),
            is_uneven: domain.span.iter().any(|cpu| of(cpu) != one),
            number: domain.level,
            ring,
            first: first.expect("a CPU is in one of its groups"),
        }
    }

    /// Returns the groups of a domain, which it may share with the domains of other CPUs.
    fn ring(&mut self, topology: &Topology, all: &[Vec<Domain>], cpu: CpuId, domain: &Domain) -> usize {
        let below = |other: CpuId| below(&all[other.index()], domain.level);
        let own = CpuSet::from_iter([cpu]);
        let is_shared = !matches!(domain.kind, Kind::Numa(_));
        if is_shared
            && let Some(first) = domain.span.lowest().filter(|&first| first < cpu)
            && let Some(level) = self.levels[first.index()].iter().find(|level| level.number == domain.level)
        {
            return level.ring;
        }
        let mut covered = CpuSet::new();
        let mut ring = Vec::new();
        let after = domain.span.iter().filter(|&other| other >= cpu);
        let before = domain.span.iter().filter(|&other| other < cpu);
        for other in after.chain(before) {
            if covered.contains(other) {
                continue;
            }
            let (cpus, flags) = match below(other) {
                // A group that reaches beyond the domain belongs to another CPU's view of the machine.
                Some(child) if child.span.is_subset(&domain.span) => {
                    (child.span.clone(), child.traits().flags)
                }
                _ => (if other == cpu { own.clone() } else { CpuSet::from_iter([other]) }, 0),
            };
            cpus.iter().for_each(|cpu| {
                covered.insert(cpu);
            });
            ring.push(group(topology, cpus, flags, &below));
        }
        self.rings.push(ring);
        self.rings.len() - 1
    }
}

fn group<'d>(
    topology: &Topology,
    cpus: CpuSet,
    flags: u32,
    below: &impl Fn(CpuId) -> Option<&'d Domain>,
) -> Group {
    let cores: std::collections::BTreeSet<_> = cpus.iter().map(|cpu| topology.place(cpu).core).collect();
    let sees_it = |&cpu: &CpuId| match below(cpu) {
        Some(child) => child.span == cpus,
        None => cpus.len() == 1,
    };
    let balancers = cpus.iter().filter(sees_it).collect();
    let lowest = cpus.lowest().expect("a group has a CPU");
    Group { lowest, weight: cpus.len() as u32, flags, cores: cores.len() as u32, balancers, cpus }
}

/// Returns a CPU's domain below a level (`sd->child`).
fn below(domains: &[Domain], level: u32) -> Option<&Domain> {
    domains.iter().rfind(|domain| domain.level < level)
}

/// Returns by how many tasks nodes of the domain may differ (`sd->imb_numa_nr`): an eighth of a node with one LLC, or
/// one task per LLC if a node has several, times the domain's size relative to the lowest NUMA domain's.
fn numa_allowance(topology: &Topology, all: &[Vec<Domain>], cpu: CpuId, at: usize) -> u64 {
    let own = &all[cpu.index()];
    if !matches!(own[at].kind, Kind::Numa(_)) {
        return 0;
    }
    let is_active = |other: &CpuId| !all[other.index()].is_empty();
    let place = topology.place(cpu);
    let count = |set: CpuSet| set.iter().filter(is_active).count().max(1);
    let node = count(topology.cpus_where(|other| other.node == place.node));
    let cache = count(topology.cpus_where(|other| other.llc == place.llc));
    let of_node = if node / cache == 1 { node >> 3 } else { node / cache }.max(1);
    let nearest =
        own.iter().find(|domain| matches!(domain.kind, Kind::Numa(_))).map_or(node, |d| d.span.len());
    (of_node * (own[at].span.len() / nearest).max(1)) as u64
}

#[cfg(test)]
#[path = "groups_tests.rs"]
mod tests;
