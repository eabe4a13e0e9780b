//! Budgets of CPU time for real-time tasks (`rt_rq->rt_time`), and their period.

use crate::state::machine::Throttle;
use keel_abi::{CpuId, Instant, Span};

/// A CPU's budget (`struct rt_rq`).
#[derive(Debug, Default)]
pub(crate) struct Budget {
    /// The time that its real-time tasks have had and no period has paid for yet (`rt_time`).
    pub(crate) time: Span,
    /// It has used too much (`rt_throttled`).
    pub(crate) used_up: bool,
    /// Runnable tasks that have inherited their priority, if those are spared (`rt_nr_boosted`).
    pub(crate) nr_boosted: u32,
}

impl Budget {
    /// Returns whether real-time tasks are kept from running (`rt_rq_throttled()`).
    #[inline]
    pub(super) fn is_throttled(&self) -> bool {
        self.used_up && self.nr_boosted == 0
    }

    /// Tasks have had the CPU for this long (`sched_rt_runtime_exceeded()`).
    pub(crate) fn charge(&mut self, ran: Span, rule: Throttle) {
        self.time += ran;
        self.used_up |= rule.runtime < rule.period && self.time > rule.runtime;
    }

    /// This many periods are over; returns whether tasks may run again.
    pub(crate) fn replenish(&mut self, periods: u64, rule: Throttle) -> bool {
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
    /// When the current period ends.
    pub(crate) ends: Option<Instant>,
    /// The CPU whose timer expired.
    pub(crate) owner: CpuId,
    /// Periods that are being paid for.
    pub(crate) over: u64,
    /// Some CPU has or has had real-time tasks.
    pub(crate) is_needed: bool,
}

impl RtPeriod {
    /// The CPU that the timer interrupts.
    pub(crate) fn owner(&self) -> CpuId {
        self.owner
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(runtime_us: u64) -> Throttle {
        let [runtime, period] = [runtime_us, 1000].map(Span::from_us);
        Throttle { runtime, period, spares_boosted: false }
    }

    /// Charges and ended periods, one after the other: checks what is owed in microseconds after each, with `!` if
    /// tasks must not run.
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
        // More than a period behind: it is throttled until it owes less than a period pays for.
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
