//! Wakeups that the target CPU carries out itself, interrupted for it (`ttwu_queue_wakelist()`): where it is idle, or has a
//! cache of its own. The waker then neither takes the target's runqueue lock nor fetches its lines.

use crate::class::SchedClass;
use crate::core::SPIN_NS;
use crate::cpu::Irq;
use crate::frame::Frame;
use crate::kernel::Kernel;
use crate::sim::Sim;
use keel_abi::bpf::Engine;
use keel_abi::scx::{ops_flags, wake};
use keel_abi::{CpuId, TaskId};

/// The flags of the waker's that are left: none, so neither `SCX_ENQ_CPU_SELECTED` (`sched_ttwu_pending()`).
pub(super) const FLAGS: u64 = 0;

impl Kernel {
    /// Is the wakeup left to `target` (`ttwu_queue_cond()`)? Tasks of a sched_ext scheduler are woken so only if it allows it,
    /// since `ops.select_cpu()` may be left out then.
    pub(super) fn queues_wakeup(&self, c: CpuId, task: TaskId, target: CpuId, flags: u64) -> bool {
        let is_wakeup = flags & wake::TTWU != 0;
        if target == c || !is_wakeup || !self.allows_queued_wakeup(task) {
            return false;
        }
        let cpu = &self.cpus[target];
        let is_usable = cpu.online && self.tasks[task].allows(target);
        // A fair task that sleeps in its runqueue is woken there by the waker (`ttwu_runnable()`).
        is_usable && self.sleeps_in(task).is_none() && (!self.share_cache(c, target) || cpu.nr_running == 0)
    }

    /// `scx_allow_ttwu_queue()`.
    fn allows_queued_wakeup(&self, task: TaskId) -> bool {
        self.tasks[task].class != SchedClass::Ext || self.scx.flags & ops_flags::ALLOW_QUEUED_WAKEUP != 0
    }

    /// Leaves the wakeup to `target`, which is interrupted unless another one waits there already
    /// (`__ttwu_queue_wakelist()`).
    pub(super) fn queue_wakeup(&mut self, c: CpuId, task: TaskId, target: CpuId, waker: TaskId) {
        let t = self.task(task);
        (t.busy, t.waking) = (false, true);
        let is_first = self.cpus[target].ttwu_pending == 0;
        self.cpu(target).ttwu_pending += 1;
        self.send_irq_for(c, target, Irq::Wakeup { task, waker }, is_first);
    }
}

impl<E: Engine> Sim<E> {
    /// [`Irq::Wakeup`]: a wakeup that another CPU left to this one. Whoever changes the task meanwhile is waited for.
    pub(crate) fn queued_wakeup(&mut self, c: CpuId, task: TaskId, waker: TaskId) {
        let t = &self.k.tasks[task];
        if t.busy || t.on_cpu {
            self.k.charge_ns(c, SPIN_NS);
            return self.k.this_cpu().stack.push(Frame::QueuedWakeup { task, waker });
        }
        self.k.this_cpu().ttwu_pending -= 1;
        let t = self.k.task(task);
        (t.busy, t.waking) = (true, false);
        let is_allowed = self.k.may_use(task, c);
        let target = if is_allowed { c } else { self.k.fallback_cpu(task) };
        self.wake_lock(c, task, target, FLAGS, waker);
    }
}
