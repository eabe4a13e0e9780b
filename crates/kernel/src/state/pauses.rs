//! Why a CPU may not simply take its next step, although no other CPU is due first.
//!
//! It asks after each step, and rarely has a reason. So one word says whether there is any.

use keel_abi::TaskId;
use std::collections::VecDeque;

/// Reasons, as bits.
mod reason {
    pub(super) const PARKED: u8 = 1;
    pub(super) const DEQUEUE: u8 = 2;
    pub(super) const TURNS: u8 = 4;
    pub(super) const LOOP: u8 = 8;
    /// Only after a call, not before a step.
    pub(super) const WATCHED: u8 = 16;
}

/// A CPU's reasons to pause.
#[derive(Debug, Default)]
pub(crate) struct Pauses {
    reasons: u8,
    /// Reasons to look at a call of its callback once more before it returns.
    after_calls: u8,
    /// Tasks whose custody ended: `ops.dequeue` calls owed. Apart from the CPU's own fields, as it is rarely needed.
    #[allow(clippy::box_collection, reason = "a CPU's first lines have no space for more than a pointer")]
    dequeues: Box<VecDeque<(TaskId, u64)>>,
}

impl Pauses {
    /// Returns whether the CPU has no reason to pause.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.reasons == 0
    }

    #[inline]
    const fn has(&self, reason: u8) -> bool {
        self.reasons & reason != 0
    }

    /// Returns whether it is in line for a lock.
    #[inline]
    pub(crate) fn is_parked(&self) -> bool {
        self.has(reason::PARKED)
    }

    pub(crate) fn park(&mut self) {
        self.reasons |= reason::PARKED;
    }

    pub(crate) fn unpark(&mut self) {
        self.reasons &= !reason::PARKED;
    }

    /// Returns whether it owes an `ops.dequeue`. That comes before the next step.
    #[inline]
    pub(crate) fn owes_dequeue(&self) -> bool {
        self.has(reason::DEQUEUE)
    }

    /// Returns whether a call of the CPU's callback that was served has to be looked at before it returns.
    #[inline]
    pub(crate) fn hold_up_calls(&self) -> bool {
        self.after_calls != 0
    }

    /// Returns whether each call of its callbacks is looked at: the run has an order or looks for races, or the
    /// scheduler has ended.
    pub(crate) fn is_watched(&self) -> bool {
        self.after_calls & reason::WATCHED != 0
    }

    pub(crate) fn watch(&mut self, is_watched: bool) {
        self.after_calls = self.after_calls & !reason::WATCHED | if is_watched { reason::WATCHED } else { 0 };
    }

    pub(crate) fn owe_dequeue(&mut self, task: TaskId, flags: u64) {
        self.dequeues.push_back((task, flags));
        self.reasons |= reason::DEQUEUE;
        self.after_calls |= reason::DEQUEUE;
    }

    pub(crate) fn next_dequeue(&mut self) -> Option<(TaskId, u64)> {
        let next = self.dequeues.pop_front();
        if self.dequeues.is_empty() {
            self.reasons &= !reason::DEQUEUE;
            self.after_calls &= !reason::DEQUEUE;
        }
        next
    }

    /// Returns whether CPUs take turns on an emulator's one thread.
    #[inline]
    pub(crate) fn takes_turns(&self) -> bool {
        self.has(reason::TURNS)
    }

    pub(crate) fn take_turns(&mut self) {
        self.reasons |= reason::TURNS;
    }

    /// Returns whether the run returns to its loop after each step.
    #[inline]
    pub(crate) fn returns_to_loop(&self) -> bool {
        self.has(reason::LOOP)
    }

    pub(crate) fn return_to_loop(&mut self) {
        self.reasons |= reason::LOOP;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_pauses_until_the_last_reason_is_gone() {
        let mut pauses = Pauses::default();
        pauses.park();
        (1..=2).for_each(|n| pauses.owe_dequeue(TaskId(n), 0));
        pauses.unpark();
        for n in 1..=2 {
            assert!(pauses.owes_dequeue() && !pauses.is_parked());
            assert_eq!(pauses.next_dequeue(), Some((TaskId(n), 0)));
        }
        assert!(pauses.is_empty());
    }
}
