//! Keeps the `struct sched_domain` that BPF sees, one per CPU and level, each followed by the mask of its CPUs.

use crate::state::domains::build;
use crate::state::domains::build::{Domain, NAMES};
use crate::state::kernel::Kernel;
use crate::state::layout::{rq, sched_domain as field};
use crate::state::mask::write_mask;
use crate::state::percpu;
use keel_abi::CpuId;
use keel_abi::bpf::{Ea, World};

/// The distance in bytes from one name to the next.
const NAME_BYTES: u64 = 8;

/// `busy_factor` of every domain.
const BUSY_FACTOR: u32 = 16;

impl Kernel {
    /// Adds a CPU to those available for scheduling, or removes it. All domains are rebuilt, if they have ever been
    /// used.
    pub(crate) fn set_active<W: World>(&mut self, world: &mut W, cpu: CpuId, active: bool) {
        self.fair.forget_domains();
        if self.domains.set_active(&self.machine.topology, cpu, active) && !self.per_cpu.is_null() {
            self.mirror_domains(world);
        }
    }

    /// Like [`Kernel::set_active`], before anything uses the domains.
    pub(crate) fn set_active_at_boot(&mut self, cpu: CpuId, active: bool) {
        if !active {
            self.domains.free_llc_id(cpu);
        }
        self.domains.set_active(&self.machine.topology, cpu, active);
        self.fair.forget_domains();
    }

    /// Removes the LLC id of a CPU that is about to go offline. This happens before `ops.cpu_offline`, and its domains
    /// are removed after it.
    pub(crate) fn free_llc_id<W: World>(&mut self, world: &mut W, cpu: CpuId) {
        self.domains.free_llc_id(cpu);
        if !self.per_cpu.is_null() {
            self.mirror_llc_id(world, cpu);
        }
    }

    /// Writes all domains for BPF again, and frees those from two rebuilds ago.
    pub(crate) fn mirror_domains<W: World>(&mut self, world: &mut W) {
        if self.domains.names.is_null() {
            self.domains.names = names(world);
        }
        for old in std::mem::take(&mut self.domains.retired) {
            world.free(old);
        }
        self.domains.retired = std::mem::take(&mut self.domains.present);
        let domains = build::domains(&self.machine.topology, &self.domains.active);
        for (cpu, domains) in self.machine.topology.iter().zip(&domains) {
            let lowest = self.mirror_chain(world, domains);
            let own = percpu::of(self.per_cpu, cpu);
            world.put(own.offset(rq::SD), &lowest.0.to_le_bytes());
            let cache = domains.iter().rfind(|domain| domain.shares_cache());
            let llc_size = cache.map_or(1, |domain| domain.span.len() as u32);
            world.put(own.offset(percpu::LLC_SIZE), &llc_size.to_le_bytes());
            self.mirror_llc_id(world, cpu);
        }
    }

    fn mirror_llc_id<W: World>(&self, world: &mut W, cpu: CpuId) {
        let id = self.domains.llc_ids[cpu.index()].map_or(-1, |id| id as i32);
        let at = percpu::of(self.per_cpu, cpu).offset(percpu::LLC_ID);
        world.put(at, &id.to_le_bytes());
    }

    /// Writes a CPU's domains as a linked list. Returns the lowest one, or null if there is none or memory runs out.
    fn mirror_chain<W: World>(&mut self, world: &mut W, domains: &[Domain]) -> Ea {
        let mut chain: Vec<Ea> = Vec::new();
        for domain in domains {
            let Some(at) = world.alloc(field::SIZE + self.mask_bytes()) else { break };
            self.domains.present.push(at);
            self.mirror_domain(world, at, domain);
            if let Some(&child) = chain.last() {
                world.put(child.offset(field::PARENT), &at.0.to_le_bytes());
                world.put(at.offset(field::CHILD), &child.0.to_le_bytes());
            }
            chain.push(at);
        }
        chain.first().copied().unwrap_or_default()
    }

    fn mirror_domain<W: World>(&self, world: &mut W, at: Ea, domain: &Domain) {
        let (weight, traits) = (domain.span.len() as u64, domain.traits());
        let mut put = |offset: u64, bytes: &[u8]| world.put(at.offset(offset), bytes);
        put(field::MIN_INTERVAL, &weight.to_le_bytes());
        put(field::MAX_INTERVAL, &(2 * weight).to_le_bytes());
        put(field::BUSY_FACTOR, &BUSY_FACTOR.to_le_bytes());
        put(field::IMBALANCE_PCT, &traits.imbalance_pct.to_le_bytes());
        put(field::CACHE_NICE_TRIES, &traits.cache_nice_tries.to_le_bytes());
        put(field::FLAGS, &traits.flags.to_le_bytes());
        put(field::LEVEL, &domain.level.to_le_bytes());
        put(field::SPAN_WEIGHT, &(weight as u32).to_le_bytes());
        let name = self.domains.names.offset(NAME_BYTES * domain.kind.number() as u64);
        put(field::NAME, &name.0.to_le_bytes());
        write_mask(world, at.offset(field::SIZE), domain.span.words());
    }
}

/// Writes the levels' names. If memory runs out, levels have no names.
fn names<W: World>(world: &mut W) -> Ea {
    let Some(at) = world.alloc(NAME_BYTES * NAMES.len() as u64) else { return Ea::NULL };
    for (i, name) in NAMES.iter().enumerate() {
        world.put(at.offset(NAME_BYTES * i as u64), name.as_bytes());
    }
    at
}
