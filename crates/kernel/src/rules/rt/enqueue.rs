//! Enqueues and dequeues real-time tasks, lets them yield, and ends the time slices of SCHED_RR.

use crate::state::kernel::Kernel;
use crate::state::machine::WakeupRule;
use keel_abi::task::Policy;
use keel_abi::{CpuId, Span, TaskId};

/// The time slice of a SCHED_RR task (`RR_TIMESLICE`).
const TURN: Span = Span::from_ms(100);

impl Kernel {
    /// Puts a task that has become runnable on its CPU's runqueue (`enqueue_task_rt()`).
    pub(crate) fn enqueue_rt(&mut self, task: TaskId, head: bool) {
        let t = &self.tasks[task];
        let (rq, priority) = (t.cpu, t.rt_priority());
        self.cpu(rq).rt.push(task, priority, head);
        if self.machine.realtime.throttle.is_some() {
            self.joins_throttled_class(task, rq);
        }
        if self.cpus[rq].curr != task {
            self.add_pushable(task);
        }
    }

    /// `dequeue_task_rt()`.
    pub(crate) fn dequeue_rt(&mut self, task: TaskId) {
        let t = &self.tasks[task];
        let (rq, priority) = (t.cpu, t.rt_priority());
        self.cpu(rq).rt.remove(task, priority);
        if self.machine.realtime.throttle.is_some() {
            self.leaves_throttled_class(task, rq);
        }
        self.remove_pushable(task);
    }

    /// Returns the real-time priority of a running task: 0 for the idle task and for tasks of other classes.
    pub(crate) fn priority_of(&self, curr: TaskId) -> u8 {
        if curr.is_idle() { 0 } else { self.tasks[curr].rt_priority() }
    }

    /// Returns whether a task that has just joined `rq` should be pushed away at once (`task_woken_rt()`). It is not if
    /// `rq` is about to pick.
    pub(crate) fn pushes_woken(&self, rq: CpuId, task: TaskId) -> bool {
        let (t, cpu) = (&self.tasks[task], &self.cpus[rq]);
        let waits = !t.on_cpu && !cpu.need_resched && t.nr_allowed > 1;
        waits && (self.machine.realtime.wakeup == WakeupRule::Before || self.is_taken(rq, task))
    }

    /// Handles a tick of a real-time task (`task_tick_rt()`) after the task has been charged. If its class is now
    /// throttled, the CPU reschedules; if its time slice has expired, the next task of equal priority runs.
    pub(crate) fn tick_rt(&mut self, c: CpuId, task: TaskId) {
        if self.cpus[c].rt.nr_throttled() > 0 {
            self.resched(c, c);
        }
        let Policy::RoundRobin(_) = self.tasks[task].policy else { return };
        let turn = self.turn_ticks();
        let t = self.task(task);
        let priority = t.rt_priority();
        t.turn_ticks = t.turn_ticks.saturating_sub(1);
        if t.turn_ticks > 0 {
            return;
        }
        t.turn_ticks = turn;
        if self.cpus[c].rt.has_equals(priority) {
            self.cpu(c).rt.requeue(task, priority, false);
            self.resched(c, c);
        }
    }

    /// Returns the time slice in ticks.
    pub(crate) fn turn_ticks(&self) -> u32 {
        (TURN.as_ns() / self.tick.as_ns()).max(1) as u32
    }

    /// `yield_task_rt()`: moves the task to the end of its priority's queue.
    pub(crate) fn yield_rt(&mut self, task: TaskId) {
        let t = &self.tasks[task];
        let (rq, priority) = (t.cpu, t.rt_priority());
        self.cpu(rq).rt.requeue(task, priority, false);
    }

    /// Handles a changed priority of a queued task (`prio_changed_rt()`): reschedules if another task must run.
    pub(crate) fn rt_priority_changed(&mut self, c: CpuId, task: TaskId) {
        let (rq, priority) = (self.tasks[task].cpu, self.tasks[task].rt_priority());
        let (curr, highest) = (self.cpus[rq].curr, self.cpus[rq].rt.highest());
        if (curr == task && highest > priority) || (curr != task && priority > self.priority_of(curr)) {
            self.resched(c, rq);
        }
    }
}
