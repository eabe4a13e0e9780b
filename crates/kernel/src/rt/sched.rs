//! Queueing, preemption and turns of real-time tasks.

use crate::kernel::Kernel;
use keel_abi::task::Policy;
use keel_abi::{CpuId, Span, TaskId};

/// A turn of a SCHED_RR task (`RR_TIMESLICE`).
const TURN: Span = Span::from_ms(100);

impl Kernel {
    /// Puts a task that has become runnable on its CPU's queue (`enqueue_task_rt()`).
    pub(crate) fn enqueue_rt(&mut self, task: TaskId, head: bool) {
        let t = &self.tasks[task];
        let (rq, priority) = (t.cpu, t.policy.rt_priority());
        self.cpu(rq).rt.push(task, priority, head);
    }

    /// `dequeue_task_rt()`.
    pub(crate) fn dequeue_rt(&mut self, task: TaskId) {
        let t = &self.tasks[task];
        let (rq, priority) = (t.cpu, t.policy.rt_priority());
        self.cpu(rq).rt.remove(task, priority);
    }

    /// Among real-time tasks only a higher priority preempts (`wakeup_preempt_rt()`).
    pub(crate) fn preempt_rt(&mut self, c: CpuId, rq: CpuId, task: TaskId) {
        let curr = self.cpus[rq].curr;
        let running = if curr.is_idle() { 0 } else { self.tasks[curr].policy.rt_priority() };
        if self.tasks[task].policy.rt_priority() > running {
            self.resched(c, rq);
        }
    }

    /// The tick of a real-time task (`task_tick_rt()`): a turn that is over goes to the next equal.
    pub(crate) fn tick_rt(&mut self, c: CpuId, task: TaskId) {
        let Policy::RoundRobin(priority) = self.tasks[task].policy else { return };
        let turn = self.turn_ticks();
        let t = self.task(task);
        t.turn_ticks = t.turn_ticks.saturating_sub(1);
        if t.turn_ticks > 0 {
            return;
        }
        t.turn_ticks = turn;
        if self.cpus[c].rt.has_equals(priority) {
            self.cpu(c).rt.requeue(task, priority);
            self.resched(c, c);
        }
    }

    /// Ticks of a turn.
    pub(crate) fn turn_ticks(&self) -> u32 {
        (TURN.as_ns() / self.tick.as_ns()).max(1) as u32
    }

    /// `yield_task_rt()`: to the end of its queue.
    pub(crate) fn yield_rt(&mut self, task: TaskId) {
        let t = &self.tasks[task];
        let (rq, priority) = (t.cpu, t.policy.rt_priority());
        self.cpu(rq).rt.requeue(task, priority);
    }

    /// Its priority has changed while it runs (`prio_changed_rt()`): is somebody else next?
    pub(crate) fn rt_priority_changed(&mut self, c: CpuId, task: TaskId) {
        let rq = self.tasks[task].cpu;
        if self.cpus[rq].rt.highest() > self.tasks[task].policy.rt_priority() {
            self.resched(c, rq);
        }
    }
}
