//! Inserting into a queue and removing from one (`dispatch_enqueue()`, `local_dsq_post_enq()`), and custody: when a
//! task that the scheduler held itself or in its own queue leaves for one of the kernel's queues, the scheduler is
//! notified once (`task_leave_custody()`).

use crate::rules::scx::slice::vtime;
use crate::state::class::SchedClass;
use crate::state::dsq::MixedModes;
use crate::state::kernel::Kernel;
use crate::state::scx::queues::{QueueId, QueueKind};
use crate::state::task::OpsState;
use keel_abi::bpf::{Ea, World};
use keel_abi::scx::{Op, enq};
use keel_abi::{CpuId, TaskId};
use keel_trace::{Class, What};

impl Kernel {
    /// Puts `task` into the local queue of `rq`, at its head or tail; `c` is the acting CPU.
    pub(crate) fn insert_local<W: World>(
        &mut self,
        world: &mut W,
        c: CpuId,
        rq: CpuId,
        task: TaskId,
        enq_flags: u64,
    ) {
        if enq_flags & (enq::DSQ_PRIQ | enq::IMMED) != 0 || self.scx.knows_immed {
            return self.insert(world, c, self.queues.local(rq), task, enq_flags);
        }
        let task_ps = self.lines.write_task_ps(task, self.cpus.holder());
        let queued = self.link_local(c, rq, (task, task_ps), is_at_head(enq_flags));
        self.out.tell_inserted(self.now, c, (task, rq), queued);
        self.after_local_insert(world, c, rq, task, enq_flags);
    }

    /// Returns whether an insert into a local queue with these flags is one at its tail, which concerns no other task.
    #[inline(always)]
    pub(crate) fn is_simple_insert(&self, enq_flags: u64) -> bool {
        let special = enq::DSQ_PRIQ | enq::IMMED | enq::HEAD | enq::PREEMPT;
        enq_flags & special == 0 && !self.scx.knows_immed
    }

    /// Like [`Kernel::insert_local`] for a simple insert by a CPU that picks into its own queue, right after it has
    /// taken the task out of another one. If events are in brief, this also emits that the task has come `from`
    /// elsewhere.
    #[inline(always)]
    pub(crate) fn insert_here(&mut self, c: CpuId, task: TaskId, from: Option<CpuId>) {
        let task_ps = self.lines.rewrite_task_ps(task, self.cpus.holder());
        let queued = self.link_local(c, c, (task, task_ps), false);
        match from {
            Some(from) => self.out.tell_wanted(self.now, c, What::Pulled { task, from, to: c }),
            None => self.out.tell_inserted(self.now, c, (task, c), queued),
        }
        let cpu = self.this_cpu();
        cpu.next_class = cpu.next_class.max(SchedClass::Ext);
    }

    /// Links `task`, whose line has cost `task_ps`, into the local queue of `rq`. Returns the event that says so.
    #[inline(always)]
    fn link_local(&mut self, c: CpuId, rq: CpuId, (task, task_ps): (TaskId, u64), at_head: bool) -> What {
        let queue = self.queues.local(rq);
        self.enters_queue(task, queue, false);
        let (dsq, links) = self.queues.table.queue_mut(queue);
        let mut ps = task_ps + self.lines.write_queue_ps(&mut dsq.line, self.cpus.holder());
        if let Some(beside) = if at_head { dsq.first_of_list() } else { dsq.last() } {
            ps += self.lines.write_task_ps(beside, self.cpus.holder());
        }
        match at_head {
            true => dsq.push_head_of_list(links, task),
            false => dsq.push_tail_of_list(links, task),
        }
        let queued = What::Queued { task, dsq: dsq.id(), len: dsq.len() };
        self.charge_ps(c, ps);
        queued
    }

    /// `task` is in `queue` now. If that is not `in_custody` of its scheduler, `task` leaves its custody. Returns the
    /// address of its `task_struct`.
    #[inline(always)]
    fn enters_queue(&mut self, task: TaskId, queue: QueueId, in_custody: bool) -> Ea {
        let t = self.task(task);
        let ea = t.ea;
        t.queue = Some(queue);
        t.direct = None;
        t.ops_state = OpsState::None;
        let was = std::mem::replace(&mut t.in_custody, in_custody);
        if was && !in_custody && self.has(Op::Dequeue) {
            self.owe_dequeue(task, 0);
        }
        ea
    }

    /// `dispatch_enqueue()`.
    #[inline]
    pub(crate) fn insert<W: World>(
        &mut self,
        world: &mut W,
        c: CpuId,
        queue: QueueId,
        task: TaskId,
        enq_flags: u64,
    ) {
        match self.queues.is_user(queue) {
            true => self.insert_own_apart(world, c, queue, task, enq_flags),
            false => self.insert_built_in(world, c, queue, task, enq_flags),
        }
    }

    #[inline(never)]
    fn insert_own_apart<W: World>(
        &mut self,
        world: &mut W,
        c: CpuId,
        queue: QueueId,
        task: TaskId,
        enq_flags: u64,
    ) {
        self.insert_own(world, c, queue, task, enq_flags);
    }

    /// Like `insert` for one of the scheduler's own queues. Inlined where most inserts are.
    #[inline(always)]
    pub(crate) fn insert_own<W: World>(
        &mut self,
        world: &mut W,
        c: CpuId,
        queue: QueueId,
        task: TaskId,
        enq_flags: u64,
    ) {
        let ea = self.enters_queue(task, queue, true);
        let (by_vtime, at_head) = (enq_flags & enq::DSQ_PRIQ != 0, is_at_head(enq_flags));
        let by = self.cpus.holder();
        let (dsq, links) = self.queues.table.queue_mut(queue);
        let work_ps = self.lines.link_ps(dsq, task, by_vtime, at_head, by);
        let done = if by_vtime {
            dsq.push_vtime(links, task, vtime(world, ea))
        } else if at_head {
            dsq.push_head(links, task)
        } else {
            dsq.push_tail(links, task)
        };
        let (id, len) = dsq.shown();
        match done {
            Ok(()) => {
                let cpu = &mut *self.cpus.this_cpu;
                let ps = (self.lines.write_queue_ps(&mut dsq.line, &cpu.holder), work_ps);
                let is_noted = self.waits.is_some() || self.clocks.is_some();
                if is_noted || !cpu.passes(&mut dsq.lock, &self.machine.costs, ps) {
                    self.await_queue_lock(queue, ps);
                }
            }
            Err(_) => self.hold_queue_in_error(c, queue, work_ps, (false, done)),
        }
        self.tell(Class::PLACES, c, What::Queued { task, dsq: id, len });
    }

    /// Like `insert_own` for a local queue or a global one, which are never ordered by vtime.
    #[inline(never)]
    fn insert_built_in<W: World>(
        &mut self,
        world: &mut W,
        c: CpuId,
        queue: QueueId,
        task: TaskId,
        enq_flags: u64,
    ) {
        self.enters_queue(task, queue, false);
        let (by_vtime, at_head) = (enq_flags & enq::DSQ_PRIQ != 0, is_at_head(enq_flags));
        if by_vtime {
            self.lock_queue(c, queue);
            self.error(c, "cannot use vtime ordering for built-in DSQs".into());
        }
        let by = self.cpus.holder();
        let (dsq, links) = self.queues.table.queue_mut(queue);
        let work_ps = self.lines.link_ps(dsq, task, by_vtime, at_head, by);
        let done = match at_head {
            true => dsq.push_head(links, task),
            false => dsq.push_tail(links, task),
        };
        let (id, len) = dsq.shown();
        if by_vtime || done.is_err() {
            self.hold_queue_in_error(c, queue, work_ps, (by_vtime, done));
        } else {
            self.hold_queue(c, queue, work_ps);
        }
        self.tell(Class::PLACES, c, What::Queued { task, dsq: id, len });
        let QueueKind::Local(rq) = self.queues.kind(queue) else { return };
        if enq_flags & enq::IMMED != 0 || self.scx.knows_immed && self.tasks[task].immed {
            self.count_immed(world, c, rq, task, enq_flags);
        }
        self.after_local_insert(world, c, rq, task, enq_flags);
    }

    /// Like [`Kernel::hold_queue`] for an insert that was an error; one that was refused has the lock already.
    #[cold]
    #[inline(never)]
    fn hold_queue_in_error(
        &mut self,
        c: CpuId,
        queue: QueueId,
        work_ps: u64,
        (is_refused, done): (bool, Result<(), MixedModes>),
    ) {
        if !is_refused {
            self.lock_queue(c, queue);
        }
        self.charge_ps(c, work_ps);
        if let Err(mixed) = done {
            let held = match mixed {
                MixedModes::HoldsFifo => "FIFO",
                MixedModes::HoldsPriority => "PRIQ",
            };
            let id = self.queues.table.queue(queue).id();
            self.error(c, format!("DSQ ID 0x{:016x} already had {held}-enqueued tasks", id.0));
        }
        self.unlock_queue(queue);
    }

    /// `local_dsq_post_enq()`: the task that runs there may have to yield.
    #[inline(always)]
    fn after_local_insert<W: World>(
        &mut self,
        world: &mut W,
        c: CpuId,
        rq: CpuId,
        task: TaskId,
        enq_flags: u64,
    ) {
        let cpu = self.cpu(rq);
        cpu.next_class = cpu.next_class.max(SchedClass::Ext);
        if cpu.in_balance {
            return;
        }
        if cpu.curr.is_idle() {
            self.resched(c, rq);
        } else if enq_flags & enq::PREEMPT != 0 {
            self.preempt_for(world, c, rq, task);
        }
    }

    /// A task with `SCX_ENQ_PREEMPT` ends the slice of the task that runs on `rq`.
    #[inline(never)]
    fn preempt_for<W: World>(&mut self, world: &mut W, c: CpuId, rq: CpuId, task: TaskId) {
        let curr = self.cpus[rq].curr;
        if curr != task && self.tasks[curr].class == SchedClass::Ext {
            self.set_slice(world, curr, 0);
            self.resched(c, rq);
        }
    }

    /// `task` leaves the scheduler's custody: `ops.dequeue` with `flags` is owed.
    #[inline]
    pub(crate) fn leave_custody(&mut self, task: TaskId, flags: u64) {
        let was = std::mem::take(&mut self.task(task).in_custody);
        if was && self.has(Op::Dequeue) {
            self.owe_dequeue(task, flags);
        }
    }

    #[inline(never)]
    fn owe_dequeue(&mut self, task: TaskId, flags: u64) {
        self.this_cpu().pauses.owe_dequeue(task, flags);
        self.queue.bar();
    }

    /// Takes `task` out of the queue it is in, if any (`dispatch_dequeue()`).
    #[inline(always)]
    pub(crate) fn leave_queue(&mut self, task: TaskId) -> Option<QueueId> {
        self.task(task).queue = None;
        let queue = self.queues.table.remove(task)?;
        self.left_queue(queue, task, self.tasks[task].cpu);
        Some(queue)
    }

    /// `task` of runqueue `rq` is no longer in `queue`.
    #[inline(always)]
    pub(crate) fn left_queue(&mut self, queue: QueueId, task: TaskId, rq: CpuId) {
        let waits = !self.tasks[task].on_cpu;
        self.note_left(queue, (task, waits), rq);
    }

    /// Like `left_queue` for a task that is known to wait or run.
    #[inline(always)]
    pub(crate) fn note_left(&mut self, queue: QueueId, (task, waits): (TaskId, bool), rq: CpuId) {
        if self.scx.knows_immed {
            self.discount_immed(queue, task);
        }
        if !waits || self.out.wants(Class::QUEUES) {
            self.tell_left(rq, queue, task, waits);
        }
    }

    /// Tells that a task has left a queue: few listen to that for a task that waits.
    #[inline(never)]
    fn tell_left(&mut self, rq: CpuId, queue: QueueId, task: TaskId, waits: bool) {
        let class = if waits { Class::QUEUES } else { Class::PLACES };
        let (dsq, len) = self.queues.table.queue(queue).shown();
        self.tell(class, rq, What::Unqueued { task, dsq, len });
    }

    #[inline(never)]
    fn discount_immed(&mut self, queue: QueueId, task: TaskId) {
        if self.tasks[task].immed
            && let QueueKind::Local(rq) = self.queues.kind(queue)
        {
            self.cpu(rq).nr_immed -= 1;
        }
    }
}

/// Returns whether a task with these flags goes to the head of its queue.
#[inline]
const fn is_at_head(enq_flags: u64) -> bool {
    enq_flags & (enq::HEAD | enq::PREEMPT) != 0
}
