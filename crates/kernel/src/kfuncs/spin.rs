//! `bpf_spin_lock`, in virtual time.
//!
//! From lock to unlock nothing else of the simulation runs, so whoever comes later finds a lock
//! that is known to become free at a certain moment, and waits until then; the hand-over grows
//! with those who wait, where the machine's locks are test-and-set.

use super::Served;
use crate::kernel::Kernel;
use keel_abi::bpf::{Ea, World};
use keel_abi::{CpuId, Instant, Span};
use keel_trace::Lock;
use std::collections::BTreeMap;

/// When each lock that was ever taken is free, and how many are in line.
#[derive(Debug, Default)]
pub(crate) struct SpinLocks {
    free_at: BTreeMap<u64, Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    free_at: Instant,
    /// Moments until which waiters spin; those that are past count no more.
    waiting_until: Vec<Instant>,
}

impl SpinLocks {
    /// When `at` can have the lock, and how many spin for it before.
    fn reserve(&mut self, lock: Ea, at: Instant) -> (Instant, usize) {
        let queue = self.free_at.entry(lock.0).or_default();
        queue.waiting_until.retain(|&until| until > at);
        let waiters = queue.waiting_until.len();
        let from = queue.free_at.max(at);
        if from > at {
            queue.waiting_until.push(from);
        }
        (from, waiters)
    }

    fn release(&mut self, lock: Ea, at: Instant) {
        self.free_at.entry(lock.0).or_default().free_at = at;
    }
}

impl Kernel {
    pub(super) fn spin_lock<W: World>(&mut self, w: &mut W, c: CpuId, lock: Ea) -> Served {
        let at = self.cpus.this_cpu.clock;
        if self.spin_held().is_some() {
            return Served::forbidden("bpf_spin_lock() is called with a lock already held".into());
        }
        let stall = w.touch_ps(lock, 4, c, true);
        let (from, waiters) = self.spins.reserve(lock, at);
        let mut waited = from.since(at);
        if waited > Span::ZERO {
            waited += self.machine.costs.handover(waiters as u64);
            self.waited_for(c, Lock::Bpf(lock.0), waited);
        }
        let ps = stall + waited.as_ns() * 1000;
        self.charge_ps(c, ps);
        self.this_cpu().callback.spin = Some(lock);
        0.into()
    }

    pub(super) fn spin_unlock<W: World>(&mut self, w: &mut W, c: CpuId, lock: Ea) -> Served {
        if self.spin_held() != Some(lock) {
            return Served::forbidden("bpf_spin_unlock() of a lock that is not held".into());
        }
        let stall = w.touch_ps(lock, 4, c, true);
        self.charge_ps(c, stall);
        let at = self.cpus.this_cpu.clock;
        self.spins.release(lock, at);
        self.this_cpu().callback.spin = None;
        0.into()
    }

    fn spin_held(&self) -> Option<Ea> {
        self.cpus.this_cpu.callback.spin
    }
}
