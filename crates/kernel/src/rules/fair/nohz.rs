//! Decides when a CPU balances for tickless idle CPUs, and for which of them.

use crate::rules::fair::cost::Visit;
use crate::rules::fair::newidle::SOON_NS;
use crate::state::cpu::Irq;
use crate::state::fair::balancing::Kick;
use crate::state::kernel::Kernel;
use keel_abi::CpuId;

/// The minimum time between updates of idle CPUs' averages, in milliseconds (`LOAD_AVG_PERIOD`).
const BLOCKED_MS: u64 = 32;

impl Kernel {
    /// When `c` goes idle and stops its tick (`nohz_balance_enter_idle()`).
    pub(super) fn enter_nohz(&mut self, c: CpuId) {
        if !self.cpus[c].online {
            return;
        }
        let nohz = &mut self.fair.nohz;
        nohz.blocked[c.index()] = true;
        nohz.has_blocked = true;
        if nohz.idle.insert(c) {
            nohz.needs_update = true;
        }
    }

    /// Runs at a tick of a busy CPU (`nohz_balancer_kick()`).
    pub(crate) fn kick_nohz(&mut self, c: CpuId) {
        let now = self.ticks();
        self.fair.nohz.idle.remove(c);
        let nohz = &self.fair.nohz;
        if nohz.idle.is_empty() {
            return;
        }
        let mut kick = Kick { stats: nohz.has_blocked && now > nohz.next_blocked, ..Kick::default() };
        if now >= nohz.next_balance && self.has_use_for_idle(c) {
            kick = Kick::ALL;
        }
        kick.next = self.fair.nohz.needs_update;
        if kick.is_any() {
            self.kick_idle_balancer(c, kick, now);
        }
    }

    /// Returns whether idle CPUs could take work from `c`.
    fn has_use_for_idle(&mut self, c: CpuId) -> bool {
        if self.nr_running(c) >= 2 {
            return true;
        }
        let hierarchy = self.hierarchy();
        let lowest = hierarchy.levels(c).first();
        if lowest
            .is_some_and(|level| !self.cpus[c].fair.is_empty() && self.is_reduced(c, level.imbalance_pct))
        {
            return true;
        }
        if self.is_uneven() {
            return self.misfit_load(c) > 0;
        }
        let Some(level) = hierarchy.cache(c) else { return false };
        // Other CPUs of the LLC are busy too, and their tasks may run better elsewhere (`nr_busy_cpus`).
        level.weight as usize - level.span.and(&self.fair.nohz.idle).len() > 1
    }

    /// `kick_ilb()`.
    fn kick_idle_balancer(&mut self, c: CpuId, kick: Kick, now: u64) {
        if kick.balance {
            self.fair.nohz.next_balance = now + 1;
        }
        let target = self.fair.nohz.idle.iter().find(|&cpu| cpu != c && self.is_vacant(cpu));
        let Some(target) = target else { return };
        self.charge_visit(c, Visit::Idle);
        let pending = &mut self.fair.nohz.kicks[target.index()];
        let was_kicked = pending.is_any();
        *pending = Kick {
            stats: pending.stats | kick.stats,
            balance: pending.balance | kick.balance,
            next: pending.next | kick.next,
        };
        if was_kicked {
            return;
        }
        self.send_irq(c, target, Irq::Nohz);
    }

    /// When `c` has found no task: updates the averages of idle CPUs before `c` itself goes idle, if that is due
    /// (`nohz_newidle_balance()`, `nohz_run_idle_balance()`).
    pub(crate) fn note_newly_idle(&mut self, c: CpuId) {
        let now = self.ticks();
        let nohz = &self.fair.nohz;
        let is_due = nohz.has_blocked && now >= nohz.next_blocked;
        if self.fair.idle_times[c.index()].mean_ns < SOON_NS || !is_due {
            return;
        }
        let idle = nohz.idle.clone();
        let mut is_left = false;
        for cpu in idle.iter().filter(|&cpu| cpu != c) {
            is_left |= self.count_blocked(c, cpu);
        }
        let nohz = &mut self.fair.nohz;
        nohz.has_blocked = is_left;
        nohz.next_blocked = now + BLOCKED_MS * u64::from(self.machine.hz) / 1000;
    }

    /// Updates an idle CPU's averages (`update_nohz_stats()`). Returns whether it still has load to decay.
    pub(crate) fn count_blocked(&mut self, c: CpuId, cpu: CpuId) -> bool {
        if !self.fair.nohz.blocked[cpu.index()] {
            return false;
        }
        self.look_at(c, cpu, Visit::Average);
        self.update_queue_load(cpu);
        let avg = &self.fair.loads[cpu.index()].queue.avg;
        let is_left = avg.load > 0 || avg.util > 0;
        self.fair.nohz.blocked[cpu.index()] = is_left;
        is_left
    }
}

impl Kernel {
    pub(crate) fn end_nohz(&mut self, c: CpuId, kick: Kick) {
        let now = self.ticks();
        let due = self.fair.nohz.idle.iter().map(|cpu| self.fair.next_balance[cpu.index()]).min();
        let nohz = &mut self.fair.nohz;
        nohz.kicks[c.index()] = Kick::default();
        if let Some(due) = due {
            nohz.next_balance = due;
        }
        if kick.stats {
            nohz.next_blocked = now + BLOCKED_MS * u64::from(self.machine.hz) / 1000;
            nohz.has_blocked |= nohz.still_blocked;
        }
    }
}
