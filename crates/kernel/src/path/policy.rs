//! A task changes its own policy (`__sched_setscheduler()`): within the real-time and fair classes a place in their queues;
//! from one class to another the scheduler is told good-bye (`ops.disable`) or takes the task over (`ops.enable`).

use crate::class::SchedClass;
use crate::frame::Frame;
use crate::kernel::Kernel;
use crate::sim::Sim;
use crate::task::Member;
use keel_abi::bpf::{Engine, World};
use keel_abi::scx::{Op, deq, ent, weight_of_nice};
use keel_abi::task::{Policy, Step};
use keel_abi::{CpuId, TaskId};

impl<E: Engine> Sim<E> {
    /// [`Frame::SetPolicy`].
    pub(crate) fn set_policy(&mut self, c: CpuId, task: TaskId, step: u32) {
        if !self.k.lock_rq(c, c) {
            return self.k.me().stack.push(Frame::SetPolicy { task, step });
        }
        let policy = self.k.wanted_policy(task, step);
        if (self.k.tasks[task].class, self.k.class_for(policy)) == (SchedClass::Ext, SchedClass::Ext) {
            let again = Frame::SetPolicy { task, step };
            return self.begin_change(c, again, Frame::ChangeWithin { task, policy }, task);
        }
        self.k.update_curr(self.vm.world(), c);
        self.k.me().stack.extend([Frame::Unlock { rq: c }, Frame::PolicyChanged { task }]);
        match (self.k.tasks[task].class, self.k.class_for(policy)) {
            (SchedClass::Fair, SchedClass::Fair) => self.k.give_policy(self.vm.world(), task, policy),
            (SchedClass::Ext, _) => {
                self.k.me().stack.push(Frame::PolicyQuiesce { task, policy });
                let ea = self.k.tasks[task].ea;
                self.start(c, Op::Stopping, task, &[ea.0, 0]);
            }
            _ => self.change_policy(c, task, policy),
        }
    }

    /// [`Frame::PolicyQuiesce`].
    pub(crate) fn policy_quiesce(&mut self, c: CpuId, task: TaskId, policy: Policy) {
        self.k.me().stack.push(Frame::PolicyDisable { task, policy });
        let ea = self.k.tasks[task].ea;
        self.k.task(task).queued = false;
        self.k.mirror_flags(self.vm.world(), task);
        let flags = self.k.change_flags(task, policy).off;
        self.start(c, Op::Quiescent, task, &[ea.0, flags | deq::SCHED_CHANGE]);
    }

    /// [`Frame::ChangeWithin`]: to another policy of the same class, which may mean another weight.
    pub(crate) fn change_within(&mut self, c: CpuId, task: TaskId, policy: Policy) {
        self.k.give_policy(self.vm.world(), task, policy);
        let t = &self.k.tasks[task];
        let args = [t.ea.0, u64::from(t.weight)];
        self.start_if_ext(c, Op::SetWeight, task, &args);
    }

    /// [`Frame::PolicyDisable`].
    pub(crate) fn policy_disable(&mut self, c: CpuId, task: TaskId, policy: Policy) {
        self.k.me().stack.push(Frame::ChangePolicy { task, policy });
        let ea = self.k.tasks[task].ea;
        self.start(c, Op::Disable, task, &[ea.0]);
    }

    /// [`Frame::ChangePolicy`]: the task is in no queue, or in that of its class.
    pub(crate) fn change_policy(&mut self, c: CpuId, task: TaskId, policy: Policy) {
        let before = self.k.tasks[task].policy;
        let flags = self.k.change_flags(task, policy).on;
        let (from, to) = (self.k.tasks[task].class, self.k.class_for(policy));
        match from {
            SchedClass::Ext => self.k.leave_scheduler(self.vm.world(), task),
            _ => self.k.dequeue_above(task),
        }
        self.k.task(task).class = to;
        self.k.give_policy(self.vm.world(), task, policy);
        if to != SchedClass::Ext {
            // Whoever comes down goes before its new equals.
            let comes_down = from == SchedClass::Rt && policy.rt_priority() < before.rt_priority();
            return self.k.enqueue_above(task, comes_down, false);
        }
        self.k.me().stack.extend([
            Frame::RestoreClass { task, flags },
            Frame::EnableCpus { task },
            Frame::EnableWeight { task },
        ]);
        self.enable_member(c, task);
    }

    /// [`Frame::RestoreClass`]: on the scheduler's runqueue, and running.
    pub(crate) fn restore_class(&mut self, c: CpuId, task: TaskId, flags: u64) {
        self.k.task(task).queued = true;
        self.k.mirror_flags(self.vm.world(), task);
        let ea = self.k.tasks[task].ea;
        self.k.me().stack.push(Frame::RunClass { task });
        self.start(c, Op::Runnable, task, &[ea.0, flags]);
    }

    /// [`Frame::RunClass`].
    pub(crate) fn run_class(&mut self, c: CpuId, task: TaskId) {
        let ea = self.k.tasks[task].ea;
        self.start(c, Op::Running, task, &[ea.0]);
    }

    /// [`Frame::PolicyChanged`]: `switched_to()`. Whoever has come down must make room.
    pub(crate) fn policy_changed(&mut self, c: CpuId, task: TaskId) {
        let class = self.k.tasks[task].class;
        if class == SchedClass::Rt {
            self.k.rt_priority_changed(c, task);
        }
        if class < self.k.me().next_class {
            self.k.resched(c, c);
        } else {
            self.k.wakeup_preempt(c, c, task);
        }
    }
}

/// The weight that schedulers see.
pub(crate) fn weight_of(policy: Policy, nice: i8) -> u32 {
    match policy {
        Policy::Idle => 1,
        _ => weight_of_nice(nice),
    }
}

impl Kernel {
    /// The class of a task with this policy now.
    pub(crate) fn class_for(&self, policy: Policy) -> SchedClass {
        self.scx.takes.class_of(policy)
    }

    /// The policy itself, whatever class it means.
    pub(crate) fn give_policy<W: World>(&mut self, world: &mut W, task: TaskId, policy: Policy) {
        let turn = self.turn_ticks();
        let t = self.task(task);
        (t.policy, t.turn_ticks) = (policy, turn);
        t.weight = weight_of(policy, t.nice);
        if t.class == SchedClass::Fair {
            self.reweight_fair(task);
        }
        self.mirror_policy(world, task);
    }

    /// `scx_disable_task()`'s end.
    pub(crate) fn leave_scheduler<W: World>(&mut self, world: &mut W, task: TaskId) {
        self.task(task).member = Member::Ready;
        self.task(task).immed = false;
        self.mirror_scx_bits(world, task, ent::IMMED | ent::STATE_MASK, ent::STATE_READY);
        self.set_slice(world, task, 0);
        self.set_vtime(world, task, 0);
    }

    fn wanted_policy(&self, task: TaskId, step: u32) -> Policy {
        let spec = self.tasks[task].spec.expect("only tasks of the workload have programs");
        match self.workload.tasks[spec as usize].steps[step as usize] {
            Step::Policy(policy) => policy,
            ref other => unreachable!("a change of policy to {other:?}"),
        }
    }
}
