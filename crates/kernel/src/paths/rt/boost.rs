//! Priority inheritance: the owner of a mutex inherits the priority of its most urgent waiter, and so on along the
//! chain of owners (`rt_mutex_adjust_prio_chain()`, `rt_mutex_setprio()`).
//!
//! Each step changes one task under its runqueue's lock. A chain ends where nothing changes, or after [`MAX_DEPTH`]
//! steps.

use crate::paths::sim::Sim;
use crate::state::frame::Frame;
use crate::state::frame::rt::RtFrame;
use crate::state::kernel::SPIN_NS;
use crate::state::objects::mutex::{MAX_DEPTH, Next};
use crate::state::task::Urgency;
use keel_abi::bpf::Engine;
use keel_abi::scx::wake;
use keel_abi::{CpuId, TaskId};

impl<E: Engine> Sim<E> {
    /// Runs [`RtFrame::Adjust`]: continues only if the inherited priority has changed.
    pub(crate) fn adjust(&mut self, task: TaskId, depth: u16) {
        let inherited = self.k.objects.mutexes.inherited(task);
        if inherited == self.k.tasks[task].boost || depth >= MAX_DEPTH || self.k.is_dead(task) {
            return;
        }
        let rq = self.k.tasks[task].cpu;
        self.k.this_cpu().stack.push(Frame::Rt(RtFrame::AdjustLock { task, rq, depth }));
    }

    /// Runs [`RtFrame::AdjustLock`]: `rt_mutex_setprio()`. Waits while the task is being woken or moved, as the kernel
    /// waits for its `pi_lock`.
    pub(crate) fn adjust_lock(&mut self, c: CpuId, task: TaskId, rq: CpuId, depth: u16) {
        if !self.k.lock_rq(c, rq) {
            return self.k.this_cpu().stack.push(Frame::Rt(RtFrame::AdjustLock { task, rq, depth }));
        }
        let t = &self.k.tasks[task];
        let (policy, boost) = (t.policy, self.k.objects.mutexes.inherited(task));
        if self.k.is_dead(task) || boost == t.boost {
            return self.k.this_cpu().stack.push(Frame::Unlock { rq });
        }
        if t.busy || t.cpu != rq {
            let rq_now = t.cpu;
            self.k.charge_ns(c, SPIN_NS);
            let again = Frame::Rt(RtFrame::AdjustLock { task, rq: rq_now, depth });
            return self.k.this_cpu().stack.extend([again, Frame::Unlock { rq }]);
        }
        self.k.cpu(rq).lock.defers = true;
        self.k.task(task).busy = true;
        let touched_ps = self.k.lines.write_task_ps(task, self.k.cpus.holder());
        self.k.charge_ps(c, touched_ps);
        self.k.this_cpu().stack.push(Frame::Rt(RtFrame::Adjusted { task, rq, depth }));
        self.make_urgent(c, task, Urgency { policy, boost });
    }

    /// Runs [`RtFrame::Adjusted`]: releases the lock, and continues along the chain.
    pub(crate) fn adjusted(&mut self, task: TaskId, rq: CpuId, depth: u16) {
        self.k.task(task).busy = false;
        let (next, finish) = (RtFrame::AdjustNext { task, depth }, RtFrame::Finish { rq });
        self.k.this_cpu().stack.extend([next, finish].map(Frame::Rt));
    }

    /// Runs [`RtFrame::AdjustNext`].
    pub(crate) fn adjust_next(&mut self, task: TaskId, depth: u16) {
        let priority = self.k.tasks[task].rt_priority();
        let first = self.k.objects.mutexes.first_beside(task);
        let next = self.k.objects.mutexes.requeue(task, priority);
        // A waiter that spins may now be the first, or has to sleep.
        first.into_iter().for_each(|first| self.k.notify_spinner(first));
        let next = match next {
            Some(Next::Owner(task)) => Frame::Rt(RtFrame::Adjust { task, depth: depth + 1 }),
            Some(Next::Wake(task)) => Frame::Wake { task, flags: wake::TTWU, waker: TaskId::IDLE },
            None => return,
        };
        self.k.this_cpu().stack.push(next);
    }
}
