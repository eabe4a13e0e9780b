//! Registers that a call clobbers are 0 after it. Most are written before they are read, so they are zeroed where an
//! operation reads them, or where other code may that does not know of it.

use super::function::Emitter;
use super::live::{self, Set};
use crate::code::op::{NO_SITE, Op};

impl Emitter<'_> {
    /// Zeroes those of these registers that are still to be zeroed. Changes the flags.
    pub(super) fn pay(&mut self, regs: Set) {
        let due = self.owed & regs;
        self.owed &= !due;
        self.zero_all(due);
    }

    pub(super) fn zero_all(&mut self, regs: Set) {
        live::each(regs, 0..=9).for_each(|reg| self.zero(reg));
    }

    /// Before an operation: zeroes what it reads, and what is read where it jumps to and also behind it.
    pub(super) fn pay_before(&mut self, at: usize, op: Op) {
        let next = if op.ends() { 0 } else { self.live_at(at + 1) };
        self.owed &= self.read_later | live::uses(op).0;
        let there = op.target().map_or(0, |target| self.live_at(target as usize));
        let elsewhere = match op {
            Op::Branch { .. } if self.iteration.is_some_and(|iteration| iteration.branch == at) => 0,
            // Its jump zeroes the others.
            Op::Branch { site: NO_SITE, .. } if self.repeats.by(at).is_none() => there & next,
            _ => there,
        };
        self.pay(live::uses(op).0 | elsewhere);
    }

    /// After it. What a call has clobbered is known already.
    pub(super) fn forget_written(&mut self, op: Op) {
        if !matches!(op, Op::Call { .. }) {
            self.owed &= !live::uses(op).1;
        }
    }

    /// What a conditional jump to an operation has to zero on its way.
    pub(super) fn due_at(&self, target: u32) -> Set {
        self.owed & self.live_at(target as usize)
    }
}
