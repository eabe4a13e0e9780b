//! The sched domains: `rq->sd`, `sd_llc_id` and `sd_llc_size`.
//!
//! The fair class uses them for placement and load balancing (`groups`), and schedulers read them. They contain the
//! CPUs that may be scheduled on (`cpu_active_mask`): a CPU that comes online joins before `ops.cpu_online`, and one
//! that goes offline leaves after `ops.cpu_offline` has returned (`sched_cpu_activate()`, `sched_cpu_deactivate()`).
//! They are built on first use.

mod build;
pub(crate) mod groups;
mod mirror;

use keel_abi::bpf::Ea;
use keel_abi::{CpuId, CpuSet, Topology};

/// `SD_*`.
mod flags {
    pub(super) const BALANCE_NEWIDLE: u32 = 1 << 0;
    pub(super) const BALANCE_EXEC: u32 = 1 << 1;
    pub(super) const BALANCE_FORK: u32 = 1 << 2;
    pub(super) const WAKE_AFFINE: u32 = 1 << 4;
    pub(super) const SHARE_CPUCAPACITY: u32 = 1 << 7;
    pub(super) const CLUSTER: u32 = 1 << 8;
    pub(super) const SHARE_LLC: u32 = 1 << 9;
    pub(super) const SERIALIZE: u32 = 1 << 10;
    pub(super) const PREFER_SIBLING: u32 = 1 << 12;
    pub(super) const NUMA: u32 = 1 << 13;
}

/// The CPUs in the domains, and where the domains are in memory once built.
#[derive(Debug)]
pub(crate) struct Domains {
    active: CpuSet,
    /// `sd_llc_id` by CPU; `None` for CPUs that are offline.
    llc_ids: Vec<Option<u32>>,
    /// The names of the levels, in the order of [`build::NAMES`].
    names: Ea,
    present: Vec<Ea>,
    /// The previous domains, which a program may still be reading.
    retired: Vec<Ea>,
}

impl Domains {
    /// Creates the domains of a machine with all CPUs active.
    pub(crate) fn new(topology: &Topology) -> Self {
        let mut domains = Self {
            active: CpuSet::first(topology.cpus()),
            llc_ids: vec![None; topology.cpus() as usize],
            names: Ea::NULL,
            present: Vec::new(),
            retired: Vec::new(),
        };
        domains.give_llc_ids(topology);
        domains
    }

    /// Returns the CPUs that are in the domains.
    pub(crate) fn active(&self) -> &CpuSet {
        &self.active
    }

    /// Adds or removes a CPU. Returns whether that changed anything.
    fn set_active(&mut self, topology: &Topology, cpu: CpuId, active: bool) -> bool {
        let changed = match active {
            true => self.active.insert(cpu),
            false => self.active.remove(cpu),
        };
        if changed {
            self.give_llc_ids(topology);
        }
        changed
    }

    /// Removes the CPU's LLC id (`sched_domains_free_llc_id()`).
    fn free_llc_id(&mut self, cpu: CpuId) {
        self.llc_ids[cpu.index()] = None;
    }

    /// Gives each CPU without an LLC id that of its LLC, or else the lowest free one.
    fn give_llc_ids(&mut self, topology: &Topology) {
        let mut of_cache: Vec<Option<u32>> = Vec::new();
        for cpu in topology.iter() {
            let llc = topology.place(cpu).llc.index();
            if of_cache.len() <= llc {
                of_cache.resize(llc + 1, None);
            }
            of_cache[llc] = of_cache[llc].or(self.llc_ids[cpu.index()]);
        }
        let mut taken: Vec<u32> = of_cache.iter().flatten().copied().collect();
        for cpu in topology.iter().filter(|&cpu| self.active.contains(cpu)) {
            let id = of_cache[topology.place(cpu).llc.index()].get_or_insert_with(|| {
                let free = (0..).find(|id| !taken.contains(id)).expect("there are more numbers than caches");
                taken.push(free);
                free
            });
            self.llc_ids[cpu.index()] = Some(*id);
        }
    }
}

#[cfg(test)]
mod tests;
