//! Deferrable timers, which wait for a tick of their CPU.

use keel_abi::{Instant, TaskId};

/// The deferrable timers of a CPU. Only sleeping tasks have them.
#[derive(Debug)]
pub(crate) struct DeferrableTimers {
    /// Each timer's expiry, in order, with the timer's task and the number of the sleep that it ends.
    pub(crate) due: Vec<(Instant, TaskId, u32)>,
    /// When the first one expires; never if there is none.
    first_at: Instant,
}

impl Default for DeferrableTimers {
    fn default() -> Self {
        Self { due: Vec::new(), first_at: Instant::NEVER }
    }
}

impl DeferrableTimers {
    pub(crate) fn add(&mut self, timer: (Instant, TaskId, u32)) {
        let place = self.due.partition_point(|&other| other <= timer);
        self.due.insert(place, timer);
        self.first_at = self.due[0].0;
    }

    /// Removes the first timer that has expired by `now`. Returns its task and the number of the sleep.
    #[inline(always)]
    pub(crate) fn pop_due(&mut self, now: Instant) -> Option<(TaskId, u32)> {
        if self.first_at > now { None } else { self.pop() }
    }

    #[cold]
    #[inline(never)]
    fn pop(&mut self) -> Option<(TaskId, u32)> {
        let (_, task, sleep) = self.due.remove(0);
        self.first_at = self.due.first().map_or(Instant::NEVER, |first| first.0);
        Some((task, sleep))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_expire_in_order_and_not_before_they_are_due() {
        let mut timers = DeferrableTimers::default();
        for (ms, task) in [(3, 1), (1, 2), (2, 3)] {
            timers.add((Instant::from_ns(ms), TaskId(task), 7));
        }
        assert_eq!(timers.pop_due(Instant::from_ns(0)), None);
        assert_eq!(timers.pop_due(Instant::from_ns(2)), Some((TaskId(2), 7)));
        assert_eq!(timers.pop_due(Instant::from_ns(2)), Some((TaskId(3), 7)));
        assert_eq!(timers.pop_due(Instant::from_ns(2)), None);
        assert_eq!(timers.pop_due(Instant::from_ns(9)), Some((TaskId(1), 7)));
        assert_eq!(timers.pop_due(Instant::from_ns(9)), None);
    }
}
