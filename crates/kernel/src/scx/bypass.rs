//! Bypass: the kernel schedules the tasks of a scheduler by itself, while one comes or goes (`scx_bypass()`).
//!
//! CPU by CPU, each task that waits is taken out of wherever it is and enqueued once more, so that it belongs to the
//! scheduler or class that schedules from now on. Meanwhile tasks are taken in the order of their coming, for slices of
//! 5 ms that every tick ends; of the callbacks those that decide are not called, those that notify are.
//!
//! A bypassed task waits in its CPU's local queue, where the kernel has a queue beside it.

use crate::sim::Sim;
use crate::state::flag::flag;
use crate::state::frame::Frame;
use crate::state::kernel::Kernel;
use keel_abi::bpf::Engine;
use keel_abi::scx::{SLICE_BYPASS_NS, SLICE_DFL_NS};
use keel_abi::{CpuId, TaskId};
use keel_trace::{Class, What};

/// `DEQUEUE_SAVE | DEQUEUE_MOVE`, and what `sched_change_begin()` adds.
const ROUND: u64 = flag::SAVE_RESTORE | flag::MOVE | flag::NOCLOCK;

impl<E: Engine> Sim<E> {
    /// [`Frame::Bypass`].
    pub(crate) fn bypass(&mut self, c: CpuId, cpu: CpuId, on: bool) {
        if cpu.index() >= self.k.cpus.len() {
            if !on {
                self.k.end_bypass(c);
            }
            return;
        }
        if !self.k.lock_rq(c, cpu) {
            return self.k.this_cpu().stack.push(Frame::Bypass { cpu, on });
        }
        if cpu == CpuId(0) {
            self.k.begin_bypass(c, on);
        }
        self.k.cpu(cpu).bypassing = on;
        self.k.cpu(cpu).lock.defers = true;
        let waiting = self.k.waiting_on(cpu);
        self.k
            .this_cpu()
            .stack
            .extend([Frame::Bypass { cpu: CpuId(cpu.0 + 1), on }, Frame::Bypassed { rq: cpu }]);
        // The last pushed is the first done.
        self.k.this_cpu().stack.extend(waiting.into_iter().map(|task| Frame::BypassTask { task }));
    }

    /// [`Frame::BypassTask`].
    pub(crate) fn bypass_task(&mut self, c: CpuId, task: TaskId) {
        let t = &self.k.tasks[task];
        let is_mine = self.k.cpus[t.cpu].lock.holder == Some(c);
        if is_mine && t.queued && !t.busy && !t.on_cpu {
            self.take_off(c, task, ROUND, None);
        }
    }

    /// [`Frame::Bypassed`]: ticks and idle states start again.
    pub(crate) fn bypassed(&mut self, c: CpuId, rq: CpuId) {
        if self.k.cpus[rq].online {
            self.k.resched(c, rq);
        }
        self.finish_rq(c, rq);
    }
}

impl Kernel {
    /// The first CPU is about to change.
    fn begin_bypass(&mut self, c: CpuId, on: bool) {
        self.scx.slice_dfl_ns = if on { SLICE_BYPASS_NS } else { SLICE_DFL_NS };
        if on {
            self.scx.bypassed_since = Some(self.now);
            self.tell(Class::CORE, c, What::Bypass { on });
        }
    }

    /// The last CPU has changed back.
    pub(super) fn end_bypass(&mut self, c: CpuId) {
        if let Some(since) = self.scx.bypassed_since.take() {
            self.counters.bypass_time += self.now.since(since);
            self.tell(Class::CORE, c, What::Bypass { on: false });
        }
    }

    /// The run ends: what has been bypassed up to now counts.
    pub(crate) fn count_bypass(&mut self) {
        if let Some(since) = self.scx.bypassed_since {
            self.counters.bypass_time += self.now.since(since);
            self.scx.bypassed_since = Some(self.now);
        }
    }

    /// The scheduler's tasks that wait on `rq` (`rq->scx.runnable_list`), longest waiting first.
    fn waiting_on(&self, rq: CpuId) -> Vec<TaskId> {
        let cpu = &self.cpus[rq];
        if cpu.nr_running == cpu.rt.len() + cpu.fair.len() + cpu.fair.limbo() {
            return Vec::new();
        }
        let waits = |&task: &TaskId| {
            let t = &self.tasks[task];
            t.cpu == rq && t.queued && !t.on_cpu
        };
        let mut found: Vec<TaskId> = self.tasks.ids().filter(waits).collect();
        found.sort_by_key(|&task| (self.tasks[task].runnable_at, task));
        found
    }
}
