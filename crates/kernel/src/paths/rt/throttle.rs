//! The real-time class's bandwidth limit, as in kernels before 6.12 without group scheduling: in each period, its tasks
//! get a limited amount of a CPU's time (`sched_rt_runtime_us` of `sched_rt_period_us`). The rest is for other tasks.
//!
//! Each CPU has its own budget (`RT_RUNTIME_SHARE` is off since 5.10). It is only counted when a task is charged, so a
//! tick notices that it is used up; the overrun is deducted from the next period. One timer replenishes all CPUs. It
//! runs as long as there are real-time tasks, and its first period begins with the first of them.

use crate::paths::sim::Sim;
use crate::state::frame::Frame;
use crate::state::frame::rt::RtFrame;
use crate::state::rt::throttle::RtPeriod;
use keel_abi::bpf::Engine;
use keel_abi::{CpuId, Span};

impl<E: Engine> Sim<E> {
    /// Runs when the period timer expires (`sched_rt_period_timer()`): begins to replenish all CPUs for the periods
    /// that have passed.
    pub(crate) fn begin_rt_period(&mut self, c: CpuId) {
        let clock = self.k.this_cpu().clock;
        let Some(rule) = self.k.machine.realtime.throttle else { return };
        let Some(ends) = self.k.rt_period.ends else { return };
        debug_assert!(ends <= clock, "the timer comes when the period is over");
        self.k.rt_period.over = 1 + clock.since(ends).as_ns() / rule.period.as_ns();
        self.k.rt_period.is_needed = false;
        self.replenish(c, 0);
    }

    /// Runs [`RtFrame::Replenish`]: replenishes the next CPU, under its lock. The timer stops when no CPU needs it any
    /// more.
    pub(crate) fn replenish(&mut self, c: CpuId, from: u32) {
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
