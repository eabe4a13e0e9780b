//! `bpf_res_spin_lock`: locks that fail instead of deadlocking (`kernel/bpf/rqspinlock.c`).
//!
//! As under a `bpf_spin_lock`, nothing else in the simulation runs from lock to unlock, with one exception: a CPU that
//! asks for a second lock lets others run first. They see its locks as held with no known end, and queue for them.
//! [`crate::state::bpf::res_spin::held`] says how long they wait and which deadlocks they detect.

use crate::kfuncs::Served;
use crate::state::bpf::res_spin::ResLocks;
use crate::state::bpf::res_spin::held::{Held, Verdict};
use crate::state::kernel::Kernel;
use keel_abi::bpf::{Ea, Errno, World};
use keel_abi::clocks::Sync;
use keel_abi::{CpuId, Span};
use keel_trace::Lock;
use std::collections::VecDeque;

/// The outcome of an attempt.
enum Attempt {
    Got,
    Failed(Errno),
    /// Try again after this time.
    Waits(Span),
}

impl Kernel {
    /// `bpf_res_spin_lock()` or, if `flags` is given, `bpf_res_spin_lock_irqsave()`.
    pub(super) fn res_spin_lock<W: World>(
        &mut self,
        w: &mut W,
        c: CpuId,
        lock: Ea,
        flags: Option<Ea>,
    ) -> Served {
        if self.cpus.this_cpu.callback.holds_spin() {
            return Served::forbidden("bpf_res_spin_lock() under a bpf_spin_lock is not simulated".into());
        }
        let attempt = match self.res_spins.tables.awaits(c) {
            true => self.res_spin_again(c, lock),
            false => self.res_spin_begin(w, c, lock),
        };
        match attempt {
            Attempt::Got => {
                self.res_spins.tables.got(c, Held { lock, saves_irq: flags.is_some() });
                let cpu = self.this_cpu();
                cpu.set_res_spins(cpu.callback.res_spins + 1);
                if let Some(word) = flags.and_then(|at| w.slice_mut(at, 8)) {
                    word.fill(0);
                }
                0.into()
            }
            Attempt::Failed(errno) => errno.as_r0().into(),
            Attempt::Waits(span) => Served::Later(span.as_ns()),
        }
    }

    /// The first attempt.
    fn res_spin_begin<W: World>(&mut self, w: &mut W, c: CpuId, lock: Ea) -> Attempt {
        let now = self.moment();
        let line_ps = w.touch_ps(lock, 4, c, true);
        let ResLocks { locks, tables } = &mut self.res_spins;
        let of = locks.entry(lock.0).or_default();
        if let Some(taken) = of.lock.acquire(now, c, &self.machine.costs, line_ps) {
            self.charge_ns(c, taken.at.since(now).as_ns());
            if taken.waited > Span::ZERO {
                self.waited_for(c, Lock::Bpf(lock.0), taken.waited);
            }
            self.note_taken(c, Lock::Bpf(lock.0));
            self.sync_acquired(c, Sync::Spin(lock.0));
            return Attempt::Got;
        }
        let verdict = tables.begin(c, lock, now, of.waiters.len());
        if verdict == Verdict::Waits {
            of.waiters.push_back(c);
        }
        let price_ps = self.machine.costs.lock_acquire_ns * 1000 + line_ps;
        self.charge_ps(c, price_ps);
        self.settle(c, lock, verdict)
    }

    /// A later attempt, because the lock has been handed over or a millisecond has passed.
    fn res_spin_again(&mut self, c: CpuId, lock: Ea) -> Attempt {
        let now = self.moment();
        let verdict = self.res_spins.tables.look(c, now);
        self.settle(c, lock, verdict)
    }

    fn settle(&mut self, c: CpuId, lock: Ea, verdict: Verdict) -> Attempt {
        let now = self.moment();
        let ResLocks { locks, tables } = &mut self.res_spins;
        let errno = match verdict {
            Verdict::Granted => return Attempt::Got,
            Verdict::Waits => return Attempt::Waits(tables.next_look(c).since(now).max(Span::from_ns(1))),
            Verdict::Deadlock => Errno::EDEADLK,
            Verdict::TimedOut => Errno::ETIMEDOUT,
        };
        // When the head of the queue times out, all CPUs behind it leave as well (`RES_TIMEOUT_VAL`).
        let ends_queue = verdict == Verdict::TimedOut && tables.is_queued(c);
        let since = tables.give_up(c);
        let of = locks.entry(lock.0).or_default();
        let mut behind = match of.waiters.iter().position(|&waiter| waiter == c) {
            Some(place) => of.waiters.split_off(place),
            None => VecDeque::new(),
        };
        behind.pop_front();
        if !ends_queue {
            of.waiters.extend(behind.drain(..));
        }
        tables.advance(&of.waiters, now);
        for other in behind {
            self.res_spins.tables.dismiss(other);
            self.res_spin_wake(other, now);
        }
        if now > since {
            self.waited_for(c, Lock::Bpf(lock.0), now.since(since));
        }
        Attempt::Failed(errno)
    }

    /// `bpf_res_spin_unlock()` and, with `saves_irq`, `bpf_res_spin_unlock_irqrestore()`.
    pub(super) fn res_spin_unlock<W: World>(
        &mut self,
        w: &mut W,
        c: CpuId,
        lock: Ea,
        saves_irq: bool,
    ) -> Served {
        let wanted = Held { lock, saves_irq };
        let is_last = self.res_spins.tables.last(c) == Some(wanted);
        if self.cpus.this_cpu.callback.res_spins == 0 || !is_last {
            let why = match self.res_spins.tables.has(c, wanted) {
                true => "bpf_res_spin_unlock() cannot be out of order",
                false => "bpf_res_spin_unlock() of a lock that is not held",
            };
            return Served::forbidden(why.into());
        }
        let line_ps = w.touch_ps(lock, 4, c, true);
        self.charge_ps(c, line_ps);
        let at = self.moment();
        let cpu = self.this_cpu();
        cpu.set_res_spins(cpu.callback.res_spins - 1);
        if let Some(next) = self.res_spin_release(c, at) {
            let line_ps = w.touch_ps(lock, 4, next, true);
            self.res_spin_hand_over(lock, next, at, line_ps);
        }
        0.into()
    }
}
