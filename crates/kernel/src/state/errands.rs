//! What a CPU has to do before it returns to user mode, besides switching tasks and its ticks.
//!
//! It asks on each way out of the kernel, and rarely has any of this. So one word says whether it may.

use crate::state::cpu::{Irq, Reenqueued};
use crate::state::inbox::Inbox;
use keel_abi::CpuId;

/// Kinds of errands, as bits.
mod kind {
    pub(super) const END: u8 = 1;
    pub(super) const REENQUEUE: u8 = 2;
    pub(super) const KICK: u8 = 4;
    pub(super) const INTERRUPT: u8 = 8;
    pub(super) const THROTTLE: u8 = 16;
    pub(super) const LEAVE: u8 = 32;
}

/// A CPU's errands.
#[derive(Debug, Default)]
pub(crate) struct Errands {
    /// The kinds of which there are any.
    kinds: u8,
    /// What they are. Apart from the CPU's own fields, whose first lines have no space for it.
    lists: Box<Lists>,
}

#[derive(Debug, Default)]
struct Lists {
    inbox: Inbox,
    kicks: Vec<(CpuId, u64)>,
    reenqueues: Vec<Reenqueued>,
}

impl Errands {
    /// Returns whether there are no errands.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.kinds == 0
    }

    #[inline]
    const fn has(&self, kind: u8) -> bool {
        self.kinds & kind != 0
    }

    #[inline]
    fn set(&mut self, kind: u8, on: bool) {
        self.kinds = if on { self.kinds | kind } else { self.kinds & !kind };
    }

    /// The scheduler has ended, and perhaps nobody has begun to disable it.
    pub(crate) fn ends(&self) -> bool {
        self.has(kind::END)
    }

    pub(crate) fn set_ends(&mut self, on: bool) {
        self.set(kind::END, on);
    }

    /// Returns whether an interrupt is pending.
    #[inline]
    pub(crate) fn has_irq(&self) -> bool {
        debug_assert_eq!(self.has(kind::INTERRUPT), !self.lists.inbox.is_empty());
        self.has(kind::INTERRUPT)
    }

    #[inline]
    pub(crate) fn add_irq(&mut self, irq: Irq) {
        self.lists.inbox.push(irq);
        self.kinds |= kind::INTERRUPT;
    }

    /// Takes the first pending interrupt.
    #[inline]
    pub(crate) fn next_irq(&mut self) -> Option<Irq> {
        let irq = self.lists.inbox.pop();
        self.set(kind::INTERRUPT, !self.lists.inbox.is_empty());
        irq
    }

    /// Pending interrupts.
    pub(crate) fn irqs(&self) -> impl Iterator<Item = Irq> + '_ {
        self.lists.inbox.iter()
    }

    /// Returns whether there are kicks to send, which its callbacks have asked for.
    #[inline]
    pub(crate) fn has_kick(&self) -> bool {
        self.has(kind::KICK)
    }

    /// The flags of the kick for `target`, if there is one.
    #[inline]
    pub(crate) fn kick_of(&mut self, target: CpuId) -> Option<&mut u64> {
        self.lists.kicks.iter_mut().find(|(noted, _)| *noted == target).map(|(_, flags)| flags)
    }

    #[inline]
    pub(crate) fn add_kick(&mut self, target: CpuId, flags: u64) {
        self.lists.kicks.push((target, flags));
        self.kinds |= kind::KICK;
    }

    /// Takes the next kick to send; there is one. CPUs are visited in order.
    #[inline]
    pub(crate) fn next_kick(&mut self) -> (CpuId, u64) {
        let first = self.lists.kicks.iter().enumerate().min_by_key(|(_, (target, _))| *target);
        let kick = self.lists.kicks.swap_remove(first.expect("there is a kick to send").0);
        self.set(kind::KICK, !self.lists.kicks.is_empty());
        kick
    }

    /// Returns whether there are queues whose tasks are to be reenqueued once the CPU holds no lock.
    pub(crate) fn has_reenqueue(&self) -> bool {
        self.has(kind::REENQUEUE)
    }

    /// Adds such a queue, if it is not noted yet.
    pub(crate) fn add_reenqueue(&mut self, queue: Reenqueued) {
        if !self.lists.reenqueues.contains(&queue) {
            self.lists.reenqueues.push(queue);
            self.kinds |= kind::REENQUEUE;
        }
    }

    /// Takes the next of these queues; there is one.
    pub(crate) fn next_reenqueue(&mut self) -> Reenqueued {
        let queue = self.lists.reenqueues.remove(0);
        self.set(kind::REENQUEUE, !self.lists.reenqueues.is_empty());
        queue
    }

    /// Forgets what the scheduler's callbacks have asked for.
    pub(crate) fn forget_scheduler(&mut self) {
        self.lists.kicks.clear();
        self.lists.reenqueues.clear();
        self.kinds &= !(kind::KICK | kind::REENQUEUE);
    }

    /// The running fair task was picked from a group without runtime: it is throttled before it returns to user mode.
    pub(crate) fn throttles(&self) -> bool {
        self.has(kind::THROTTLE)
    }

    #[inline]
    pub(crate) fn set_throttles(&mut self, on: bool) {
        self.set(kind::THROTTLE, on);
    }

    /// The CPU goes offline as soon as its last task has been pushed to another CPU (`balance_push()`).
    #[inline]
    pub(crate) fn is_leaving(&self) -> bool {
        self.has(kind::LEAVE)
    }

    pub(crate) fn set_leaving(&mut self, on: bool) {
        self.set(kind::LEAVE, on);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_abi::DsqId;

    #[test]
    fn there_are_errands_until_the_last_of_each_kind_is_done() {
        let check = |add: fn(&mut Errands), remove: fn(&mut Errands), times: usize| {
            let mut errands = Errands::default();
            assert!(errands.is_empty());
            (0..times).for_each(|_| add(&mut errands));
            for _ in 0..times {
                assert!(!errands.is_empty());
                remove(&mut errands);
            }
            assert!(errands.is_empty());
        };
        check(|e| e.add_irq(Irq::Device), |e| assert!(e.next_irq().is_some()), 3);
        check(|e| e.add_kick(CpuId(1), 0), |e| assert_eq!(e.next_kick().0, CpuId(1)), 3);
        check(
            |e| e.add_reenqueue(Reenqueued::User(DsqId(7))),
            |e| assert_eq!(e.next_reenqueue(), Reenqueued::User(DsqId(7))),
            1,
        );
        check(|e| e.set_ends(true), |e| e.set_ends(false), 1);
        check(|e| e.set_throttles(true), |e| e.set_throttles(false), 1);
        check(|e| e.set_leaving(true), |e| e.set_leaving(false), 1);
        let asks = |e: &mut Errands| {
            e.add_kick(CpuId(1), 0);
            e.add_reenqueue(Reenqueued::Local(CpuId(2)));
        };
        check(asks, Errands::forget_scheduler, 1);
    }
}
