//! Changes a task's class on behalf of another task: the scheduler takes the task over or gives it up, whether it runs,
//! waits or sleeps (`sched_change_begin()` to `sched_change_end()` around a new `p->sched_class`).

use crate::paths::sim::Sim;
use crate::state::class::SchedClass;
use crate::state::flag;
use crate::state::frame::Frame;
use crate::state::kernel::SPIN_NS;
use crate::state::task::Member;
use keel_abi::bpf::Engine;
use keel_abi::scx::{Op, deq};
use keel_abi::task::Policy;
use keel_abi::{CpuId, TaskId};

/// The flags with which a task changes class when a scheduler is enabled or disabled:
/// `DEQUEUE_SAVE | DEQUEUE_MOVE | DEQUEUE_CLASS`, and the flag that `sched_change_begin()` adds.
const COMES_OR_GOES: u64 = deq::SAVE | deq::MOVE | deq::CLASS | flag::NOCLOCK;

impl<E: Engine> Sim<E> {
    /// Locks the runqueue of `task` for a change by another task (`task_rq_lock()`). Waits while the task is being
    /// woken or moved: then this returns `None` and has pushed `again` to run next.
    pub(crate) fn lock_task(&mut self, c: CpuId, task: TaskId, again: Frame) -> Option<CpuId> {
        let rq = self.k.tasks[task].cpu;
        if !self.k.lock_rq(c, rq) {
            self.k.this_cpu().stack.push(again);
            return None;
        }
        let t = &self.k.tasks[task];
        if t.busy || t.cpu != rq {
            self.k.unlock_rq(c, rq);
            self.k.charge_ns(c, SPIN_NS);
            self.k.this_cpu().stack.push(again);
            return None;
        }
        Some(rq)
    }

    /// Moves a task of another class, whose runqueue is locked, to the scheduler under `policy`: calls `ops.enable`,
    /// `ops.set_weight`, `ops.set_cpumask`, and `ops.runnable` if it is runnable.
    pub(crate) fn join_scheduler(&mut self, c: CpuId, task: TaskId, policy: Policy) {
        let rq = self.k.tasks[task].cpu;
        self.k.task(task).busy = true;
        let was_on = self.k.is_on_queue_above(task);
        if was_on {
            if self.k.tasks[task].on_cpu {
                self.k.charge_current(self.vm.world(), rq);
            }
            self.k.dequeue_above(task);
            self.k.cpu(rq).nr_running -= 1;
            self.k.cpu(rq).lock.defers = true;
        }
        self.k.this_cpu().stack.push(Frame::SwitchSettle { task, rq });
        if was_on {
            self.k.this_cpu().stack.push(Frame::PutBack { task, flags: COMES_OR_GOES });
        }
        self.join_asleep(c, task, policy);
    }

    /// Like [`Sim::join_scheduler`], for a task that is in no queue.
    pub(crate) fn join_asleep(&mut self, c: CpuId, task: TaskId, policy: Policy) {
        self.k.forget_delayed(task);
        self.k.remove_load(task);
        self.k.task(task).class = SchedClass::Ext;
        self.k.give_policy(self.vm.world(), task, policy);
        self.k.this_cpu().stack.extend([Frame::EnableCpus { task }, Frame::EnableWeight { task }]);
        self.enable_member(c, task);
    }

    /// Moves a task of the scheduler, whose runqueue is locked, to the class of `policy`: calls `ops.quiescent` if it
    /// is runnable, `ops.disable`, and `ops.exit_task` if the scheduler itself is being disabled.
    pub(crate) fn leave_ext(&mut self, c: CpuId, task: TaskId, policy: Policy) {
        let t = self.k.task(task);
        t.busy = true;
        let (rq, was_on) = (t.cpu, t.queued);
        self.k.cpu(rq).lock.defers = true;
        self.k.this_cpu().stack.push(Frame::SwitchSettle { task, rq });
        if self.k.scx.is_disabling() {
            self.k.this_cpu().stack.push(Frame::ReapExit { task });
        }
        self.k
            .this_cpu()
            .stack
            .extend([Frame::LeaveClass { task, policy, was_on }, Frame::DisableMember { task }]);
        if !was_on {
            return;
        }
        self.k.this_cpu().stack.push(Frame::TakeOff { task, flags: COMES_OR_GOES });
        self.k.take_from_scheduler(c, task, COMES_OR_GOES | deq::SCHED_CHANGE);
        if self.k.tasks[task].on_cpu {
            let ea = self.k.tasks[task].ea;
            self.k.charge_current(self.vm.world(), rq);
            self.start(c, Op::Stopping, task, &[ea.0, 0]);
        }
    }

    /// Gives a task, whose runqueue is locked, a policy on behalf of another task (`__sched_setscheduler()`), if that
    /// means a different class, or is within the real-time class. Returns whether it did.
    pub(crate) fn change_class(&mut self, c: CpuId, task: TaskId, policy: Policy) -> bool {
        let to = self.k.urgency_with(task, policy);
        let (from, class) = (self.k.tasks[task].class, self.k.class_of_urgency(to));
        if from == class && class != SchedClass::Rt {
            return false;
        }
        let rq = self.k.tasks[task].cpu;
        self.k.cpu(rq).lock.defers = true;
        self.k.task(task).busy = true;
        self.k.this_cpu().stack.push(Frame::SwitchSettle { task, rq });
        self.make_urgent(c, task, to);
        true
    }

    /// Runs [`Frame::LeaveClass`].
    pub(crate) fn leave_class(&mut self, task: TaskId, policy: Policy, was_on: bool) {
        if self.k.tasks[task].member == Member::Enabled {
            self.k.leave_scheduler(self.vm.world(), task);
        }
        self.k.task(task).class = self.k.class_of_urgency(self.k.urgency_with(task, policy));
        self.k.give_policy(self.vm.world(), task, policy);
        if was_on {
            let rq = self.k.tasks[task].cpu;
            self.k.cpu(rq).nr_running += 1;
            self.k.enqueue_above(task, false, false);
        }
    }

    /// Runs [`Frame::SwitchSettle`]: reschedules the CPU if the task is running, because others may come first now. A
    /// waiting task may preempt the running one.
    pub(crate) fn switch_settle(&mut self, c: CpuId, task: TaskId, rq: CpuId) {
        self.k.task(task).busy = false;
        let t = &self.k.tasks[task];
        if t.cpu == rq {
            if t.on_cpu {
                self.k.resched(c, rq);
            } else if t.queued || self.k.is_on_queue_above(task) {
                self.k.wakeup_preempt(c, rq, task);
            }
        }
        self.finish_rq(c, rq);
    }
}
