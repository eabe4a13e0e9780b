//! Determines whether a task's timer is relative to the beginning of a sleep, or absolute.
//!
//! A recording shows when a task went to sleep and when a timer woke it. With a relative timer the sleeps have similar
//! lengths. With an absolute one, like a frame's or a control loop's, the wakeups are equally far apart and the sleeps
//! differ by the work between them.

use keel_abi::{Instant, Span};

/// The minimum number of sleeps: fewer show no regularity.
const FEWEST: u64 = 8;

/// Mean and variance of numbers, one at a time (Welford).
#[derive(Clone, Copy, Debug, Default)]
struct Spread {
    count: u64,
    mean: f64,
    squares: f64,
}

impl Spread {
    fn add(&mut self, value: f64) {
        self.count += 1;
        let off = value - self.mean;
        self.mean += off / self.count as f64;
        self.squares += off * (value - self.mean);
    }

    fn deviation(&self) -> f64 {
        (self.squares / self.count.max(1) as f64).sqrt()
    }
}

/// Statistics of a task's sleeps.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sleeps {
    spans: Spread,
    periods: Spread,
    last: Option<Instant>,
}

impl Sleeps {
    /// Notes that the task slept for `slept`, until a timer woke it.
    pub(crate) fn add(&mut self, slept: Span, woken: Instant) {
        self.spans.add(slept.as_ns() as f64);
        if let Some(last) = self.last.replace(woken) {
            self.periods.add(woken.since(last).as_ns() as f64);
        }
    }

    /// Returns whether its timers follow a clock. Its wakeups are then far more regular than its sleeps, and nearly
    /// equally far apart.
    pub(crate) fn follow_a_clock(&self) -> bool {
        let (spans, periods) = (self.spans.deviation(), self.periods.deviation());
        self.periods.count >= FEWEST && periods * 2.0 < spans && periods * 10.0 < self.periods.mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks a task that works for `work` us between its sleeps, and whose period or sleep is 1000 us.
    fn check(absolute: bool, work: &[u64], expected: bool) {
        let (mut sleeps, mut now) = (Sleeps::default(), 0);
        for (nth, work) in work.iter().enumerate() {
            let begins = now + work;
            now = if absolute { (nth as u64 + 1) * 1000 } else { begins + 1000 };
            sleeps.add(Span::from_us(now - begins), Instant::ZERO + Span::from_us(now));
        }
        assert_eq!(sleeps.follow_a_clock(), expected, "{absolute} {work:?}");
    }

    #[test]
    fn regular_wakeups_follow_a_clock() {
        let uneven = [100, 400, 200, 700, 300, 100, 500, 250, 150, 600, 350, 120];
        check(true, &uneven, true);
        check(false, &uneven, false);
        // Constant work shows nothing: both kinds of timer give the same moments.
        check(true, &[100; 12], false);
        // Too few.
        check(true, &uneven[..5], false);
    }
}
