//! Balancing now and then (`sched_balance_domains()`): at a tick a busy CPU balances those of its levels whose interval is
//! over.

use crate::fair::cost::Visit;
use crate::sim::Sim;
use crate::state::domains::groups::Hierarchy;
use crate::state::fair::balancing::Walk;
use crate::state::fair::rest::MIGRATION_COST;
use crate::state::fair::round::{Asker, Idleness, Memory};
use crate::state::frame::Frame;
use crate::state::frame::fair::FairFrame;
use crate::state::kernel::Kernel;
use keel_abi::CpuId;
use keel_abi::bpf::Engine;
use std::sync::Arc;

impl Kernel {
    /// The machine's domains, made where they are needed first or have changed.
    pub(super) fn hierarchy(&mut self) -> Arc<Hierarchy> {
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

    /// What a CPU's level remembers; nothing where domains have changed meanwhile.
    pub(super) fn memory_of(&self, cpu: CpuId, level: usize) -> Memory {
        let memory = self.fair.memories.get(cpu.index()).and_then(|levels| levels.get(level));
        memory.copied().unwrap_or(Memory::new(1, 0))
    }

    pub(super) fn remember(&mut self, cpu: CpuId, level: usize, note: impl FnOnce(&mut Memory)) {
        if let Some(memory) = self.fair.memories.get_mut(cpu.index()).and_then(|levels| levels.get_mut(level))
        {
            note(memory);
        }
    }

    /// No interval is longer, in ticks (`update_max_interval()`).
    pub(super) fn most_interval(&self) -> u64 {
        u64::from(self.machine.hz) * self.cpus.len() as u64 / 10
    }

    /// The tick of `c` (`sched_balance_trigger()`).
    pub(crate) fn trigger_balance(&mut self, c: CpuId) {
        if self.ticks() >= self.fair.next_balance[c.index()] {
            self.this_cpu().stack.push(Frame::Fair(FairFrame::Softirq));
        }
        self.kick_nohz(c);
    }
}

impl<E: Engine> Sim<E> {
    /// [`FairFrame::Softirq`] (`sched_balance_softirq()`).
    pub(super) fn balance_softirq(&mut self, c: CpuId) {
        self.k.take_turn(c, Visit::Average);
        self.k.update_queue_load(c);
        self.begin_walk(c, c);
    }

    /// Goes over the levels of `cpu`.
    pub(super) fn begin_walk(&mut self, c: CpuId, cpu: CpuId) {
        let is_idle = self.k.is_vacant(cpu);
        self.k.fair.walks[c.index()] = Walk { is_idle, ..Walk::default() };
        self.k.fair.goes_on[c.index()] = true;
        self.k.this_cpu().stack.push(Frame::Fair(FairFrame::Periodic { cpu, level: 0 }));
    }

    /// [`FairFrame::Periodic`].
    pub(super) fn balance_domains(&mut self, c: CpuId, cpu: CpuId, from: usize) {
        let hierarchy = self.k.hierarchy();
        let (now, hz) = (self.k.ticks(), u64::from(self.k.machine.hz));
        for (number, level) in hierarchy.levels(cpu).iter().enumerate().skip(from) {
            self.k.take_turn(c, Visit::Level);
            let mut forgets = false;
            self.k.remember(cpu, number, |memory| forgets = memory.forget_cost(now, hz));
            let cost_ns = self.k.memory_of(cpu, number).cost_ns;
            let walk = &mut self.k.fair.walks[c.index()];
            walk.forgets = forgets;
            walk.search_ns += cost_ns;
            if !self.k.fair.goes_on[c.index()] {
                if forgets {
                    continue;
                }
                break;
            }
            let is_free = !level.is_numa() || self.k.fair.serialized.is_none();
            let memory = self.k.memory_of(cpu, number);
            let walk = self.k.fair.walks[c.index()];
            let is_busy = !walk.is_idle && !self.k.has_only_idle_policy(cpu);
            let interval = memory.interval(is_busy, hz, self.k.most_interval());
            if is_free && now >= memory.last + interval {
                if level.is_numa() {
                    self.k.fair.serialized = Some(c);
                    self.k.fair.walks[c.index()].is_serialized = true;
                }
                let idleness = if walk.is_idle { Idleness::Idle } else { Idleness::Busy };
                return self.begin_round(c, cpu, number, idleness, Asker::Periodic);
            }
            self.k.is_due(c, memory.last + interval);
        }
        self.k.end_walk(c, cpu);
    }
}

impl Kernel {
    /// A level has been balanced.
    pub(super) fn balanced_level(&mut self, c: CpuId, cpu: CpuId, level: usize, moved: bool) {
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

    fn is_due(&mut self, c: CpuId, at: u64) {
        let next = &mut self.fair.walks[c.index()].next;
        *next = Some(next.map_or(at, |next| next.min(at)));
    }

    fn end_walk(&mut self, c: CpuId, cpu: CpuId) {
        let walk = self.fair.walks[c.index()];
        if walk.forgets {
            self.fair.rest[cpu.index()].search_ns = walk.search_ns.max(MIGRATION_COST.as_ns());
        }
        if let Some(next) = walk.next {
            self.fair.next_balance[cpu.index()] = next;
        }
    }
}
