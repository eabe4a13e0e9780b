//! Registers that a call clobbers are 0 after it. Most are written before they are read, so they are zeroed where an
//! operation reads them, or where a way leads on which they are not still to be zeroed.

use super::function::Emitter;
use super::live::{self, Set};
use super::repeats::Repeats;
use crate::code::op::{NO_SITE, Op, jump_targets};

/// At each jump target, the registers that are still to be zeroed on every way there.
pub(super) fn at_targets(ops: &[Op], live: &[Set], reads: &[Set], repeats: &Repeats) -> Vec<Set> {
    let mut owed_at = vec![live::ARGUMENTS; ops.len()];
    let is_target = jump_targets(ops);
    while narrow(ops, &is_target, (live, reads, repeats), &mut owed_at) {}
    owed_at
}

/// Goes through a function once. Keeps for each jump target what is still to be zeroed on each way there, given that
/// for the targets; returns whether that changes anything.
fn narrow(
    ops: &[Op],
    is_target: &[bool],
    (live, reads, repeats): (&[Set], &[Set], &Repeats),
    owed_at: &mut [Set],
) -> bool {
    let mut changed = false;
    let mut way = |owed_at: &mut [Set], to: usize, owed: Set| {
        changed |= owed_at[to] & !owed != 0;
        owed_at[to] &= owed;
    };
    let (mut owed, mut open): (Set, bool) = (0, true);
    for (at, &op) in ops.iter().enumerate() {
        if is_target[at] {
            if open {
                way(owed_at, at, owed);
            }
            (owed, open) = (owed_at[at], true);
        }
        if !open || matches!(op, Op::Hole) {
            continue;
        }
        if owed == 0 && matches!(op, Op::Alu { .. } | Op::Load { .. } | Op::Store { .. }) {
            continue;
        }
        owed &= live::after(ops, live, at) & !reads[at];
        if let Some(target) = op.target() {
            let due = owed & live[target as usize] & !owed_at[target as usize];
            owed &= !due;
            way(owed_at, target as usize, owed);
            // The jump may lead past the branch that repeats this one.
            if let Some(past) = repeats.by(at).and_then(|repeat| ops[repeat as usize].target()) {
                way(owed_at, past as usize, owed & !live[target as usize]);
            }
        }
        owed = match op {
            Op::Call { .. } => live::after(ops, live, at) & live::ARGUMENTS,
            _ => owed & !live::uses(op).1,
        };
        open = !op.ends();
    }
    changed
}

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
        let reads = self.reads[at];
        self.owed &= self.read_later | reads;
        let there = op.target().map_or(0, |target| self.zero_at(target as usize));
        let elsewhere = match op {
            Op::Branch { .. } if self.iteration.is_some_and(|iteration| iteration.branch == at) => 0,
            Op::Branch { target, .. } if self.repeats.by(at).is_some() => self.live_at(target as usize),
            // Its jump zeroes the others.
            Op::Branch { site: NO_SITE, .. } => there & next,
            _ => there,
        };
        self.pay(reads | elsewhere);
    }

    /// After it. What a call has clobbered is known already.
    pub(super) fn forget_written(&mut self, op: Op) {
        if !matches!(op, Op::Call { .. }) {
            self.owed &= !live::uses(op).1;
        }
    }

    /// What every way to an operation has to have zeroed.
    pub(super) fn zero_at(&self, at: usize) -> Set {
        self.live_at(at) & !self.owed_at[at]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::op::{Callee, Cond, Operand, Size};
    use crate::emit::tests::OneMap;

    #[test]
    fn what_is_to_be_zeroed_on_every_way_is_left_to_those_who_read_it() {
        let call = Op::Call { callee: Callee::Host, site: 0 };
        let skip =
            Op::Branch { wide: true, cond: Cond::Eq, a: 0, b: Operand::Imm(0), target: 3, site: NO_SITE };
        let check = |between: Op, expected: Set| {
            let ops = [call, skip, between, call, Op::Exit];
            let reads = live::reads(&ops, &OneMap);
            let owed = at_targets(&ops, &live::before(&ops, &reads), &reads, &Repeats::new(&ops));
            assert_eq!(owed[3], expected, "{between:?}");
        };
        check(Op::Hole, 0b11_1110);
        check(Op::Const { dst: 3, value: 5 }, 0b11_0110);
        check(Op::Store { base: 10, off: -8, size: Size(3), src: Operand::Reg(2) }, 0b11_1010);
    }
}
