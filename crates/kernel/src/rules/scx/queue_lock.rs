//! A dispatch queue's lock, and the lines that are touched under it.
//!
//! The lock, the first task's pointer, the list's head and the count share a cache line (`struct scx_dispatch_q`). A
//! local queue is protected by its runqueue's lock instead. Nothing else is simulated between a queue's lock and
//! unlock, so the lock is held by reservation ([`crate::state::cost::lock`]): for as long as the work under it costs.

use crate::state::cost::lock::VirtualLock;
use crate::state::kernel::Kernel;
use crate::state::scx::queues::{QueueId, QueueKind};
use keel_abi::clocks::Sync;
use keel_abi::{CpuId, Span, TaskId};
use keel_trace::Lock;

impl Kernel {
    /// Takes the queue's cache line, and its lock if it has its own; waits as long as others hold it.
    #[inline(always)]
    pub(crate) fn lock_queue(&mut self, c: CpuId, queue: QueueId) {
        let line_ps = self.lines.write_queue_ps(queue, c);
        if let QueueKind::Local(_) = self.queues.kind(queue) {
            return self.charge_ps(c, line_ps);
        }
        let now = self.moment();
        if queue.index() >= self.queue_locks.len() {
            self.make_locks(queue);
        }
        let lock = &mut self.queue_locks[queue.index()];
        lock.disturb(now, line_ps);
        let taken =
            lock.acquire(now, c, &self.machine.costs, line_ps).expect("it is given back in the same step");
        self.charge_ns(c, taken.at.since(now).as_ns());
        if taken.waited > Span::ZERO {
            self.waited_for_queue(c, queue, taken.waited);
        }
        if self.waits.is_some() || self.clocks.is_some() {
            self.note_queue_taken(c, queue);
        }
    }

    #[cold]
    fn note_queue_taken(&mut self, c: CpuId, queue: QueueId) {
        let dsq = self.queues.table.queue(queue).id();
        self.note_taken(c, Lock::Dsq(dsq));
        self.sync_acquired(c, Sync::Queue(dsq));
    }

    #[cold]
    #[inline(never)]
    fn make_locks(&mut self, queue: QueueId) {
        self.queue_locks.resize(queue.index() + 1, VirtualLock::default());
    }

    #[cold]
    #[inline(never)]
    fn waited_for_queue(&mut self, c: CpuId, queue: QueueId, waited: Span) {
        self.cpus.this_cpu.waited_ps += waited.as_ns() * 1000;
        let dsq = self.queues.table.queue(queue).id();
        self.waited_for(c, Lock::Dsq(dsq), waited);
    }

    /// Releases what [`Kernel::lock_queue`] took, at the moment that `c`'s step has reached.
    #[inline]
    pub(crate) fn unlock_queue(&mut self, queue: QueueId) {
        if let QueueKind::Local(_) = self.queues.kind(queue) {
            return;
        }
        let at = self.moment();
        self.queue_locks[queue.index()].release(at);
        if self.clocks.is_some() {
            let dsq = self.queues.table.queue(queue).id();
            self.sync_released(self.cpus.at_hand(), Sync::Queue(dsq));
        }
    }

    /// Charges for the lines that linking `task` into a queue touches (`dispatch_enqueue()`): the task itself and its
    /// neighbours. For an insert by vtime it reads the path down the tree, whose last two nodes are the neighbours.
    #[inline(always)]
    pub(crate) fn charge_link(
        &mut self,
        c: CpuId,
        queue: QueueId,
        task: TaskId,
        by_vtime: bool,
        at_head: bool,
    ) {
        let mut ps = self.lines.write_task_ps(task, c);
        let dsq = self.queues.table.queue(queue);
        if !by_vtime {
            let beside = if at_head { dsq.first() } else { dsq.last() };
            ps += beside.map_or(0, |task| self.lines.write_task_ps(task, c));
            return self.charge_ps(c, ps);
        }
        for (level, other) in dsq.way_down().enumerate() {
            ps += match level {
                0 | 1 => self.lines.write_task_ps(other, c),
                _ => self.lines.read_task_ps(other, c),
            };
        }
        self.charge_ps(c, ps);
    }

    /// Charges for the lines that unlinking `task` from its queue touches (`task_unlink_from_dsq()`): the task itself
    /// and its neighbours. Call it while the task is still queued.
    pub(crate) fn charge_unlink(&mut self, c: CpuId, queue: QueueId, task: TaskId) {
        let mut ps = self.lines.write_task_ps(task, c);
        let table = &self.queues.table;
        for beside in table.queue(queue).neighbours(&table.links, task).into_iter().flatten() {
            ps += self.lines.write_task_ps(beside, c);
        }
        self.charge_ps(c, ps);
    }

    /// Takes `task` out of its queue, under that queue's lock (`dispatch_dequeue()`).
    pub(crate) fn take_from_queue(&mut self, c: CpuId, task: TaskId) {
        let Some(queue) = self.tasks[task].queue else { return };
        self.lock_queue(c, queue);
        self.charge_unlink(c, queue, task);
        self.leave_queue(task);
        self.unlock_queue(queue);
    }
}
