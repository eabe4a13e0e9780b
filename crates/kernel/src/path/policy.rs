//! A task changes its own policy (`__sched_setscheduler()`): within the real-time class a place in its queues; from one
//! class to another the scheduler is told good-bye (`ops.disable`) or takes the task over (`ops.enable`).

use crate::class::SchedClass;
use crate::frame::Frame;
use crate::kernel::Kernel;
use crate::sim::Sim;
use crate::task::Member;
use keel_abi::bpf::{Engine, World};
use keel_abi::scx::{Op, deq, ent};
use keel_abi::task::{Policy, Step};
use keel_abi::{CpuId, TaskId};

/// The flags of a change of class, in `ops.quiescent` and `ops.runnable`.
const CHANGE: u64 = deq::SAVE | deq::MOVE | deq::CLASS;

impl<E: Engine> Sim<E> {
    /// [`Frame::SetPolicy`].
    pub(crate) fn set_policy(&mut self, c: CpuId, task: TaskId, step: u32) {
        if !self.k.lock_rq(c, c) {
            return self.k.me().stack.push(Frame::SetPolicy { task, step });
        }
        let policy = self.k.wanted_policy(task, step);
        self.k.update_curr(self.vm.world(), c);
        self.k.me().stack.extend([Frame::Unlock { rq: c }, Frame::PolicyChanged { task }]);
        match (self.k.tasks[task].class, SchedClass::of(policy)) {
            (SchedClass::Ext, SchedClass::Ext) => {
                self.k.task(task).policy = policy;
                self.k.mirror_policy(self.vm.world(), task);
            }
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
        self.start(c, Op::Quiescent, task, &[ea.0, CHANGE | deq::SCHED_CHANGE]);
    }

    /// [`Frame::PolicyDisable`].
    pub(crate) fn policy_disable(&mut self, c: CpuId, task: TaskId, policy: Policy) {
        self.k.me().stack.push(Frame::ChangePolicy { task, policy });
        let ea = self.k.tasks[task].ea;
        self.start(c, Op::Disable, task, &[ea.0]);
    }

    /// [`Frame::ChangePolicy`]: the task is in no queue, or in that of its real-time priority.
    pub(crate) fn change_policy(&mut self, c: CpuId, task: TaskId, policy: Policy) {
        let before = self.k.tasks[task].policy;
        let (from, to) = (self.k.tasks[task].class, SchedClass::of(policy));
        if from == SchedClass::Rt {
            self.k.dequeue_rt(task);
        } else {
            self.k.leave_scheduler(self.vm.world(), task);
        }
        let turn = self.k.turn_ticks();
        let t = self.k.task(task);
        (t.policy, t.class, t.turn_ticks) = (policy, to, turn);
        self.k.mirror_policy(self.vm.world(), task);
        if to == SchedClass::Rt {
            // Whoever comes down goes before its new equals.
            self.k.enqueue_rt(task, from == SchedClass::Rt && policy.rt_priority() < before.rt_priority());
            return;
        }
        if self.k.scx.is_disabling() {
            // A scheduler that ends takes nobody over.
            self.k.task(task).queued = true;
            return;
        }
        self.k.me().stack.extend([
            Frame::RestoreClass { task },
            Frame::EnableCpus { task },
            Frame::EnableWeight { task },
        ]);
        self.enable_member(c, task);
    }

    /// [`Frame::RestoreClass`]: on the scheduler's runqueue, and running.
    pub(crate) fn restore_class(&mut self, c: CpuId, task: TaskId) {
        self.k.task(task).queued = true;
        self.k.mirror_flags(self.vm.world(), task);
        let ea = self.k.tasks[task].ea;
        self.k.me().stack.push(Frame::RunClass { task });
        self.start(c, Op::Runnable, task, &[ea.0, CHANGE]);
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

impl Kernel {
    /// `scx_disable_task()`'s end.
    fn leave_scheduler<W: World>(&mut self, world: &mut W, task: TaskId) {
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
