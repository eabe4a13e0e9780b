//! A task's policy or inherited priority changes (`__sched_setscheduler()`, `rt_mutex_setprio()`): within the real-time class a
//! place in its queues; from one class to another the scheduler is told good-bye (`ops.disable`) or takes the task over
//! (`ops.enable`).

use crate::class::SchedClass;
use crate::frame::Frame;
use crate::kernel::Kernel;
use crate::rt::RtFrame;
use crate::sim::Sim;
use crate::task::{Member, Urgency};
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
        self.k.me().stack.push(Frame::Unlock { rq: c });
        let boost = self.k.tasks[task].boost;
        self.make_urgent(c, task, Urgency { policy, boost });
    }

    /// Gives a task, whose runqueue is locked, its new urgency; the path then goes on with [`Frame::PolicyChanged`].
    pub(crate) fn make_urgent(&mut self, c: CpuId, task: TaskId, to: Urgency) {
        let t = &self.k.tasks[task];
        let (rq, before, class, on_rq) = (t.cpu, t.rt_priority(), t.class, t.is_on_rq());
        if t.on_cpu {
            self.k.charge_current(self.vm.world(), rq);
        }
        self.k.me().stack.push(Frame::PolicyChanged { task, before });
        match (class, to.class()) {
            (SchedClass::Ext, SchedClass::Ext) => {
                let t = self.k.task(task);
                (t.policy, t.boost) = (to.policy, to.boost);
                self.k.mirror_policy(self.vm.world(), task);
            }
            (SchedClass::Ext, _) if on_rq => {
                self.k.me().stack.push(Frame::PolicyQuiesce { task, to });
                // The `ops.dequeue` that is owed comes first; a task that runs has none.
                self.k.leave_hands(task, CHANGE | deq::SCHED_CHANGE);
                if self.k.tasks[task].on_cpu {
                    let ea = self.k.tasks[task].ea;
                    self.start(c, Op::Stopping, task, &[ea.0, 0]);
                }
            }
            (SchedClass::Ext, _) => self.policy_disable(c, task, to),
            _ => self.change_policy(c, task, to),
        }
    }

    /// [`Frame::PolicyQuiesce`].
    pub(crate) fn policy_quiesce(&mut self, c: CpuId, task: TaskId, to: Urgency) {
        self.k.me().stack.push(Frame::PolicyDisable { task, to });
        let ea = self.k.tasks[task].ea;
        self.k.task(task).queued = false;
        self.k.clear_runnable(task, false);
        self.k.mirror_flags(self.vm.world(), task);
        self.start(c, Op::Quiescent, task, &[ea.0, CHANGE | deq::SCHED_CHANGE]);
    }

    /// [`Frame::PolicyDisable`].
    pub(crate) fn policy_disable(&mut self, c: CpuId, task: TaskId, to: Urgency) {
        self.k.me().stack.push(Frame::ChangePolicy { task, to });
        let ea = self.k.tasks[task].ea;
        if self.k.tasks[task].member == Member::Enabled {
            self.start(c, Op::Disable, task, &[ea.0]);
        }
    }

    /// [`Frame::ChangePolicy`]: the task is in no queue, or in that of its real-time priority.
    pub(crate) fn change_policy(&mut self, c: CpuId, task: TaskId, to: Urgency) {
        let t = &self.k.tasks[task];
        let (before, on_rq, from) = (t.rt_priority(), t.is_on_rq(), t.class);
        match from {
            SchedClass::Rt if on_rq => self.k.dequeue_rt(task),
            SchedClass::Rt => {}
            _ => self.k.leave_scheduler(self.vm.world(), task),
        }
        let turn = self.k.turn_ticks();
        let t = self.k.task(task);
        if t.policy != to.policy {
            t.turn_ticks = turn;
        }
        (t.policy, t.boost, t.class) = (to.policy, to.boost, to.class());
        self.k.mirror_policy(self.vm.world(), task);
        if to.class() == SchedClass::Rt {
            if on_rq {
                // Whoever comes down goes before its new equals.
                self.k.enqueue_rt(task, from == SchedClass::Rt && to.is_below(before));
            }
            return;
        }
        if self.k.scx.is_disabling() {
            // A scheduler that ends takes nobody over.
            self.k.task(task).queued = on_rq;
            return;
        }
        if on_rq {
            self.k.me().stack.push(Frame::RestoreClass { task });
        }
        self.k.me().stack.extend([Frame::EnableCpus { task }, Frame::EnableWeight { task }]);
        self.enable_member(c, task);
    }

    /// [`Frame::RestoreClass`]: on the scheduler's runqueue; and running, or in the scheduler's hands.
    pub(crate) fn restore_class(&mut self, c: CpuId, task: TaskId) {
        let t = self.k.task(task);
        t.queued = true;
        let (ea, runs) = (t.ea, t.on_cpu);
        self.k.mirror_flags(self.vm.world(), task);
        if runs {
            self.k.me().stack.push(Frame::RunClass { task });
        } else {
            self.k.set_runnable(self.vm.world(), task);
            self.k.me().stack.push(Frame::Enqueue { task, enq_flags: CHANGE });
        }
        self.start(c, Op::Runnable, task, &[ea.0, CHANGE]);
    }

    /// [`Frame::RunClass`].
    pub(crate) fn run_class(&mut self, c: CpuId, task: TaskId) {
        let ea = self.k.tasks[task].ea;
        self.start(c, Op::Running, task, &[ea.0]);
    }

    /// [`Frame::PolicyChanged`]: `switched_from()`, `switched_to()` or `prio_changed()`. Whoever has come down must make room,
    /// and may have come below what waits elsewhere.
    pub(crate) fn policy_changed(&mut self, c: CpuId, task: TaskId, before: u8) {
        let t = &self.k.tasks[task];
        let (rq, class, runs, priority) = (t.cpu, t.class, t.on_cpu, t.rt_priority());
        if !t.is_on_rq() {
            return;
        }
        let comes_down =
            rq == c && runs && priority < before && (priority > 0 || self.k.cpus[rq].rt.is_empty());
        if comes_down && self.k.needs_pull(rq, before) {
            let pull = self.k.pull_step(false);
            self.k.me().stack.push(pull);
        }
        let is_overloaded = self.k.cpus[rq].rt.first_pushable().is_some();
        if class == SchedClass::Rt {
            if before == 0 && !runs && is_overloaded {
                self.k.me().stack.push(Frame::Rt(RtFrame::Push { rq, tries: 0 }));
            }
            self.k.rt_priority_changed(c, task);
        }
        if runs && class < self.k.cpus[rq].next_class {
            self.k.resched(c, rq);
        } else {
            self.k.wakeup_preempt(c, rq, task);
        }
    }
}

impl Kernel {
    /// `scx_disable_task()`'s end.
    fn leave_scheduler<W: World>(&mut self, world: &mut W, task: TaskId) {
        if self.tasks[task].member == Member::Enabled {
            self.task(task).member = Member::Ready;
        }
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
