//! Throttles real-time tasks that have used up their share of a period (`sched_rt_runtime_exceeded()`).

use crate::state::kernel::Kernel;
use crate::state::timer_number;
use keel_abi::{CpuId, Instant, Span, TaskId};

impl Kernel {
    /// Returns whether `task` is exempt because it has inherited its priority (`rt_se_boosted()`).
    fn is_exempt_from_throttling(&self, task: TaskId) -> bool {
        let t = &self.tasks[task];
        let spares = self.machine.realtime.throttle.is_some_and(|rule| rule.spares_boosted);
        spares && t.boost > t.policy.rt_priority()
    }

    /// After a real-time task has joined `rq` (`inc_rt_group()`): starts the periods unless they are running.
    #[cold]
    pub(super) fn joins_throttled_class(&mut self, task: TaskId, rq: CpuId) {
        let boosted = self.is_exempt_from_throttling(task);
        self.cpu(rq).rt.budget.nr_boosted += u32::from(boosted);
        // If CPUs are being replenished right now, this one may already have had its turn.
        self.rt_period.is_needed = true;
        if self.rt_period.ends.is_none()
            && let Some(rule) = self.machine.realtime.throttle
        {
            self.rt_period.owner = self.cpus.this_id();
            self.end_period_at(self.cpus.this_cpu.clock + rule.period);
        }
    }

    /// When a real-time task leaves `rq`, with the priority that it had there (`dec_rt_group()`).
    #[cold]
    pub(super) fn leaves_throttled_class(&mut self, task: TaskId, rq: CpuId) {
        let boosted = self.is_exempt_from_throttling(task);
        self.cpu(rq).rt.budget.nr_boosted -= u32::from(boosted);
    }

    pub(crate) fn end_period_at(&mut self, at: Instant) {
        self.rt_period.ends = Some(at);
        self.queue.push(at, timer_number::RT_PERIOD);
    }

    /// Charges a real-time task's time to its CPU (`update_curr_rt()`). If that is too much, the next tick notices.
    #[cold]
    pub(crate) fn charge_rt(&mut self, task: TaskId, ran: Span) {
        let Some(rule) = self.machine.realtime.throttle else { return };
        let rq = self.tasks[task].cpu;
        let cpu = self.cpu(rq);
        if cpu.online {
            cpu.rt.budget.charge(ran, rule);
        }
    }

    /// When `c` goes offline: lets its tasks run, so that they can be pushed elsewhere (`__disable_runtime()`). When
    /// the CPU comes back, it has used nothing.
    pub(crate) fn stop_throttling(&mut self, c: CpuId) {
        let rt = &mut self.cpu(c).rt;
        let held = rt.nr_throttled() > 0;
        (rt.budget.time, rt.budget.used_up) = (Span::ZERO, false);
        if held {
            self.resched(c, c);
        }
    }

    /// Returns the next CPU, from number `from` on, that has real-time tasks or has used some of its budget.
    pub(crate) fn next_to_replenish(&self, from: u32) -> Option<CpuId> {
        let is_used = |cpu: &CpuId| {
            let cpu = &self.cpus[*cpu];
            cpu.alive && (!cpu.rt.is_empty() || cpu.rt.budget.time > Span::ZERO)
        };
        (from..self.cpus.len() as u32).map(CpuId).find(is_used)
    }
}
