//! The load statistics of a group of CPUs (`struct sg_lb_stats`), and the classification that follows from them
//! (`group_classify()`). The functions are pure.

use crate::state::fair::pelt::ONE;
use keel_trace::policy::GroupClass;

/// The sums over a group's CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stats {
    pub(crate) load: u64,
    pub(super) util: u64,
    pub(super) runnable: u64,
    /// The number of all tasks (`sum_nr_running`), and of the fair tasks that want to run (`sum_h_nr_running`).
    pub(super) tasks: u32,
    pub(crate) fair_tasks: u32,
    pub(super) idle_cpus: u32,
    pub(super) cpus: u32,
    pub(super) cores: u32,
    pub(super) capacity: u64,
    pub(super) least_capacity: u64,
    pub(super) most_capacity: u64,
    /// The load of a task that does not fit its CPU.
    pub(super) misfit: u64,
    /// Whether the group is a core with several tasks.
    pub(super) is_shared_core: bool,
    /// Whether balancing below the group has failed.
    pub(super) is_imbalanced: bool,
    pub(super) kind: GroupClass,
    /// Load relative to capacity. Only set for groups whose class makes it matter.
    pub(super) mean: u64,
}

impl Stats {
    /// Adds the capacity of another CPU of the group.
    pub(super) fn add_capacity(&mut self, capacity: u64) {
        self.capacity += capacity;
        self.least_capacity = self.least_capacity.min(capacity);
        self.most_capacity = self.most_capacity.max(capacity);
    }

    /// `group_is_overloaded()`.
    fn is_overloaded(&self, pct: u64) -> bool {
        self.tasks > self.cpus
            && (self.capacity * 100 < self.util * pct || self.capacity * pct < self.runnable * 100)
    }

    /// `group_has_capacity()`.
    fn has_capacity(&self, pct: u64) -> bool {
        if self.tasks < self.cpus {
            return true;
        }
        self.capacity * pct >= self.runnable * 100 && self.capacity * 100 > self.util * pct
    }

    /// Sets the group's class, at a level with the `imbalance_pct` `pct` (`group_classify()`).
    pub(super) fn classify(&mut self, pct: u64) {
        self.kind = if self.is_overloaded(pct) {
            GroupClass::Overloaded
        } else if self.is_imbalanced {
            GroupClass::Imbalanced
        } else if self.is_shared_core {
            GroupClass::SmtBalance
        } else if self.misfit > 0 {
            GroupClass::Misfit
        } else if !self.has_capacity(pct) {
            GroupClass::FullyBusy
        } else {
            GroupClass::HasSpare
        };
    }

    /// Returns the group's load relative to its capacity.
    pub(super) fn load_for_capacity(&self) -> u64 {
        self.load * ONE / self.capacity.max(1)
    }
}

/// Returns the imbalance between NUMA nodes that is to be corrected. A small one is tolerated while few tasks would run
/// on the destination (`adjust_numa_imbalance()`).
pub(super) fn allowed_between_nodes(imbalance: u64, running: u64, allowance: u64) -> u64 {
    /// Two tasks that communicate may stay together (`NUMA_IMBALANCE_MIN`).
    const PAIR: u64 = 2;
    if running <= allowance && imbalance <= PAIR { 0 } else { imbalance }
}

/// Returns whether one capacity is noticeably greater than another (`capacity_greater()`).
pub(super) fn is_greater(one: u64, other: u64) -> bool {
    one * ONE > other * 1078
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `group_classify()`.
    #[test]
    fn a_group_is_as_busy_as_its_cpus() {
        let four = Stats { cpus: 4, capacity: 4 * ONE, ..Stats::default() };
        let check = |stats: Stats, expected| {
            let mut stats = stats;
            stats.classify(117);
            assert_eq!(stats.kind, expected, "{stats:?}");
        };
        check(four, GroupClass::HasSpare);
        check(Stats { tasks: 3, util: 4 * ONE, ..four }, GroupClass::HasSpare);
        check(Stats { tasks: 4, util: 4 * ONE, ..four }, GroupClass::FullyBusy);
        check(Stats { tasks: 4, util: 3 * ONE, ..four }, GroupClass::HasSpare);
        // Low utilization, but the tasks wait for each other.
        check(Stats { tasks: 4, util: ONE, runnable: 5 * ONE, ..four }, GroupClass::FullyBusy);
        check(Stats { tasks: 5, util: 4 * ONE, ..four }, GroupClass::Overloaded);
        check(Stats { tasks: 5, util: 3 * ONE, ..four }, GroupClass::HasSpare);
        check(Stats { tasks: 5, util: ONE, runnable: 5 * ONE, ..four }, GroupClass::Overloaded);
        check(Stats { misfit: 1, ..four }, GroupClass::Misfit);
        check(Stats { is_shared_core: true, misfit: 1, ..four }, GroupClass::SmtBalance);
        check(Stats { is_imbalanced: true, is_shared_core: true, ..four }, GroupClass::Imbalanced);
        check(Stats { is_imbalanced: true, tasks: 8, util: 4 * ONE, ..four }, GroupClass::Overloaded);
    }

    /// `adjust_numa_imbalance()`.
    #[test]
    fn a_pair_may_stay_on_a_node() {
        let check = |imbalance, running, allowance, expected| {
            let found = allowed_between_nodes(imbalance, running, allowance);
            assert_eq!(found, expected, "{imbalance} {running} {allowance}");
        };
        check(2, 1, 4, 0);
        check(3, 1, 4, 3);
        check(2, 5, 4, 2);
        check(2, 4, 4, 0);
    }
}
