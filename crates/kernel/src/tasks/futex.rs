//! The costs of a user-space mutex or condition: the atomic instructions on its word and, if tasks wait or are woken,
//! the lock of its bucket in the kernel (`kernel/futex/`).
//!
//! Each has its own bucket: since Linux 6.16 a process has four buckets per thread. The bucket's lock is held while
//! cache lines move: the word, which the kernel reads again before a task may sleep, and the tasks that are woken. A
//! mutex with priority inheritance also has its own `wait_lock`, nested in the bucket's, under which its owner is read.

use crate::state::kernel::Kernel;
use keel_abi::{CpuId, Span, TaskId};

impl Kernel {
    /// Charges an atomic instruction on the word.
    pub(super) fn charge_word(&mut self, c: CpuId, futex: u32) {
        let line_ps = self.lines.write_futex_ps(futex, self.cpus.holder(), self.moment());
        self.charge_ps(c, self.machine.costs.lock_acquire_ns * 1000 + line_ps);
    }

    /// Charges a task that is about to sleep (`futex_wait_setup()`, `futex_lock_pi()`): under the bucket's lock it
    /// reads the word again and, with priority inheritance, the owner.
    pub(super) fn charge_waiting(&mut self, c: CpuId, futex: u32, owner: Option<TaskId>) {
        self.lock_bucket(c, futex);
        let mut ps = self.lines.read_futex_ps(futex, self.cpus.holder(), self.moment());
        if let Some(owner) = owner {
            ps += self.machine.costs.lock_acquire_ns * 1000
                + self.lines.write_task_ps(owner, self.cpus.holder());
        }
        self.charge_ps(c, ps);
        self.unlock_bucket(futex);
    }

    /// Charges for taking tasks from the bucket; they are woken after its lock has been released (`futex_wake()`,
    /// `futex_unlock_pi()`).
    pub(super) fn charge_waking(&mut self, c: CpuId, futex: u32, woken: impl Iterator<Item = TaskId>) {
        self.lock_bucket(c, futex);
        for task in woken {
            let line_ps = self.lines.write_task_ps(task, self.cpus.holder());
            self.charge_ps(c, line_ps);
            self.not_own_ps += line_ps;
        }
        self.unlock_bucket(futex);
    }

    fn lock_bucket(&mut self, c: CpuId, futex: u32) {
        let now = self.moment();
        let line_ps = self.lines.write_bucket_ps(futex, self.cpus.holder());
        let lock = &mut self.objects.buckets.locks[futex as usize];
        let taken =
            lock.acquire(now, c, &self.machine.costs, line_ps).expect("it is given back in the same step");
        self.charge_ns(c, taken.at.since(now).as_ns());
        if taken.waited > Span::ZERO {
            self.counters.lock_wait += taken.waited;
            self.cpus.this_cpu.waited_ps += taken.waited.as_ns() * 1000;
        }
    }

    fn unlock_bucket(&mut self, futex: u32) {
        let at = self.moment();
        self.objects.buckets.locks[futex as usize].release(at);
    }
}
