//! What happens before what: kept only to detect data races.
//!
//! Only what the kernel really orders counts. A CPU that releases a lock comes before the CPU that takes it next. Callbacks on
//! behalf of one task come one after the other: `try_to_wake_up()` holds `p->pi_lock` and waits for `p->on_cpu`
//! (`smp_cond_load_acquire()`), and all other changes of a task hold its runqueue's lock. A kick needs no rule of its own:
//! `kick_one_cpu()` takes the lock of the runqueue that the kicked CPU then picks from.

use crate::state::kernel::Kernel;
use keel_abi::clocks::Sync;
use keel_abi::scx::Op;
use keel_abi::{CpuId, TaskId};

impl Kernel {
    /// `c` has seen everything done before the last release of `sync`, if that is tracked.
    #[inline]
    pub(crate) fn sync_acquired(&mut self, c: CpuId, sync: Sync) {
        if let Some(clocks) = &mut self.clocks {
            clocks.acquire(c, sync);
        }
    }

    /// A CPU that acquires `sync` next has seen what `c` has done, where that is kept.
    #[inline]
    pub(crate) fn sync_released(&mut self, c: CpuId, sync: Sync) {
        if let Some(clocks) = &mut self.clocks {
            clocks.release(c, sync);
        }
    }

    /// `c` has a runqueue's lock for a part of a step. A holder that is held up counts as having given it back: on a real
    /// kernel one of them comes after the other.
    #[inline]
    pub(crate) fn passes(&mut self, c: CpuId, rq: CpuId) {
        let holder = self.cpus[rq].lock.holder;
        if let Some(clocks) = &mut self.clocks {
            clocks.acquire(c, Sync::Runqueue(rq));
            if let Some(holder) = holder {
                clocks.follow(c, holder);
            }
        }
    }

    /// A callback begins, after what its kernel path has waited for.
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
        let (op, subject) = (callback.op, callback.subject);
        let Some(clocks) = &mut self.clocks else { return };
        if let Some(sync) = held(op, subject) {
            clocks.release(c, sync);
        }
        // `scx_enable()` patches the kernel's text then, for which all CPUs meet.
        if op == Op::Init {
            clocks.meet();
        }
    }
}

/// What a callback holds beside a runqueue's lock.
fn held(op: Op, subject: TaskId) -> Option<Sync> {
    match op {
        Op::CgroupInit | Op::CgroupExit | Op::CgroupPrepMove | Op::CgroupMove | Op::CgroupCancelMove => {
            Some(Sync::Cgroups)
        }
        _ if subject.is_idle() => None,
        _ => Some(Sync::Task(subject.0)),
    }
}
