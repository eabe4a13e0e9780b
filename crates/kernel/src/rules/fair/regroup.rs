//! Changes the group of tasks (`sched_move_task()`) that move to another cgroup, or to the autogroup of a new session.

use crate::state::cgroup::Number;
use crate::state::class::SchedClass;
use crate::state::fair::groups::Origin;
use crate::state::fair::weight::{group_weight, weight_of};
use crate::state::kernel::Kernel;
use crate::state::task::State;
use keel_abi::TaskId;
use keel_abi::task::Policy;

impl Kernel {
    /// Moves a task to its new group, with its load. If it is running, its CPU picks again.
    pub(crate) fn regroup_fair(&mut self, task: TaskId) {
        if self.fair.entities.get(task).is_none() {
            return;
        }
        let t = &self.tasks[task];
        let (rq, runs, is_ready) = (t.cpu, t.on_cpu, t.state == State::Runnable && !t.busy);
        if t.class != SchedClass::Fair {
            return self.fair.entities[task].group = None;
        }
        self.forget_delayed(task);
        let waits = self.leave_limbo(task);
        let was_on_rq = self.fair.entities[task].on_rq && is_ready;
        if runs {
            self.charge_fair_curr(rq);
            self.put_queues(rq, None);
        }
        if was_on_rq {
            self.dequeue_fair(task);
        }
        self.detach_load(task);
        self.fair.entities[task].group = None;
        if was_on_rq || waits {
            self.enqueue_fair(task, false);
        }
        if runs {
            let c = self.cpus.this_id();
            self.resched(c, rq);
        }
    }

    /// Moves all tasks of a process to the group of their new session (`autogroup_move_group()`).
    pub(crate) fn regroup_process(&mut self, leader: TaskId) {
        let is_one = |&task: &TaskId| self.leader_of(task) == leader && !self.is_dead(task);
        for task in self.tasks.ids().filter(is_one).collect::<Vec<_>>() {
            self.regroup_fair(task);
        }
    }

    /// Applies an autogroup's changed nice value: the group weighs as much as a task with that value.
    pub(crate) fn autogroup_changed_fair(&mut self, session: u32) {
        let Some(group) = self.fair.groups.find(Origin::Autogroup(session)) else { return };
        let shares = weight_of(Policy::Other, self.autogroup_nice(session));
        self.set_group_weight(group, shares, false);
    }

    /// Applies a cgroup's changed `cpu.weight`, `cpu.idle` or `cpu.max`.
    pub(crate) fn cgroup_changed_fair(&mut self, number: Number, is_limit: bool) {
        let Some(group) = self.fair.groups.find(Origin::Cgroup(number)) else { return };
        let cgroup = &self.cgroups[number];
        let (weight, is_idle, bandwidth) = (cgroup.weight(), cgroup.is_idle(), cgroup.bandwidth());
        match is_limit {
            true => self.set_budget(group, bandwidth),
            false => self.set_group_weight(group, group_weight(weight, is_idle), is_idle),
        }
    }
}
