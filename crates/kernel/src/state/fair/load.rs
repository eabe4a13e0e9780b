//! The load averages of tasks, queues and CPUs.

use crate::state::fair::ids::QueueId;
use crate::state::fair::pelt::{Average, ONE};
use crate::state::fair::pelt_clock::PeltClock;

/// A task's load.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TaskLoad {
    pub(crate) avg: Average,
    /// The queue in which it counts.
    pub(crate) queue: Option<QueueId>,
    /// Its smoothed utilization at the times when it went to sleep (`util_est`).
    pub(crate) estimate: u64,
    /// Whether it has ever been in a queue.
    pub(crate) is_known: bool,
}

impl TaskLoad {
    /// No load.
    pub(super) const NEW: Self = Self { avg: Average::NONE, queue: None, estimate: 0, is_known: false };

    /// `task_util_est()`.
    pub(crate) fn util_or_estimate(&self) -> u64 {
        self.avg.util.max(self.estimate)
    }

    /// Updates the estimate of the task's future utilization when it goes to sleep (`util_est_update()`).
    pub(crate) fn estimate(&mut self, capacity: u64) {
        let (used, last) = (self.avg.util, self.estimate);
        if last <= used {
            self.estimate = used;
            return;
        }
        let less = last - used;
        // A task that had to wait would have used more.
        if less < MARGIN || used > capacity || used + MARGIN < self.avg.runnable {
            return;
        }
        self.estimate = ((last << ESTIMATE_SHIFT) - less) >> ESTIMATE_SHIFT;
    }
}

/// A queue's load (`cfs_rq->avg`).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct QueueLoad {
    pub(crate) avg: Average,
    /// The load, runnable average and utilization of tasks that have left since the last update (`cfs_rq->removed`).
    pub(crate) gone: [u64; 3],
    /// By how much tasks that came and went have changed its load sum since the entity of its group was last updated;
    /// `None` if none did (`cfs_rq->propagate`, `cfs_rq->prop_runnable_sum`).
    pub(crate) changed: Option<i64>,
}

impl QueueLoad {
    /// Records a change of the load sum, by a task that came or went (`add_tg_cfs_propagate()`).
    pub(crate) fn note_change(&mut self, by: i64) {
        self.changed = Some(self.changed.unwrap_or(0) + by);
    }
}

/// A CPU's load.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CpuLoad {
    /// The load of the root queue.
    pub(crate) queue: QueueLoad,
    pub(crate) clock: PeltClock,
    /// The sum of the estimates of the runnable tasks (`util_est`).
    pub(crate) estimate: u64,
    /// The utilization by real-time tasks (`avg_rt`), and whether one is running.
    pub(crate) rt: Average,
    pub(crate) runs_rt: bool,
    /// The capacity that real-time tasks left when the CPU was last balanced (`cpu_capacity`); `None` before that.
    pub(crate) left: Option<u64>,
    /// The tick until which a CPU that has just run out of tasks does not update `left` again (`sgc->next_update`).
    pub(crate) left_until: u64,
}

/// Changes of a task's utilization that are smaller than this are not recorded (`UTIL_EST_MARGIN`).
pub(crate) const MARGIN: u64 = ONE / 100;

/// A new value has a weight of one quarter in the estimate (`UTIL_EST_WEIGHT_SHIFT`).
pub(crate) const ESTIMATE_SHIFT: u32 = 2;
