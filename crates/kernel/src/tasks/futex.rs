//! What a mutex or condition of user space costs: the atomic instructions on its word, and where tasks wait or are woken
//! the lock of its bucket in the kernel (`kernel/futex/`).
//!
//! Each has a bucket of its own: since Linux 6.16 a process has four of them for each thread. Its lock is held for the
//! lines that move meanwhile: the word, which the kernel reads again before a task may sleep, and the tasks that are
//! woken. Under it a mutex that hands priorities on has its own `wait_lock`, under which its owner is looked at.

use crate::state::kernel::Kernel;
use keel_abi::{CpuId, Span, TaskId};

impl Kernel {
    /// An atomic instruction on the word.
    pub(super) fn charge_word(&mut self, c: CpuId, futex: u32) {
        let line_ps = self.lines.write_futex_ps(futex, c, self.moment());
        self.charge_ps(c, self.machine.costs.lock_acquire_ns * 1000 + line_ps);
    }

    /// A task is about to sleep (`futex_wait_setup()`, `futex_lock_pi()`): under the bucket's lock it reads the word
    /// again and, with priority inheritance, looks at the owner.
    pub(super) fn charge_waiting(&mut self, c: CpuId, futex: u32, owner: Option<TaskId>) {
        self.lock_bucket(c, futex);
        let mut ps = self.lines.read_futex_ps(futex, c, self.moment());
        if let Some(owner) = owner {
            ps += self.machine.costs.lock_acquire_ns * 1000 + self.lines.write_task_ps(owner, c);
        }
        self.charge_ps(c, ps);
        self.unlock_bucket(futex);
    }

    /// Tasks are taken from the bucket, to be woken when its lock has been given back (`futex_wake()`,
    /// `futex_unlock_pi()`).
    pub(super) fn charge_waking(&mut self, c: CpuId, futex: u32, woken: impl Iterator<Item = TaskId>) {
        self.lock_bucket(c, futex);
        for task in woken {
            let line_ps = self.lines.write_task_ps(task, c);
            self.charge_ps(c, line_ps);
            self.not_own_ps += line_ps;
        }
        self.unlock_bucket(futex);
    }

    fn lock_bucket(&mut self, c: CpuId, futex: u32) {
        let now = self.moment();
        let line_ps = self.lines.write_bucket_ps(futex, c);
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
