//! A dispatch queue's lock, and the lines that are touched under it.
//!
//! The lock, the first task's pointer, the list's head and the count share a cache line (`struct scx_dispatch_q`). A
//! local queue is protected by its runqueue's lock instead. Nothing else is simulated between a queue's lock and
//! unlock, so the lock is held by reservation ([`crate::state::cost::lock`]): for as long as the work under it costs.

use crate::state::cost::lock::VirtualLock;
use crate::state::cost::{Costs, KernelLines};
use crate::state::cpu::Cpu;
use crate::state::dsq::{Dsq, Links};
use crate::state::kernel::Kernel;
use crate::state::scx::queues::{QueueId, QueueKind};
use keel_abi::clocks::Sync;
use keel_abi::lines::{Holder, whole_ns};
use keel_abi::{CpuId, Instant, Span, TaskId};
use keel_trace::Lock;

impl Kernel {
    /// Takes the queue's cache line, and its lock if it has its own; waits as long as others hold it.
    #[inline]
    pub(crate) fn lock_queue(&mut self, c: CpuId, queue: QueueId) {
        let line_ps = self.write_queue_ps(queue);
        match self.queues.kind(queue) {
            QueueKind::Local(_) => self.charge_ps(c, line_ps),
            QueueKind::Global | QueueKind::User => self.take_queue_lock(c, queue, line_ps),
        }
    }

    /// Takes the queue's line and lock, does what costs `work_ps`, and releases the lock: [`Kernel::lock_queue`] and
    /// [`Kernel::unlock_queue`] in one.
    #[inline(always)]
    pub(crate) fn hold_queue(&mut self, c: CpuId, queue: QueueId, work_ps: u64) {
        let line_ps = self.write_queue_ps(queue);
        self.hold_queue_at_hand(c, queue, (line_ps, work_ps));
    }

    /// Like `hold_queue` after the queue's line was taken, which cost `line_ps`.
    #[inline(always)]
    pub(crate) fn hold_queue_at_hand(&mut self, c: CpuId, queue: QueueId, (line_ps, work_ps): (u64, u64)) {
        match self.queues.kind(queue) {
            QueueKind::Local(_) => self.charge_ps(c, line_ps + work_ps),
            QueueKind::Global | QueueKind::User => self.pass_queue_lock(queue, (line_ps, work_ps)),
        }
    }

    /// Reads the queue without its lock.
    #[inline]
    pub(crate) fn read_queue(&mut self, queue: QueueId) {
        let (dsq, _) = self.queues.table.queue_mut(queue);
        let cpu = &mut *self.cpus.this_cpu;
        cpu.spent_ps += self.lines.read_queue_ps(&mut dsq.line, &cpu.holder);
    }

    /// What it costs to take the queue's cache line.
    #[inline]
    fn write_queue_ps(&mut self, queue: QueueId) -> u64 {
        let (dsq, _) = self.queues.table.queue_mut(queue);
        self.lines.write_queue_ps(&mut dsq.line, self.cpus.holder())
    }

    /// Like `hold_queue_at_hand` for a queue that has its own lock.
    #[inline(never)]
    fn pass_queue_lock(&mut self, queue: QueueId, ps: (u64, u64)) {
        let is_noted = self.waits.is_some() || self.clocks.is_some();
        let (dsq, _) = self.queues.table.queue_mut(queue);
        if is_noted || !self.cpus.this_cpu.passes(&mut dsq.lock, &self.machine.costs, ps) {
            self.await_queue_lock(queue, ps);
        }
    }

    /// Like `pass_queue_lock` for a lock that may be taken, or whose use is noted.
    #[inline(never)]
    pub(crate) fn await_queue_lock(&mut self, queue: QueueId, (line_ps, work_ps): (u64, u64)) {
        let c = self.cpus.this_id();
        let is_noted = self.waits.is_some() || self.clocks.is_some();
        let ((dsq, _), cpu) = (self.queues.table.queue_mut(queue), &mut *self.cpus.this_cpu);
        let now = cpu.moment();
        if !is_noted && !dsq.lock.is_free(now) {
            let (took, waited) = dsq.lock.pass_in_line(now, &self.machine.costs, line_ps);
            cpu.spent_ps += took.as_ns() * 1000 + work_ps;
            cpu.waited_ps += waited.as_ns() * 1000;
            dsq.lock.is_over(cpu.moment());
            let lock = Lock::Dsq(dsq.id());
            return self.waited_for(c, lock, waited);
        }
        self.take_queue_lock(c, queue, line_ps);
        self.charge_ps(c, work_ps);
        self.unlock_queue(queue);
    }

    /// Takes the lock of a queue that has one, whose line cost `line_ps`.
    #[inline(never)]
    fn take_queue_lock(&mut self, c: CpuId, queue: QueueId, line_ps: u64) {
        let now = self.moment();
        let lock = &mut self.queues.table.queue_mut(queue).0.lock;
        let (took, waited) = lock.take(now, c, &self.machine.costs, line_ps);
        self.charge_ns(c, took.as_ns());
        if waited > Span::ZERO {
            self.waited_for_queue(c, queue, waited);
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
    fn waited_for_queue(&mut self, c: CpuId, queue: QueueId, waited: Span) {
        self.cpus.this_cpu.waited_ps += waited.as_ns() * 1000;
        let dsq = self.queues.table.queue(queue).id();
        self.waited_for(c, Lock::Dsq(dsq), waited);
    }

    /// Releases what [`Kernel::lock_queue`] took, at the moment that `c`'s step has reached.
    #[inline(never)]
    pub(crate) fn unlock_queue(&mut self, queue: QueueId) {
        if let QueueKind::Local(_) = self.queues.kind(queue) {
            return;
        }
        let at = self.moment();
        self.queues.table.queue_mut(queue).0.lock.release(at);
        if self.clocks.is_some() {
            self.note_queue_released(queue);
        }
    }

    #[cold]
    #[inline(never)]
    fn note_queue_released(&mut self, queue: QueueId) {
        let dsq = self.queues.table.queue(queue).id();
        self.sync_released(self.cpus.this_id(), Sync::Queue(dsq));
    }

    /// Takes `task` out of `queue` (`task_unlink_from_dsq()`). Returns what the lines cost that this touches: the task
    /// itself and its neighbours. [`Kernel::left_queue`] is to follow.
    #[inline(always)]
    pub(crate) fn unlink_ps(&mut self, queue: QueueId, task: TaskId) -> u64 {
        let mut ps = self.lines.write_task_ps(task, self.cpus.holder());
        let (dsq, links) = self.queues.table.queue_mut(queue);
        let [before, behind] = dsq.neighbours(links, task);
        if let Some(before) = before {
            ps += self.lines.write_task_ps(before, self.cpus.holder());
        }
        if let Some(behind) = behind {
            ps += self.lines.write_task_ps(behind, self.cpus.holder());
        }
        dsq.take_out(links, task);
        self.task(task).queue = None;
        ps
    }

    /// Like `unlink_ps`, charged, with all that follows.
    pub(crate) fn unlink(&mut self, c: CpuId, queue: QueueId, task: TaskId) {
        let ps = self.unlink_ps(queue, task);
        self.charge_ps(c, ps);
        self.left_queue(queue, task, self.tasks[task].cpu);
    }

    /// Takes `task` out of its queue, under that queue's lock (`dispatch_dequeue()`).
    pub(crate) fn take_from_queue(&mut self, c: CpuId, task: TaskId) {
        let Some(queue) = self.tasks[task].queue else { return };
        self.lock_queue(c, queue);
        self.unlink(c, queue, task);
        self.unlock_queue(queue);
    }
}

impl Cpu {
    /// Takes a queue's lock, whose line cost `line_ps`, does what costs `work_ps`, and releases the lock, if the CPU
    /// can have it at once. Otherwise does nothing, and returns false.
    #[inline(always)]
    pub(crate) fn passes(
        &mut self,
        lock: &mut VirtualLock,
        costs: &Costs,
        (line_ps, work_ps): (u64, u64),
    ) -> bool {
        let now = self.moment();
        let is_free = lock.is_free(now);
        if is_free {
            let took_ns = costs.lock_acquire_ns + whole_ns(line_ps);
            self.spent_ps += took_ns * 1000 + work_ps;
            lock.pass(Instant::from_ns(now.as_ns() + took_ns), self.moment());
        }
        is_free
    }
}

impl KernelLines {
    /// Takes the first task out of a queue. Returns what the lines cost that this touches: the task, which the CPU
    /// reads before that, and its neighbour. The caller clears the task's own note of its queue.
    #[inline(always)]
    pub(crate) fn unlink_first_ps(
        &mut self,
        dsq: &mut Dsq,
        links: &mut Links,
        first: TaskId,
        by: &Holder,
    ) -> u64 {
        let first_ps = self.read_and_write_task_ps(first, by);
        let behind = dsq.take_first(links, first);
        first_ps + behind.map_or(0, |behind| self.write_neighbour_ps(behind, by))
    }

    /// What the lines cost that linking `task` into a queue touches (`dispatch_enqueue()`): the task itself and its
    /// neighbours. For an insert by vtime it reads the path down the tree, whose last two nodes are the neighbours.
    #[inline(always)]
    pub(crate) fn link_ps(
        &mut self,
        dsq: &Dsq,
        task: TaskId,
        by_vtime: bool,
        at_head: bool,
        by: &Holder,
    ) -> u64 {
        let mut ps = self.write_task_ps(task, by);
        if !by_vtime {
            let beside = if at_head { dsq.first() } else { dsq.last() };
            return ps + beside.map_or(0, |task| self.write_task_ps(task, by));
        }
        let mut way = dsq.way_down();
        for neighbour in way.by_ref().take(2) {
            ps += self.write_neighbour_ps(neighbour, by);
        }
        ps + self.read_tasks_ps(way, by)
    }
}
