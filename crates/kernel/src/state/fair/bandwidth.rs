//! A group's `cpu.max` (`struct cfs_bandwidth`): a budget of CPU time per period, which the group's CPUs take in
//! slices. The functions are pure.

use crate::state::fair::ids::Slot;
use keel_abi::cgroup::{Bandwidth, QUOTA_NONE};
use keel_abi::{CpuId, Instant, Span, TaskId};
use std::collections::VecDeque;

/// The runtime that a CPU takes at a time (`sysctl_sched_cfs_bandwidth_slice`).
const SLICE_NS: u64 = 5_000_000;

/// The runtime that a CPU keeps when its last task of the group goes to sleep (`min_cfs_rq_runtime`).
const KEEPS_NS: i64 = 1_000_000;

/// How long after runtime is returned it is redistributed (`cfs_bandwidth_slack_period`).
pub(crate) const SLACK: Span = Span::from_ms(5);

/// It is not redistributed if the period ends within this time after that (`min_bandwidth_expiration`).
const LEAST_LEFT: Span = Span::from_ms(2);

/// A group's remaining runtime in the current period.
#[derive(Debug, Default)]
pub(crate) struct Budget {
    /// The runtime per period; `None` if there is no limit.
    quota_ns: Option<u64>,
    pub(crate) period: Span,
    /// The maximum runtime that can be saved from periods that did not use their quota.
    burst_ns: u64,
    runtime_ns: u64,
    /// Whether no runtime has been used since the current period began (`cfs_b->idle`).
    is_unused: bool,
    /// The offset of the periods from multiples of their length. It is drawn at random for the first one.
    pub(crate) phase_ns: Option<u64>,
    /// When the period ends, while its timer runs (`period_active`), and the CPU that the timer interrupts.
    pub(crate) ends: Option<(Instant, CpuId)>,
    /// When the timer for returned runtime expires, while it is set (`slack_started`).
    pub(crate) slack_at: Option<Instant>,
    /// The throttled CPUs, in the order in which they began to wait (`throttled_cfs_rq`).
    pub(crate) throttled: VecDeque<Slot>,
}

/// What the period timer does (`do_sched_cfs_period_timer()`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Period {
    /// The group's runtime is not needed, so the timer stops.
    Stops,
    /// The next period has begun.
    GoesOn,
    /// The next period has begun, and CPUs wait for its runtime.
    Distributes,
}

impl Budget {
    /// Returns whether there is a limit.
    pub(crate) fn is_limited(&self) -> bool {
        self.quota_ns.is_some()
    }

    /// `tg_set_cfs_bandwidth()`. The new period begins with its quota.
    pub(crate) fn set(&mut self, bandwidth: Bandwidth) {
        self.quota_ns = (bandwidth.quota_us != QUOTA_NONE).then(|| bandwidth.quota_us * 1000);
        self.period = Span::from_us(bandwidth.period_us);
        self.burst_ns = bandwidth.burst_us * 1000;
        self.refill();
    }

    /// `__refill_cfs_bandwidth_runtime()`.
    fn refill(&mut self) {
        if let Some(quota_ns) = self.quota_ns {
            self.runtime_ns = (self.runtime_ns + quota_ns).min(quota_ns + self.burst_ns);
        }
    }

    /// Fills `left_ns` of a CPU up to `slice_ns`, as far as there is runtime, and returns it
    /// (`__assign_cfs_rq_runtime()`).
    fn assign(&mut self, left_ns: i64, slice_ns: u64) -> i64 {
        let wanted_ns = (slice_ns as i64 - left_ns).max(0) as u64;
        if self.quota_ns.is_none() {
            return left_ns + wanted_ns as i64;
        }
        let given_ns = wanted_ns.min(self.runtime_ns);
        if self.runtime_ns > 0 {
            self.is_unused = false;
        }
        self.runtime_ns -= given_ns;
        left_ns + given_ns as i64
    }

    /// Begins the next period when one has ended, if it is needed.
    pub(crate) fn period_ends(&mut self) -> Period {
        if self.quota_ns.is_none() {
            return Period::Stops;
        }
        self.refill();
        if !self.throttled.is_empty() {
            self.is_unused = false;
            return Period::Distributes;
        }
        match std::mem::replace(&mut self.is_unused, true) {
            true => Period::Stops,
            false => Period::GoesOn,
        }
    }

    /// Gives a throttled CPU just enough runtime to run again, if there is any (`distribute_cfs_runtime()`).
    pub(crate) fn distribute(&mut self, local: &mut LocalBudget) {
        let wanted_ns = (1 - local.left_ns).max(0) as u64;
        let given_ns = wanted_ns.min(self.runtime_ns);
        self.runtime_ns -= given_ns;
        local.left_ns += given_ns as i64;
    }

    /// Returns whether there is runtime to distribute.
    pub(crate) fn has_time(&self) -> bool {
        self.runtime_ns > 0
    }

    /// Returns whether there is more than a slice, which other CPUs could use before the period ends
    /// (`do_sched_cfs_slack_timer()`).
    pub(crate) fn has_slack(&self) -> bool {
        self.quota_ns.is_some() && self.runtime_ns > SLICE_NS
    }

    /// Returns whether the period ends within this time from `now` (`runtime_refresh_within()`).
    fn ends_within(&self, now: Instant, span: Span) -> bool {
        self.ends.is_some_and(|(ends, _)| ends.since(now) < span)
    }

    /// Returns whether the period ends so soon that returned runtime is not redistributed.
    pub(crate) fn ends_soon(&self, now: Instant) -> bool {
        self.ends_within(now, LEAST_LEFT)
    }

    /// After a CPU's last task of the group has gone to sleep: takes back the runtime that the CPU does not keep
    /// (`__return_cfs_rq_runtime()`). Returns whether a timer should redistribute it.
    pub(crate) fn take_back(&mut self, local: &mut LocalBudget, now: Instant) -> bool {
        let slack_ns = local.left_ns - KEEPS_NS;
        if slack_ns <= 0 {
            return false;
        }
        local.left_ns -= slack_ns;
        if self.quota_ns.is_none() {
            return false;
        }
        self.runtime_ns += slack_ns.unsigned_abs();
        let is_late = self.ends_within(now, SLACK + LEAST_LEFT);
        self.has_slack() && !self.throttled.is_empty() && !is_late && self.slack_at.is_none()
    }
}

/// The part of a group's budget that a CPU has (`struct cfs_rq`).
#[derive(Clone, Debug, Default)]
pub(crate) struct LocalBudget {
    /// Whether there is a limit (`runtime_enabled`).
    pub(crate) is_limited: bool,
    /// What is left of the slice that the CPU took; negative if its tasks have run for too long (`runtime_remaining`).
    pub(crate) left_ns: i64,
    /// Whether its own runtime is used up (`throttled`).
    pub(crate) is_throttled: bool,
    /// How many groups have used up their runtime here: this one and those above it (`throttle_count`).
    throttles: u32,
    /// The throttled tasks, which are in no queue (`throttled_limbo_list`).
    pub(crate) limbo: Vec<TaskId>,
}

impl LocalBudget {
    pub(super) fn new(is_limited: bool) -> Self {
        Self { is_limited, ..Self::default() }
    }

    /// Returns the same budget, below `throttles` groups that have used up their runtime.
    pub(super) fn below(self, throttles: u32) -> Self {
        Self { throttles, ..self }
    }

    /// Returns how many groups have used up their runtime here: this one and those above it.
    pub(crate) fn throttles(&self) -> u32 {
        self.throttles
    }

    /// Counts one more group that has used up its runtime.
    pub(crate) fn throttle(&mut self) {
        self.throttles += 1;
    }

    /// Counts one group less. Returns whether it was the last.
    pub(crate) fn unthrottle(&mut self) -> bool {
        self.throttles -= 1;
        self.throttles == 0
    }

    /// Tries to get a slice (`assign_cfs_rq_runtime()`). Returns whether there is any runtime.
    pub(crate) fn refill(&mut self, budget: &mut Budget) -> bool {
        self.left_ns = budget.assign(self.left_ns, SLICE_NS);
        self.left_ns > 0
    }

    /// Tries to get the least runtime that lets tasks run (`throttle_cfs_rq()`). Returns whether there is any.
    pub(crate) fn refill_least(&mut self, budget: &mut Budget) -> bool {
        self.left_ns = budget.assign(self.left_ns, 1);
        self.left_ns > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(quota_us: u64, burst_us: u64) -> Budget {
        let mut budget = Budget::default();
        budget.set(Bandwidth { quota_us, period_us: 100_000, burst_us });
        budget
    }

    /// `__assign_cfs_rq_runtime()`.
    #[test]
    fn a_cpu_takes_a_slice_or_what_there_is() {
        let check = |quota_us, left_us: i64, expected: [i64; 2]| {
            let (mut budget, mut local) = (budget(quota_us, 0), LocalBudget::new(true));
            local.left_ns = left_us * 1000;
            let runs = local.refill(&mut budget);
            assert_eq!(
                [local.left_ns / 1000, budget.runtime_ns as i64 / 1000],
                expected,
                "{quota_us} {left_us}"
            );
            assert_eq!(runs, expected[0] > 0);
        };
        check(20_000, 0, [5000, 15_000]);
        check(20_000, -300, [5000, 14_700]);
        check(3_000, 0, [3000, 0]);
        check(3_000, -4000, [-1000, 0]);
    }

    /// `do_sched_cfs_period_timer()`.
    #[test]
    fn an_unused_period_is_the_last() {
        let mut budget = budget(20_000, 0);
        assert_eq!(budget.period_ends(), Period::GoesOn);
        LocalBudget::new(true).refill(&mut budget);
        assert_eq!([budget.period_ends(), budget.period_ends()], [Period::GoesOn, Period::Stops]);
        budget.throttled.push_back(Slot::at(0));
        assert_eq!(budget.period_ends(), Period::Distributes);
        budget.set(Bandwidth::default());
        assert_eq!(budget.period_ends(), Period::Stops);
    }

    /// `__refill_cfs_bandwidth_runtime()`.
    #[test]
    fn a_burst_saves_what_was_not_used() {
        let check = |burst_us, expected_us| {
            let mut budget = budget(20_000, burst_us);
            for _ in 0..3 {
                budget.period_ends();
            }
            assert_eq!(budget.runtime_ns / 1000, expected_us, "{burst_us}");
        };
        check(0, 20_000);
        check(10_000, 30_000);
        check(50_000, 70_000);
    }

    /// `__return_cfs_rq_runtime()`.
    #[test]
    fn a_cpu_keeps_a_millisecond() {
        let check = |left_us: i64, runtime_us: u64, expected: (i64, u64, bool)| {
            let (mut budget, mut local) = (budget(20_000, 0), LocalBudget::new(true));
            (budget.runtime_ns, local.left_ns) = (runtime_us * 1000, left_us * 1000);
            budget.throttled.push_back(Slot::at(0));
            let is_handed_on = budget.take_back(&mut local, Instant::ZERO);
            assert_eq!((local.left_ns / 1000, budget.runtime_ns / 1000, is_handed_on), expected);
        };
        check(4000, 0, (1000, 3000, false));
        check(4000, 2001, (1000, 5001, true));
        check(900, 0, (900, 0, false));
    }
}
