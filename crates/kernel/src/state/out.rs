//! Events on their way to listeners, in batches, so that the paths that emit them only pay for a push, and for nothing
//! without listeners.

use keel_abi::{CpuId, Instant, Span, TaskId};
use keel_trace::{Class, Event, Lock, Meta, Policy, SHORT_LOCK_WAIT, Sink, What, pass_on};

/// The number of events in a batch.
const BATCH: usize = 512;

/// So many units of a task are emitted when it leaves its CPU, whatever is wanted.
const MANY_UNITS: u32 = 1 << 31;

/// The most decisions that one step can report. Only a runaway scheduler exceeds this; the excess is dropped.
const MOST_DECISIONS: usize = 1 << 16;

/// Events and metas not yet handed to the sink, in order.
#[derive(Debug)]
pub(crate) struct Out {
    wants: Class,
    /// Wakeups, moves and waits for locks are wanted in brief.
    is_brief: bool,
    /// Short waits for locks since the last batch.
    lock_waits: Span,
    /// The moment of the last event that has been handed over.
    handed_over: Instant,
    events: Vec<Event>,
    /// Each meta with the number of events before it.
    metas: Vec<(usize, Instant, Meta)>,
    /// The number of events from which on the run returns to its loop: 0 if it should now.
    limit: usize,
    /// Something has happened after which the run may stop: its loop looks after each turn.
    may_halt: bool,
    /// A task that leaves its CPU keeps up to so many units to itself.
    keeps_units: u32,
}

impl Out {
    pub(crate) fn new(wants: Class) -> Self {
        let room = if wants == Class::NONE { 0 } else { BATCH * 2 };
        let keeps_units = if wants.has(Class::COUNTS) { 0 } else { MANY_UNITS };
        let brief = Class::BRIEF.with(Class::DECISIONS).with(Class::PLACES).with(Class::LOCKS);
        let is_brief = wants.has(brief) && !wants.has(Class::CORE);
        Self {
            wants,
            is_brief,
            lock_waits: Span::ZERO,
            handed_over: Instant::ZERO,
            events: Vec::with_capacity(room),
            metas: Vec::new(),
            limit: BATCH,
            may_halt: false,
            keeps_units,
        }
    }

    /// Returns whether these units of a task that leaves its CPU are to be emitted. The others come when it exits or the
    /// run ends.
    #[inline]
    pub(crate) fn wants_units(&self, units: u32) -> bool {
        units > self.keeps_units
    }

    /// Returns whether anything listens to events of this class.
    #[inline]
    pub(crate) fn wants(&self, class: Class) -> bool {
        self.wants.has(class)
    }

    /// Returns whether a task's placement comes with its wakeup, and its insert into a CPU's queue with its move there.
    #[inline]
    pub(crate) fn is_brief(&self) -> bool {
        self.is_brief
    }

    /// Emits that a task is in the local queue of `rq` now, or adds that to its wakeup or move.
    #[inline]
    pub(crate) fn tell_inserted(
        &mut self,
        at: Instant,
        cpu: CpuId,
        (task, rq): (TaskId, CpuId),
        queued: What,
    ) {
        if self.is_brief
            && let Some(last) = self.events.last_mut()
            && (last.at, last.cpu) == (at, cpu)
        {
            match &mut last.what {
                What::Woken { task: woken, target, inserted, .. } if (*woken, *target) == (task, rq) => {
                    *inserted = true;
                    return;
                }
                &mut What::Migrate { task: moved, from, to } if (moved, to) == (task, rq) => {
                    last.what = What::Pulled { task, from, to };
                    return;
                }
                _ => {}
            }
        }
        self.tell(Class::PLACES, at, cpu, queued);
    }

    /// Emits that a CPU has waited for a lock, or adds that to the sum of short waits.
    #[inline]
    pub(crate) fn tell_lock_wait(&mut self, at: Instant, cpu: CpuId, lock: Lock, waited: Span) {
        if self.is_brief && waited < SHORT_LOCK_WAIT {
            self.lock_waits += waited;
            return;
        }
        self.tell(Class::LOCKS, at, cpu, What::LockWait { lock, waited });
    }

    #[inline]
    pub(crate) fn tell(&mut self, class: Class, at: Instant, cpu: CpuId, what: What) {
        if self.wants.has(class) {
            self.tell_wanted(at, cpu, what);
        }
    }

    /// Like `tell` for what is known to be wanted.
    #[inline]
    pub(crate) fn tell_wanted(&mut self, at: Instant, cpu: CpuId, what: What) {
        self.tell_often(at, cpu, what);
    }

    /// Like `tell_wanted` in a path of every event: it costs as much code as a call, and fewer instructions.
    #[inline(always)]
    pub(crate) fn tell_often(&mut self, at: Instant, cpu: CpuId, what: What) {
        if self.events.len() == self.events.capacity() {
            return self.push_more(Event { at, cpu, what });
        }
        // Each branch builds the event itself, so that this one is written straight into the buffer.
        self.events.push(Event { at, cpu, what });
    }

    /// Hardly ever needed. It is a function of its own so that the compiler knows that, and puts what leads here apart
    /// from the code of the many places that emit events; and it is the last thing they do, so that they keep nothing
    /// for afterwards.
    #[cold]
    #[inline(never)]
    fn push_more(&mut self, event: Event) {
        self.events.reserve(BATCH);
        self.events.push(event);
    }

    pub(crate) fn emit_meta(&mut self, at: Instant, meta: Meta) {
        if self.wants != Class::NONE {
            self.push_meta(at, meta);
        }
    }

    fn push_meta(&mut self, at: Instant, meta: Meta) {
        self.metas.push((self.events.len(), at, meta));
        if self.metas.len() >= BATCH {
            self.limit = 0;
        }
    }

    /// Sets the scheduler's name in a run's start that has been emitted but has not gone out yet.
    pub(crate) fn name_scheduler(&mut self, name: &str) {
        for (_, _, meta) in &mut self.metas {
            if let Meta::Start { scheduler, .. } = meta {
                name.clone_into(scheduler);
            }
        }
    }

    pub(crate) fn emit_decision(&mut self, at: Instant, policy: Policy) {
        if self.wants.has(Class::POLICY) && self.metas.len() < MOST_DECISIONS {
            self.push_meta(at, Meta::Policy(Box::new(policy)));
        }
    }

    /// Returns whether the run is to return to its loop: there is something to flush, or the run may stop.
    #[inline(always)]
    pub(crate) fn awaits_loop(&self) -> bool {
        self.events.len() >= self.limit
    }

    pub(crate) fn is_full(&self) -> bool {
        self.events.len() >= BATCH || self.metas.len() >= BATCH
    }

    /// Something has happened after which the run may stop.
    pub(crate) fn let_halt(&mut self) {
        (self.may_halt, self.limit) = (true, 0);
    }

    pub(crate) fn may_halt(&self) -> bool {
        self.may_halt
    }

    pub(crate) fn flush(&mut self, sink: &mut dyn Sink) {
        // It comes first, because nothing may follow the end.
        let waited = std::mem::take(&mut self.lock_waits);
        if waited > Span::ZERO {
            sink.events(&[Event { at: self.handed_over, cpu: CpuId(0), what: What::LockWaits { waited } }]);
        }
        self.handed_over = self.events.last().map_or(self.handed_over, |last| last.at);
        pass_on(sink, &self.events, self.metas.drain(..));
        self.events.clear();
        self.limit = if self.may_halt { 0 } else { BATCH };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_trace::policy::Kind;

    #[test]
    fn decisions_of_one_step_are_bounded_and_left_out_if_unwanted() {
        let policy = Policy::of(Kind::Wakeup, CpuId(0));
        let check = |wants, expected| {
            let mut out = Out::new(wants);
            (0..MOST_DECISIONS + 9).for_each(|_| out.emit_decision(Instant::ZERO, policy.clone()));
            assert_eq!((out.metas.len(), out.is_full()), (expected, expected > 0), "{wants:?}");
        };
        check(Class::POLICY, MOST_DECISIONS);
        check(Class::CORE, 0);
        check(Class::NONE, 0);
    }
}
