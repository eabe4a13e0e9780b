//! The class and weight that follow from a policy, and what changes with the policy.

use crate::state::class::SchedClass;
use crate::state::kernel::Kernel;
use crate::state::task::{Member, Urgency};
use keel_abi::TaskId;
use keel_abi::bpf::World;
use keel_abi::scx::{ent, weight_of_nice};
use keel_abi::task::{Policy, Step};

/// Returns the weight that schedulers see.
pub(crate) fn weight_of(policy: Policy, nice: i8) -> u32 {
    match policy {
        Policy::Idle => 1,
        _ => weight_of_nice(nice),
    }
}

impl Kernel {
    /// Returns the class that a task with this policy has now, if it has not inherited a priority.
    pub(crate) fn class_for(&self, policy: Policy) -> SchedClass {
        self.scx.takes.class_of(policy)
    }

    /// Returns the class that a task of this urgency has now (`__setscheduler_class()`).
    pub(crate) fn class_of_urgency(&self, urgency: Urgency) -> SchedClass {
        if urgency.boost > 0 { SchedClass::Rt } else { self.class_for(urgency.policy) }
    }

    /// Sets the policy, but not the class. The inherited priority stays.
    pub(crate) fn give_policy<W: World>(&mut self, world: &mut W, task: TaskId, policy: Policy) {
        let boost = self.tasks[task].boost;
        self.give_urgency(world, task, Urgency { policy, boost });
    }

    pub(crate) fn give_urgency<W: World>(&mut self, world: &mut W, task: TaskId, to: Urgency) {
        let turn = self.turn_ticks();
        let t = self.task(task);
        let is_other = t.policy != to.policy;
        if is_other {
            t.turn_ticks = turn;
        }
        (t.policy, t.boost) = (to.policy, to.boost);
        t.weight = weight_of(to.policy, t.nice);
        if is_other {
            self.emit_scheduled(task);
        }
        self.emit_priority(task);
        if self.tasks[task].class == SchedClass::Fair {
            self.reweight_fair(task);
        }
        self.mirror_policy(world, task);
    }

    /// `scx_disable_task()`, after the callback.
    pub(crate) fn leave_scheduler<W: World>(&mut self, world: &mut W, task: TaskId) {
        if self.tasks[task].member == Member::Enabled {
            self.task(task).member = Member::Ready;
        }
        self.task(task).immed = false;
        self.mirror_scx_bits(world, task, ent::IMMED | ent::STATE_MASK, ent::STATE_READY);
        self.set_slice(world, task, 0);
        self.set_vtime(world, task, 0);
    }

    pub(crate) fn wanted_policy(&self, step: u32) -> Policy {
        match self.steps.at(step) {
            Some(&Step::Policy(policy)) => policy,
            other => unreachable!("a change of policy to {other:?}"),
        }
    }
}
