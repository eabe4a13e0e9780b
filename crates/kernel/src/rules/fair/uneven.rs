//! Finds an idle CPU for a task on a machine whose CPUs differ in capacity (`select_idle_capacity()`): the first one on
//! an idle core that fits the task. If there is none, an idle core is preferred to a CPU that fits, and that to one
//! that does not; among equals, the fastest is preferred.

use crate::rules::fair::cost::Visit;
use crate::rules::fair::select_idle_sibling::behind_or_at;
use crate::state::fair::pelt::ONE;
use crate::state::kernel::Kernel;
use keel_abi::{CpuId, TaskId};

/// How good an idle CPU is; better ones compare greater (`enum asym_fits_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// A CPU of a busy core that is too slow for the task.
    SlowThread,
    /// A CPU of a busy core that fits the task.
    Thread,
    /// A CPU of an idle core, or any idle CPU if no core is idle, that is too slow for the task.
    SlowCore,
    /// An idle CPU that fits the task, on an idle core if there is one.
    Best,
}

impl Rank {
    fn of(fits: bool, is_preferred: bool) -> Self {
        match (fits, is_preferred) {
            (true, true) => Self::Best,
            (false, true) => Self::SlowCore,
            (true, false) => Self::Thread,
            (false, false) => Self::SlowThread,
        }
    }
}

impl Kernel {
    /// Returns the CPU for a task that would otherwise go to `target`. If the LLC has CPUs of all kinds, the search is
    /// limited like other searches of the LLC.
    pub(super) fn idle_capacity(&mut self, c: CpuId, task: TaskId, target: CpuId) -> CpuId {
        let hierarchy = self.hierarchy();
        let Some(level) = hierarchy.levels(target).iter().find(|level| level.is_uneven) else {
            return target;
        };
        let llc = self.machine.topology.place(target).llc.index();
        let shared = self.fair.caches[llc];
        let has_idle_core = self.fair.has_smt && shared.has_idle_core;
        let is_cache = hierarchy.cache(target).is_some_and(|cache| cache.weight == level.weight);
        let mut left = shared.idle_scan.filter(|_| is_cache).map_or(u32::MAX, |scan| scan + 1);
        if left == 1 {
            return target;
        }
        let mut best: Option<(Rank, u64, CpuId)> = None;
        let usable = level.span.and(&self.tasks[task].cpus);
        for cpu in behind_or_at(&usable, target) {
            if !has_idle_core {
                left -= 1;
                if left == 0 {
                    return best.map_or(target, |(.., cpu)| cpu);
                }
            }
            self.look_at(c, cpu, Visit::Idle);
            if !self.is_free_for(task, cpu) {
                continue;
            }
            let is_preferred = !has_idle_core || self.is_core_vacant_beside(cpu);
            let rank = Rank::of(self.task_fits(task, cpu), is_preferred);
            if rank == Rank::Best {
                return cpu;
            }
            let capacity = self.capacity_left(cpu);
            if best.is_none_or(|(so_far, most, _)| (rank, capacity) > (so_far, most)) {
                best = Some((rank, capacity, cpu));
            }
        }
        if has_idle_core && best.is_none_or(|(rank, ..)| rank < Rank::SlowCore) {
            self.fair.caches[llc].has_idle_core = false;
        }
        best.map_or(target, |(.., cpu)| cpu)
    }

    /// Returns whether the machine's CPUs differ in capacity (`sched_asym_cpucap_active()`).
    pub(super) fn is_uneven(&self) -> bool {
        self.machine.capacity.windows(2).any(|pair| pair[0] != pair[1])
    }

    /// Returns whether the task needs at most four fifths of the capacity that the CPU has left (`task_fits_cpu()`,
    /// `util_fits_cpu()`).
    pub(super) fn task_fits(&self, task: TaskId, cpu: CpuId) -> bool {
        let util = self.fair.entities.get(task).map_or(0, |entity| entity.load.util_or_estimate());
        util * 1280 < self.capacity_left(cpu) * ONE
    }
}

#[cfg(test)]
mod tests {
    use super::Rank;

    /// `enum asym_fits_state`.
    #[test]
    fn an_idle_core_counts_for_more_than_speed() {
        let ranks = [(true, true), (false, true), (true, false), (false, false)];
        let ranks = ranks.map(|(fits, is_preferred)| Rank::of(fits, is_preferred));
        assert!(ranks.is_sorted_by(|better, worse| better > worse), "{ranks:?}");
    }
}
