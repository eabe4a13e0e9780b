//! Tracks how long a CPU stays idle (`rq->idle_stamp`, `rq->avg_idle`). A CPU that will soon be needed does not look
//! for work.

use keel_abi::{Instant, Span};

/// The assumed cost of migrating a task (`sysctl_sched_migration_cost`).
pub(crate) const MIGRATION_COST: Span = Span::from_us(500);

/// A new idle time has a weight of one eighth in the mean (`update_avg()`).
const SHIFT: u32 = 3;

/// The idle times of one CPU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IdleTime {
    /// Since when the CPU has been idle or looking for work.
    pub(crate) since: Option<Instant>,
    /// Its mean idle time, in nanoseconds.
    pub(crate) mean_ns: u64,
    /// The highest recent cost of looking for work, in nanoseconds (`max_idle_balance_cost`).
    pub(crate) search_ns: u64,
}

impl IdleTime {
    /// The state of a CPU that has been idle since it came online.
    pub(super) const NEW: Self = Self {
        since: Some(Instant::ZERO),
        mean_ns: 2 * MIGRATION_COST.as_ns(),
        search_ns: MIGRATION_COST.as_ns(),
    };

    /// Returns when the CPU became idle, or the start of the run if it is not idle.
    pub(crate) fn since(&self) -> Instant {
        self.since.unwrap_or(Instant::ZERO)
    }

    /// Called when the CPU has run out of work.
    pub(crate) fn begin(&mut self, at: Instant) {
        self.since = Some(at);
    }

    /// Called when the CPU has found work before it went idle, so that there was no idle time.
    pub(crate) fn cancel(&mut self) {
        self.since = None;
    }

    /// Called when the CPU has work again (`update_rq_avg_idle()`).
    pub(crate) fn end(&mut self, at: Instant) {
        let Some(since) = self.since.take() else { return };
        let idle_ns = at.since(since).as_ns();
        let less = self.mean_ns.saturating_sub(idle_ns) >> SHIFT;
        let more = idle_ns.saturating_sub(self.mean_ns) >> SHIFT;
        self.mean_ns = (self.mean_ns + more - less).min(2 * self.search_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_follows_and_has_a_bound() {
        let check = |idle_us: &[u64], expected_us| {
            let mut idle = IdleTime::NEW;
            for &us in idle_us {
                idle.begin(Instant::ZERO);
                idle.end(Instant::ZERO + Span::from_us(us));
            }
            assert_eq!(idle.mean_ns / 1000, expected_us, "{idle_us:?}");
        };
        check(&[], 1000);
        check(&[200], 900);
        check(&[1_000_000], 1000);
        check(&[0, 0, 0], 669);
    }
}
