//! The resilient locks that each CPU holds and the one that it wants: the tables in which the kernel looks for
//! deadlocks (`struct rqspinlock_held`), by the rules of Linux 7.2.
//!
//! Asking for a lock that the CPU already holds fails at once. A waiter checks each millisecond whether the lock's
//! holder waits for one of the waiter's own locks. A table has room for 31 locks: beyond that only the timeout helps.

use keel_abi::bpf::Ea;
use keel_abi::{CpuId, Instant, Span};
use std::collections::VecDeque;

/// `RES_NR_HELD`.
const ROOM: usize = 31;

/// `RES_DEF_TIMEOUT`, for a CPU that waits alone. The first CPU in the queue behind it waits twice as long.
const PATIENCE: Span = Span::from_ms(250);

/// How often a waiter looks for deadlocks (`check_timeout()`).
const LOOKS: Span = Span::from_ms(1);

/// A lock that a CPU holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) lock: Ea,
    /// It was taken by the kfunc that disables interrupts.
    pub(crate) saves_irq: bool,
}

/// What a CPU finds when it looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The CPU has the lock.
    Granted,
    Waits,
    /// `-EDEADLK`.
    Deadlock,
    /// `-ETIMEDOUT`.
    TimedOut,
}

/// A CPU's wait for a lock.
#[derive(Clone, Copy, Debug)]
struct Wait {
    lock: Ea,
    since: Instant,
    next_look: Instant,
    /// When its timeout expires; never while others are queued before it.
    until: Instant,
    /// Others were waiting when it came, so it is in the queue, not spinning on the lock itself (`_Q_PENDING_VAL`).
    queued: bool,
    granted: bool,
}

/// One CPU's table.
#[derive(Debug, Default)]
struct Table {
    held: Vec<Held>,
    waits: Option<Wait>,
}

impl Table {
    /// The locks that it holds and the one that it wants (`rqspinlock_held.cnt`).
    fn count(&self) -> usize {
        self.held.len() + usize::from(self.waits.is_some())
    }

    /// Returns whether the lock is among the first `count` that it holds.
    fn has_among(&self, lock: Ea, count: usize) -> bool {
        self.held.iter().take(count).any(|held| held.lock == lock)
    }

    /// Returns whether the lock is among those that others can find, not counting the last entry.
    fn shows(&self, lock: Ea) -> bool {
        self.has_among(lock, self.count().min(ROOM) - 1)
    }

    /// The last entry: the lock that the CPU wants or, if none, the lock that it took last.
    fn last(&self) -> Option<Ea> {
        self.waits.map(|wait| wait.lock).or_else(|| self.held.last().map(|held| held.lock))
    }
}

/// All CPUs' tables.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    /// By CPU, up to the last CPU that has used its table.
    of: Vec<Table>,
}

impl Tables {
    fn of(&mut self, c: CpuId) -> &mut Table {
        if c.index() >= self.of.len() {
            self.of.resize_with(c.index() + 1, Table::default);
        }
        &mut self.of[c.index()]
    }

    fn wait(&mut self, c: CpuId) -> &mut Wait {
        self.of(c).waits.as_mut().expect("it waits for a lock")
    }

    /// Returns whether the CPU is waiting.
    pub(crate) fn awaits(&mut self, c: CpuId) -> bool {
        self.of(c).waits.is_some()
    }

    /// The CPU has got a lock, and no longer waits for it.
    pub(crate) fn got(&mut self, c: CpuId, held: Held) {
        let table = self.of(c);
        table.waits = None;
        table.held.push(held);
    }

    /// The lock that the CPU took last.
    pub(crate) fn last(&mut self, c: CpuId) -> Option<Held> {
        self.of(c).held.last().copied()
    }

    pub(crate) fn has(&mut self, c: CpuId, held: Held) -> bool {
        self.of(c).held.contains(&held)
    }

    /// The CPU has released the lock it took last.
    pub(crate) fn released(&mut self, c: CpuId) -> Option<Held> {
        self.of(c).held.pop()
    }

    /// The CPU begins to wait behind `before` others, unless it holds the lock itself (`check_deadlock_AA()`).
    pub(crate) fn begin(&mut self, c: CpuId, lock: Ea, now: Instant, before: usize) -> Verdict {
        let until = match before {
            0 => now + PATIENCE,
            1 => now + PATIENCE * 2,
            _ => Instant::NEVER,
        };
        let wait =
            Wait { lock, since: now, next_look: now + LOOKS, until, queued: before > 0, granted: false };
        let table = self.of(c);
        table.waits = Some(wait);
        match table.shows(lock) {
            true => Verdict::Deadlock,
            false => Verdict::Waits,
        }
    }

    /// The CPU looks again (`check_timeout()`).
    pub(crate) fn look(&mut self, c: CpuId, now: Instant) -> Verdict {
        let wait = self.wait(c);
        if wait.granted {
            return Verdict::Granted;
        }
        if now > wait.until {
            return Verdict::TimedOut;
        }
        wait.next_look = now + LOOKS;
        // A CPU that is not at the queue's head spins on its own word and checks nothing else.
        let (lock, looks) = (wait.lock, wait.until != Instant::NEVER);
        match looks && self.is_crossed(c, lock) {
            true => Verdict::Deadlock,
            false => Verdict::Waits,
        }
    }

    /// Returns whether the lock's holder waits for a lock that `c` holds (`check_deadlock_ABBA()`).
    fn is_crossed(&self, c: CpuId, lock: Ea) -> bool {
        let own = &self.of[c.index()];
        let others = self.of.iter().enumerate().filter(|&(other, _)| other != c.index());
        let holder = others
            .map(|(_, table)| table)
            .find(|table| (2..=ROOM).contains(&table.count()) && table.shows(lock));
        holder.and_then(Table::last).is_some_and(|wanted| own.shows(wanted))
    }

    /// When the waiting CPU looks next.
    pub(crate) fn next_look(&mut self, c: CpuId) -> Instant {
        self.wait(c).next_look
    }

    /// Returns whether the CPU is in the queue, rather than spinning on the lock.
    pub(crate) fn is_queued(&mut self, c: CpuId) -> bool {
        self.wait(c).queued
    }

    /// The CPU has got the lock: returns since when it waited.
    pub(crate) fn grant(&mut self, c: CpuId) -> Instant {
        let wait = self.wait(c);
        wait.granted = true;
        wait.since
    }

    /// The head of its queue makes the CPU give up.
    pub(crate) fn dismiss(&mut self, c: CpuId) {
        self.wait(c).until = Instant::ZERO;
    }

    /// The CPU stops waiting: returns since when it waited.
    pub(crate) fn give_up(&mut self, c: CpuId) -> Instant {
        let since = self.wait(c).since;
        self.of(c).waits = None;
        since
    }

    /// The queue has moved on: starts the timeout of the CPU that is now at its head.
    pub(crate) fn advance(&mut self, waiters: &VecDeque<CpuId>, now: Instant) {
        let head = waiters.iter().copied().find(|&waiter| self.is_queued(waiter));
        let Some(head) = head else { return };
        let wait = self.wait(head);
        wait.until = wait.until.min(now + PATIENCE * 2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Ea = Ea(0xa0);
    const B: Ea = Ea(0xb0);

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Span::from_ms(ms)
    }

    /// CPU 0 holds these locks.
    fn holding(locks: impl IntoIterator<Item = Ea>) -> Tables {
        let mut tables = Tables::default();
        locks.into_iter().for_each(|lock| tables.got(CpuId(0), Held { lock, saves_irq: false }));
        tables
    }

    #[test]
    fn who_has_the_lock_fails_at_once_where_the_table_shows_it() {
        let check = |others: u64, expected| {
            let mut tables = holding((0..others).map(|n| Ea(0x1000 + n)).chain([A]));
            assert_eq!(tables.begin(CpuId(0), A, at(0), 0), expected, "{others} others");
        };
        check(0, Verdict::Deadlock);
        check(29, Verdict::Deadlock);
        check(30, Verdict::Waits);
        check(40, Verdict::Waits);
    }

    #[test]
    fn who_waits_looks_whether_the_holder_waits_for_it() {
        let mut tables = holding([A]);
        tables.got(CpuId(1), Held { lock: B, saves_irq: false });
        assert_eq!(tables.begin(CpuId(0), B, at(0), 0), Verdict::Waits);
        assert_eq!(tables.look(CpuId(0), at(1)), Verdict::Waits, "the holder works");
        assert_eq!(tables.begin(CpuId(1), A, at(1), 0), Verdict::Waits);
        assert_eq!(tables.look(CpuId(0), at(2)), Verdict::Deadlock);
        tables.give_up(CpuId(0));
        assert_eq!(tables.look(CpuId(1), at(2)), Verdict::Waits, "the other one has given up");
    }

    #[test]
    fn patience_depends_on_the_place_in_line() {
        let check = |before, patient_ms: Option<u64>| {
            let mut tables = Tables::default();
            tables.begin(CpuId(0), A, at(0), before);
            for ms in 1..2000 {
                let expected = match patient_ms.is_some_and(|patient| ms > patient) {
                    true => Verdict::TimedOut,
                    false => Verdict::Waits,
                };
                assert_eq!(tables.look(CpuId(0), at(ms)), expected, "{before} before it, {ms} ms");
            }
        };
        check(0, Some(250));
        check(1, Some(500));
        check(2, None);
    }

    #[test]
    fn who_comes_to_the_head_of_the_queue_becomes_impatient() {
        let mut tables = Tables::default();
        (0..3).for_each(|n| assert_eq!(tables.begin(CpuId(n), A, at(0), n as usize), Verdict::Waits));
        tables.advance(&VecDeque::from([CpuId(2)]), at(100));
        assert_eq!([600, 601].map(|ms| tables.look(CpuId(2), at(ms))), [Verdict::Waits, Verdict::TimedOut]);
    }
}
