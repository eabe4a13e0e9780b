//! Where a waking real-time task goes: where it was, unless a real-time task runs there that it would have to wait
//! for, or that cannot go elsewhere (`select_task_rq_rt()`).

use crate::class::SchedClass;
use crate::kernel::Kernel;
use keel_abi::{CpuId, TaskId};

impl Kernel {
    /// A CPU for `task`, woken on `c`.
    pub(crate) fn select_rt(&self, c: CpuId, task: TaskId, prev: CpuId) -> CpuId {
        let curr = self.cpus[prev].curr;
        let priority = self.tasks[task].policy.rt_priority();
        let is_taken = self.class_of(curr) == SchedClass::Rt && {
            let running = &self.tasks[curr];
            running.nr_allowed < 2 || running.policy.rt_priority() >= priority
        };
        if !is_taken {
            return prev;
        }
        self.find_lowest(c, task, priority).unwrap_or(prev)
    }

    /// Of the CPUs that the task may use, those of the lowest priority, if it is below the task's
    /// (`find_lowest_rq()`): the one it was on, else one near the waker's or its own, from the same cache outwards.
    fn find_lowest(&self, c: CpuId, task: TaskId, priority: u8) -> Option<CpuId> {
        let t = &self.tasks[task];
        let usable = || t.cpus.iter().filter(|&cpu| self.cpus[cpu].online);
        let lowest =
            usable().map(|cpu| self.cpus[cpu].rt.highest()).min().filter(|&lowest| lowest < priority)?;
        let among = |cpu: &CpuId| self.cpus[*cpu].rt.highest() == lowest;
        if usable().any(|cpu| cpu == t.cpu && among(&cpu)) {
            return Some(t.cpu);
        }
        // The waker's CPU goes before others that are as near.
        let rank = |cpu: CpuId| (self.machine.topology.distance(t.cpu, cpu), cpu != c, cpu);
        usable().filter(among).min_by_key(|&cpu| rank(cpu))
    }
}
