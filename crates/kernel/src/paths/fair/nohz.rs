//! Balances for CPUs that sleep without a tick (`nohz_balancer_kick()`, `_nohz_idle_balance()`): a busy CPU wakes one
//! of them, which balances for all of them and updates their averages.

use crate::paths::sim::Sim;
use crate::state::fair::balancing::Kick;
use crate::state::frame::Frame;
use crate::state::frame::fair::FairFrame;
use keel_abi::CpuId;
use keel_abi::bpf::Engine;

impl<E: Engine> Sim<E> {
    /// Begins after this CPU was woken to balance for all idle CPUs (`nohz_csd_func()`).
    pub(crate) fn begin_nohz(&mut self, c: CpuId) {
        if !self.k.is_vacant(c) {
            self.k.fair.nohz.kicks[c.index()] = Kick::default();
            return;
        }
        let nohz = &mut self.k.fair.nohz;
        let kick = nohz.kicks[c.index()];
        nohz.still_blocked = false;
        if kick.stats {
            nohz.has_blocked = false;
        }
        if kick.next {
            nohz.needs_update = false;
        }
        self.k.this_cpu().stack.push(Frame::Fair(FairFrame::Nohz { nth: 0 }));
    }

    /// Runs [`FairFrame::Nohz`]: balances for the idle CPUs in order, from the one after `c` to `c` itself.
    pub(crate) fn nohz_balance(&mut self, c: CpuId, nth: u32) {
        let all = self.k.cpus.len() as u32;
        let kick = self.k.fair.nohz.kicks[c.index()];
        for nth in nth..all {
            let cpu = CpuId((c.0 + 1 + nth) % all);
            if !self.k.fair.nohz.idle.contains(cpu) || !self.k.is_vacant(cpu) {
                continue;
            }
            if self.k.this_cpu().need_resched {
                let nohz = &mut self.k.fair.nohz;
                nohz.has_blocked |= kick.stats;
                nohz.needs_update |= kick.next;
                nohz.kicks[c.index()] = Kick::default();
                return;
            }
            if kick.stats {
                let is_left = self.k.count_blocked(c, cpu);
                self.k.fair.nohz.still_blocked |= is_left;
            }
            if kick.balance && self.k.ticks() >= self.k.fair.next_balance[cpu.index()] {
                self.k.this_cpu().stack.push(Frame::Fair(FairFrame::Nohz { nth: nth + 1 }));
                return self.begin_walk(c, cpu);
            }
        }
        self.k.end_nohz(c, kick);
    }
}
