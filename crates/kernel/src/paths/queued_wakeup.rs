//! Queued wakeups (`ttwu_queue_wakelist()`): a target CPU that is idle, or that does not share the waker's cache,
//! completes the wakeup itself after an interrupt. The waker then neither takes the target's runqueue lock nor fetches
//! its cache lines. `rules::queued_wakeup` decides which wakeups are queued.

use crate::paths::sim::Sim;
use crate::state::cpu::Irq;
use crate::state::frame::Frame;
use crate::state::kernel::{Kernel, SPIN_NS};
use keel_abi::bpf::Engine;
use keel_abi::clocks::Sync;
use keel_abi::{CpuId, TaskId};

/// The wakeup flags that remain: none, not even `SCX_ENQ_CPU_SELECTED` (`sched_ttwu_pending()`).
pub(super) const FLAGS: u64 = 0;

impl Kernel {
    /// Leaves the wakeup to `target`, and sends an interrupt unless another wakeup is already pending there
    /// (`__ttwu_queue_wakelist()`).
    pub(super) fn send_wakeup(&mut self, c: CpuId, task: TaskId, target: CpuId, waker: TaskId) {
        let t = self.task(task);
        (t.busy, t.waking) = (false, true);
        let is_first = self.cpus[target].ttwu_pending == 0;
        self.cpu(target).ttwu_pending += 1;
        self.sync_released(c, Sync::Task(task.0));
        self.send_irq_for(c, target, Irq::Wakeup { task, waker }, is_first);
    }
}

impl<E: Engine> Sim<E> {
    /// [`Irq::Wakeup`]: completes a wakeup that another CPU left to this one. Waits while another CPU is changing the
    /// task.
    pub(crate) fn complete_wakeup(&mut self, c: CpuId, task: TaskId, waker: TaskId) {
        let t = &self.k.tasks[task];
        if t.busy || t.on_cpu {
            self.k.charge_ns(c, SPIN_NS);
            return self.k.this_cpu().stack.push(Frame::QueuedWakeup { task, waker });
        }
        self.k.this_cpu().ttwu_pending -= 1;
        self.k.sync_acquired(c, Sync::Task(task.0));
        let t = self.k.task(task);
        (t.busy, t.waking) = (true, false);
        let is_allowed = self.k.may_use(task, c);
        let target = if is_allowed { c } else { self.k.fallback_cpu(task) };
        self.wake_lock(c, task, target, FLAGS, waker);
    }
}
