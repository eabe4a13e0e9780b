//! The clock of load tracking (`rq_clock_pelt()`). It runs slower on a slower CPU, so that equal work is equal load.
//!
//! On an idle CPU it catches up with real time (`update_rq_clock_pelt()`).

use crate::state::fair::pelt::ONE;

/// One CPU's clock.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PeltClock {
    real_ns: u64,
    scaled_ns: u64,
    /// How much longer a fully used CPU would have needed for the same work (`lost_idle_time`).
    lost_ns: u64,
}

impl PeltClock {
    pub(crate) fn now_ns(&self) -> u64 {
        self.scaled_ns - self.lost_ns
    }

    /// Advances the clock to `real_ns`, for a CPU that was idle or ran at this capacity and performance, in units of
    /// [`ONE`].
    pub(crate) fn advance(&mut self, real_ns: u64, is_idle: bool, capacity: u64, performance: u64) {
        let passed = real_ns.saturating_sub(self.real_ns);
        self.real_ns = self.real_ns.max(real_ns);
        if is_idle {
            self.scaled_ns = self.real_ns;
        } else {
            self.scaled_ns += (passed * capacity / ONE) * performance / ONE;
        }
    }

    /// Called when the CPU is about to go idle. If it was fully used, the time by which its clock catches up does not
    /// count as idle (`update_idle_rq_clock_pelt()`).
    pub(crate) fn go_idle(&mut self, was_full: bool) {
        if was_full {
            self.lost_ns += self.real_ns - self.scaled_ns;
        }
        self.scaled_ns = self.real_ns;
    }
}

/// The clock of a group's queue. It stops while the queue is empty because the group is throttled, so that the queue's
/// load is unchanged when its tasks continue (`cfs_rq_clock_pelt()`).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct QueueClock {
    /// The time of the CPU's clock at which it stopped.
    stopped_ns: Option<u64>,
    /// The total time for which it was stopped.
    lost_ns: u64,
}

impl QueueClock {
    /// Creates a clock at this time of the CPU's clock. It is stopped if a group is throttled (`sync_throttle()`).
    pub(crate) fn new(cpu_ns: u64, stands_still: bool) -> Self {
        Self { stopped_ns: stands_still.then_some(cpu_ns), lost_ns: 0 }
    }

    /// Returns its time, given the time of the CPU's clock.
    pub(crate) fn now_ns(&self, cpu_ns: u64) -> u64 {
        self.stopped_ns.unwrap_or(cpu_ns) - self.lost_ns
    }

    pub(crate) fn stop(&mut self, cpu_ns: u64) {
        self.stopped_ns = Some(self.stopped_ns.unwrap_or(cpu_ns));
    }

    pub(crate) fn go_on(&mut self, cpu_ns: u64) {
        if let Some(since_ns) = self.stopped_ns.take() {
            self.lost_ns += cpu_ns - since_ns;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `cfs_rq_clock_pelt()`.
    #[test]
    fn a_throttled_queue_has_no_time() {
        let mut clock = QueueClock::new(500, false);
        assert_eq!(clock.now_ns(1000), 1000);
        clock.stop(1000);
        clock.stop(1500);
        assert_eq!(clock.now_ns(3000), 1000);
        clock.go_on(3000);
        assert_eq!([clock.now_ns(3000), clock.now_ns(4000)], [1000, 2000]);
        clock.go_on(4000);
        assert_eq!(clock.now_ns(4000), 2000);
        let mut below = QueueClock::new(500, true);
        assert_eq!(below.now_ns(900), 500);
        below.go_on(900);
        assert_eq!(below.now_ns(900), 500);
    }

    #[test]
    fn a_slow_cpu_is_slow_in_its_own_time_too() {
        let check = |capacity, performance, was_full, expected: [u64; 2]| {
            let mut clock = PeltClock::default();
            clock.advance(1000, true, capacity, performance);
            clock.advance(3000, false, capacity, performance);
            let busy = clock.now_ns();
            clock.go_idle(was_full);
            assert_eq!([busy, clock.now_ns()], expected, "{capacity} {performance} {was_full}");
        };
        check(1024, 1024, false, [3000, 3000]);
        check(512, 1024, false, [2000, 3000]);
        check(512, 512, false, [1500, 3000]);
        check(512, 1024, true, [2000, 2000]);
    }
}
