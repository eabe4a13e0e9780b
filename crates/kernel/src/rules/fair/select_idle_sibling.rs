//! Finds an idle CPU that shares the LLC with a target CPU (`select_idle_sibling()`): the target itself, the task's
//! previous CPU, a recently used one, or one found by a search. The busier the LLC is, the fewer CPUs are searched
//! (`SIS_UTIL`).

use crate::rules::fair::cost::Visit;
use crate::state::fair::pelt::ONE;
use crate::state::kernel::Kernel;
use keel_abi::{CpuId, CpuSet, TaskId};

/// Returns how many CPUs of an LLC are searched, given their number, the sum of their utilization and the level's
/// `imbalance_pct` (`update_idle_cpu_scan()`).
pub(crate) fn idle_scan(cpus: u32, util: u64, imbalance_pct: u64) -> u32 {
    let mean = u128::from(util / u64::from(cpus));
    let pct = u128::from(imbalance_pct);
    let less = (mean * mean * pct * pct / (10_000 * u128::from(ONE))).min(u128::from(ONE)) as u64;
    ((ONE - less) * u64::from(cpus) / ONE) as u32
}

impl Kernel {
    /// Returns the CPU for a task that would otherwise go to `target`.
    pub(super) fn idle_sibling(&mut self, c: CpuId, task: TaskId, prev: CpuId, target: CpuId) -> CpuId {
        let uneven = self.is_uneven();
        let fits = |k: &Self, cpu| !uneven || k.task_fits(task, cpu);
        self.look_at(c, target, Visit::Idle);
        if self.is_free_for(task, target) && fits(self, target) {
            return target;
        }
        if prev != target && self.share_cache(prev, target) {
            self.look_at(c, prev, Visit::Idle);
            if self.is_free_for(task, prev) && fits(self, prev) {
                return prev;
            }
        }
        if self.is_done_by_own_kthread(c, prev) && fits(self, prev) {
            return prev;
        }
        let recent = self.fair.entities[task].recent.replace(prev);
        if let Some(recent) =
            recent.filter(|&cpu| cpu != prev && cpu != target && self.share_cache(cpu, target))
        {
            self.look_at(c, recent, Visit::Idle);
            if self.is_free_for(task, recent) && self.may_use(task, recent) && fits(self, recent) {
                return recent;
            }
        }
        if uneven {
            return self.idle_capacity(c, task, target);
        }
        self.search(c, task, prev, target).unwrap_or(target)
    }

    /// Returns whether the waker is a kernel thread bound to the task's previous CPU, which has nothing else to do. The
    /// task then stays with the thread that worked for it.
    fn is_done_by_own_kthread(&self, c: CpuId, prev: CpuId) -> bool {
        let curr = self.cpus[c].curr;
        let is_own = !curr.is_idle() && self.is_kthread(curr) && self.tasks[curr].nr_allowed == 1;
        is_own && prev == c && self.nr_running(c) <= 1
    }

    fn search(&mut self, c: CpuId, task: TaskId, prev: CpuId, target: CpuId) -> Option<CpuId> {
        let hierarchy = self.hierarchy();
        let level = hierarchy.cache(target)?;
        let llc = self.machine.topology.place(target).llc.index();
        let shared = self.fair.caches[llc];
        let has_idle_core = self.fair.has_smt && shared.has_idle_core;
        if self.fair.has_smt
            && !has_idle_core
            && self.share_cache(prev, target)
            && let Some(cpu) = self.idle_smt(c, task, prev, &level.span)
        {
            return Some(cpu);
        }
        let mut left = shared.idle_scan.unwrap_or(level.weight) + 1;
        if left == 1 {
            return None;
        }
        let mut usable = level.span.and(&self.tasks[task].cpus);
        let mut single = None;
        for cpu in behind(&usable.clone(), target) {
            if has_idle_core {
                if !usable.contains(cpu) {
                    continue;
                }
                if self.idle_core(c, task, cpu, &mut usable, &mut single) {
                    return Some(cpu);
                }
                continue;
            }
            left -= 1;
            if left == 0 {
                return None;
            }
            self.look_at(c, cpu, Visit::Idle);
            if self.is_free_for(task, cpu) {
                return Some(cpu);
            }
        }
        if has_idle_core {
            self.fair.caches[llc].has_idle_core = false;
        }
        single
    }

    /// Returns whether the whole core of `cpu` is idle (`select_idle_core()`). If not, the core is not searched again,
    /// and one of its idle CPUs is kept as a second choice.
    fn idle_core(
        &mut self,
        c: CpuId,
        task: TaskId,
        cpu: CpuId,
        usable: &mut CpuSet,
        single: &mut Option<CpuId>,
    ) -> bool {
        let mut core: CpuSet = self.cpus[cpu].siblings.iter().copied().collect();
        core.insert(cpu);
        let mut is_idle = true;
        for thread in core.iter() {
            self.look_at(c, thread, Visit::Idle);
            if !self.is_vacant(thread) {
                is_idle = false;
                if single.is_none() {
                    if self.is_free_for(task, thread) && usable.contains(thread) {
                        *single = Some(thread);
                        break;
                    }
                    continue;
                }
                break;
            }
            if single.is_none() && usable.contains(thread) {
                *single = Some(thread);
            }
        }
        if !is_idle {
            core.iter().for_each(|thread| {
                usable.remove(thread);
            });
        }
        is_idle
    }

    /// Returns an idle sibling on the core that the task was on (`select_idle_smt()`).
    fn idle_smt(&mut self, c: CpuId, task: TaskId, prev: CpuId, span: &CpuSet) -> Option<CpuId> {
        (0..self.cpus[prev].siblings.len()).find_map(|nth| {
            let cpu = self.cpus[prev].siblings[nth];
            if !span.contains(cpu) {
                return None;
            }
            self.look_at(c, cpu, Visit::Idle);
            (self.may_use(task, cpu) && self.is_free_for(task, cpu)).then_some(cpu)
        })
    }

    /// Returns the number of tasks on the CPU's runqueue, including those that sleep there (`rq->nr_running`).
    pub(crate) fn nr_running(&self, cpu: CpuId) -> u32 {
        self.cpus[cpu].nr_tasks()
    }

    /// When `c` has gone idle: records whether its whole core is idle now (`__update_idle_core()`).
    pub(super) fn note_idle_core(&mut self, c: CpuId) {
        if self.fair.has_smt && self.is_core_vacant_beside(c) {
            let llc = self.machine.topology.place(c).llc.index();
            self.fair.caches[llc].has_idle_core = true;
        }
    }
}

/// Returns the CPUs of a set in order, starting after `cpu` and ending with `cpu` itself (`for_each_cpu_wrap()`), so
/// that neighbouring CPUs don't all find the same one.
fn behind(set: &CpuSet, cpu: CpuId) -> impl Iterator<Item = CpuId> {
    behind_or_at(set, CpuId(cpu.0 + 1))
}

pub(super) fn behind_or_at(set: &CpuSet, cpu: CpuId) -> impl Iterator<Item = CpuId> {
    set.iter_from(cpu).chain(set.iter().take_while(move |&other| other < cpu))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `update_idle_cpu_scan()`.
    #[test]
    fn the_fuller_a_cache_the_shorter_the_search() {
        let check = |cpus, percent: u64, expected| {
            let util = u64::from(cpus) * ONE * percent / 100;
            assert_eq!(idle_scan(cpus, util, 117), expected, "{cpus} at {percent} %");
        };
        check(16, 0, 16);
        check(16, 25, 14);
        check(16, 50, 10);
        check(16, 75, 3);
        check(16, 86, 0);
        check(16, 100, 0);
        check(64, 50, 42);
    }

    #[test]
    fn a_search_goes_around() {
        let set: CpuSet = [1, 3, 5].map(CpuId).into_iter().collect();
        let check = |first: u32, expected: [u32; 3]| {
            let found: Vec<u32> = behind_or_at(&set, CpuId(first)).map(|cpu| cpu.0).collect();
            assert_eq!(found, expected, "{first}");
        };
        check(3, [3, 5, 1]);
        check(4, [5, 1, 3]);
        check(6, [1, 3, 5]);
        assert_eq!(behind(&set, CpuId(3)).next(), Some(CpuId(5)));
    }
}
