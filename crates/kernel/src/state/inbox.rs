//! Interrupts that a CPU has yet to take. Nearly always there is at most one.

use crate::state::cpu::Irq;
use std::collections::VecDeque;

/// Pending interrupts, in order.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    first: Option<Irq>,
    /// Those after the first.
    others: VecDeque<Irq>,
}

impl Inbox {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    #[inline]
    pub(crate) fn push(&mut self, irq: Irq) {
        match self.first {
            None => self.first = Some(irq),
            Some(_) => self.push_behind(irq),
        }
    }

    #[cold]
    #[inline(never)]
    fn push_behind(&mut self, irq: Irq) {
        self.others.push_back(irq);
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Irq> {
        let first = self.first.take();
        if !self.others.is_empty() {
            self.first = self.others.pop_front();
        }
        first
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Irq> + '_ {
        self.first.iter().chain(&self.others).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupts_come_in_order_however_many_there_are() {
        let mut inbox = Inbox::default();
        for _ in 0..2 {
            (0..5).for_each(|n| inbox.push(Irq::Start(n)));
            assert!(inbox.iter().eq((0..5).map(Irq::Start)));
            assert_eq!(inbox.pop(), Some(Irq::Start(0)));
            inbox.push(Irq::Device);
            let rest: Vec<_> = std::iter::from_fn(|| inbox.pop()).collect();
            assert_eq!(rest, [Irq::Start(1), Irq::Start(2), Irq::Start(3), Irq::Start(4), Irq::Device]);
            assert!(inbox.is_empty());
        }
    }
}
