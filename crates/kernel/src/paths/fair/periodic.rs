//! Periodic load balancing (`sched_balance_domains()`): from its tick, a CPU balances those of its levels whose
//! interval has passed.

use crate::paths::sim::Sim;
use crate::rules::fair::cost::Visit;
use crate::state::fair::balancing::Walk;
use crate::state::fair::round::{Asker, Idleness};
use crate::state::frame::Frame;
use crate::state::frame::fair::FairFrame;
use keel_abi::CpuId;
use keel_abi::bpf::Engine;

impl<E: Engine> Sim<E> {
    /// Runs at each tick of `c` (`sched_balance_trigger()`).
    pub(crate) fn trigger_balance(&mut self, c: CpuId) {
        if self.k.has_balance_due(c) {
            self.k.this_cpu().stack.push(Frame::Fair(FairFrame::Softirq));
        }
        self.k.kick_nohz(c);
    }

    /// Runs [`FairFrame::Softirq`] (`sched_balance_softirq()`).
    pub(crate) fn balance_softirq(&mut self, c: CpuId) {
        self.k.charge_visit(c, Visit::Average);
        self.k.update_queue_load(c);
        self.begin_walk(c, c);
    }

    /// Begins to balance the levels of `cpu`.
    pub(super) fn begin_walk(&mut self, c: CpuId, cpu: CpuId) {
        let is_idle = self.k.is_vacant(cpu);
        self.k.fair.walks[c.index()] = Walk { is_idle, ..Walk::default() };
        self.k.fair.goes_on[c.index()] = true;
        self.k.this_cpu().stack.push(Frame::Fair(FairFrame::Periodic { cpu, level: 0 }));
    }

    /// Runs [`FairFrame::Periodic`]: balances the next level that is due.
    pub(crate) fn balance_domains(&mut self, c: CpuId, cpu: CpuId, from: usize) {
        let hierarchy = self.k.hierarchy();
        let (now, hz) = (self.k.ticks(), u64::from(self.k.machine.hz));
        for (number, level) in hierarchy.levels(cpu).iter().enumerate().skip(from) {
            self.k.charge_visit(c, Visit::Level);
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
