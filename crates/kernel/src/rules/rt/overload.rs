//! Keeps track of the overloaded CPUs (`rto_mask`), on which a real-time task waits that may run elsewhere, and of the
//! round in which they are asked to push (`rto_cpu`, `rto_loop`).

use crate::state::kernel::Kernel;
use crate::state::task::State;
use keel_abi::TaskId;

impl Kernel {
    /// `enqueue_pushable_task()`, if the task may run elsewhere.
    pub(super) fn add_pushable(&mut self, task: TaskId) {
        let t = &self.tasks[task];
        let (rq, priority) = (t.cpu, t.rt_priority());
        if t.nr_allowed > 1 {
            self.cpu(rq).rt.add_pushable(task, priority);
            self.overload.cpus.insert(rq);
        }
    }

    /// `dequeue_pushable_task()`.
    pub(super) fn remove_pushable(&mut self, task: TaskId) {
        let rq = self.tasks[task].cpu;
        let queue = &mut self.cpu(rq).rt;
        queue.remove_pushable(task);
        if queue.first_pushable().is_none() {
            self.overload.cpus.remove(rq);
        }
    }

    /// After a real-time task has lost its CPU (`put_prev_task_rt()`).
    #[cold]
    pub(crate) fn put_rt(&mut self, task: TaskId) {
        if self.tasks[task].state == State::Runnable {
            self.add_pushable(task);
        }
    }

    /// After a real-time task has got its CPU (`set_next_task_rt()`).
    #[cold]
    pub(crate) fn set_rt(&mut self, task: TaskId) {
        self.remove_pushable(task);
    }

    /// Updates whether a task is pushable, after the CPUs that it may use have changed.
    pub(crate) fn refresh_pushable(&mut self, task: TaskId) {
        self.remove_pushable(task);
        let t = &self.tasks[task];
        if !t.on_cpu && self.cpus[t.cpu].rt.holds(task, t.rt_priority()) {
            self.add_pushable(task);
        }
    }
}
