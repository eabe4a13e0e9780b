//! A local queue's tasks go back to the scheduler: because it asked for that (`scx_bpf_reenqueue_local()`), or because they
//! were to run at once or not at all (`SCX_ENQ_IMMED`) and cannot.
//!
//! It is done by whoever has the runqueue's lock for a wakeup or a pick, just before giving it back; else as soon as
//! the CPU that noticed has no lock any more, as by the kernel's irq_work.

use crate::sim::Sim;
use crate::state::class::SchedClass;
use crate::state::frame::Frame;
use crate::state::kernel::Kernel;
use keel_abi::bpf::{Engine, World};
use keel_abi::scx::{REENQ_LOCAL_MAX_REPEAT, enq, ent};
use keel_abi::{CpuId, TaskId};

/// `SCX_REENQ_ANY`: all tasks, not only those that were to run at once.
pub(crate) const ANY: u64 = 1;

impl Kernel {
    /// Notes the local queue of the runqueue that `c` has locked, or else of its own
    /// (`scx_bpf_dsq_reenq()`).
    pub(crate) fn note_reenqueue(&mut self, c: CpuId) {
        let subject = self.cpus.this_cpu.callback.subject;
        let rq = if subject.is_idle() { c } else { self.tasks[subject].cpu };
        let rq = if self.cpus[rq].lock.holder == Some(c) { rq } else { c };
        self.schedule_reenqueue(c, rq, ANY);
    }

    /// `schedule_dsq_reenq()` for a local queue.
    pub(crate) fn schedule_reenqueue(&mut self, c: CpuId, rq: CpuId, flags: u64) {
        if self.cpus[rq].bypassing {
            return;
        }
        self.scx.needs_slow_path = true;
        let cpu = &mut self.cpus[rq];
        cpu.reenqueue = Some(cpu.reenqueue.unwrap_or(0) | flags);
        let by_holder = cpu.lock.defers;
        debug_assert!(self.cpus.is_running(c), "the running CPU notices");
        let noted = &mut self.this_cpu().reenqueues;
        if !by_holder && !noted.contains(&rq) {
            noted.push(rq);
        }
    }

    /// Is the CPU free to execute a task of sched_ext at once (`rq_is_open()`)?
    fn is_open(&self, rq: CpuId, enq_flags: u64) -> bool {
        let cpu = &self.cpus[rq];
        match cpu.next_class {
            SchedClass::Fair | SchedClass::Rt | SchedClass::Stop => false,
            SchedClass::Idle => true,
            SchedClass::Ext => cpu.in_balance || enq_flags & enq::PREEMPT != 0,
        }
    }

    /// A task that is to run at once joins the local queue of `rq` (`dsq_inc_nr()`).
    #[cold]
    pub(crate) fn count_immed<W: World>(
        &mut self,
        world: &mut W,
        c: CpuId,
        rq: CpuId,
        task: TaskId,
        enq_flags: u64,
    ) {
        self.scx.knows_immed = true;
        self.task(task).immed = true;
        self.mirror_scx_bits(world, task, ent::IMMED, ent::IMMED);
        self.cpu(rq).nr_immed += 1;
        let is_behind = self.queues.table.queue(self.queues.local(rq)).len() > 1;
        if is_behind || !self.is_open(rq, enq_flags) {
            self.schedule_reenqueue(c, rq, 0);
        }
    }

    /// A pick has found something: those that are to run at once and are behind others do not
    /// (`balance_one()`'s end).
    #[inline(always)]
    pub(crate) fn reenqueue_extra(&mut self, c: CpuId) {
        if self.cpus.this_cpu.nr_immed > 0 && self.queues.table.queue(self.queues.local(c)).len() > 1 {
            self.schedule_reenqueue(c, c, 0);
        }
    }
}

impl<E: Engine> Sim<E> {
    /// [`Frame::Reenqueue`].
    pub(crate) fn reenqueue(&mut self, c: CpuId, rq: CpuId) {
        if !self.k.lock_rq(c, rq) {
            return self.k.this_cpu().stack.push(Frame::Reenqueue { rq });
        }
        self.k.cpu(rq).lock.defers = true;
        self.finish_rare(c, rq);
    }

    /// [`Frame::ReenqueueLocal`]: `process_deferred_reenq_locals()` and `reenq_local()`, which takes all tasks out first, so
    /// that none is met twice. What the scheduler puts back to run at once where it still cannot comes again, but
    /// not for ever.
    pub(crate) fn reenqueue_local(&mut self, c: CpuId, rq: CpuId, times: u32) {
        let Some(flags) = self.k.cpu(rq).reenqueue.take() else { return };
        if times > REENQ_LOCAL_MAX_REPEAT {
            return self.k.error(c, format!("SCX_ENQ_REENQ on SCX_DSQ_LOCAL repeated {times} times"));
        }
        self.k.this_cpu().stack.push(Frame::ReenqueueLocal { rq, times: times + 1 });
        if self.k.cpus[rq].bypassing {
            return;
        }
        let tasks = self.take_local(rq, flags);
        self.k.this_cpu().stack.extend(tasks.into_iter().rev());
    }

    /// Takes tasks out of the local queue that cannot run at once but should, or all (`local_task_should_reenq()`).
    fn take_local(&mut self, rq: CpuId, flags: u64) -> Vec<Frame> {
        let is_open = self.k.is_open(rq, 0);
        let local = self.k.queues.local(rq);
        let table = &self.k.queues.table;
        let queued = table.queue(local).tasks(&table.links);
        let mut taken = Vec::new();
        for (place, task) in queued.into_iter().enumerate() {
            let runs_next = place == 0 && is_open;
            let reason = match self.k.tasks[task].immed && !runs_next {
                true => ent::REENQ_IMMED,
                false if flags & ANY != 0 => ent::REENQ_KFUNC,
                false => continue,
            };
            self.k.leave_queue(task);
            taken.push(Frame::EnqueueAgain { task, reason });
        }
        taken
    }

    /// [`Frame::EnqueueAgain`].
    pub(crate) fn enqueue_again(&mut self, c: CpuId, task: TaskId, reason: u32) {
        self.k.mirror_scx_bits(self.vm.world(), task, ent::REENQ_REASON_MASK, reason);
        self.k.this_cpu().stack.push(Frame::EnqueuedAgain { task });
        self.enqueue(c, task, enq::REENQ);
    }

    /// [`Frame::EnqueuedAgain`].
    pub(crate) fn enqueued_again(&mut self, task: TaskId) {
        self.k.mirror_scx_bits(self.vm.world(), task, ent::REENQ_REASON_MASK, 0);
    }

    /// [`Frame::Reenqueued`]: moves that this has brought are done, the lock is given back.
    pub(crate) fn reenqueued(&mut self, c: CpuId, rq: CpuId) {
        self.k.run_deferred(self.vm.world(), c, rq);
        self.k.this_cpu().stack.push(Frame::Unlock { rq });
    }
}
