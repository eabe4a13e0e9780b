//! Inserting into a queue and removing from one (`dispatch_enqueue()`, `local_dsq_post_enq()`), and custody: when a
//! task that the scheduler held itself or in its own queue leaves for one of the kernel's queues, the scheduler is
//! notified once (`task_leave_custody()`).

use crate::state::class::SchedClass;
use crate::state::dsq::MixedModes;
use crate::state::kernel::Kernel;
use crate::state::scx::queues::{QueueId, QueueKind};
use crate::state::task::OpsState;
use keel_abi::bpf::World;
use keel_abi::scx::{Op, enq};
use keel_abi::{CpuId, TaskId};
use keel_trace::{Class, What};

impl Kernel {
    /// Puts `task` into the local queue of `rq`; `c` is the acting CPU.
    #[inline]
    pub(crate) fn insert_local<W: World>(
        &mut self,
        world: &mut W,
        c: CpuId,
        rq: CpuId,
        task: TaskId,
        enq_flags: u64,
    ) {
        let queue = self.queues.local(rq);
        self.insert(world, c, queue, task, enq_flags);
    }

    /// `dispatch_enqueue()`.
    pub(crate) fn insert<W: World>(
        &mut self,
        world: &mut W,
        c: CpuId,
        queue: QueueId,
        task: TaskId,
        enq_flags: u64,
    ) {
        let kind = self.queues.kind(queue);
        self.lock_queue(c, queue);
        let by_vtime = enq_flags & enq::DSQ_PRIQ != 0;
        if by_vtime && kind != QueueKind::User {
            self.error(c, "cannot use vtime ordering for built-in DSQs".into());
        }
        let at_head = enq_flags & (enq::HEAD | enq::PREEMPT) != 0;
        self.charge_link(c, queue, task, by_vtime, at_head);
        let done = if by_vtime && kind == QueueKind::User {
            let vtime = self.vtime(world, task);
            self.queues.table.push_vtime(queue, task, vtime)
        } else if at_head {
            self.queues.table.push_head(queue, task)
        } else {
            self.queues.table.push_tail(queue, task)
        };
        let id = self.queues.table.queue(queue).id();
        if let Err(mixed) = done {
            let held = match mixed {
                MixedModes::HoldsFifo => "FIFO",
                MixedModes::HoldsPriority => "PRIQ",
            };
            self.error(c, format!("DSQ ID 0x{:016x} already had {held}-enqueued tasks", id.0));
        }
        let t = self.task(task);
        t.queue = Some(queue);
        t.direct = None;
        t.ops_state = OpsState::None;
        let len = self.queues.table.queue(queue).len();
        self.unlock_queue(queue);
        self.tell(Class::QUEUES, c, What::Queued { task, dsq: id, len });
        match kind {
            QueueKind::User => self.task(task).in_custody = true,
            QueueKind::Global => self.leave_custody(task, 0),
            QueueKind::Local(rq) => {
                if enq_flags & enq::IMMED != 0 || (self.scx.knows_immed && self.tasks[task].immed) {
                    self.count_immed(world, c, rq, task, enq_flags);
                }
                self.leave_custody(task, 0);
                self.after_local_insert(world, c, rq, task, enq_flags);
            }
        }
    }

    /// `local_dsq_post_enq()`: the task that runs there may have to yield.
    #[inline]
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
        let curr = cpu.curr;
        if curr.is_idle() {
            self.resched(c, rq);
        } else if enq_flags & enq::PREEMPT != 0 && curr != task && self.tasks[curr].class == SchedClass::Ext {
            self.set_slice(world, curr, 0);
            self.resched(c, rq);
        }
    }

    /// `task` leaves the scheduler's custody: `ops.dequeue` with `flags` is owed.
    #[inline]
    pub(crate) fn leave_custody(&mut self, task: TaskId, flags: u64) {
        let was = std::mem::take(&mut self.task(task).in_custody);
        if was && self.has(Op::Dequeue) {
            self.this_cpu().pending_dequeues.push_back((task, flags));
        }
    }

    /// Takes `task` out of the queue it is in, if any (`dispatch_dequeue()`).
    #[inline]
    pub(crate) fn leave_queue(&mut self, task: TaskId) -> Option<QueueId> {
        self.task(task).queue = None;
        let queue = self.queues.table.remove(task)?;
        if self.scx.knows_immed
            && self.tasks[task].immed
            && let QueueKind::Local(rq) = self.queues.kind(queue)
        {
            self.cpu(rq).nr_immed -= 1;
        }
        if self.out.wants(Class::QUEUES) {
            let (id, len) = (self.queues.table.queue(queue).id(), self.queues.table.queue(queue).len());
            let c = self.tasks[task].cpu;
            self.tell(Class::QUEUES, c, What::Unqueued { task, dsq: id, len });
        }
        Some(queue)
    }
}
