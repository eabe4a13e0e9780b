//! Selects a CPU for a real-time task that wakes or is pushed: one of those that run the least urgent tasks.
//!
//! The machine's [`WakeupRule`] decides whether a waking task moves at all: it stays where it was, unless it would have
//! to wait there (`select_task_rq_rt()`).

use crate::state::class::SchedClass;
use crate::state::kernel::Kernel;
use crate::state::machine::WakeupRule;
use keel_abi::scx::wake;
use keel_abi::{CpuId, TaskId};

impl Kernel {
    /// Selects a CPU for `task`, which was woken or created on `c`.
    pub(crate) fn select_rt(&mut self, c: CpuId, task: TaskId, prev: CpuId, flags: u64) -> CpuId {
        let rule = self.machine.realtime.wakeup;
        let is_new = flags & wake::FORK != 0;
        if !self.is_taken(prev, task) || (is_new && rule != WakeupRule::After) {
            return prev;
        }
        self.find_lowest(c, task).unwrap_or(prev)
    }

    /// Returns whether `task` should look for a CPU other than `rq`, because a real-time task runs there that it should
    /// not displace.
    pub(super) fn is_taken(&self, rq: CpuId, task: TaskId) -> bool {
        let curr = self.cpus[rq].curr;
        if self.class_of(curr) != SchedClass::Rt {
            return false;
        }
        let (curr, priority) = (&self.tasks[curr], self.tasks[task].rt_priority());
        match self.machine.realtime.wakeup {
            WakeupRule::Before => true,
            WakeupRule::Posted => curr.rt_priority() > priority,
            WakeupRule::After => curr.nr_allowed < 2 || curr.rt_priority() >= priority,
        }
    }

    /// Finds the CPU that the task may use whose most urgent task has the lowest priority. Returns that priority if it
    /// is below the task's (`cpupri_find()`).
    pub(super) fn lowest_for(&self, task: TaskId) -> Option<u8> {
        let priority = self.tasks[task].rt_priority();
        self.usable(task).map(|cpu| self.cpus[cpu].rt.highest()).min().filter(|&lowest| lowest < priority)
    }

    /// Returns a CPU with that priority: the CPU that the task was on, or else the nearest one. If several are equally
    /// near, returns `c`, which is cheaper to preempt, or else each of them in turn (`find_lowest_rq()`).
    pub(crate) fn find_lowest(&mut self, c: CpuId, task: TaskId) -> Option<CpuId> {
        let lowest = self.lowest_for(task)?;
        let own = self.tasks[task].cpu;
        let among = |cpu: &CpuId| self.cpus[*cpu].rt.highest() == lowest;
        let distance = |cpu: CpuId| self.machine.topology.distance(own, cpu);
        let nearest = self.usable(task).filter(among).map(distance).min()?;
        let as_near = || self.usable(task).filter(among).filter(|&cpu| distance(cpu) == nearest);
        if let Some(cheap) = as_near().find(|&cpu| cpu == own).or_else(|| as_near().find(|&cpu| cpu == c)) {
            return Some(cheap);
        }
        let last = self.cpus[c].rt.chosen;
        let next = as_near().find(|&cpu| Some(cpu) > last).or_else(|| as_near().next());
        self.cpu(c).rt.chosen = next;
        next
    }

    fn usable(&self, task: TaskId) -> impl Iterator<Item = CpuId> {
        self.tasks[task].cpus.iter().filter(|&cpu| self.cpus[cpu].online)
    }
}
