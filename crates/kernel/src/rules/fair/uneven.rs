//! An idle CPU for a task where CPUs are not equally fast (`select_idle_capacity()`): the first on an idle core that is
//! fast enough for the task. Without one, an idle core counts for more than a CPU that is fast enough, and that for
//! more than one that is not; of equals the fastest is best.

use crate::rules::fair::cost::Visit;
use crate::rules::fair::select_idle_sibling::behind_or_at;
use crate::state::fair::pelt::ONE;
use crate::state::kernel::Kernel;
use keel_abi::{CpuId, TaskId};

/// How good an idle CPU is; better ones are greater (`enum asym_fits_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// A thread of a busy core, too slow for the task.
    SlowThread,
    /// A thread of a busy core.
    Thread,
    /// A CPU of an idle core, or any idle CPU if no core is idle, but too slow for the task.
    SlowCore,
    /// Nothing better can be found.
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
    /// The CPU to use for a task that would otherwise go to `target`. The search is as long as other searches of the
    /// cache if the cache has CPUs of all kinds.
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

    /// Are the machine's CPUs of different capacities (`sched_asym_cpucap_active()`)?
    pub(super) fn is_uneven(&self) -> bool {
        self.machine.capacity.windows(2).any(|pair| pair[0] != pair[1])
    }

    /// Does the task need at most four fifths of the capacity that the CPU has left (`task_fits_cpu()`,
    /// `util_fits_cpu()`)?
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
