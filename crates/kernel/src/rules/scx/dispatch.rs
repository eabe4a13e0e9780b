//! Filling a CPU's local queue: from the global queue, from the scheduler's queues, and from the buffer of
//! `ops.dispatch`.

use crate::state::callback::Buffered;
use crate::state::kernel::Kernel;
use crate::state::scx::queues::QueueId;
use crate::state::task::{OpsState, Task};
use keel_abi::bpf::World;
use keel_abi::scx::enq;
use keel_abi::{CpuId, TaskId};
use keel_trace::{Class, What};

impl Kernel {
    /// Moves a task from the node's global queue to `c`'s local one.
    #[inline(always)]
    pub(crate) fn consume_global<W: World>(&mut self, world: &mut W, c: CpuId) -> bool {
        let cpu = &mut *self.cpus.this_cpu;
        let queue = cpu.global;
        let (dsq, _) = self.queues.table.queue_mut(queue);
        if let Some(first) = dsq.first_of_list() {
            return self.consume_from_global(world, c, (queue, first));
        }
        cpu.spent_ps += self.lines.read_queue_ps(&mut dsq.line, &cpu.holder);
        false
    }

    #[inline(never)]
    fn consume_from_global<W: World>(&mut self, world: &mut W, c: CpuId, from: (QueueId, TaskId)) -> bool {
        self.consume_from(world, c, from, 0)
    }

    /// Moves the first task of `queue` that may run on `c` to its local queue; tasks that may not are passed over. First
    /// looks without the queue's lock whether there is any (`consume_dispatch_q()`).
    #[inline(always)]
    pub(crate) fn consume<W: World>(
        &mut self,
        world: &mut W,
        c: CpuId,
        queue: QueueId,
        enq_flags: u64,
    ) -> bool {
        match self.queues.table.queue(queue).first() {
            Some(first) => self.consume_from(world, c, (queue, first), enq_flags),
            None => {
                self.read_queue(queue);
                false
            }
        }
    }

    /// Like `consume` for a queue that has a first task.
    #[inline(always)]
    fn consume_from<W: World>(
        &mut self,
        world: &mut W,
        c: CpuId,
        (queue, task): (QueueId, TaskId),
        enq_flags: u64,
    ) -> bool {
        let cpu = &mut *self.cpus.this_cpu;
        let (dsq, links) = self.queues.table.queue_mut(queue);
        let (look_ps, lock_ps) = self.lines.read_and_write_queue_ps(&mut dsq.line, &cpu.holder);
        cpu.spent_ps += look_ps;
        let t = &mut self.tasks[task];
        if !may_come(t, c, cpu.online) {
            return self.consume_behind(world, c, (queue, lock_ps), enq_flags);
        }
        let (from, waits) = (t.cpu, !t.on_cpu);
        t.queue = None;
        let ps = (lock_ps, self.lines.unlink_first_ps(dsq, links, task, &cpu.holder));
        // Only if there are many tasks is the host's memory requested.
        let next = if self.tasks.are_many() { dsq.first() } else { None };
        let is_noted = self.waits.is_some() || self.clocks.is_some();
        if is_noted || !cpu.passes(&mut dsq.lock, &self.machine.costs, ps) {
            self.await_queue_lock(queue, ps);
        }
        if let Some(next) = next {
            self.fetch_task(world, next);
        }
        self.note_left(queue, (task, waits), from);
        self.pull(world, c, (task, from), enq_flags);
        true
    }

    /// Like `consume_from` where the first task may not run on `c`. Taking the queue's line has cost `lock_ps`.
    #[inline(never)]
    fn consume_behind<W: World>(
        &mut self,
        world: &mut W,
        c: CpuId,
        (queue, lock_ps): (QueueId, u64),
        enq_flags: u64,
    ) -> bool {
        let mut work_ps = 0;
        let found = self.first_behind(c, queue, &mut work_ps);
        if let Some(task) = found {
            work_ps += self.unlink_ps(queue, task);
        }
        self.hold_queue_at_hand(c, queue, (lock_ps, work_ps));
        let Some(task) = found else { return false };
        let from = self.tasks[task].cpu;
        self.left_queue(queue, task, from);
        self.pull(world, c, (task, from), enq_flags);
        true
    }

    /// `c`, which picks, takes a task of runqueue `from` into its local queue. It has just taken the task out of another
    /// queue.
    #[inline(always)]
    fn pull<W: World>(&mut self, world: &mut W, c: CpuId, (task, from): (TaskId, CpuId), enq_flags: u64) {
        let is_simple = self.this_cpu().in_balance && self.is_simple_insert(enq_flags);
        if from == c {
            return match is_simple {
                true => self.insert_here(c, task, None),
                false => self.insert_local(world, c, c, task, enq_flags),
            };
        }
        self.move_here(world, c, (task, from));
        if is_simple && self.out.is_brief() {
            return self.insert_here(c, task, Some(from));
        }
        self.tell(Class::BRIEF, c, What::Migrate { task, from, to: c });
        match is_simple {
            true => self.insert_here(c, task, None),
            false => self.insert_local(world, c, c, task, enq_flags),
        }
    }

    /// The first task behind the head of `queue` that may come to `c`. Reads the tasks up to it, which costs `ps` more.
    fn first_behind(&mut self, c: CpuId, queue: QueueId, ps: &mut u64) -> Option<TaskId> {
        let (tasks, online) = (&self.tasks, self.cpus.this_cpu.online);
        let (table, lines) = (&self.queues.table, &mut self.lines);
        let by = self.cpus.holder();
        let dsq = table.queue(queue);
        *ps += dsq.first().map_or(0, |first| lines.read_task_ps(first, by));
        dsq.first_behind_where(&table.links, |task| {
            *ps += lines.read_task_ps(task, by);
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

/// Returns whether a queued task may come to `c`. `online` says whether `c` is online.
#[inline]
fn may_come(task: &Task, c: CpuId, online: bool) -> bool {
    task.cpu == c || online && task.allows(c) && task.migration_disabled == 0
}
