//! Starts the periods of groups' bandwidth limits (`cpu.max`).

use crate::state::fair::budget_timer::BudgetTimer;
use crate::state::fair::ids::GroupId;
use crate::state::kernel::Kernel;
use keel_abi::{CpuId, Instant, Span};

impl Kernel {
    /// `start_cfs_bandwidth()`. The periods of different groups begin at different times.
    pub(super) fn start_period(&mut self, group: GroupId) {
        let now = self.cpus.this_cpu.clock;
        let c = self.cpus.this_id();
        let budget = &mut self.fair.groups.all[group.index()].budget;
        if budget.ends.is_some() {
            return;
        }
        let period_ns = budget.period.as_ns();
        let phase_ns = *budget.phase_ns.get_or_insert_with(|| self.fair.rng.below(period_ns));
        let since_ns = (now.as_ns() + period_ns - phase_ns % period_ns) % period_ns;
        let ends = now + Span::from_ns(period_ns - since_ns);
        budget.ends = Some((ends, c));
        self.queue.push(ends, BudgetTimer::Period(group).number());
    }

    /// Returns the CPU that the timer interrupts, or `None` if the timer is no longer set to this time.
    pub(crate) fn owner_of_budget(&self, timer: BudgetTimer, at: Instant) -> Option<CpuId> {
        let (BudgetTimer::Period(group) | BudgetTimer::Slack(group)) = timer;
        let budget = &self.fair.groups.all[group.index()].budget;
        match timer {
            BudgetTimer::Period(_) => budget.ends.filter(|&(ends, _)| ends == at).map(|(_, cpu)| cpu),
            BudgetTimer::Slack(_) => budget.slack_at.filter(|&slack| slack == at).map(|_| CpuId(0)),
        }
    }
}
