//! Decides when a sched domain is due for periodic balancing.

use crate::state::domains::groups::Hierarchy;
use crate::state::fair::idle_time::MIGRATION_COST;
use crate::state::fair::round::Memory;
use crate::state::kernel::Kernel;
use keel_abi::CpuId;
use std::sync::Arc;

impl Kernel {
    /// Returns the machine's sched domains, which are built on first use and after each change.
    pub(crate) fn hierarchy(&mut self) -> Arc<Hierarchy> {
        if let Some(hierarchy) = &self.fair.hierarchy {
            return hierarchy.clone();
        }
        let made =
            Arc::new(Hierarchy::new(&self.machine.topology, self.domains.active(), &self.machine.capacity));
        let (now, topology) = (self.ticks(), &self.machine.topology);
        let memories = |cpu| made.levels(cpu).iter().map(|level| Memory::new(level.weight, now)).collect();
        self.fair.memories = topology.iter().map(memories).collect();
        self.fair.hierarchy = Some(made.clone());
        made
    }

    /// Returns the state of a CPU's level, or the default if the domains have changed in the meantime.
    pub(crate) fn memory_of(&self, cpu: CpuId, level: usize) -> Memory {
        let memory = self.fair.memories.get(cpu.index()).and_then(|levels| levels.get(level));
        memory.copied().unwrap_or(Memory::new(1, 0))
    }

    pub(crate) fn remember(&mut self, cpu: CpuId, level: usize, note: impl FnOnce(&mut Memory)) {
        if let Some(memory) = self.fair.memories.get_mut(cpu.index()).and_then(|levels| levels.get_mut(level))
        {
            note(memory);
        }
    }

    /// Returns the longest balancing interval, in ticks (`update_max_interval()`).
    pub(crate) fn most_interval(&self) -> u64 {
        u64::from(self.machine.hz) * self.cpus.len() as u64 / 10
    }

    /// Returns whether a level of `c` is due at its tick (`sched_balance_trigger()`).
    pub(crate) fn has_balance_due(&self, c: CpuId) -> bool {
        self.ticks() >= self.fair.next_balance[c.index()]
    }
}

impl Kernel {
    /// Updates a level's state after it has been balanced.
    pub(crate) fn balanced_level(&mut self, c: CpuId, cpu: CpuId, level: usize, moved: bool) {
        if std::mem::take(&mut self.fair.walks[c.index()].is_serialized) {
            self.fair.serialized = None;
        }
        if moved {
            self.fair.walks[c.index()].is_idle = self.is_vacant(cpu);
        }
        let now = self.ticks();
        self.remember(cpu, level, |memory| memory.last = now);
        let is_busy = !self.fair.walks[c.index()].is_idle && !self.has_only_idle_policy(cpu);
        let interval =
            self.memory_of(cpu, level).interval(is_busy, u64::from(self.machine.hz), self.most_interval());
        self.is_due(c, now + interval);
    }

    pub(crate) fn is_due(&mut self, c: CpuId, at: u64) {
        let next = &mut self.fair.walks[c.index()].next;
        *next = Some(next.map_or(at, |next| next.min(at)));
    }

    pub(crate) fn end_walk(&mut self, c: CpuId, cpu: CpuId) {
        let walk = self.fair.walks[c.index()];
        if walk.forgets {
            self.fair.idle_times[cpu.index()].search_ns = walk.search_ns.max(MIGRATION_COST.as_ns());
        }
        if let Some(next) = walk.next {
            self.fair.next_balance[cpu.index()] = next;
        }
    }
}
