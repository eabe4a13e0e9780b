//! Optimistic spinning: waiters that spin for a mutex while its owner is running.

use crate::state::kernel::Kernel;
use crate::state::task::Doing;
use keel_abi::task::ObjectId;
use keel_abi::{Span, TaskId};

impl Kernel {
    /// Returns whether a waiter of this mutex should keep its CPU and spin.
    pub(crate) fn spins_on(&self, task: TaskId, id: ObjectId) -> bool {
        let mutexes = &self.objects.mutexes;
        let owner_runs = || mutexes.owner(id).is_some_and(|owner| self.tasks[owner].on_cpu);
        self.machine.realtime.spin && mutexes.first(id) == Some(task) && owner_runs()
    }

    /// Tells a spinning waiter that the state it spins on has changed. Its CPU sees this when the cache line arrives.
    pub(crate) fn notify_spinner(&mut self, task: TaskId) {
        let t = &self.tasks[task];
        if !matches!(t.doing, Doing::Spin(_)) || !t.on_cpu {
            return;
        }
        let cpu = t.cpu;
        let at = self.moment() + Span::from_ns(self.machine.costs.lock_handover_ns);
        let spinner = self.cpu(cpu);
        // A waiter in the kernel looks at the state anyway before it continues.
        if spinner.in_user {
            spinner.work_done_at = at.min(spinner.work_done_at);
            self.queue.set_cpu(cpu, at.min(self.queue.cpu_at(cpu)));
        }
    }

    /// Tells the waiters that spin for a task's mutexes that the task has lost its CPU: they stop spinning.
    #[cold]
    pub(crate) fn notify_spinners_of(&mut self, owner: TaskId) {
        for first in self.objects.mutexes.firsts_behind(owner) {
            self.notify_spinner(first);
        }
    }
}
