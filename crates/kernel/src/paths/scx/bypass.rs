//! Bypass mode (`scx_bypass()`): the kernel schedules the scheduler's tasks itself while the scheduler is being enabled
//! or disabled.
//!
//! keel visits the CPUs in turn, removes each waiting task from its queue, and enqueues it again. The kernel or the
//! scheduler, whichever is in charge from then on, gets it this way. In bypass mode, tasks run in FIFO order, with slices
//! of 5 ms that end at any tick. Callbacks that make decisions are not called; those that only notify are.
//!
//! A bypassed task waits in its CPU's local DSQ. The kernel has a separate DSQ for it.

use crate::paths::sim::Sim;
use crate::state::flag;
use crate::state::frame::Frame;
use keel_abi::bpf::Engine;
use keel_abi::{CpuId, TaskId};

/// `DEQUEUE_SAVE | DEQUEUE_MOVE`, and the flag that `sched_change_begin()` adds.
const ROUND: u64 = flag::SAVE_RESTORE | flag::MOVE | flag::NOCLOCK;

impl<E: Engine> Sim<E> {
    /// Runs [`Frame::Bypass`].
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
        // The last frame pushed runs first.
        self.k.this_cpu().stack.extend(waiting.into_iter().map(|task| Frame::BypassTask { task }));
    }

    /// Runs [`Frame::BypassTask`].
    pub(crate) fn bypass_task(&mut self, c: CpuId, task: TaskId) {
        let t = &self.k.tasks[task];
        let is_mine = self.k.cpus[t.cpu].lock.holder == Some(c);
        if is_mine && t.queued && !t.busy && !t.on_cpu {
            self.take_off(c, task, ROUND, None);
        }
    }

    /// Runs [`Frame::Bypassed`]: reschedules the CPU, which restarts its tick or idle state.
    pub(crate) fn bypassed(&mut self, c: CpuId, rq: CpuId) {
        if self.k.cpus[rq].online {
            self.k.resched(c, rq);
        }
        self.finish_rq(c, rq);
    }
}
