//! Wakeups that the target CPU carries out itself, interrupted for it (`ttwu_queue_wakelist()`): where it is idle, or has a
//! cache of its own. The waker then neither takes the target's runqueue lock nor fetches its lines. Which ones these are
//! says `rules::queued_wakeup`.

use crate::paths::sim::Sim;
use crate::state::cpu::Irq;
use crate::state::frame::Frame;
use crate::state::kernel::{Kernel, SPIN_NS};
use keel_abi::bpf::Engine;
use keel_abi::clocks::Sync;
use keel_abi::{CpuId, TaskId};

/// The flags of the waker's that are left: none, so neither `SCX_ENQ_CPU_SELECTED` (`sched_ttwu_pending()`).
pub(super) const FLAGS: u64 = 0;

impl Kernel {
    /// Leaves the wakeup to `target`, which is interrupted unless another one waits there already
    /// (`__ttwu_queue_wakelist()`).
    pub(super) fn queue_wakeup(&mut self, c: CpuId, task: TaskId, target: CpuId, waker: TaskId) {
        let t = self.task(task);
        (t.busy, t.waking) = (false, true);
        let is_first = self.cpus[target].ttwu_pending == 0;
        self.cpu(target).ttwu_pending += 1;
        self.sync_released(c, Sync::Task(task.0));
        self.send_irq_for(c, target, Irq::Wakeup { task, waker }, is_first);
    }
}

impl<E: Engine> Sim<E> {
    /// [`Irq::Wakeup`]: a wakeup that another CPU left to this one. It waits for a CPU that changes the task meanwhile.
    pub(crate) fn queued_wakeup(&mut self, c: CpuId, task: TaskId, waker: TaskId) {
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
