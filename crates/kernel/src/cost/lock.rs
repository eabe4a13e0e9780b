//! A lock in virtual time, by reservation: a taker learns when it will hold the lock.
//!
//! As long as the holder's end is known, a waiter needs no event of its own: it has the lock
//! after the last reservation and the hand-over. Only while a holder is held up itself, and its
//! end not known yet, must others get in line elsewhere and ask again.

use super::Costs;
use keel_abi::{CpuId, Instant, Span};
use std::collections::VecDeque;

/// A lock's state. Acquisitions come in the order of virtual time, as nearly as callers can.
#[derive(Clone, Debug, Default)]
pub struct VirtualLock {
    holder: Option<CpuId>,
    free_at: Instant,
    /// When those who waited got or will get it, ascending; what is past is dropped.
    pending: VecDeque<Instant>,
}

/// A lock that has been taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acquired {
    /// When the taker has it and may go on.
    pub at: Instant,
    /// How long it waited for others; part of the time until `at`.
    pub waited: Span,
}

impl VirtualLock {
    /// Takes the lock for `cpu`, which asks at `now`; `transfer_ps` is what its line costs to
    /// get. `None` while a holder has not said when it ends: ask again after its release.
    #[inline]
    pub fn acquire(&mut self, now: Instant, cpu: CpuId, costs: &Costs, transfer_ps: u64) -> Option<Acquired> {
        if self.holder.is_some() {
            return None;
        }
        self.holder = Some(cpu);
        let took = Span::from_ns(costs.lock_acquire_ns + transfer_ps.div_ceil(1000));
        let waited = self.free_at.since(now);
        if waited == Span::ZERO {
            self.pending.clear();
            return Some(Acquired { at: now + took, waited });
        }
        while self.pending.front().is_some_and(|&at| at <= now) {
            self.pending.pop_front();
        }
        let before = self.pending.len() as u64;
        // Each pair of waiters that spin at once slows one hand-over, the later one's.
        let handover = costs.handover(before);
        let at = self.free_at + took + handover;
        self.pending.push_back(at);
        Some(Acquired { at, waited: waited + handover })
    }

    /// Gives the lock, which is given back at `at`, to `cpu`, which got in line elsewhere: when does it have it? `others`
    /// stay in line.
    pub fn hand_to(
        &mut self,
        cpu: CpuId,
        at: Instant,
        costs: &Costs,
        transfer_ps: u64,
        others: u64,
    ) -> Instant {
        self.holder = Some(cpu);
        self.free_at.max(at) + costs.handover(others) + Span::from_ns(transfer_ps.div_ceil(1000))
    }

    /// Extends the last reservation: the atomic access of a CPU that arrives takes the lock's line from the holder, which
    /// fetches it back for the data beside the lock. Does nothing if no CPU is known to hold the lock at `now`.
    #[inline]
    pub fn disturb(&mut self, now: Instant, fetch_ps: u64) {
        if self.holder.is_none() && self.free_at > now {
            self.free_at += Span::from_ns(fetch_ps.div_ceil(1000));
        }
    }

    /// Gives the lock back at `at`. Panics unless it is held.
    #[inline]
    pub fn release(&mut self, at: Instant) {
        assert!(self.holder.take().is_some(), "only a held lock is given back");
        self.free_at = self.free_at.max(at);
    }

    /// Who has it and has not said until when.
    pub const fn holder(&self) -> Option<CpuId> {
        self.holder
    }

    /// Until when it is known to be held: [`Instant::NEVER`] while its holder has not said.
    pub fn held_until(&self) -> Instant {
        if self.holder.is_some() { Instant::NEVER } else { self.free_at }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn costs(per_waiter: u64) -> Costs {
        Costs {
            lock_acquire_ns: 10,
            lock_handover_ns: 50,
            lock_per_waiter_ns: per_waiter,
            ..Costs::default()
        }
    }

    /// CPUs ask at these instants, one after the other, and hold the lock for 100 ns each.
    fn check(per_waiter: u64, asked: &[u64], expected: &[(u64, u64)]) {
        let (costs, mut lock) = (costs(per_waiter), VirtualLock::default());
        let got = asked.iter().enumerate().map(|(cpu, &now)| {
            let got = lock.acquire(Instant::from_ns(now), CpuId(cpu as u32), &costs, 5000).expect("not held");
            assert_eq!(lock.held_until(), Instant::NEVER);
            assert_eq!(lock.acquire(got.at, CpuId(99), &costs, 0), None);
            lock.release(got.at + Span::from_ns(100));
            (got.at.as_ns(), got.waited.as_ns())
        });
        assert_eq!(got.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_free_lock_costs_its_line_and_itself() {
        check(0, &[1000, 2000], &[(1015, 0), (2015, 0)]);
    }

    #[test]
    fn waiters_get_it_one_after_the_other() {
        check(0, &[0, 1, 2], &[(15, 0), (180, 164), (345, 328)]);
    }

    #[test]
    fn an_arrival_makes_the_holder_fetch_the_line_back() {
        let (costs, mut lock) = (costs(0), VirtualLock::default());
        let mut ask = |now| {
            lock.disturb(Instant::from_ns(now), 5000);
            let got = lock.acquire(Instant::from_ns(now), CpuId(0), &costs, 5000).expect("not held");
            lock.release(got.at + Span::from_ns(100));
            (got.at.as_ns(), got.waited.as_ns())
        };
        assert_eq!([0, 1, 1000].map(&mut ask), [(15, 0), (185, 169), (1015, 0)]);
    }

    #[test]
    fn test_and_set_slows_hand_overs_by_the_number_of_spinners() {
        check(20, &[0, 1, 2, 3], &[(15, 0), (200, 184), (405, 388), (630, 612)]);
        check(20, &[0, 1, 220], &[(15, 0), (200, 184), (385, 150)]);
    }
}
