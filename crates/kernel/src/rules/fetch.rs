//! Requests what a task's next wakeup or switch uses from the host's memory, before the path gets there.
//!
//! A task's own state, its `task_struct`, the state of their cache lines and its place in queues fill about ten of the
//! host's cache lines. With thousands of tasks, none of these is near, and a path would wait for one after the other.

use crate::state::kernel::Kernel;
use crate::state::layout::{TASK_STRIDE, task as field};
use crate::state::task::{Task, Tasks};
use keel_abi::bpf::{Ea, World};
use keel_abi::fetch::{MANY_TASKS, fetch};
use keel_abi::{CpuId, TaskId};

impl Kernel {
    /// `task` is about to be woken, or to run.
    #[inline(always)]
    pub(crate) fn fetch_task<W: World>(&self, world: &W, task: TaskId) {
        if self.tasks.are_many() {
            self.fetch_one_of_many(world, task);
        }
    }

    /// The next task of the CPU's own queue is about to run.
    #[inline(always)]
    pub(crate) fn fetch_next_local<W: World>(&self, world: &W, c: CpuId) {
        if self.tasks.are_many()
            && let Some(next) = self.first_local(c)
        {
            self.fetch_one_of_many(world, next);
        }
    }

    /// The timers that come next are those of tasks that sleep.
    #[inline(always)]
    pub(crate) fn fetch_sleepers<W: World>(&mut self, world: &W) {
        if self.tasks.are_many() && self.queue.has_opened_bucket() {
            self.fetch_bucket(world);
        }
    }

    #[inline(never)]
    fn fetch_bucket<W: World>(&self, world: &W) {
        self.queue.bucket().for_each(|timer| self.fetch_one_of_many(world, TaskId(timer)));
    }

    #[inline(never)]
    fn fetch_one_of_many<W: World>(&self, world: &W, task: TaskId) {
        let Some(t) = self.tasks.get(task) else { return };
        t.fetch();
        // Not `t.ea`: reading that would wait for the task.
        let ea = Ea(self.task_base.0 + TASK_STRIDE * u64::from(task.0));
        world.fetch(ea, &[0, field::FLAGS, field::SE_SUM_EXEC_RUNTIME, field::SCHED_INFO_PCOUNT]);
        self.lines.fetch_task(task);
        self.queues.table.links.fetch(task);
    }
}

impl Tasks {
    /// Returns whether requests for memory pay off.
    #[inline]
    pub(crate) fn are_many(&self) -> bool {
        self.len() >= MANY_TASKS
    }
}

impl Task {
    /// Requests the lines with the fields that a wakeup, a switch and a step use.
    #[inline(always)]
    fn fetch(&self) {
        fetch(&self.ea);
        fetch(&self.doing);
        fetch(&self.class);
    }
}
