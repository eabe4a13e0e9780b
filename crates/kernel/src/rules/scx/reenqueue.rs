//! Determines which tasks in local DSQs are to be reenqueued.

use crate::state::class::SchedClass;
use crate::state::cpu::Reenqueued;
use crate::state::kernel::Kernel;
use keel_abi::bpf::World;
use keel_abi::scx::{enq, ent};
use keel_abi::{CpuId, DsqId, TaskId};

/// `SCX_REENQ_ANY`: all tasks, not only immediate ones (`SCX_ENQ_IMMED`).
pub(crate) const ANY: u64 = 1;

impl Kernel {
    /// Requests a reenqueue of the local DSQ of the runqueue that `c` has locked, or else of `c`'s own
    /// (`scx_bpf_dsq_reenq()`).
    pub(crate) fn note_reenqueue(&mut self, c: CpuId) {
        let subject = self.cpus.this_cpu.callback.subject;
        let rq = if subject.is_idle() { c } else { self.tasks[subject].cpu };
        let rq = if self.cpus[rq].lock.holder == Some(c) { rq } else { c };
        self.schedule_reenqueue(c, rq, ANY);
    }

    /// `schedule_dsq_reenq()` for a local DSQ.
    pub(crate) fn schedule_reenqueue(&mut self, c: CpuId, rq: CpuId, flags: u64) {
        if self.cpus[rq].bypassing {
            return;
        }
        self.scx.needs_slow_path = true;
        let cpu = &mut self.cpus[rq];
        cpu.reenqueue = Some(cpu.reenqueue.unwrap_or(0) | flags);
        let by_holder = cpu.lock.defers;
        debug_assert!(self.cpus.is_running(c), "the running CPU notices");
        if !by_holder {
            self.this_cpu().errands.add_reenqueue(Reenqueued::Local(rq));
        }
    }

    /// `schedule_dsq_reenq()` for one of the scheduler's own DSQs.
    pub(crate) fn note_reenqueue_of(&mut self, id: DsqId) {
        let cpu = self.this_cpu();
        if !cpu.bypassing {
            cpu.errands.add_reenqueue(Reenqueued::User(id));
        }
    }

    /// Returns whether the CPU is free to execute a task of sched_ext at once (`rq_is_open()`).
    pub(crate) fn is_open(&self, rq: CpuId, enq_flags: u64) -> bool {
        let cpu = &self.cpus[rq];
        match cpu.next_class {
            SchedClass::Fair | SchedClass::Rt | SchedClass::Stop => false,
            SchedClass::Idle => true,
            SchedClass::Ext => cpu.in_balance || enq_flags & enq::PREEMPT != 0,
        }
    }

    /// Counts an immediate task that joins the local DSQ of `rq` (`dsq_inc_nr()`).
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

    /// After a pick has found a task: requests a reenqueue of immediate tasks that wait behind others (the end of
    /// `balance_one()`).
    #[inline(always)]
    pub(crate) fn reenqueue_extra(&mut self, c: CpuId) {
        if self.cpus.this_cpu.nr_immed > 0 && self.queues.table.queue(self.queues.local(c)).len() > 1 {
            self.schedule_reenqueue(c, c, 0);
        }
    }
}
