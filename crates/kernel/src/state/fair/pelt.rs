//! Per-entity load tracking (`kernel/sched/pelt.c`): the recent load, runnable time and running time of a task or
//! queue.
//!
//! Time is counted in microseconds of 1024 ns, and in periods of 1024 of these. The past decays by a factor y per
//! period, where y^32 = 1/2. All arithmetic uses integers, with the kernel's rounding.

/// Microseconds per period.
const PERIOD: u64 = 1024;

/// The number of periods after which a contribution has halved (`LOAD_AVG_PERIOD`).
const HALF_LIFE: u64 = 32;

/// The limit of a sum over full periods (`LOAD_AVG_MAX`).
pub(super) const MOST: u64 = 47_742;

/// The smallest divisor of a sum (`PELT_MIN_DIVIDER`).
pub(crate) const LEAST_DIVIDER: u64 = MOST - PERIOD;

/// A full average, and also the weight of nice 0 (`SCHED_CAPACITY_SCALE`).
pub(crate) const ONE: u64 = 1024;

/// y^n in units of 2^-32, for n below a half-life (`runnable_avg_yN_inv[]`).
const POWERS: [u64; HALF_LIFE as usize] = powers();

/// Computes the table. y is a half after five successive square roots, here in units of 2^-62.
const fn powers() -> [u64; HALF_LIFE as usize] {
    let mut y: u128 = 1 << 61;
    let mut root = 0;
    while root < HALF_LIFE.ilog2() {
        y = (y << 62).isqrt();
        root += 1;
    }
    let (mut table, mut power, mut n) = ([0; HALF_LIFE as usize], 1_u128 << 62, 0);
    while n < table.len() {
        table[n] = ((power * u32::MAX as u128) >> 62) as u64;
        power = (power * y) >> 62;
        n += 1;
    }
    table
}

/// Returns a value decayed by this many periods (`decay_load()`).
pub(super) fn decayed(value: u64, periods: u64) -> u64 {
    if periods > HALF_LIFE * 63 {
        return 0;
    }
    let halved = value >> (periods / HALF_LIFE);
    ((u128::from(halved) * u128::from(POWERS[(periods % HALF_LIFE) as usize])) >> 32) as u64
}

/// What an entity or a queue has been doing since its last update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Doing {
    /// The weight of a queue. For a task this is 1, because its weight is applied to the average.
    pub(crate) weight: u64,
    /// The number of runnable tasks.
    pub(crate) runnable: u64,
    pub(crate) is_running: bool,
}

/// Sums and their averages (`struct sched_avg`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Average {
    /// When it was last updated; 0 if it belongs to no queue.
    pub(crate) last_ns: u64,
    pub(crate) load_sum: u64,
    pub(crate) runnable_sum: u64,
    pub(crate) util_sum: u64,
    /// How many microseconds of the current period have passed (`period_contrib`).
    pub(crate) begun: u64,
    /// The mean weight.
    pub(crate) load: u64,
    /// The mean number of runnable tasks, in units of [`ONE`] per task.
    pub(crate) runnable: u64,
    /// The fraction of time spent running, in units of [`ONE`].
    pub(crate) util: u64,
}

impl Average {
    /// The average of an entity that has never been queued.
    pub(super) const NONE: Self = Self {
        last_ns: 0,
        load_sum: 0,
        runnable_sum: 0,
        util_sum: 0,
        begun: 0,
        load: 0,
        runnable: 0,
        util: 0,
    };

    /// Returns whether it has run without a break, so that `util_sum` is at its maximum.
    pub(crate) fn is_full(&self) -> bool {
        self.util_sum >= LEAST_DIVIDER * ONE - MOST
    }

    /// Returns whether it has decayed to nothing (`cfs_rq_is_decayed()`).
    pub(crate) fn is_over(&self) -> bool {
        self.load_sum == 0 && self.runnable_sum == 0 && self.util_sum == 0
    }

    /// Returns the current divisor of the sums (`get_pelt_divider()`).
    pub(crate) fn divider(&self) -> u64 {
        LEAST_DIVIDER + self.begun
    }

    /// Updates the sums up to `now_ns`. Returns whether a period has ended (`___update_load_sum()`).
    pub(crate) fn count(&mut self, now_ns: u64, mut doing: Doing) -> bool {
        let Some(passed_ns) = now_ns.checked_sub(self.last_ns) else {
            self.last_ns = now_ns;
            return false;
        };
        let passed = passed_ns >> 10;
        if passed == 0 {
            return false;
        }
        self.last_ns += passed << 10;
        if doing.weight == 0 {
            (doing.runnable, doing.is_running) = (0, false);
        }
        self.accumulate(passed, doing)
    }

    /// `accumulate_sum()`.
    fn accumulate(&mut self, passed: u64, doing: Doing) -> bool {
        let (total, before) = (passed + self.begun, self.begun);
        let periods = total / PERIOD;
        let mut part = passed;
        if periods > 0 {
            for sum in [&mut self.load_sum, &mut self.runnable_sum, &mut self.util_sum] {
                *sum = decayed(*sum, periods);
            }
            part = segments(periods, PERIOD - before, total % PERIOD);
        }
        self.begun = total % PERIOD;
        self.load_sum += doing.weight * part;
        self.runnable_sum += doing.runnable * part * ONE;
        if doing.is_running {
            self.util_sum += part * ONE;
        }
        periods > 0
    }

    /// Computes the averages from the sums, with `weight` applied to the load (`___update_load_avg()`).
    pub(crate) fn average(&mut self, weight: u64) {
        let divider = self.divider();
        self.load = weight * self.load_sum / divider;
        self.runnable = self.runnable_sum / divider;
        self.util = self.util_sum / divider;
    }

    /// Aligns an entity's clock with a queue's, with sums that give the same averages (`attach_entity_load_avg()`).
    pub(crate) fn settle_in(&mut self, queue: &Average, weight: u64) {
        (self.last_ns, self.begun) = (queue.last_ns, queue.begun);
        let divider = queue.divider();
        self.util_sum = self.util * divider;
        self.runnable_sum = self.runnable * divider;
        let load_sum = self.load * divider;
        self.load_sum = if weight < load_sum { load_sum / weight.max(1) } else { 1 };
    }

    /// Adds the averages of a task with this weight to a queue's.
    pub(crate) fn add(&mut self, task: &Average, weight: u64) {
        self.load += task.load;
        self.load_sum += weight * task.load_sum;
        self.runnable += task.runnable;
        self.runnable_sum += task.runnable_sum;
        self.util += task.util;
        self.util_sum += task.util_sum;
    }

    /// Subtracts averages from a queue's. Its sums stay large enough for what is left (`detach_entity_load_avg()`).
    pub(crate) fn take(&mut self, load: u64, runnable: u64, util: u64) {
        let divider = self.divider();
        let less = |average: &mut u64, sum: &mut u64, gone: u64| {
            *average = average.saturating_sub(gone);
            *sum = sum.saturating_sub(gone * divider).max(*average * LEAST_DIVIDER);
        };
        less(&mut self.load, &mut self.load_sum, load);
        less(&mut self.runnable, &mut self.runnable_sum, runnable);
        less(&mut self.util, &mut self.util_sum, util);
    }
}

/// Returns the sum of the rest of the first period, the full periods after it, and the part of the last
/// (`__accumulate_pelt_segments()`).
fn segments(periods: u64, first: u64, last: u64) -> u64 {
    decayed(first, periods) + MOST - decayed(MOST, periods) - PERIOD + last
}

#[cfg(test)]
#[path = "pelt_tests.rs"]
mod tests;
