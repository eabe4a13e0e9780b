//! Reenqueues a DSQ's tasks, because the scheduler requested it (`scx_bpf_dsq_reenq()`, `scx_bpf_reenqueue_local()`),
//! or because they have to run immediately or not at all (`SCX_ENQ_IMMED`) and cannot run immediately.
//!
//! For a local DSQ, the next CPU that holds the runqueue's lock for a wakeup or a pick does this just before it
//! releases the lock. Otherwise, the CPU that noticed does it as soon as it holds no lock, as the kernel's irq_work
//! would.

use crate::paths::sim::Sim;
use crate::rules::scx::reenqueue::ANY;
use crate::state::dsq::Stay;
use crate::state::frame::Frame;
use crate::state::scx::events::ScxEvent;
use keel_abi::bpf::Engine;
use keel_abi::scx::{REENQ_LOCAL_MAX_REPEAT, enq, ent};
use keel_abi::{CpuId, DsqId, TaskId};

impl<E: Engine> Sim<E> {
    /// Runs [`Frame::Reenqueue`].
    pub(crate) fn reenqueue(&mut self, c: CpuId, rq: CpuId) {
        if !self.k.lock_rq(c, rq) {
            return self.k.this_cpu().stack.push(Frame::Reenqueue { rq });
        }
        self.k.cpu(rq).lock.defers = true;
        self.finish_rare(c, rq);
    }

    /// Runs [`Frame::ReenqueueLocal`]: `process_deferred_reenq_locals()` and `reenq_local()`, which removes all tasks
    /// first, so that none is processed twice. A task that the scheduler puts back with `SCX_ENQ_IMMED` and that still
    /// cannot run immediately is reenqueued again, up to a limit.
    pub(crate) fn reenqueue_local(&mut self, c: CpuId, rq: CpuId, times: u32) {
        let Some(flags) = self.k.cpu(rq).reenqueue.take() else { return };
        if times > 0 {
            self.k.scx.events.count(ScxEvent::ReenqLocalRepeat);
        }
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

    /// `process_deferred_reenq_users()`. Tasks that join the DSQ from now on stay there.
    pub(crate) fn reenqueue_user(&mut self, id: DsqId) {
        let table = &self.k.queues.table;
        let Some(queue) = table.find(id).filter(|_| !self.k.cpus.this_cpu.bypassing) else { return };
        let tasks = table.queue(queue).tasks(&table.links);
        let stay = |task| table.links.stay(task).map(|stay| Frame::ReenqueueTask { task, stay });
        let frames: Vec<Frame> = tasks.into_iter().rev().filter_map(stay).collect();
        self.k.this_cpu().stack.extend(frames);
    }

    /// Runs [`Frame::ReenqueueTask`]: `reenq_user()`, under the lock of the task's runqueue.
    pub(crate) fn reenqueue_task(&mut self, c: CpuId, task: TaskId, stay: Stay) {
        let is_there = |sim: &Self| sim.k.queues.table.links.stay(task) == Some(stay);
        if !is_there(self) || self.k.cpus.this_cpu.bypassing {
            return;
        }
        let Some(rq) = self.lock_task(c, task, Frame::ReenqueueTask { task, stay }) else { return };
        if !is_there(self) {
            return self.k.unlock_rq(c, rq);
        }
        self.k.take_from_queue(c, task);
        self.k.cpu(rq).lock.defers = true;
        let again = Frame::EnqueueAgain { task, reason: ent::REENQ_KFUNC };
        self.k.this_cpu().stack.extend([Frame::Reenqueued { rq }, again]);
    }

    /// Removes all tasks from the local DSQ, or those that have to run immediately but cannot
    /// (`local_task_should_reenq()`).
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
            if reason == ent::REENQ_IMMED {
                self.k.scx.events.count(ScxEvent::ReenqImmed);
            }
            self.k.leave_queue(task);
            taken.push(Frame::EnqueueAgain { task, reason });
        }
        taken
    }

    /// Runs [`Frame::EnqueueAgain`].
    pub(crate) fn enqueue_again(&mut self, c: CpuId, task: TaskId, reason: u32) {
        self.k.mirror_scx_bits(self.vm.world(), task, ent::REENQ_REASON_MASK, reason);
        self.k.this_cpu().stack.push(Frame::EnqueuedAgain { task });
        self.enqueue(c, task, enq::REENQ);
    }

    /// Runs [`Frame::EnqueuedAgain`].
    pub(crate) fn enqueued_again(&mut self, task: TaskId) {
        self.k.mirror_scx_bits(self.vm.world(), task, ent::REENQ_REASON_MASK, 0);
    }

    /// Runs [`Frame::Reenqueued`]: makes the moves that this has deferred, and releases the lock.
    pub(crate) fn reenqueued(&mut self, c: CpuId, rq: CpuId) {
        self.k.run_deferred(self.vm.world(), c, rq);
        self.k.this_cpu().stack.push(Frame::Unlock { rq });
    }
}
