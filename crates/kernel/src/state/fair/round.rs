//! An attempt to balance a level for a CPU (`struct lb_env`), and the state of a CPU's levels between attempts.

use crate::state::domains::groups::Hierarchy;
use crate::state::fair::considered::Considered;
use keel_abi::{CpuId, CpuSet, TaskId};
use std::sync::Arc;

/// The number of tasks that are examined before the source's lock is released, and in total (`SCHED_NR_MIGRATE_BREAK`).
pub(crate) const TASKS_A_LOCK: u32 = 32;

/// The longest interval between attempts at a level whose tasks are all pinned, in milliseconds
/// (`MAX_PINNED_INTERVAL`).
const MOST_PINNED_MS: u64 = 512;

/// Whether the CPU that is balanced for is idle (`enum cpu_idle_type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Idleness {
    Busy,
    Idle,
    /// It has just run out of tasks.
    NewlyIdle,
}

/// The unit of an imbalance (`enum migration_type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moves {
    Load,
    Util,
    Tasks,
    Misfit,
}

/// What requested the balancing and continues afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asker {
    /// A CPU that has run out of tasks.
    Newidle,
    /// A periodic walk over a CPU's levels.
    Periodic,
}

#[derive(Clone, Debug)]
pub(crate) struct Round {
    /// The CPU that is to receive tasks, and the index of the level among its levels.
    pub(crate) to: CpuId,
    pub(crate) level: usize,
    /// The CPU for which the attempt began; `to` may change during the attempt.
    pub(crate) owner: CpuId,
    pub(crate) idleness: Idleness,
    pub(crate) asker: Asker,
    /// The sched domains as they were when the attempt began.
    pub(crate) hierarchy: Arc<Hierarchy>,
    /// The CPUs that may give or receive tasks.
    pub(crate) cpus: CpuSet,
    pub(crate) moves: Moves,
    pub(crate) imbalance: i64,
    pub(crate) from: CpuId,
    /// The number of tasks examined so far, and the number at which to release the lock.
    pub(crate) looked_at: u32,
    pub(crate) pause: u32,
    pub(crate) most: u32,
    pub(crate) needs_pause: bool,
    /// Whether some tasks could not go to `to` (`LBF_SOME_PINNED`), and whether none could (`LBF_ALL_PINNED`).
    pub(crate) some_pinned: bool,
    pub(crate) all_pinned: bool,
    /// Another CPU of the group to which one of these tasks may go (`LBF_DST_PINNED`).
    pub(crate) other: Option<CpuId>,
    /// The tasks that were detached from `from` and are in no queue.
    pub(crate) taken: Vec<TaskId>,
    /// The number of tasks moved in total.
    pub(crate) moved: u32,
    /// Whether the attempt pushes away a running task (`LBF_ACTIVE_LB`).
    pub(crate) is_active: bool,
    /// What the attempt has looked at, if that is reported.
    pub(crate) considered: Option<Box<Considered>>,
}

impl Round {
    pub(crate) fn new(
        to: CpuId,
        level: usize,
        idleness: Idleness,
        asker: Asker,
        cpus: CpuSet,
        hierarchy: Arc<Hierarchy>,
    ) -> Self {
        Self {
            to,
            level,
            owner: to,
            idleness,
            asker,
            hierarchy,
            cpus,
            moves: Moves::Load,
            imbalance: 0,
            from: to,
            looked_at: 0,
            pause: TASKS_A_LOCK,
            most: 0,
            needs_pause: false,
            some_pinned: false,
            all_pinned: false,
            other: None,
            taken: Vec::new(),
            moved: 0,
            is_active: false,
            considered: None,
        }
    }

    /// Starts over with the first task.
    pub(crate) fn restart(&mut self) {
        (self.looked_at, self.pause) = (0, TASKS_A_LOCK);
    }
}

/// The state of a CPU's level between attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Memory {
    /// When the level was last balanced, in ticks.
    pub(crate) last: u64,
    /// The interval between attempts in milliseconds: the number of the level's CPUs, or twice that.
    pub(super) interval_ms: u64,
    least_ms: u64,
    /// The number of attempts in a row that moved no task (`nr_balance_failed`).
    pub(crate) failed: u32,
    /// The highest cost of a newidle search at this level (`max_newidle_lb_cost`), and since when, in ticks.
    pub(crate) cost_ns: u64,
    cost_at: u64,
    calls: u32,
    successes: u32,
    /// How many of 1024 newidle searches found a task (`newidle_ratio`).
    pub(crate) ratio: u32,
}

impl Memory {
    /// Creates the state of a new level of `cpus` CPUs at tick `now` (`sd_init()`).
    pub(crate) fn new(cpus: u32, now: u64) -> Self {
        let least_ms = u64::from(cpus);
        Self {
            last: now,
            interval_ms: least_ms,
            least_ms,
            failed: 0,
            cost_ns: 0,
            cost_at: now,
            calls: 512,
            successes: 256,
            ratio: 512,
        }
    }

    /// Returns the interval in ticks, at most `most`, with `hz` ticks per second. It is longer for busy CPUs, and then
    /// not a multiple of other levels' intervals (`get_sd_balance_interval()`).
    pub(crate) fn interval(&self, is_busy: bool, hz: u64, most: u64) -> u64 {
        /// `sd->busy_factor`.
        const BUSY_FACTOR: u64 = 16;
        let ms = if is_busy { self.interval_ms * BUSY_FACTOR } else { self.interval_ms };
        let ticks = (ms * hz).div_ceil(1000);
        ticks.saturating_sub(u64::from(is_busy)).clamp(1, most.max(1))
    }

    /// Makes the next attempt follow soon, because the level was imbalanced.
    pub(crate) fn hurry(&mut self) {
        self.interval_ms = self.least_ms;
    }

    /// Lengthens the interval, because the level was balanced or nothing could be moved.
    pub(crate) fn relax(&mut self, all_pinned: bool) {
        if all_pinned && self.interval_ms < MOST_PINNED_MS || self.interval_ms < 2 * self.least_ms {
            self.interval_ms *= 2;
        }
    }

    /// Counts a newidle search that was made or skipped (`update_newidle_stats()`).
    pub(crate) fn count(&mut self, successes: u32) {
        self.calls += 1;
        self.successes += successes;
        if self.calls >= 1024 {
            self.ratio = self.successes;
            self.calls /= 2;
            self.successes /= 2;
        }
    }

    /// Records the cost of a newidle search (`update_newidle_cost()`).
    pub(crate) fn cost(&mut self, ns: u64, ticks: u64) {
        if ns > self.cost_ns {
            (self.cost_ns, self.cost_at) = (ns, ticks);
        }
    }

    /// Decays that cost by one percent per second. Returns whether it has just done so.
    pub(crate) fn forget_cost(&mut self, ticks: u64, hz: u64) -> bool {
        let is_old = ticks > self.cost_at + hz;
        if is_old {
            self.cost_ns = self.cost_ns * 253 / 256;
            self.cost_at = ticks;
        }
        is_old
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `get_sd_balance_interval()`.
    #[test]
    fn busy_cpus_balance_less_often() {
        let check = |cpus, is_busy, expected| {
            assert_eq!(Memory::new(cpus, 0).interval(is_busy, 1000, 800), expected, "{cpus} {is_busy}");
        };
        check(8, false, 8);
        check(8, true, 127);
        check(64, true, 800);
        check(1, true, 15);
    }

    #[test]
    fn intervals_double_once_unless_tasks_are_pinned() {
        let check = |all_pinned, expected: [u64; 4]| {
            let mut memory = Memory::new(64, 0);
            let found = [(); 4].map(|()| {
                memory.relax(all_pinned);
                memory.interval_ms
            });
            assert_eq!(found, expected);
            memory.hurry();
            assert_eq!(memory.interval_ms, 64);
        };
        check(false, [128; 4]);
        check(true, [128, 256, 512, 512]);
    }

    /// `update_newidle_stats()`, `update_newidle_cost()`.
    #[test]
    fn what_finds_nothing_is_tried_less() {
        let mut memory = Memory::new(8, 0);
        (0..512).for_each(|_| memory.count(0));
        assert_eq!(memory.ratio, 256);
        (0..512).for_each(|_| memory.count(1));
        assert_eq!(memory.ratio, 640);
        memory.cost(5000, 10);
        memory.cost(3000, 20);
        assert!(!memory.forget_cost(1010, 1000) && memory.forget_cost(1011, 1000));
        assert_eq!(memory.cost_ns, 4941);
    }
}
