//! The happens-before order, recorded only to detect data races.
//!
//! Only orderings that the kernel really guarantees count. A CPU that releases a lock comes before the CPU that takes
//! it next. Callbacks for one task come one after the other: `try_to_wake_up()` holds `p->pi_lock` and waits for
//! `p->on_cpu` (`smp_cond_load_acquire()`), and all other changes of a task hold its runqueue's lock. A kick needs no
//! rule of its own: `kick_one_cpu()` takes the lock of the runqueue that the kicked CPU then picks from.

use crate::state::kernel::Kernel;
use keel_abi::clocks::Sync;
use keel_abi::scx::Op;
use keel_abi::{CpuId, TaskId};

impl Kernel {
    /// `c` has seen everything done before the last release of `sync`, if that is tracked.
    #[inline]
    pub(crate) fn sync_acquired(&mut self, c: CpuId, sync: Sync) {
        if self.clocks.is_some() {
            self.order_after(c, sync);
        }
    }

    #[cold]
    #[inline(never)]
    fn order_after(&mut self, c: CpuId, sync: Sync) {
        if let Some(clocks) = &mut self.clocks {
            clocks.acquire(c, sync);
        }
    }

    /// The next CPU that acquires `sync` has seen everything that `c` has done, if that is tracked.
    #[inline]
    pub(crate) fn sync_released(&mut self, c: CpuId, sync: Sync) {
        if self.clocks.is_some() {
            self.order_before(c, sync);
        }
    }

    #[cold]
    #[inline(never)]
    fn order_before(&mut self, c: CpuId, sync: Sync) {
        if let Some(clocks) = &mut self.clocks {
            clocks.release(c, sync);
        }
    }

    /// `c` holds a runqueue's lock for part of a step. A suspended holder counts as having released it: on a real
    /// kernel one comes after the other.
    #[inline]
    pub(crate) fn passes(&mut self, c: CpuId, rq: CpuId) {
        let Some(clocks) = &mut self.clocks else { return };
        clocks.acquire(c, Sync::Runqueue(rq));
        if let Some(holder) = self.cpus[rq].lock.holder {
            clocks.follow(c, holder);
        }
    }

    /// A callback begins, after everything that its kernel path has waited for.
    #[cold]
    pub(crate) fn callback_begins(&mut self, c: CpuId, op: Op, subject: TaskId) {
        let Some(clocks) = &mut self.clocks else { return };
        if op == Op::Exit {
            clocks.meet();
        }
        if let Some(sync) = held(op, subject) {
            clocks.acquire(c, sync);
        }
    }

    /// The callback of `c` ends.
    #[cold]
    pub(crate) fn callback_ends(&mut self, c: CpuId) {
        let callback = &self.cpus[c].callback;
        let (op, subject) = (callback.caller.op, callback.subject);
        let Some(clocks) = &mut self.clocks else { return };
        if let Some(sync) = held(op, subject) {
            clocks.release(c, sync);
        }
        // `scx_enable()` then patches the kernel's text, which synchronizes all CPUs.
        if op == Op::Init {
            clocks.meet();
        }
    }
}

/// The lock that a callback holds besides a runqueue's lock.
fn held(op: Op, subject: TaskId) -> Option<Sync> {
    match op {
        Op::CgroupInit | Op::CgroupExit | Op::CgroupPrepMove | Op::CgroupMove | Op::CgroupCancelMove => {
            Some(Sync::Cgroups)
        }
        _ if subject.is_idle() => None,
        _ => Some(Sync::Task(subject.0)),
    }
}
