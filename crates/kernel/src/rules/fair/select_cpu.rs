//! Selects a CPU for a fair task that wakes, is created or executes a program (`select_task_rq_fair()`). A wakeup
//! chooses between the waker's CPU and the previous one, and then searches that CPU's LLC for an idle CPU. A new task
//! or program is placed by load, across the sched domains.

use crate::rules::fair::cost::Visit;
use crate::state::domains::groups::Level;
use crate::state::kernel::Kernel;
use keel_abi::scx::wake;
use keel_abi::task::Policy;
use keel_abi::{CpuId, TaskId};

impl Kernel {
    /// Selects a CPU for `task`, which is woken or created by `c`, or executes a program there.
    pub(crate) fn select_fair(&mut self, c: CpuId, task: TaskId, prev: CpuId, flags: u64) -> CpuId {
        self.begin_decision();
        let chosen = self.place_fair(c, task, prev, flags);
        self.emit_placement(c, task, flags, chosen);
        chosen
    }

    fn place_fair(&mut self, c: CpuId, task: TaskId, prev: CpuId, flags: u64) -> CpuId {
        self.fair.entity(task);
        let hierarchy = self.hierarchy();
        if flags & (wake::FORK | wake::EXEC) != 0 {
            return self.spread(c, task, prev, flags);
        }
        self.record_wakee(c, task);
        if let Some(cpu) = self.least_energy(c, task, prev) {
            return cpu;
        }
        let cache = hierarchy.cache(c).map_or(1, |level| level.weight);
        let is_wide = self.waker_of(c).is_wide(&self.fair.entities[task].waker, cache);
        let mut target = prev;
        if !is_wide && self.may_use(task, c) && c != prev {
            let mut levels = hierarchy.levels(c).iter();
            let common = levels.find(|level| level.wakes_affine() && level.span.contains(prev));
            if let Some(level) = common {
                target = self.wake_affine(c, task, prev, level, flags & wake::SYNC != 0);
            }
        }
        self.idle_sibling(c, task, prev, target)
    }

    /// Records that the current task of `c` wakes another (`record_wakee()`).
    fn record_wakee(&mut self, c: CpuId, task: TaskId) {
        let (ticks, hz) = (self.ticks(), u64::from(self.machine.hz));
        let curr = self.cpus[c].curr;
        match curr.is_idle() {
            true => self.fair.idle_wakers[c.index()].record_wakee(task, ticks, hz),
            false => self.fair.entity(curr).waker.record_wakee(task, ticks, hz),
        }
    }

    fn waker_of(&mut self, c: CpuId) -> crate::state::fair::waker::Waker {
        let curr = self.cpus[c].curr;
        if curr.is_idle() { self.fair.idle_wakers[c.index()] } else { self.fair.entity(curr).waker }
    }

    /// Returns the number of ticks since boot (`jiffies`).
    pub(crate) fn ticks(&self) -> u64 {
        self.cpus.this_cpu.clock.as_ns() / self.tick.as_ns()
    }

    /// Returns whether the CPU is idle and no task is about to run there (`available_idle_cpu()`).
    pub(crate) fn is_vacant(&self, cpu: CpuId) -> bool {
        let cpu = &self.cpus[cpu];
        cpu.online && cpu.is_idle() && cpu.nr_ready() == 0 && cpu.ttwu_pending == 0
    }

    /// Returns whether all other CPUs of the core are idle (`is_core_idle()`).
    pub(super) fn is_core_vacant_beside(&self, cpu: CpuId) -> bool {
        self.cpus[cpu].siblings.iter().all(|&other| self.is_vacant(other))
    }

    /// Returns whether the task could run on the CPU at once (`choose_idle_cpu()`). That is also the case if all of the
    /// CPU's tasks are SCHED_IDLE and this one is not.
    pub(super) fn is_free_for(&self, task: TaskId, cpu: CpuId) -> bool {
        let has_idle_policy = self.tasks[task].policy == Policy::Idle;
        self.is_vacant(cpu) || !has_idle_policy && self.has_only_idle_policy(cpu)
    }

    /// Returns whether the CPU has SCHED_IDLE tasks and nothing else (`sched_idle_rq()`).
    pub(crate) fn has_only_idle_policy(&self, cpu: CpuId) -> bool {
        let cpu = &self.cpus[cpu];
        cpu.online && cpu.fair.is_idle_only() && cpu.nr_ready() == cpu.fair.len()
    }

    pub(crate) fn share_cache(&self, a: CpuId, b: CpuId) -> bool {
        let topology = &self.machine.topology;
        topology.place(a).llc == topology.place(b).llc
    }

    /// Chooses between the waker's CPU and the task's previous one (`wake_affine()`).
    fn wake_affine(&mut self, c: CpuId, task: TaskId, prev: CpuId, level: &Level, sync: bool) -> CpuId {
        self.look_at(c, prev, Visit::Idle);
        match self.affine_by_idleness(c, prev, sync) {
            Some(target) => target,
            None if self.is_lighter(c, task, prev, level, sync) => c,
            None => prev,
        }
    }

    /// Returns the waker's CPU if it is idle and shares the LLC, or is about to be idle; or the previous CPU if that is
    /// idle (`wake_affine_idle()`).
    fn affine_by_idleness(&self, c: CpuId, prev: CpuId, sync: bool) -> Option<CpuId> {
        let is_prev_vacant = self.is_vacant(prev);
        if self.is_vacant(c) && self.share_cache(c, prev) {
            return Some(if is_prev_vacant { prev } else { c });
        }
        if sync && self.cpus[c].nr_ready() == 1 {
            return Some(c);
        }
        is_prev_vacant.then_some(prev)
    }

    /// Returns whether the task would compete with less load on the waker's CPU (`wake_affine_weight()`).
    fn is_lighter(&self, c: CpuId, task: TaskId, prev: CpuId, level: &Level, sync: bool) -> bool {
        let load = |task: TaskId| self.task_load(task);
        let mut here = i128::from(self.cpu_load(c));
        if sync {
            let current = match self.cpus[c].curr {
                curr if curr.is_idle() => 0,
                curr => i128::from(load(curr)),
            };
            if current > here {
                return true;
            }
            here -= current;
        }
        let own = i128::from(load(task));
        here = (here + own) * 100 * i128::from(self.capacity_left(prev));
        let bias = 100 + i128::from(level.imbalance_pct - 100) / 2;
        let there = (i128::from(self.cpu_load(prev)) - own) * bias * i128::from(self.capacity_left(c));
        here < there + i128::from(sync)
    }
}
