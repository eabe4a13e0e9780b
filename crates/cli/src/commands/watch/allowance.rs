//! Limits the CPU time that watching may use: 1 % of one CPU for every 16 CPUs, or the requested share. If it would use
//! more, it takes samples less often.

use std::time::Duration;

/// The share of one CPU's time, for each CPU of the machine.
const SHARE_A_CPU: f64 = 0.01 / 16.0;
/// CPU time that may be used in advance, for findings soon after the start.
const ADVANCE: Duration = Duration::from_millis(250);

/// A share of one CPU's time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allowance {
    share: f64,
}

impl Allowance {
    /// Returns the given percentage, or the default for a machine with this many CPUs.
    pub(super) fn new(cpus: u32, percent: Option<u32>) -> Self {
        let share =
            percent.map_or(SHARE_A_CPU * f64::from(cpus.max(1)), |percent| f64::from(percent) / 100.0);
        Self { share }
    }

    /// Returns it as a share of one CPU's time.
    pub(super) fn share(self) -> f64 {
        self.share
    }

    /// Returns how long to pause after using `spent` CPU time in `elapsed` time, so that the CPU time used beyond the
    /// advance is allowed.
    pub(super) fn pause(self, elapsed: Duration, spent: Duration) -> Duration {
        let due = spent.saturating_sub(ADVANCE).as_secs_f64() / self.share;
        Duration::from_secs_f64(due).saturating_sub(elapsed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_spent_too_fast_is_waited_for() {
        let check = |cpus, elapsed_ms, spent_ms, pause_ms| {
            let allowance = Allowance::new(cpus, None);
            let pause = allowance.pause(Duration::from_millis(elapsed_ms), Duration::from_millis(spent_ms));
            assert_eq!(pause.as_millis(), pause_ms, "{cpus} {elapsed_ms} {spent_ms}");
        };
        check(16, 1000, 10, 0);
        check(16, 1000, 260, 0);
        check(16, 1000, 270, 1000);
        check(32, 1000, 270, 0);
        check(8, 1000, 260, 1000);
        check(16, 100_000, 1250, 0);
        check(16, 100_000, 1260, 1000);
        check(0, 0, 250, 0);
        assert_eq!(Allowance::new(16, None).share(), 0.01);
        assert_eq!(Allowance::new(16, Some(50)).share(), 0.5);
    }
}
