//! `cgroup_mutex`, which protects all changes to cgroups.

use crate::state::kernel::Kernel;
use keel_abi::scx::Op;
use keel_abi::{CpuId, Span};

/// The number of `cgroup_mutex` among the kernel locks that have their own cache lines.
const CGROUP_MUTEX: u32 = 0;

impl Kernel {
    /// Takes `cgroup_mutex`. If another CPU holds it, `c` queues for it and this returns false. This is an
    /// approximation: here all waiters spin, whereas in the kernel they spin only while the owner is running
    /// (`mutex_optimistic_spin()`).
    pub(crate) fn lock_cgroups(&mut self, c: CpuId) -> bool {
        let now = self.moment();
        let mutex = &mut self.cgroups.mutex;
        match mutex.holder {
            Some(holder) if holder == c => return true,
            Some(_) => {
                mutex.waiters.push_back(c);
                self.cpus.this_cpu.pauses.park();
                self.queue.bar();
                return false;
            }
            None => mutex.holder = Some(c),
        }
        let waited = match mutex.free_at.since(now) {
            Span::ZERO => Span::ZERO,
            waited => waited + self.machine.costs.handover(0),
        };
        self.counters.lock_wait += waited;
        let line_ps = self.lines.write_lock_ps(CGROUP_MUTEX, self.cpus.holder());
        self.charge_ps(c, (waited.as_ns() + self.machine.costs.lock_acquire_ns) * 1000 + line_ps);
        let since = self.moment();
        self.cgroups.mutex.since = since;
        self.cgroups.mutex.uses.count(waited, 1);
        true
    }

    /// Runs `CgroupFrame::Unlock`: releases `cgroup_mutex`, or hands it to the next waiter.
    pub(crate) fn unlock_cgroups(&mut self, c: CpuId) {
        let at = self.cpus.this_cpu.clock;
        let mutex = &mut self.cgroups.mutex;
        debug_assert_eq!(mutex.holder, Some(c), "only the holder gives it back");
        mutex.free_at = at;
        mutex.uses.held += at.since(mutex.since);
        mutex.holder = mutex.waiters.pop_front();
        let Some(next) = mutex.holder else { return };
        let others = mutex.waiters.len() as u64;
        let line_ns = self.lines.write_lock_ps(CGROUP_MUTEX, &self.cpus[next].holder).div_ceil(1000);
        let handover = self.machine.costs.handover(others) + Span::from_ns(line_ns);
        let waiter = &mut self.cpus[next];
        let resumes = waiter.clock.max(at) + handover;
        let waited = resumes.since(waiter.clock);
        self.counters.lock_wait += waited;
        self.cgroups.mutex.since = resumes;
        self.cgroups.mutex.uses.count(waited, others + 1);
        waiter.clock = resumes;
        waiter.pauses.unpark();
        self.queue.set_cpu(next, resumes);
    }

    /// Returns whether this callback has to be called.
    pub(crate) fn tells_of_cgroups(&self, op: Op) -> bool {
        self.cgroups.enabled && self.has(op)
    }
}
