//! A lock in virtual time, by reservation: a taker learns when it will hold the lock.
//!
//! If it is known when the holder will release the lock, a waiter needs no event of its own: it has the lock after the
//! last reservation and the hand-over. Only while the holder itself has to wait, so that its release time is not known
//! yet, must others queue elsewhere and ask again.

use crate::state::cost::Costs;
use keel_abi::bpf::Ea;
use keel_abi::lines::whole_ns;
use keel_abi::task::ObjectId;
use keel_abi::{CpuId, DsqId, Instant, NodeId, Span};
use std::collections::VecDeque;

/// How a lock has been used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LockUse {
    /// How often it was taken.
    pub taken: u64,
    /// How often a CPU had to wait for it.
    pub contended: u64,
    /// How long CPUs have waited for it, summed over them.
    pub wait: Span,
    /// How long it was held.
    pub held: Span,
    /// The most that waited at once.
    pub most_waiters: u64,
}

impl LockUse {
    /// Adds the use of another lock of the same kind.
    pub fn add(&mut self, other: Self) {
        self.taken += other.taken;
        self.contended += other.contended;
        self.wait += other.wait;
        self.held += other.held;
        self.most_waiters = self.most_waiters.max(other.most_waiters);
    }

    /// Counts an acquisition after a wait of `waited`, with `waiters` waiters including the taker.
    #[inline]
    pub fn count(&mut self, waited: Span, waiters: u64) {
        self.taken += 1;
        self.count_wait(waited, waiters);
    }

    /// Counts only the wait, if there is one.
    #[inline]
    pub(crate) fn count_wait(&mut self, waited: Span, waiters: u64) {
        if waited > Span::ZERO {
            self.contended += 1;
            self.wait += waited;
            self.most_waiters = self.most_waiters.max(waiters);
        }
    }
}

/// Which lock it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LockName {
    /// A CPU's runqueue lock.
    Runqueue(CpuId),
    /// The lock of a dispatch queue that is not a CPU's own.
    Queue(DsqId),
    /// A `bpf_spin_lock` or `bpf_res_spin_lock`, by its address.
    Bpf(Ea),
    /// The machine's idle masks: not a lock, but words that CPUs change by atomic instructions, one after the other.
    IdleMasks,
    /// The idle masks of a node, if they are per node.
    NodeIdleMasks(NodeId),
    /// `cgroup_mutex`.
    CgroupMutex,
    /// The futex bucket of a mutex of the workload.
    Mutex(ObjectId),
    /// The futex bucket of a condition of the workload.
    Condition(ObjectId),
}

/// A lock's state. Acquisitions come in the order of virtual time, as far as callers can ensure that.
#[derive(Clone, Debug, Default)]
pub struct VirtualLock {
    holder: Option<CpuId>,
    free_at: Instant,
    /// When the waiters got or will get it, ascending; past entries are dropped.
    pending: VecDeque<Instant>,
    /// When its holder got it.
    since: Instant,
    uses: LockUse,
}

/// A lock that has been taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acquired {
    /// When the taker has the lock and may continue.
    pub at: Instant,
    /// How long it waited for others; part of the time until `at`.
    pub waited: Span,
}

impl VirtualLock {
    /// Takes the lock for `cpu`, which asks at `now`; `transfer_ps` is the cost of fetching its line. `None` while the
    /// holder's release time is not known: ask again after the release.
    #[inline(always)]
    pub fn acquire(&mut self, now: Instant, cpu: CpuId, costs: &Costs, transfer_ps: u64) -> Option<Acquired> {
        if self.holder.is_some() {
            return None;
        }
        self.holder = Some(cpu);
        let took = Span::from_ns(costs.lock_acquire_ns + whole_ns(transfer_ps));
        if self.free_at <= now {
            if !self.pending.is_empty() {
                self.pending.clear();
            }
            return Some(self.taken(Acquired { at: now + took, waited: Span::ZERO }, 0));
        }
        Some(self.wait(now, took, costs))
    }

    /// Returns whether a CPU can have it at once at `now`. All holders of the lock release it in the step in which they
    /// take it.
    #[inline]
    pub(crate) fn is_free(&self, now: Instant) -> bool {
        debug_assert!(self.holder.is_none(), "it is given back in the same step");
        self.free_at <= now
    }

    /// Like `is_free` for a lock that may be held.
    #[inline(always)]
    pub(crate) fn is_free_for_anyone(&self, now: Instant) -> bool {
        self.free_at <= now && self.holder.is_none() && self.pending.is_empty()
    }

    /// Takes the lock for `cpu`, which asks at `now`, if it can have it at once, with nothing left of an earlier line;
    /// returns whether it can. It has the lock from `since` on.
    #[inline(always)]
    pub(crate) fn takes_free(&mut self, now: Instant, cpu: CpuId, since: Instant) -> bool {
        let is_free = self.is_free_for_anyone(now);
        if is_free {
            self.takes(cpu, since);
        }
        is_free
    }

    /// Takes the lock for `cpu`, which has it from `since` on. It is free for anyone.
    #[inline(always)]
    pub(crate) fn takes(&mut self, cpu: CpuId, since: Instant) {
        self.holder = Some(cpu);
        self.since = since;
        self.uses.taken += 1;
    }

    /// Takes a free lock ([`VirtualLock::is_free`]), has it from `since` on, and releases it at `at`.
    #[inline]
    pub(crate) fn pass(&mut self, since: Instant, at: Instant) {
        if !self.pending.is_empty() {
            self.pending.clear();
        }
        self.uses.taken += 1;
        // It isn't released before that.
        self.uses.held.accumulate(Span::from_ns(at.as_ns() - since.as_ns()));
        self.free_at = at;
    }

    /// Takes a lock that all holders release in the step in which they take it; the CPU that asks disturbs the holder
    /// ([`VirtualLock::disturb`]). Returns how long it takes until `cpu` has the lock, and the part of that which is a
    /// wait for others.
    ///
    /// # Panics
    /// Panics if the lock is held.
    #[inline(always)]
    pub fn take(&mut self, now: Instant, cpu: CpuId, costs: &Costs, line_ps: u64) -> (Span, Span) {
        assert!(self.holder.is_none(), "it is given back in the same step");
        if self.free_at > now {
            return self.take_in_line(now, cpu, costs, line_ps);
        }
        self.holder = Some(cpu);
        if !self.pending.is_empty() {
            self.pending.clear();
        }
        let took = Span::from_ns(costs.lock_acquire_ns + whole_ns(line_ps));
        self.since = now + took;
        self.uses.taken += 1;
        (took, Span::ZERO)
    }

    /// Like [`VirtualLock::take`] for a lock that is not free yet. [`VirtualLock::is_over`] is to follow in the same
    /// step: nobody asks in between who holds it.
    #[inline(always)]
    pub(crate) fn pass_in_line(&mut self, now: Instant, costs: &Costs, line_ps: u64) -> (Span, Span) {
        debug_assert!(!self.is_free(now));
        self.waits_in_line(now, costs, line_ps)
    }

    #[inline(never)]
    fn take_in_line(&mut self, now: Instant, cpu: CpuId, costs: &Costs, line_ps: u64) -> (Span, Span) {
        debug_assert!(self.holder.is_none() && self.free_at > now, "it is known how long others have it");
        self.holder = Some(cpu);
        self.waits_in_line(now, costs, line_ps)
    }

    /// The lock is not free, and the line moves to the CPU while it waits, as in `disturb`.
    #[inline(always)]
    fn waits_in_line(&mut self, now: Instant, costs: &Costs, line_ps: u64) -> (Span, Span) {
        let line_ns = whole_ns(line_ps);
        self.free_at = Instant::from_ns(self.free_at.as_ns() + line_ns);
        let taken = self.gets_in_line(now, Span::from_ns(costs.lock_acquire_ns + line_ns), costs);
        (Span::from_ns(taken.at.as_ns() - now.as_ns()), taken.waited)
    }

    #[inline(never)]
    fn wait(&mut self, now: Instant, took: Span, costs: &Costs) -> Acquired {
        self.gets_in_line(now, took, costs)
    }

    /// The lock's release time is known, but is later than the request.
    #[inline(always)]
    fn gets_in_line(&mut self, now: Instant, took: Span, costs: &Costs) -> Acquired {
        let waited_ns = self.free_at.as_ns() - now.as_ns();
        while self.pending.front().is_some_and(|&at| at <= now) {
            self.pending.pop_front();
        }
        let before = self.pending.len() as u64;
        // Each pair of waiters that spin at the same time slows down one hand-over, the one to the later waiter.
        let handover_ns = costs.handover(before).as_ns();
        let at = Instant::from_ns(self.free_at.as_ns() + took.as_ns() + handover_ns);
        self.pending.push_back(at);
        self.taken(Acquired { at, waited: Span::from_ns(waited_ns + handover_ns) }, before + 1)
    }

    #[inline]
    fn taken(&mut self, acquired: Acquired, waiters: u64) -> Acquired {
        self.since = acquired.at;
        self.uses.count(acquired.waited, waiters);
        acquired
    }

    /// Gives the lock, which is released at `at`, to `cpu`, which queued elsewhere at `asked`, and returns when `cpu`
    /// has it. `others` stay in the queue.
    pub fn hand_to(
        &mut self,
        cpu: CpuId,
        (asked, at): (Instant, Instant),
        costs: &Costs,
        transfer_ps: u64,
        others: u64,
    ) -> Instant {
        self.holder = Some(cpu);
        let has_it =
            self.free_at.max(at) + costs.handover(others) + Span::from_ns(transfer_ps.div_ceil(1000));
        self.taken(Acquired { at: has_it, waited: has_it.since(asked) }, others + 1);
        has_it
    }

    /// Extends the last reservation: the atomic access of a CPU that arrives takes the lock's line from the holder,
    /// which fetches it back for the data beside the lock. Does nothing if no CPU is known to hold the lock at `now`.
    #[inline]
    pub fn disturb(&mut self, now: Instant, fetch_ps: u64) {
        if self.holder.is_none() && self.free_at > now {
            self.free_at += Span::from_ns(fetch_ps.div_ceil(1000));
        }
    }

    /// Releases the lock at `at`. Panics unless it is held.
    #[inline]
    pub fn release(&mut self, at: Instant) {
        assert!(self.holder.is_some(), "only a held lock is given back");
        self.releases(at);
    }

    /// Like `release` for a lock that is certainly held.
    #[inline(always)]
    pub(crate) fn releases(&mut self, at: Instant) {
        debug_assert!(self.holder.is_some(), "only a held lock is given back");
        self.holder = None;
        self.is_over(at);
    }

    /// The last reservation ends at `at`.
    #[inline(always)]
    pub(crate) fn is_over(&mut self, at: Instant) {
        self.uses.held.accumulate(at.after(self.since));
        self.free_at = self.free_at.max(at);
    }

    /// How the lock has been used.
    pub const fn uses(&self) -> LockUse {
        self.uses
    }

    /// The holder whose release time is not known, if there is one.
    pub const fn holder(&self) -> Option<CpuId> {
        self.holder
    }

    /// Until when the lock is held: [`Instant::NEVER`] while that is not known.
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
    fn what_it_was_used_for_is_counted() {
        let (costs, mut lock) = (costs(0), VirtualLock::default());
        for now in [0, 1, 2, 1000] {
            let got = lock.acquire(Instant::from_ns(now), CpuId(0), &costs, 5000).expect("not held");
            lock.release(got.at + Span::from_ns(100));
        }
        let (wait, held) = (Span::from_ns(164 + 328), Span::from_ns(400));
        assert_eq!(lock.uses(), LockUse { taken: 4, contended: 2, wait, held, most_waiters: 2 });
    }

    #[test]
    fn who_got_in_line_elsewhere_waits_since_it_asked() {
        let (costs, mut lock) = (costs(0), VirtualLock::default());
        let at = |ns| Instant::from_ns(ns);
        lock.acquire(at(0), CpuId(0), &costs, 0).expect("not held");
        lock.release(at(500));
        assert_eq!(lock.hand_to(CpuId(1), (at(100), at(500)), &costs, 5000, 2), at(555));
        lock.release(at(600));
        let uses = lock.uses();
        assert_eq!((uses.taken, uses.contended, uses.most_waiters), (2, 1, 3));
        assert_eq!((uses.wait.as_ns(), uses.held.as_ns()), (455, 490 + 45));
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
        let expected = [(15, 0), (185, 169), (1015, 0)];
        assert_eq!([0, 1, 1000].map(&mut ask), expected);
        let mut other = VirtualLock::default();
        let mut take = |now| {
            let (took, waited) = other.take(Instant::from_ns(now), CpuId(0), &costs, 5000);
            let at = Instant::from_ns(now) + took;
            other.release(at + Span::from_ns(100));
            (at.as_ns(), waited.as_ns())
        };
        assert_eq!([0, 1, 1000].map(&mut take), expected);
        assert_eq!(other.uses(), lock.uses());
        assert_eq!([1000, 1114, 1115].map(|ns| other.is_free(Instant::from_ns(ns))), [false, false, true]);
        let [since, at] = [2015, 2115].map(Instant::from_ns);
        let mut third = other.clone();
        assert!(!third.takes_free(Instant::from_ns(1114), CpuId(0), since));
        assert!(third.takes_free(Instant::from_ns(2000), CpuId(0), since));
        third.release(at);
        other.pass(since, at);
        assert_eq!((other.uses(), other.held_until()), (third.uses(), third.held_until()));
        lock.acquire(Instant::from_ns(2000), CpuId(0), &costs, 5000).expect("not held");
        lock.release(at);
        assert_eq!((other.uses(), other.held_until()), (lock.uses(), lock.held_until()));
    }

    #[test]
    fn test_and_set_slows_hand_overs_by_the_number_of_spinners() {
        check(20, &[0, 1, 2, 3], &[(15, 0), (200, 184), (405, 388), (630, 612)]);
        check(20, &[0, 1, 220], &[(15, 0), (200, 184), (385, 150)]);
    }
}
