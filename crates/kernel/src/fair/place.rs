//! Where a waking or new fair task goes (`select_task_rq_fair()`): an idle CPU near where it was; a new one to the CPU with
//! the least to do.

use crate::kernel::Kernel;
use keel_abi::scx::wake;
use keel_abi::task::Policy;
use keel_abi::{CpuId, TaskId};

impl Kernel {
    /// A CPU for `task`, woken on `c`.
    pub(crate) fn select_fair(&self, c: CpuId, task: TaskId, prev: CpuId, flags: u64) -> CpuId {
        if flags & wake::FORK != 0 {
            return self.idlest(c, task).unwrap_or(prev);
        }
        let target = self.affine(c, task, prev, flags);
        self.idle_sibling(task, prev, target).unwrap_or(target)
    }

    /// Is nobody on it, nor about to be (`available_idle_cpu()`)?
    pub(super) fn is_vacant(&self, cpu: CpuId) -> bool {
        let cpu = &self.cpus[cpu];
        cpu.online && cpu.is_idle() && cpu.nr_ready() == 0
    }

    /// Could the task run there at once (`choose_idle_cpu()`)? Where all others are SCHED_IDLE, one that is not could.
    fn is_free_for(&self, task: TaskId, cpu: CpuId) -> bool {
        let has_idle_policy = self.tasks[task].policy == Policy::Idle;
        self.is_vacant(cpu) || !has_idle_policy && self.has_only_idle_policy(cpu)
    }

    /// Does it run SCHED_IDLE tasks and nothing else (`sched_idle_rq()`)?
    fn has_only_idle_policy(&self, cpu: CpuId) -> bool {
        let cpu = &self.cpus[cpu];
        cpu.online && cpu.fair.is_idle_only() && cpu.nr_running == cpu.fair.len()
    }

    pub(super) fn share_cache(&self, a: CpuId, b: CpuId) -> bool {
        let topology = &self.machine.topology;
        topology.place(a).llc == topology.place(b).llc
    }

    /// The waker's CPU or the task's last one (`wake_affine()`): the waker's where it is idle and near, or about to be.
    fn affine(&self, c: CpuId, task: TaskId, prev: CpuId, flags: u64) -> CpuId {
        if !self.may_use(task, c) || c == prev {
            return prev;
        }
        if !self.may_use(task, prev) {
            return c;
        }
        let prev_is_vacant = self.is_vacant(prev);
        if self.cpus[c].is_idle() && self.cpus[c].nr_ready() == 0 && self.share_cache(c, prev) {
            return if prev_is_vacant { prev } else { c };
        }
        let leaves = flags & wake::SYNC != 0 && self.cpus[c].nr_ready() == 1;
        if leaves && !prev_is_vacant { c } else { prev }
    }

    /// An idle CPU that shares the cache of `target` (`select_idle_sibling()`): itself, the last one, a whole idle core, any.
    fn idle_sibling(&self, task: TaskId, prev: CpuId, target: CpuId) -> Option<CpuId> {
        let topology = &self.machine.topology;
        let is_good = |cpu: &CpuId| self.is_free_for(task, *cpu) && self.may_use(task, *cpu);
        if is_good(&target) {
            return Some(target);
        }
        if prev != target && self.share_cache(prev, target) && is_good(&prev) {
            return Some(prev);
        }
        let llc = topology.place(target).llc;
        let near = || topology.iter().filter(|&cpu| topology.place(cpu).llc == llc).filter(is_good);
        let is_whole = |cpu: &CpuId| self.cpus[*cpu].siblings.iter().all(|other| self.is_vacant(other));
        // The search begins behind `target`, so that neighbours do not all find the same.
        let rank = |cpu: &CpuId| (*cpu <= target, *cpu);
        let whole = topology.has_smt().then(|| near().filter(is_whole).min_by_key(rank)).flatten();
        whole.or_else(|| near().min_by_key(rank))
    }

    /// The CPU with the least to do, near ones first (`sched_balance_find_dst_cpu()`).
    fn idlest(&self, c: CpuId, task: TaskId) -> Option<CpuId> {
        let topology = &self.machine.topology;
        let load = |cpu: CpuId| (self.cpus[cpu].nr_ready(), self.cpus[cpu].fair.weight(&self.fair.entities));
        let is_core_busy = |cpu: CpuId| self.cpus[cpu].siblings.iter().any(|other| !self.is_vacant(other));
        let rank = |&cpu: &CpuId| (load(cpu), is_core_busy(cpu), topology.distance(c, cpu), cpu);
        topology.iter().filter(|&cpu| self.may_use(task, cpu)).min_by_key(rank)
    }
}
