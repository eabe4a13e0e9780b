//! The timers of `cpu.max`. Each group with a limit has one that gives runtime to throttled CPUs, those that have
//! waited longest first, and one that redistributes the runtime that CPUs returned.

use crate::paths::sim::Sim;
use crate::state::cpu::Irq;
use crate::state::fair::bandwidth::Period;
use crate::state::fair::budget_timer::BudgetTimer;
use crate::state::fair::ids::{GroupId, Slot};
use crate::state::frame::Frame;
use crate::state::frame::fair::FairFrame;
use keel_abi::CpuId;
use keel_abi::bpf::Engine;

impl<E: Engine> Sim<E> {
    /// `sched_cfs_period_timer()`, `sched_cfs_slack_timer()`.
    pub(crate) fn budget_timer(&mut self, c: CpuId, timer: BudgetTimer) {
        let now = self.k.this_cpu().clock;
        let timer_ns = self.k.machine.costs.timer_ns;
        self.k.charge_ns(c, timer_ns);
        let (BudgetTimer::Period(group) | BudgetTimer::Slack(group)) = timer;
        let budget = &mut self.k.fair.groups.all[group.index()].budget;
        if let BudgetTimer::Slack(_) = timer {
            budget.slack_at = None;
            if budget.has_slack() && !budget.ends_soon(now) {
                self.distribute(c, group);
            }
            return;
        }
        let Some((ends, owner)) = budget.ends.take() else { return };
        let found = budget.period_ends();
        if found == Period::Stops {
            return;
        }
        let next = ends + budget.period;
        budget.ends = Some((next, owner));
        self.k.queue.push(next, timer.number());
        if found == Period::Distributes {
            self.distribute(c, group);
        }
    }

    /// Distributes the available runtime to the throttled CPUs, those that have waited longest first
    /// (`distribute_cfs_runtime()`). Other CPUs unthrottle their own tasks; this CPU does so last.
    fn distribute(&mut self, c: CpuId, group: GroupId) {
        let mut own = None;
        let waiting: Vec<Slot> =
            self.k.fair.groups.all[group.index()].budget.throttled.iter().copied().collect();
        for slot in waiting {
            let budget = &mut self.k.fair.groups.all[group.index()].budget;
            let below = &mut self.k.fair.groups.slots[slot.index()];
            if !budget.has_time() {
                break;
            }
            if below.local.left_ns > 0 {
                continue;
            }
            budget.distribute(&mut below.local);
            let (has_time, cpu) = (below.local.left_ns > 0, below.cpu);
            let (line, by) = self.k.cpus.rq_line(cpu);
            let touched_ps = self.k.lines.read_runqueue_ps(line, by);
            self.k.charge_ps(c, touched_ps);
            match has_time {
                true if cpu == c => own = Some(slot),
                // `__unthrottle_cfs_rq_async()`.
                true => self.k.send_irq(c, cpu, Irq::Unthrottle(slot)),
                false => {}
            }
        }
        if let Some(slot) = own {
            self.k.this_cpu().stack.push(Frame::Fair(FairFrame::Unthrottle { slot }));
        }
    }

    /// Runs [`FairFrame::Unthrottle`] (`__cfsb_csd_unthrottle()`).
    pub(crate) fn unthrottle_here(&mut self, c: CpuId, slot: Slot) {
        if !self.k.lock_rq(c, c) {
            return self.k.this_cpu().stack.push(Frame::Fair(FairFrame::Unthrottle { slot }));
        }
        if self.k.fair.groups.slots[slot.index()].local.is_throttled {
            self.k.unthrottle(slot);
        }
        self.k.this_cpu().stack.push(Frame::Unlock { rq: c });
    }
}
