//! Changes a task's policy or inherited priority (`__sched_setscheduler()`, `rt_mutex_setprio()`). Within the real-time
//! and fair classes, the task gets a new place in the class's queues. If it leaves or joins the scheduler's class,
//! `ops.disable` or `ops.enable` is called.

use crate::paths::sim::Sim;
use crate::state::class::SchedClass;
use crate::state::frame::Frame;
use crate::state::frame::rt::RtFrame;
use crate::state::task::{Member, Urgency};
use keel_abi::bpf::Engine;
use keel_abi::scx::{Op, deq};
use keel_abi::task::Policy;
use keel_abi::{CpuId, TaskId};

impl<E: Engine> Sim<E> {
    /// Runs [`Frame::SetPolicy`].
    pub(crate) fn set_policy(&mut self, c: CpuId, task: TaskId, step: u32) {
        if !self.k.lock_rq(c, c) {
            return self.k.this_cpu().stack.push(Frame::SetPolicy { task, step });
        }
        let policy = self.k.wanted_policy(step);
        if (self.k.tasks[task].class, self.k.class_for(policy)) == (SchedClass::Ext, SchedClass::Ext) {
            let again = Frame::SetPolicy { task, step };
            return self.begin_change(c, again, Frame::ChangeWithin { task, policy }, task);
        }
        self.k.this_cpu().stack.push(Frame::Unlock { rq: c });
        let boost = self.k.tasks[task].boost;
        self.make_urgent(c, task, Urgency { policy, boost });
    }

    /// Gives a task, whose runqueue is locked, a new urgency. The path continues with [`Frame::PolicyChanged`].
    pub(crate) fn make_urgent(&mut self, c: CpuId, task: TaskId, to: Urgency) {
        let t = &self.k.tasks[task];
        let (rq, before, class, on_rq) = (t.cpu, t.rt_priority(), t.class, t.is_on_rq());
        if t.on_cpu {
            self.k.charge_current(self.vm.world(), rq);
        }
        self.k.this_cpu().stack.push(Frame::PolicyChanged { task, before });
        match (class, self.k.class_of_urgency(to)) {
            (SchedClass::Fair, SchedClass::Fair) => self.k.give_urgency(self.vm.world(), task, to),
            (SchedClass::Ext, _) if on_rq => {
                self.k.this_cpu().stack.push(Frame::PolicyQuiesce { task, to });
                // A pending `ops.dequeue` comes first; a running task has none.
                let flags = self.k.change_flags(task, to).off;
                self.k.take_from_scheduler(c, task, flags | deq::SCHED_CHANGE);
                if self.k.tasks[task].on_cpu {
                    let ea = self.k.tasks[task].ea;
                    self.start(c, Op::Stopping, task, &[ea.0, 0]);
                }
            }
            (SchedClass::Ext, _) => self.policy_disable(c, task, to),
            _ => self.change_policy(c, task, to),
        }
    }

    /// Runs [`Frame::PolicyQuiesce`].
    pub(crate) fn policy_quiesce(&mut self, c: CpuId, task: TaskId, to: Urgency) {
        self.k.this_cpu().stack.push(Frame::PolicyDisable { task, to });
        let ea = self.k.tasks[task].ea;
        self.k.task(task).queued = false;
        self.k.clear_runnable(task);
        self.k.mirror_flags(self.vm.world(), task);
        let flags = self.k.change_flags(task, to).off;
        self.start(c, Op::Quiescent, task, &[ea.0, flags | deq::SCHED_CHANGE]);
    }

    /// Runs [`Frame::ChangeWithin`]: changes to another policy of the same class, which may change the weight.
    pub(crate) fn change_within(&mut self, c: CpuId, task: TaskId, policy: Policy) {
        self.k.give_policy(self.vm.world(), task, policy);
        let t = &self.k.tasks[task];
        let args = [t.ea.0, u64::from(t.weight)];
        self.start_if_ext(c, Op::SetWeight, task, &args);
    }

    /// Runs [`Frame::PolicyDisable`].
    pub(crate) fn policy_disable(&mut self, c: CpuId, task: TaskId, to: Urgency) {
        self.k.this_cpu().stack.push(Frame::ChangePolicy { task, to });
        let ea = self.k.tasks[task].ea;
        if self.k.tasks[task].member == Member::Enabled {
            self.start(c, Op::Disable, task, &[ea.0]);
        }
    }

    /// Runs [`Frame::ChangePolicy`]. The task is in no queue, or in a queue of its class.
    pub(crate) fn change_policy(&mut self, c: CpuId, task: TaskId, to: Urgency) {
        let t = &self.k.tasks[task];
        let (before, on_rq, from) = (t.rt_priority(), t.is_on_rq(), t.class);
        let flags = self.k.change_flags(task, to).on;
        match from {
            SchedClass::Ext => self.k.leave_scheduler(self.vm.world(), task),
            _ if on_rq => self.k.dequeue_above(task),
            _ => {}
        }
        let class = self.k.class_of_urgency(to);
        self.k.forget_delayed(task);
        if class != SchedClass::Fair {
            self.k.remove_load(task);
        }
        self.k.task(task).class = class;
        self.k.give_urgency(self.vm.world(), task, to);
        if class != SchedClass::Ext {
            if on_rq {
                // A task whose priority drops goes before the tasks with its new priority.
                self.k.enqueue_above(task, from == SchedClass::Rt && to.is_below(before), false);
            }
            return;
        }
        if on_rq {
            self.k.this_cpu().stack.push(Frame::RestoreClass { task, flags });
        }
        self.k.this_cpu().stack.extend([Frame::EnableCpus { task }, Frame::EnableWeight { task }]);
        self.enable_member(c, task);
    }

    /// Runs [`Frame::RestoreClass`]: puts the task on the scheduler's runqueue. A running task continues; a waiting one
    /// is enqueued.
    pub(crate) fn restore_class(&mut self, c: CpuId, task: TaskId, flags: u64) {
        let t = self.k.task(task);
        t.queued = true;
        let (ea, runs) = (t.ea, t.on_cpu);
        self.k.mirror_flags(self.vm.world(), task);
        if runs {
            self.k.this_cpu().stack.push(Frame::RunClass { task });
        } else {
            self.k.set_runnable(self.vm.world(), task);
            self.k.this_cpu().stack.push(Frame::Enqueue { task, enq_flags: flags });
        }
        self.start(c, Op::Runnable, task, &[ea.0, flags]);
    }

    /// Runs [`Frame::RunClass`].
    pub(crate) fn run_class(&mut self, c: CpuId, task: TaskId) {
        let ea = self.k.tasks[task].ea;
        self.start(c, Op::Running, task, &[ea.0]);
    }

    /// Runs [`Frame::PolicyChanged`]: `switched_from()`, `switched_to()` or `prio_changed()`. If the priority has
    /// dropped, the task may be preempted, and a more urgent task may be waiting on another CPU.
    pub(crate) fn policy_changed(&mut self, c: CpuId, task: TaskId, before: u8) {
        let t = &self.k.tasks[task];
        let (rq, class, runs, priority) = (t.cpu, t.class, t.on_cpu, t.rt_priority());
        if !t.is_on_rq() {
            return;
        }
        let comes_down =
            rq == c && runs && priority < before && (priority > 0 || self.k.cpus[rq].rt.is_empty());
        if comes_down && self.k.needs_pull(rq, before) {
            let pull = Self::pull_step(false);
            self.k.this_cpu().stack.push(pull);
        }
        let is_overloaded = self.k.cpus[rq].rt.first_pushable().is_some();
        if class == SchedClass::Rt {
            if before == 0 && !runs && is_overloaded {
                self.k.this_cpu().stack.push(Frame::Rt(RtFrame::Push { rq, tries: 0 }));
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
