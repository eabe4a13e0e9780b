//! Deferrable timers (`TIMER_DEFERRABLE`): they expire at a tick of their CPU. An idle CPU has no ticks and is not woken for
//! them, so they wait until it is busy (`run_timer_softirq()`, `BASE_DEF`).

use crate::cpu::Irq;
use crate::kernel::Kernel;
use keel_abi::{CpuId, Instant, TaskId};

/// The deferrable timers of a CPU. Only sleeping tasks have any.
#[derive(Debug)]
pub(crate) struct DeferrableTimers {
    /// When each is due, in order, with its task and which of the task's sleeps it ends.
    due: Vec<(Instant, TaskId, u32)>,
    /// When the first is due; never without any.
    first_at: Instant,
}

impl Default for DeferrableTimers {
    fn default() -> Self {
        Self { due: Vec::new(), first_at: Instant::NEVER }
    }
}

impl DeferrableTimers {
    fn add(&mut self, timer: (Instant, TaskId, u32)) {
        let place = self.due.partition_point(|&other| other <= timer);
        self.due.insert(place, timer);
        self.first_at = self.due[0].0;
    }

    /// Takes the first timer that is due at `now`.
    fn pop_due(&mut self, now: Instant) -> Option<(TaskId, u32)> {
        if self.first_at > now {
            return None;
        }
        let (_, task, sleep) = self.due.remove(0);
        self.first_at = self.due.first().map_or(Instant::NEVER, |first| first.0);
        Some((task, sleep))
    }
}

impl Kernel {
    /// Arms a deferrable timer on `c` for the present sleep of `task`.
    pub(crate) fn arm_deferrable(&mut self, c: CpuId, task: TaskId, at: Instant) {
        let sleep = self.tasks[task].sleeps;
        self.cpu(c).deferrable.add((at, task, sleep));
    }

    /// A tick of the running CPU: what is due becomes an interrupt that comes after the tick's own work.
    #[inline]
    pub(crate) fn expire_deferrable(&mut self) {
        let cpu = self.this_cpu();
        let now = cpu.clock;
        while let Some((task, sleep)) = cpu.deferrable.pop_due(now) {
            cpu.inbox.push_back(Irq::Sleeper(task, sleep));
        }
    }

    /// `from` goes offline: its timers go to `to` (`timers_dead_cpu()`).
    pub(crate) fn move_deferrable(&mut self, from: CpuId, to: CpuId) {
        let moved = std::mem::take(&mut self.cpu(from).deferrable);
        for timer in moved.due {
            self.cpu(to).deferrable.add(timer);
        }
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
