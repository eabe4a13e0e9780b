//! Changes to a task, from outside or by the task itself: what changes, and where the task may run afterwards.

use crate::rules::policy::weight_of;
use crate::state::class::SchedClass;
use crate::state::cpu::Irq;
use crate::state::flag;
use crate::state::kernel::Kernel;
use crate::state::task::{OpsState, State};
use keel_abi::bpf::World;
use keel_abi::task::Step;
use keel_abi::timeline::Change;
use keel_abi::{CpuId, CpuSet, TaskId};

impl Kernel {
    /// Returns whether the entry would change anything. A nice value or mask that the task already has does not, nor
    /// does a mask without an online CPU (`-EINVAL`).
    pub(crate) fn changes<W: World>(&self, world: &W, entry: u32, task: TaskId) -> bool {
        let t = &self.tasks[task];
        match self.outside.change(entry) {
            &Change::Nice { nice, .. } => nice != t.nice,
            &Change::Policy { policy, .. } => policy != t.policy && !self.refuses(world, task, policy),
            Change::Affinity { cpus, .. } => {
                let is_valid =
                    |c: CpuId| self.cpus[c].online || t.migration_disabled > 0 && self.cpus[c].alive;
                *cpus != t.cpus && cpus.iter().any(is_valid)
            }
            Change::Offline(_) | Change::Online(_) => false,
        }
    }

    /// Takes a task away from the scheduler and out of all DSQs. If the scheduler had it, an `ops.dequeue` is pending.
    pub(crate) fn take_from_scheduler(&mut self, c: CpuId, task: TaskId, deq_flags: u64) {
        self.take_from_queue(c, task);
        let t = self.task(task);
        t.ops_state = OpsState::None;
        t.direct = None;
        let (rq, is_deferred) = (t.cpu, std::mem::take(&mut t.deferred));
        if is_deferred {
            self.cpu(rq).deferred.retain(|&other| other != task);
        }
        self.leave_custody(task, deq_flags);
    }

    pub(crate) fn give_nice<W: World>(&mut self, world: &mut W, task: TaskId, nice: i8) {
        let t = self.task(task);
        t.nice = nice;
        t.weight = weight_of(t.policy, nice);
        if t.class == SchedClass::Fair {
            self.reweight_fair(task);
        }
        self.mirror_nice(world, task);
        self.emit_task(task);
    }

    pub(crate) fn give_cpus<W: World>(&mut self, world: &mut W, task: TaskId, cpus: CpuSet) {
        let all = self.cpus.len();
        let t = self.task(task);
        t.nr_allowed = cpus.len() as u32;
        t.goes_anywhere = cpus.len() == all;
        t.cpus = cpus;
        if t.class == SchedClass::Rt {
            self.refresh_pushable(task);
        }
        self.mirror_cpus(world, task);
        self.emit_task(task);
    }

    /// Charges the task that runs on `rq`, which is locked, up to now (`update_curr_scx()`).
    pub(crate) fn charge_current<W: World>(&mut self, world: &mut W, rq: CpuId) {
        let (curr, at) = (self.cpus[rq].curr, self.cpus.this_cpu.clock);
        self.charge_running(world, curr, at);
    }

    /// Wakes the stopper of `rq` to handle `task` (`stop_one_cpu_nowait()`).
    pub(crate) fn wake_stopper(&mut self, c: CpuId, rq: CpuId, task: TaskId) {
        self.send_irq(c, rq, Irq::Stop(task));
    }

    /// Lets a task use all CPUs, because none of its own is left (`set_cpus_allowed_force()`).
    pub(crate) fn widen<W: World>(&mut self, world: &mut W, task: TaskId) {
        let all = CpuSet::first(self.cpus.len() as u32);
        self.give_cpus(world, task, all);
    }

    /// Returns whether the task waits or runs on its runqueue.
    pub(crate) fn is_on_rq(&self, task: TaskId) -> bool {
        let t = &self.tasks[task];
        t.queued || t.class > SchedClass::Ext && t.state == State::Runnable
    }

    /// Returns whether any of the task's CPUs is online.
    pub(crate) fn has_cpu(&self, task: TaskId) -> bool {
        self.tasks[task].cpus.iter().any(|c| self.cpus[c].online)
    }
}

/// The flags to take off and put back the runnable tasks of a CPU that goes offline:
/// `DEQUEUE_SAVE | DEQUEUE_MOVE | DEQUEUE_NOCLOCK`.
pub(crate) const OFFLINE_FLAGS: u64 = flag::SAVE_RESTORE | flag::MOVE | flag::NOCLOCK;

impl Kernel {
    /// Returns whether such a step changes anything. It does not if the CPUs stay the same, if none of them is online
    /// (`-EINVAL`), or if it would move a task with migration disabled away from its CPU (`-EBUSY`).
    pub(crate) fn would_confine(&self, task: TaskId, step: u32) -> bool {
        let cpus = self.wanted_cpus(step);
        let t = &self.tasks[task];
        let is_busy = t.migration_disabled > 0 && !cpus.contains(t.cpu);
        cpus != t.cpus && !is_busy && cpus.iter().any(|c| self.cpus[c].online)
    }

    /// Returns the CPUs that a step of the task's program confines it to. An empty set means all CPUs.
    pub(crate) fn wanted_cpus(&self, step: u32) -> CpuSet {
        match self.steps.at(step) {
            Some(Step::Affinity(cpus)) if !cpus.is_empty() => cpus.clone(),
            _ => CpuSet::first(self.cpus.len() as u32),
        }
    }
}
