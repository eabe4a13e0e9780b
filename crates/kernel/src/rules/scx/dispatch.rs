//! Filling a CPU's local queue: from the global queue, from the scheduler's queues, and from the buffer of
//! `ops.dispatch`.

use crate::state::cpu::Buffered;
use crate::state::kernel::Kernel;
use crate::state::scx::queues::QueueId;
use crate::state::task::{OpsState, Task};
use keel_abi::bpf::World;
use keel_abi::scx::enq;
use keel_abi::{CpuId, TaskId};

impl Kernel {
    /// Moves a task from the node's global queue to `c`'s local one.
    #[inline]
    pub(crate) fn consume_global<W: World>(&mut self, world: &mut W, c: CpuId) -> bool {
        let queue = self.queues.global(self.machine.topology.place(c).node);
        !self.looks_empty(c, queue) && self.consume(world, c, queue, 0)
    }

    /// Is a queue empty? Reads its cache line without taking its lock (`consume_dispatch_q()`).
    #[inline(always)]
    pub(crate) fn looks_empty(&mut self, c: CpuId, queue: QueueId) -> bool {
        let ps = self.lines.read_queue_ps(queue, self.cpus.holder());
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
        let mut ps = 0;
        let found = self.queues.table.queue(queue).first().and_then(|first| {
            ps += self.lines.read_task_ps(first, self.cpus.holder());
            if self.comes(first, c) { Some(first) } else { self.first_behind(c, queue, &mut ps) }
        });
        if let Some(task) = found {
            ps += self.unlink_ps(queue, task);
        }
        self.hold_queue(c, queue, ps);
        let Some(task) = found else { return false };
        self.left_queue(queue, task);
        if self.tasks[task].cpu != c {
            self.move_task(world, c, task, c);
        }
        self.insert_local(world, c, c, task, enq_flags);
        true
    }

    /// May a task of a queue come to `c` now?
    #[inline]
    fn comes(&self, task: TaskId, c: CpuId) -> bool {
        may_come(&self.tasks[task], c, self.cpus[c].online)
    }

    /// The first task behind the head of `queue` that may come to `c`. Reads the tasks up to it, which costs `ps` more.
    #[inline(never)]
    fn first_behind(&mut self, c: CpuId, queue: QueueId, ps: &mut u64) -> Option<TaskId> {
        let (tasks, online) = (&self.tasks, self.cpus[c].online);
        let (table, lines) = (&self.queues.table, &mut self.lines);
        table.queue(queue).first_behind_where(&table.links, |task| {
            *ps += lines.read_task_ps(task, self.cpus.holder());
            may_come(&tasks[task], c, online)
        })
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
            if buffer.inserts.len() == 1 {
                buffer.inserts.clear();
            } else {
                buffer.inserts.remove(0);
            }
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
                let queue = match self.queues.table.find(dsq) {
                    Some(queue) => queue,
                    None => self.find_queue(c, dsq, task, Some(by)),
                };
                self.insert(world, c, queue, task, enq_flags | enq::CLEAR_OPSS);
            }
        }
        true
    }
}

/// May a queued task come to `c`, which is online or not?
#[inline]
fn may_come(task: &Task, c: CpuId, online: bool) -> bool {
    task.cpu == c || online && task.allows(c) && task.migration_disabled == 0
}
