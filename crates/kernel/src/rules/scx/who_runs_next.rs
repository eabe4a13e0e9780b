//! Which of the scheduler's tasks runs next (`balance_one()`): the previous one while its slice lasts, or else the
//! first in the CPU's local queue, or else the first in the node's global queue that may run there.
//!
//! If there is none, `paths::who_runs_next` calls `ops.dispatch` and then asks here again.

use crate::state::class::SchedClass;
use crate::state::kernel::Kernel;
use crate::state::task::State;
use keel_abi::bpf::World;
use keel_abi::scx::ops_flags;
use keel_abi::{CpuId, TaskId};

impl Kernel {
    /// The task that runs next on `c`, without asking the scheduler. Charges the running task.
    #[inline(always)]
    pub(crate) fn next_ext<W: World>(&mut self, world: &mut W, c: CpuId) -> Option<TaskId> {
        let prev = self.cpus.this_cpu.curr;
        if self.is_queued(prev) {
            self.update_curr(world, c);
            if self.slice(world, prev) != 0 && !self.cpus.this_cpu.bypassing {
                return Some(prev);
            }
        }
        self.first_local(c)
    }

    /// Like `next_ext` after `ops.dispatch`, which may have given the previous task more time.
    #[inline(always)]
    pub(crate) fn next_at_hand<W: World>(&self, world: &W, c: CpuId) -> Option<TaskId> {
        let prev = self.cpus.this_cpu.curr;
        if self.is_queued(prev) && self.slice(world, prev) != 0 {
            return Some(prev);
        }
        self.first_local(c)
    }

    /// The pick has come to its end: `next` is to run, which may be the idle task.
    #[inline(always)]
    pub(crate) fn end_balance(&mut self, c: CpuId, next: TaskId) {
        if !next.is_idle() {
            self.reenqueue_extra(c);
        }
        self.this_cpu().in_balance = false;
    }

    /// Moves the first task of the global queue that may run on `c` to its local queue.
    #[inline(always)]
    pub(crate) fn next_global<W: World>(&mut self, world: &mut W, c: CpuId) -> Option<TaskId> {
        let is_moved = self.consume_global(world, c);
        is_moved.then(|| self.first_local(c).expect("something was just moved here"))
    }

    /// The first task of `c`'s local queue.
    #[inline(always)]
    pub(crate) fn first_local(&self, c: CpuId) -> Option<TaskId> {
        self.queues.table.queue(self.queues.local(c)).first_of_list()
    }

    /// Returns whether the previous task continues if there is no other. It doesn't if the scheduler wants to be asked
    /// even then (`SCX_OPS_ENQ_LAST`).
    #[inline]
    pub(crate) fn keeps_last(&self) -> bool {
        let cpu = &self.cpus.this_cpu;
        let asks = self.scx.flags & ops_flags::ENQ_LAST != 0 && !cpu.bypassing;
        self.is_queued(cpu.curr) && !asks
    }

    /// Returns whether the task that a CPU is about to switch from is one of the scheduler's that has left its queue to
    /// sleep.
    #[inline(always)]
    pub(crate) fn has_left_to_sleep(&self, task: TaskId) -> bool {
        !task.is_idle() && {
            let t = &self.tasks[task];
            let sleeps = t.state == State::Blocked && t.class == SchedClass::Ext;
            debug_assert!(!sleeps || !t.queued, "a CPU picks only after its task has left its queue");
            sleeps
        }
    }

    /// Returns whether sched_ext has the task as a runnable one.
    #[inline]
    pub(crate) fn is_queued(&self, task: TaskId) -> bool {
        !task.is_idle() && self.tasks[task].queued
    }
}
