//! Tasks that spin for a mutex while its owner runs.

use crate::state::kernel::Kernel;
use crate::state::task::Doing;
use keel_abi::task::ObjectId;
use keel_abi::{Span, TaskId};

impl Kernel {
    /// Should a waiter of this mutex keep its CPU?
    pub(crate) fn spins_on(&self, task: TaskId, id: ObjectId) -> bool {
        let mutexes = &self.objects.mutexes;
        let owner_runs = || mutexes.owner(id).is_some_and(|owner| self.tasks[owner].on_cpu);
        self.machine.realtime.spin && mutexes.first(id) == Some(task) && owner_runs()
    }

    /// The state that a waiter spins on has changed: its CPU sees that when the cache line arrives.
    pub(crate) fn tell_spinner(&mut self, task: TaskId) {
        let t = &self.tasks[task];
        if !matches!(t.doing, Doing::Spin(_)) || !t.on_cpu {
            return;
        }
        let cpu = t.cpu;
        let at = self.moment() + Span::from_ns(self.machine.costs.lock_handover_ns);
        let spinner = self.cpu(cpu);
        // If it is in the kernel, it looks anyway before it continues.
        if spinner.in_user {
            spinner.work_done_at = at.min(spinner.work_done_at);
            self.queue.set_cpu(cpu, at.min(self.queue.cpu_at(cpu)));
        }
    }

    /// A task has lost its CPU: nobody spins for its mutexes any more.
    #[cold]
    pub(crate) fn tell_spinners_of(&mut self, owner: TaskId) {
        for first in self.objects.mutexes.firsts_behind(owner) {
            self.tell_spinner(first);
        }
    }
}
