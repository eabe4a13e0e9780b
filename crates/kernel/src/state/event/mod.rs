//! The event queue: one total order over all pending events.
//!
//! Events are ordered by (instant, timers before CPUs, number), never by insertion, so the order is the same however
//! the queue was filled. A CPU has at most one event, re-armed in place. A timer number may be due several times; its
//! owner ignores the expiries that it no longer wants.

mod calendar;
mod cpu_events;
mod held;
mod near;
mod others;
mod waiters;
mod wheel;

use crate::state::event::cpu_events::{CpuEvents, first_key, instant, key};
use crate::state::event::wheel::Wheel;
use keel_abi::{CpuId, Instant};

/// Who an event is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// A timer, by its owner's number.
    Timer(u32),
    /// A CPU's own next event.
    Cpu(CpuId),
}

/// The last moment that virtual time can reach: 51 days. Anything due later never happens.
pub const MAX_INSTANT: Instant = Instant::from_ns(MAX_HELD.as_ns() - (1 << 46));

/// The latest moment of a CPU in the middle of a kernel path, whose last step may have taken it beyond
/// [`MAX_INSTANT`]: by some hours at most.
const MAX_HELD: Instant = Instant::from_ns((1 << 52) - 1);

/// The most CPUs that one queue can hold.
pub const MAX_CPUS: u32 = 1 << cpu_events::CPU_BITS;

/// All pending events, earliest first.
#[derive(Clone, Debug)]
pub struct EventQueue {
    timers: Wheel,
    cpus: CpuEvents,
    /// When the very first event is due, or when the horizon is passed: read far more often than it changes.
    next_at: Instant,
    /// CPUs with a lower key come before all timers, and by the horizon.
    limit: u64,
    /// The first moment at which nothing is taken: `after_horizon`, or the beginning while the queue is barred.
    end: Instant,
    /// The first moment beyond the horizon, which is at most [`MAX_INSTANT`].
    after_horizon: Instant,
}

impl EventQueue {
    /// An empty queue for CPUs 0 to `cpus - 1`; panics above [`MAX_CPUS`].
    pub fn new(cpus: u32) -> Self {
        assert!(cpus <= MAX_CPUS, "at most {MAX_CPUS} CPUs");
        let mut queue = Self {
            timers: Wheel::default(),
            cpus: CpuEvents::new(cpus),
            next_at: Instant::ZERO,
            limit: 0,
            end: Instant::ZERO,
            after_horizon: Instant::ZERO,
        };
        queue.set_horizon(MAX_INSTANT);
        queue
    }

    /// Sets the one event of `cpu`, replacing any previous one.
    #[inline]
    pub fn set_cpu(&mut self, cpu: CpuId, at: Instant) {
        self.cpus.set(cpu, at);
        self.note_cpus();
    }

    /// Sets the event of `cpu`, which has none. The next event is taken right afterwards: until then,
    /// [`EventQueue::comes_first`] does not know of it.
    #[inline]
    pub fn return_cpu(&mut self, cpu: CpuId, at: Instant) {
        debug_assert_eq!(self.cpu_at(cpu), Instant::NEVER);
        self.cpus.add(cpu, at);
    }

    /// Like `return_cpu` for a CPU that is in the middle of a kernel path: it is usually due soon, and at [`MAX_HELD`]
    /// at the latest.
    #[inline(always)]
    pub fn hold_cpu(&mut self, cpu: CpuId, at: Instant) {
        debug_assert_eq!(self.cpu_at(cpu), Instant::NEVER);
        self.cpus.hold(cpu, at);
    }

    /// Sets the event of `cpu`, which has none and does not come first, and takes the next event, if that is a CPU's;
    /// or does neither. If `is_held`, the CPU is in the middle of a kernel path ([`EventQueue::hold_cpu`]).
    #[inline(always)]
    pub fn exchange_cpu(&mut self, cpu: CpuId, at: Instant, is_held: bool) -> Option<(Instant, CpuId)> {
        debug_assert_eq!(self.cpu_at(cpu), Instant::NEVER);
        debug_assert!(!self.comes_first(cpu, at), "others come before it");
        let first = self.cpus.first();
        if first >= self.limit {
            return None;
        }
        let next = self.cpus.exchange(cpu, at, is_held);
        self.note_cpus();
        Some((instant(first), next))
    }

    /// Like `exchange_cpu` for a CPU in the middle of a kernel path, if the next one is also in the middle of one, and
    /// `cpu` is due soon.
    #[inline(always)]
    pub fn change_places(&mut self, cpu: CpuId, at: Instant) -> Option<CpuId> {
        debug_assert_eq!(self.cpu_at(cpu), Instant::NEVER);
        debug_assert!(!self.comes_first(cpu, at), "others come before it");
        let next = self.cpus.change_places(cpu, at, self.limit);
        if next.is_some() {
            self.note_cpus();
        }
        next
    }

    /// Sets the event of `cpu`, which is in user mode or idle; it is not later than its previous one. If it would be
    /// the next of all, it is taken instead, as [`EventQueue::pop`] would; returns whether it is.
    #[inline]
    pub fn take_or_set_cpu(&mut self, cpu: CpuId, at: Instant) -> bool {
        debug_assert!(at <= MAX_INSTANT.min(self.cpu_at(cpu)), "it comes, and no later than it would have");
        let is_next = self.timers.next_at() > at && self.cpus.would_be_first(cpu, at);
        if is_next {
            self.cpus.take(cpu);
        } else {
            self.cpus.set(cpu, at);
        }
        self.note_cpus();
        is_next
    }

    /// Removes the event of `cpu`.
    #[inline]
    pub fn clear_cpu(&mut self, cpu: CpuId) {
        self.cpus.clear(cpu);
        self.note_cpus();
    }

    /// When `cpu` is due, or [`Instant::NEVER`].
    #[inline]
    pub fn cpu_at(&self, cpu: CpuId) -> Instant {
        self.cpus.at(cpu)
    }

    /// Adds one expiry of `timer`.
    #[inline]
    pub fn push(&mut self, at: Instant, timer: u32) {
        if at <= MAX_INSTANT && self.timers.push(at, timer) {
            self.next_at = self.next_at.min(at);
            self.limit = self.limit.min(first_key(at));
        }
    }

    /// Sets the horizon that no CPU passes for now, and beyond which no event is taken. Lifts a bar.
    pub fn set_horizon(&mut self, horizon: Instant) {
        self.after_horizon = Instant::from_ns(horizon.min(MAX_INSTANT).as_ns() + 1);
        self.lift_bar();
    }

    /// Until the bar is lifted, no CPU may go on and no event is taken, as if the horizon had been passed. So a CPU
    /// that has another reason to stop than the next event need not be asked for it.
    #[cold]
    #[inline(never)]
    pub fn bar(&mut self) {
        (self.end, self.limit, self.next_at) = (Instant::ZERO, 0, Instant::ZERO);
    }

    /// Returns whether the queue is barred.
    #[inline]
    pub fn is_barred(&self) -> bool {
        self.end == Instant::ZERO
    }

    /// Lifts the bar, if there is one.
    pub fn lift_bar(&mut self) {
        self.end = self.after_horizon;
        self.note();
    }

    /// When the next event is due, regardless of the horizon; [`Instant::NEVER`] if there is none.
    pub fn next_due(&self) -> Instant {
        match self.timers.next_at().min(self.cpus.next_at()) {
            due if due <= MAX_INSTANT => due,
            _ => Instant::NEVER,
        }
    }

    /// Returns whether `at` is before everything that is due, and not beyond the horizon, and there is no bar.
    #[inline]
    pub fn is_before_all(&self, at: Instant) -> bool {
        at < self.next_at
    }

    /// Returns whether `at` is certainly after something that is due, or after the horizon.
    #[inline]
    pub fn is_after_first(&self, at: Instant) -> bool {
        at > self.next_at && !self.is_barred()
    }

    /// Returns whether a step of `cpu` at `at` comes before everything that is due and there is no bar. Nothing happens
    /// beyond the horizon. The order is that of [`EventQueue::pop`], so a CPU that continues does the same as if it had
    /// been queued and taken.
    #[inline]
    pub fn comes_first(&self, cpu: CpuId, at: Instant) -> bool {
        at < self.next_at || at == self.next_at && self.is_first_of_tie(cpu, at)
    }

    /// Like `comes_first`, whether there is a bar or not.
    #[inline(never)]
    pub fn would_come_first(&self, cpu: CpuId, at: Instant) -> bool {
        at < self.timers.next_at().min(self.after_horizon) && self.cpus.would_be_first(cpu, at)
    }

    /// Breaks the tie when others are at the very same instant, or the horizon has been passed then.
    #[cold]
    #[inline(never)]
    fn is_first_of_tie(&self, cpu: CpuId, at: Instant) -> bool {
        key(cpu, at) < self.limit && self.cpus.would_be_first(cpu, at)
    }

    /// [`EventQueue::note`], apart from common code: nothing more is due by the horizon, or the queue is barred.
    #[cold]
    #[inline(never)]
    fn note_at_end(&mut self) {
        self.note();
    }

    #[inline]
    fn note(&mut self) {
        self.note_timers();
        self.note_cpus();
    }

    #[inline(always)]
    fn note_timers(&mut self) {
        self.limit = first_key(self.timers.next_at().min(self.end));
    }

    /// Like [`EventQueue::note`] if only events of CPUs have changed.
    #[inline(always)]
    fn note_cpus(&mut self) {
        self.next_at = instant(self.cpus.first().min(self.limit));
    }

    /// The next event, without taking it.
    #[inline]
    pub fn peek_source(&self) -> Option<(Instant, Source)> {
        let (timer_at, cpu_at) = (self.timers.next_at(), self.cpus.next_at());
        if timer_at <= cpu_at {
            self.timers.first().map(|(at, timer)| (at, Source::Timer(timer)))
        } else {
            (cpu_at <= MAX_INSTANT).then(|| (cpu_at, Source::Cpu(self.cpus.next_cpu())))
        }
    }

    /// Takes the next event, if one is due by the horizon and there is no bar.
    #[inline]
    pub fn pop(&mut self) -> Option<(Instant, Source)> {
        let first = self.cpus.first();
        if first < self.limit {
            let cpu = self.cpus.take_first();
            self.note_cpus();
            return Some((instant(first), Source::Cpu(cpu)));
        }
        if self.timers.next_at() >= self.end {
            self.note_at_end();
            return None;
        }
        let popped = self.timers.pop().map(|(at, timer)| (at, Source::Timer(timer)));
        // Until the next event is taken or set, this one still counts for `comes_first`: nobody goes on before that.
        self.note_timers();
        popped
    }

    /// Returns whether timers have come near since this was last asked: those of [`EventQueue::bucket`].
    #[inline]
    pub fn has_opened_bucket(&mut self) -> bool {
        self.timers.has_opened()
    }

    /// The timers that are due next, some microseconds apart.
    #[inline]
    pub fn bucket(&self) -> impl Iterator<Item = u32> {
        self.timers.bucket()
    }

    /// The number of pending timer expiries.
    #[cfg(test)]
    fn timers(&self) -> usize {
        self.timers.len()
    }
}

#[cfg(test)]
mod tests;
