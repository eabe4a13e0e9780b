//! Filling a CPU's local queue: from the global queue, from the scheduler's queues, and from the buffer of
//! `ops.dispatch`.

use crate::state::cpu::Buffered;
use crate::state::kernel::Kernel;
use crate::state::scx::queues::QueueId;
use crate::state::task::{OpsState, Task};
use keel_abi::CpuId;
use keel_abi::bpf::World;
use keel_abi::scx::enq;

impl Kernel {
    /// Moves a task from the node's global queue to `c`'s local one.
    #[inline]
    pub(crate) fn consume_global<W: World>(&mut self, world: &mut W, c: CpuId) -> bool {
        let queue = self.queues.global(self.machine.topology.place(c).node);
        !self.looks_empty(c, queue) && self.consume(world, c, queue, 0)
    }

    /// Is a queue empty? Reads its cache line without taking its lock (`consume_dispatch_q()`).
    #[inline]
    pub(crate) fn looks_empty(&mut self, c: CpuId, queue: QueueId) -> bool {
        let ps = self.lines.read_queue_ps(queue, c);
        self.charge_ps(c, ps);
        self.queues.table.queue(queue).is_empty()
    }

    /// Moves the first task of `queue` that may run on `c` to its local queue
    /// (`consume_dispatch_q()`); tasks that may not are passed over.
    pub(crate) fn consume<W: World>(
        &mut self,
        world: &mut W,
        c: CpuId,
        queue: QueueId,
        enq_flags: u64,
    ) -> bool {
        self.lock_queue(c, queue);
        let (tasks, online) = (&self.tasks, self.cpus[c].online);
        let comes = |t: &Task| t.cpu == c || online && t.allows(c) && t.migration_disabled == 0;
        let lines = &mut self.lines;
        let mut looked_ps = 0;
        let found = self.queues.table.first_where(queue, |task| {
            looked_ps += lines.read_task_ps(task, c);
            comes(&tasks[task])
        });
        self.charge_ps(c, looked_ps);
        let Some(task) = found else {
            self.unlock_queue(queue);
            return false;
        };
        self.charge_unlink(c, queue, task);
        self.leave_queue(task);
        self.unlock_queue(queue);
        if self.tasks[task].cpu != c {
            self.move_task(world, c, task, c);
        }
        self.insert_local(world, c, c, task, enq_flags);
        true
    }

    /// Flushes the buffer of `ops.dispatch` (`flush_dispatch_buf()`). Returns false if another CPU is just giving one
    /// of the tasks to the scheduler: that must be waited for.
    #[inline(always)]
    pub(crate) fn flush_dispatch<W: World>(&mut self, world: &mut W, c: CpuId) -> bool {
        self.cpus.this_cpu.dispatch.inserts.is_empty() || self.finish_inserts(world, c)
    }

    fn finish_inserts<W: World>(&mut self, world: &mut W, c: CpuId) -> bool {
        while let Some(&insert) = self.cpus.this_cpu.dispatch.inserts.first() {
            if !self.finish_dispatch(world, c, insert) {
                return false;
            }
            let buffer = &mut self.this_cpu().dispatch;
            buffer.inserts.remove(0);
            buffer.dispatched += 1;
        }
        true
    }

    /// `finish_dispatch()`: leaves a task alone that the scheduler no longer has, or has got again in the meantime.
    #[inline]
    fn finish_dispatch<W: World>(&mut self, world: &mut W, c: CpuId, insert: Buffered) -> bool {
        let Buffered { task, qseq, dsq, enq_flags, by } = insert;
        match self.tasks[task].ops_state {
            OpsState::Queued(now) if Some(now) == qseq => {}
            OpsState::Queueing(now) if Some(now) == qseq => return false,
            _ => return true,
        }
        self.task(task).ops_state = OpsState::None;
        self.counters.scheduler_inserts += 1;
        match self.local_target(dsq, c) {
            Some(target) => self.insert_at(world, c, target, task, enq_flags),
            None => {
                let queue = self.find_queue(c, dsq, task, Some(by));
                self.insert(world, c, queue, task, enq_flags | enq::CLEAR_OPSS);
            }
        }
        true
    }
}
