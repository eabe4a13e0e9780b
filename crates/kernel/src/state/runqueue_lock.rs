//! The locks of runqueues.
//!
//! A CPU either takes a lock and keeps it over several steps ([`Kernel::lock_rq`]), and others then queue for it; or it
//! takes and releases a lock within one step ([`Kernel::hold_rq`]), and others see only when that will be over.

use crate::state::cost::lock::LockUse;
use crate::state::cost::{Costs, KernelLines};
use crate::state::cpu::Cpu;
use crate::state::kernel::Kernel;
use keel_abi::clocks::Sync;
use keel_abi::lines::{Holder, Line};
use keel_abi::{CpuId, Instant, Span};
use keel_trace::Lock;
use std::collections::VecDeque;

/// A runqueue's lock in virtual time. If its holder is suspended, others queue for it; otherwise only the time until
/// which it was held matters.
#[derive(Debug)]
pub(crate) struct RqLock {
    pub(crate) holder: Option<CpuId>,
    /// Its holder will do deferred work before releasing it (`SCX_RQ_IN_WAKEUP`, `SCX_RQ_IN_BALANCE`).
    pub(crate) defers: bool,
    pub(crate) free_at: Instant,
    pub(crate) waiters: VecDeque<CpuId>,
    /// When its holder got it.
    pub(crate) since: Instant,
    pub(crate) uses: LockUse,
    /// The cache line of the runqueue, with the lock.
    pub(crate) line: Line,
}

impl RqLock {
    /// Returns whether a CPU can have it at once at `at`.
    #[inline(always)]
    pub(crate) fn is_free(&self, at: Instant) -> bool {
        self.holder.is_none() && self.free_at <= at
    }

    /// `c` takes the free lock, and has it from `since` on.
    #[inline(always)]
    pub(crate) fn take(&mut self, c: CpuId, since: Instant) {
        self.holder = Some(c);
        self.since = since;
        self.uses.taken += 1;
    }

    /// Its holder releases it at `at`. Returns when it is free if others wait for that.
    #[inline(always)]
    pub(crate) fn give_back(&mut self, at: Instant) -> Option<Instant> {
        self.free_at = self.free_at.max(at);
        self.defers = false;
        self.holder = None;
        // A step that finds nothing to do under the lock releases it before its costs are on the clock.
        self.uses.held.accumulate(at.since(self.since));
        (!self.waiters.is_empty()).then_some(self.free_at)
    }
}

impl Default for RqLock {
    fn default() -> Self {
        Self {
            holder: None,
            defers: false,
            free_at: Instant::ZERO,
            waiters: VecDeque::new(),
            since: Instant::ZERO,
            uses: LockUse::default(),
            line: Line::default(),
        }
    }
}

impl Kernel {
    /// Tries to take `rq`'s lock for `c`. If its holder is suspended, `c` queues for it and this returns false: the
    /// caller must push its current frame again, which runs once the lock is free. Waiting for a lock with a known
    /// release time is charged.
    pub(crate) fn lock_rq(&mut self, c: CpuId, rq: CpuId) -> bool {
        if rq == c { self.lock_own_rq(c) } else { self.lock_other_rq(c, rq, false) }
    }

    /// Like `lock_rq` as the last thing that a step does: the step's costs go on the clock at once.
    #[inline(always)]
    pub(crate) fn lock_rq_last(&mut self, c: CpuId, rq: CpuId) -> bool {
        if rq == c { self.lock_own(c, true) } else { self.lock_other_rq(c, rq, true) }
    }

    #[inline(never)]
    fn lock_other_rq(&mut self, c: CpuId, rq: CpuId, is_last: bool) -> bool {
        let Self { cpus, lines, machine, .. } = self;
        let (me, other) = cpus.this_and(rq);
        if !other.lock.is_free(me.clock) {
            return self.lock_busy_rq(c, rq, is_last);
        }
        me.spent_ps += lock_ps(&machine.costs, lines, &mut other.lock, &me.holder);
        let since = me.moment_at_end(is_last);
        other.lock.take(c, since);
        if self.clocks.is_some() {
            self.note_rq_taken(c, rq);
        }
        true
    }

    /// Like `lock_rq` for the lock of the CPU that takes a step.
    #[inline(always)]
    pub(crate) fn lock_own_rq(&mut self, c: CpuId) -> bool {
        self.lock_own(c, false)
    }

    #[inline(always)]
    fn lock_own(&mut self, c: CpuId, is_last: bool) -> bool {
        let me = &*self.cpus.this_cpu;
        if !me.lock.is_free(me.clock) {
            return self.lock_busy_rq(c, c, is_last);
        }
        let me = &mut *self.cpus.this_cpu;
        me.spent_ps += lock_ps(&self.machine.costs, &mut self.lines, &mut me.lock, &me.holder);
        let since = me.moment_at_end(is_last);
        me.lock.take(c, since);
        if self.clocks.is_some() {
            self.note_rq_taken(c, c);
        }
        true
    }

    /// Takes a runqueue's lock that nobody has.
    fn take_rq(&mut self, c: CpuId, rq: CpuId) {
        let (line, by) = self.cpus.rq_line(rq);
        let line_ps = self.lines.write_runqueue_ps(line, by);
        self.cpus.this_cpu.spent_ps += self.machine.costs.lock_acquire_ns * 1000 + line_ps;
        let since = self.moment();
        self.cpus[rq].lock.take(c, since);
        if self.clocks.is_some() {
            self.note_rq_taken(c, rq);
        }
    }

    #[cold]
    #[inline(never)]
    fn note_rq_taken(&mut self, c: CpuId, rq: CpuId) {
        self.sync_acquired(c, Sync::Runqueue(rq));
    }

    /// Takes a lock that is not free yet: waits for its release, if that is known, or queues for it.
    #[cold]
    #[inline(never)]
    fn lock_busy_rq(&mut self, c: CpuId, rq: CpuId, is_last: bool) -> bool {
        let lock = &mut self.cpus[rq].lock;
        match lock.holder {
            Some(holder) if holder == c => {}
            Some(_) => {
                lock.waiters.push_back(c);
                self.this_cpu().pauses.park();
                self.queue.bar();
                return false;
            }
            None => {
                let free_at = lock.free_at;
                self.wait_for_rq(c, rq, free_at);
                self.take_rq(c, rq);
            }
        }
        let me = self.this_cpu();
        // CPUs that take turns look at the costs first.
        if is_last && !me.pauses.takes_turns() {
            me.settle_costs();
        }
        true
    }

    /// Waits until `rq`'s lock is released at `free_at`, if the step of `c` has not reached that moment yet.
    fn wait_for_rq(&mut self, c: CpuId, rq: CpuId, free_at: Instant) {
        let waited = free_at.since(self.moment());
        if waited > Span::ZERO {
            let waited = waited + self.machine.costs.handover(0);
            self.charge_wait(c, waited);
            self.waited_for_rq(c, rq, waited, 1);
        }
    }

    /// Counts that `c`, one of this many waiters, has waited for a runqueue's lock.
    #[inline(never)]
    fn waited_for_rq(&mut self, c: CpuId, rq: CpuId, waited: Span, waiters: u64) {
        let uses = &mut self.cpus[rq].lock.uses;
        uses.contended += 1;
        uses.wait += waited;
        uses.most_waiters = uses.most_waiters.max(waiters);
        self.waited_for(c, Lock::Runqueue(rq), waited);
    }

    /// Takes the lock of another CPU's runqueue, by reservation, does what costs `work_ps`, and releases the lock: all
    /// within a step of `c`.
    #[inline(always)]
    pub(crate) fn hold_rq(&mut self, c: CpuId, rq: CpuId, work_ps: u64) {
        self.hold_rq_to(c, rq, work_ps, |_, _| {});
    }

    /// Like `hold_rq`, to make this change to the CPU that takes the step and to the other one.
    #[inline(always)]
    pub(crate) fn hold_rq_to(
        &mut self,
        c: CpuId,
        rq: CpuId,
        work_ps: u64,
        change: impl FnOnce(&mut Cpu, &mut Cpu),
    ) {
        let (me, other) = self.cpus.this_and(rq);
        change(me, other);
        if !other.lock.is_free(me.clock) {
            return self.hold_busy_rq(c, rq, work_ps);
        }
        pass_rq((me, other), &self.machine.costs, &mut self.lines, work_ps);
        if self.clocks.is_some() {
            self.note_rq_passed(c, rq);
        }
    }

    /// Like `hold_rq` for a lock that is not free yet.
    #[cold]
    #[inline(never)]
    fn hold_busy_rq(&mut self, c: CpuId, rq: CpuId, work_ps: u64) {
        if self.has_or_awaits_rq(c, rq) {
            return self.work_under_own_lock(c, rq, work_ps);
        }
        pass_rq(self.cpus.this_and(rq), &self.machine.costs, &mut self.lines, work_ps);
        if self.clocks.is_some() {
            self.note_rq_passed(c, rq);
        }
    }

    /// Returns whether `c` itself has the lock of `rq`. If not, waits for it. If the holder is suspended, its release
    /// time is not known: then the wait lasts until the moment that the holder has reached, the shortest it can be.
    fn has_or_awaits_rq(&mut self, c: CpuId, rq: CpuId) -> bool {
        let lock = &self.cpus[rq].lock;
        let free_at = match lock.holder {
            Some(holder) if holder == c => return true,
            Some(holder) => lock.free_at.max(self.cpus[holder].clock),
            None => lock.free_at,
        };
        self.wait_for_rq(c, rq, free_at);
        false
    }

    /// Does what costs `work_ps` under the lock of `rq`, which `c` has and keeps.
    fn work_under_own_lock(&mut self, c: CpuId, rq: CpuId, work_ps: u64) {
        self.charge_ps(c, work_ps);
        let at = self.moment();
        let lock = &mut self.cpus[rq].lock;
        lock.free_at = lock.free_at.max(at);
        self.sync_released(c, Sync::Runqueue(rq));
    }

    #[cold]
    #[inline(never)]
    fn note_rq_passed(&mut self, c: CpuId, rq: CpuId) {
        self.passes(c, rq);
        self.sync_released(c, Sync::Runqueue(rq));
    }

    /// Releases `rq`'s lock at `c`'s clock, and hands it to the first waiter if there is one.
    pub(crate) fn unlock_rq(&mut self, c: CpuId, rq: CpuId) {
        self.unlock_rq_here(c, rq);
    }

    /// Like `unlock_rq`, inlined into the paths of every event. Returns whether nobody has waited for the lock: then
    /// its release has made nobody due.
    #[inline(always)]
    pub(crate) fn unlock_rq_here(&mut self, c: CpuId, rq: CpuId) -> bool {
        let at = self.cpus.this_cpu.clock;
        let lock = &mut self.cpus[rq].lock;
        debug_assert_eq!(lock.holder, Some(c), "only the holder gives a lock back");
        let awaited = lock.give_back(at);
        self.gave_back(c, rq, awaited)
    }

    /// Like `unlock_rq_here` if the CPU of the runqueue `is_plain`. Returns nothing if it is not.
    #[inline(always)]
    pub(crate) fn unlock_rq_if(
        &mut self,
        c: CpuId,
        rq: CpuId,
        is_plain: impl FnOnce(&Cpu) -> bool,
    ) -> Option<bool> {
        let at = self.cpus.this_cpu.clock;
        let cpu = &mut self.cpus[rq];
        debug_assert_eq!(cpu.lock.holder, Some(c), "only the holder gives a lock back");
        if !is_plain(cpu) {
            return None;
        }
        let awaited = cpu.lock.give_back(at);
        Some(self.gave_back(c, rq, awaited))
    }

    /// Like `unlock_rq` for the lock of the CPU that takes a step.
    #[inline(always)]
    pub(crate) fn unlock_own_rq(&mut self, c: CpuId) -> bool {
        let me = &mut *self.cpus.this_cpu;
        debug_assert_eq!(me.lock.holder, Some(c), "only the holder gives a lock back");
        let awaited = me.lock.give_back(me.clock);
        self.gave_back(c, c, awaited)
    }

    /// `c` has given `rq`'s lock back. If others wait for it, they may have it from `awaited` on. Returns whether
    /// nobody does.
    #[inline(always)]
    fn gave_back(&mut self, c: CpuId, rq: CpuId, awaited: Option<Instant>) -> bool {
        if self.clocks.is_some() {
            self.note_rq_released(c, rq);
        }
        if let Some(free_at) = awaited {
            self.hand_over(rq, free_at);
        }
        awaited.is_none()
    }

    #[cold]
    #[inline(never)]
    fn note_rq_released(&mut self, c: CpuId, rq: CpuId) {
        self.sync_released(c, Sync::Runqueue(rq));
    }

    /// Hands a free lock to the first waiter.
    #[inline(never)]
    fn hand_over(&mut self, rq: CpuId, at: Instant) {
        let lock = &mut self.cpus[rq].lock;
        lock.holder = lock.waiters.pop_front();
        let Some(next) = lock.holder else { return };
        let others = lock.waiters.len() as u64;
        let by = self.cpus[next].holder;
        let line_ns = self.lines.write_runqueue_ps(&mut self.cpus[rq].lock.line, &by).div_ceil(1000);
        let handover = self.machine.costs.handover(others) + Span::from_ns(line_ns);
        let waiter = &mut self.cpus[next];
        let resumes = waiter.clock.max(at) + handover;
        let waited = resumes.since(waiter.clock);
        waiter.clock = resumes;
        waiter.pauses.unpark();
        self.queue.set_cpu(next, resumes);
        let lock = &mut self.cpus[rq].lock;
        lock.uses.taken += 1;
        lock.since = resumes;
        self.sync_acquired(next, Sync::Runqueue(rq));
        self.waited_for_rq(next, rq, waited, others + 1);
    }
}

/// `me` takes the lock of another CPU's runqueue, does what costs `work_ps`, and releases the lock.
#[inline(always)]
fn pass_rq((me, other): (&mut Cpu, &mut Cpu), costs: &Costs, lines: &mut KernelLines, work_ps: u64) {
    me.spent_ps += lock_ps(costs, lines, &mut other.lock, &me.holder);
    let since = me.moment();
    me.spent_ps += work_ps;
    let at = me.moment();
    let lock = &mut other.lock;
    lock.free_at = lock.free_at.max(at);
    lock.uses.taken += 1;
    lock.uses.held.accumulate(at.after(since));
}

/// What it costs `by` to take this lock, which is free, with its line.
#[inline(always)]
fn lock_ps(costs: &Costs, lines: &mut KernelLines, lock: &mut RqLock, by: &Holder) -> u64 {
    costs.lock_acquire_ns * 1000 + lines.write_runqueue_ps(&mut lock.line, by)
}
