//! The budget of the real-time class, as kernels before 6.12 have it without group scheduling: in each period its tasks may
//! have so much of a CPU (`sched_rt_runtime_us` of `sched_rt_period_us`), and then the CPU is others' until the next.
//!
//! Each CPU counts for itself (`RT_RUNTIME_SHARE` is off since 5.10). Time is counted as tasks are charged, so a tick sees
//! that it is used up; what a tick was late with is missing in the next period. One timer replenishes all CPUs: it
//! runs as long as there are real-time tasks, and its first period begins with the first of them.

use super::RtFrame;
use crate::frame::Frame;
use crate::kernel::Kernel;
use crate::machine::Throttle;
use crate::setup::timer_number;
use crate::sim::Sim;
use keel_abi::bpf::Engine;
use keel_abi::{CpuId, Instant, Span, TaskId};

/// A CPU's part of it (`struct rt_rq`).
#[derive(Debug, Default)]
pub(crate) struct Budget {
    /// What its real-time tasks have had and no period has paid for yet (`rt_time`).
    time: Span,
    /// That is too much (`rt_throttled`).
    used_up: bool,
    /// Runnable tasks that have inherited their priority, where those are spared (`rt_nr_boosted`).
    nr_boosted: u32,
}

impl Budget {
    /// Are real-time tasks kept from running (`rt_rq_throttled()`)?
    #[inline]
    pub(super) fn is_throttled(&self) -> bool {
        self.used_up && self.nr_boosted == 0
    }

    /// Tasks have had the CPU for this long (`sched_rt_runtime_exceeded()`).
    fn charge(&mut self, ran: Span, rule: Throttle) {
        self.time += ran;
        self.used_up |= rule.runtime < rule.period && self.time > rule.runtime;
    }

    /// So many periods are over: true where that lets tasks run again.
    fn replenish(&mut self, periods: u64, rule: Throttle) -> bool {
        let paid = Span::from_ns(rule.runtime.as_ns().saturating_mul(periods));
        self.time = self.time.saturating_sub(paid);
        let ends = self.used_up && self.time < rule.runtime;
        self.used_up &= !ends;
        ends
    }
}

/// The periods that all CPUs share (`def_rt_bandwidth`).
#[derive(Debug, Default)]
pub(crate) struct RtPeriod {
    /// When the one in progress ends.
    ends: Option<Instant>,
    /// The CPU whose timer expired.
    owner: CpuId,
    /// Periods that are being paid for.
    over: u64,
    /// Some CPU has or has had real-time tasks.
    is_needed: bool,
}

impl RtPeriod {
    /// The CPU that the timer interrupts.
    pub(crate) fn owner(&self) -> CpuId {
        self.owner
    }
}

impl Kernel {
    /// Is `task` spared as it has inherited its priority (`rt_se_boosted()`)?
    fn counts_as_boosted(&self, task: TaskId) -> bool {
        let t = &self.tasks[task];
        let spares = self.machine.realtime.throttle.is_some_and(|rule| rule.spares_boosted);
        spares && t.boost > t.policy.rt_priority()
    }

    /// A real-time task has joined `rq` (`inc_rt_group()`): the periods begin, unless they have.
    #[cold]
    pub(super) fn joins_throttled_class(&mut self, task: TaskId, rq: CpuId) {
        let boosted = self.counts_as_boosted(task);
        self.cpu(rq).rt.budget.nr_boosted += u32::from(boosted);
        // Where CPUs are being replenished this one may have been passed.
        self.rt_period.is_needed = true;
        if self.rt_period.ends.is_none()
            && let Some(rule) = self.machine.realtime.throttle
        {
            self.rt_period.owner = self.cpus.at_hand();
            self.end_period_at(self.cpus.this_cpu.clock + rule.period);
        }
    }

    /// One leaves `rq`, as urgent as it has been there (`dec_rt_group()`).
    #[cold]
    pub(super) fn leaves_throttled_class(&mut self, task: TaskId, rq: CpuId) {
        let boosted = self.counts_as_boosted(task);
        self.cpu(rq).rt.budget.nr_boosted -= u32::from(boosted);
    }

    fn end_period_at(&mut self, at: Instant) {
        self.rt_period.ends = Some(at);
        self.queue.push(at, timer_number::RT_PERIOD);
    }

    /// A real-time task has had its CPU for this long (`update_curr_rt()`). Who notices that it is too long is the tick.
    #[cold]
    pub(crate) fn charge_rt(&mut self, task: TaskId, ran: Span) {
        let Some(rule) = self.machine.realtime.throttle else { return };
        let rq = self.tasks[task].cpu;
        let cpu = self.cpu(rq);
        if cpu.online {
            cpu.rt.budget.charge(ran, rule);
        }
    }

    /// `c` goes away: tasks there must run to be pushed to others (`__disable_runtime()`). When it comes back it has
    /// used nothing.
    pub(crate) fn stop_throttling(&mut self, c: CpuId) {
        let rt = &mut self.cpu(c).rt;
        let held = rt.nr_throttled() > 0;
        (rt.budget.time, rt.budget.used_up) = (Span::ZERO, false);
        if held {
            self.resched(c, c);
        }
    }

    /// The next CPU from this number on that has real-time tasks or owes time.
    fn next_to_replenish(&self, from: u32) -> Option<CpuId> {
        let is_used = |cpu: &CpuId| {
            let cpu = &self.cpus[*cpu];
            cpu.alive && (!cpu.rt.is_empty() || cpu.rt.budget.time > Span::ZERO)
        };
        (from..self.cpus.len() as u32).map(CpuId).find(is_used)
    }
}

impl<E: Engine> Sim<E> {
    /// The timer of the period (`sched_rt_period_timer()`): all CPUs get the time of the periods that are over.
    pub(crate) fn begin_rt_period(&mut self, c: CpuId) {
        let clock = self.k.this_cpu().clock;
        let Some(rule) = self.k.machine.realtime.throttle else { return };
        let Some(ends) = self.k.rt_period.ends else { return };
        debug_assert!(ends <= clock, "the timer comes when the period is over");
        self.k.rt_period.over = 1 + clock.since(ends).as_ns() / rule.period.as_ns();
        self.k.rt_period.is_needed = false;
        self.replenish(c, 0);
    }

    /// [`RtFrame::Replenish`]: CPU by CPU, each under its lock. Where none needs it any more the timer stops.
    pub(super) fn replenish(&mut self, c: CpuId, from: u32) {
        let Some(rule) = self.k.machine.realtime.throttle else { return };
        let RtPeriod { ends, over, is_needed, .. } = self.k.rt_period;
        let Some(rq) = self.k.next_to_replenish(from) else {
            self.k.rt_period.ends = None;
            if let Some(ends) = ends.filter(|_| is_needed) {
                self.k.end_period_at(ends + rule.period * over);
            }
            return;
        };
        if !self.k.lock_rq(c, rq) {
            return self.k.this_cpu().stack.push(Frame::Rt(RtFrame::Replenish { from: rq.0 }));
        }
        let rt = &mut self.k.cpu(rq).rt;
        let runs_again = rt.budget.replenish(over, rule);
        let (first, is_used) = (rt.first(), rt.budget.time > Span::ZERO || !rt.is_empty());
        self.k.rt_period.is_needed |= is_used;
        if let Some(first) = first.filter(|_| runs_again) {
            self.k.wakeup_preempt(c, rq, first);
            self.k.resched(c, rq);
        }
        let next = Frame::Rt(RtFrame::Replenish { from: rq.0 + 1 });
        self.k.this_cpu().stack.extend([next, Frame::Unlock { rq }]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(runtime_us: u64) -> Throttle {
        let [runtime, period] = [runtime_us, 1000].map(Span::from_us);
        Throttle { runtime, period, spares_boosted: false }
    }

    /// Charges and periods that are over, in turn: what is owed in microseconds after each, `!` where tasks must not run.
    fn check(runtime_us: u64, steps: &[Result<u64, u64>], expected: &str) {
        let mut budget = Budget::default();
        let mut states = Vec::new();
        for &step in steps {
            match step {
                Ok(ran_us) => budget.charge(Span::from_us(ran_us), rule(runtime_us)),
                Err(periods) => {
                    let before = budget.used_up;
                    let runs_again = budget.replenish(periods, rule(runtime_us));
                    assert_eq!(runs_again, before && !budget.used_up, "{steps:?}");
                }
            }
            states.push(format!("{}{}", budget.time.as_ns() / 1000, if budget.used_up { "!" } else { "" }));
        }
        assert_eq!(states.join(" "), expected, "{steps:?}");
    }

    #[test]
    fn a_budget_is_used_up_by_more_than_it_holds_and_pays_for_what_was_too_much() {
        check(950, &[Ok(900), Ok(50), Ok(1), Err(1)], "900 950 951! 1");
        check(950, &[Ok(900), Err(1), Ok(951)], "900 0 951!");
        // More than a period behind: it is throttled until less is owed than a period pays for.
        check(100, &[Ok(250), Err(1), Err(1), Ok(50)], "250! 150! 50 100");
        check(100, &[Ok(250), Err(2)], "250! 50");
        check(100, &[Ok(200), Err(1), Err(1)], "200! 100! 0");
    }

    #[test]
    fn the_whole_period_is_no_limit() {
        check(1000, &[Ok(5000), Err(1)], "5000 4000");
    }

    #[test]
    fn an_inherited_priority_keeps_the_queue_going() {
        let mut budget = Budget::default();
        budget.charge(Span::from_us(951), rule(950));
        assert!(budget.is_throttled());
        budget.nr_boosted = 1;
        assert!(!budget.is_throttled());
    }
}
