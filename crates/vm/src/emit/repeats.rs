//! Branches on a condition that an earlier branch has just decided. Compilers emit them where one condition selects
//! several values: `if c goto +1; a = b; if c goto X`.
//!
//! The first branch's jump leads to the second one, whose jump it continues with; and who comes to the second one in
//! order doesn't jump there. So the second branch needs no code.

use super::asm::Label;
use super::function::Emitter;
use super::live;
use crate::code::op::{NO_SITE, Op, Operand};
use iced_x86::Code;

/// The repeated branches of a function, by operation.
pub(super) struct Repeats {
    /// For a branch, the one that repeats it.
    by: Vec<Option<u32>>,
    /// Whether an operation repeats a branch.
    repeats: Vec<bool>,
}

impl Repeats {
    pub(super) fn new(ops: &[Op]) -> Self {
        let mut jumps = vec![0_u32; ops.len()];
        for target in ops.iter().filter_map(|op| op.target()) {
            jumps[target as usize] += 1;
        }
        let mut all = Self { by: vec![None; ops.len()], repeats: vec![false; ops.len()] };
        for at in 0..ops.len() {
            if !all.repeats[at]
                && let Some(other) = repeated_by(ops, at, &jumps)
            {
                all.by[at] = Some(other);
                all.repeats[other as usize] = true;
            }
        }
        all
    }

    /// The branch that repeats the one at `at`.
    pub(super) fn by(&self, at: usize) -> Option<u32> {
        self.by[at]
    }

    /// Returns whether an operation repeats a branch, so that it never jumps.
    pub(super) fn has(&self, at: usize) -> bool {
        self.repeats[at]
    }
}

/// The branch on the same condition to which only the jump of the branch at `at` leads, past operations that don't change
/// the condition.
fn repeated_by(ops: &[Op], at: usize, jumps: &[u32]) -> Option<u32> {
    let Op::Branch { wide, cond, a, b, target, .. } = ops[at] else { return None };
    let between = ops.get(at + 1..target as usize)?;
    let is_same = matches!(ops[target as usize], Op::Branch { wide: w, cond: c, a: x, b: y, .. }
        if (w, c, x, y) == (wide, cond, a, b));
    let keeps = |op: &Op| {
        let written = live::uses(*op).1;
        let is_plain = matches!(op, Op::Alu { .. } | Op::Const { .. } | Op::Address { .. } | Op::Hole);
        is_plain && !live::has(written, a) && !matches!(b, Operand::Reg(b) if live::has(written, b))
    };
    let only_jump = jumps[target as usize] == 1 && jumps[at + 1..target as usize].iter().all(|&n| n == 0);
    (is_same && only_jump && between.iter().all(keeps)).then_some(target)
}

impl Emitter<'_> {
    /// Where the jump of the branch at `at` leads if another one repeats it: past that one's jump, too.
    pub(super) fn past_repeat(&mut self, at: usize) -> Option<Label> {
        let repeat = self.repeats.by(at)?;
        let Op::Branch { target, site, .. } = self.ops[repeat as usize] else { return None };
        let (is_forward, counted) = (site == NO_SITE, self.pending + 1);
        let looks = if is_forward { self.looks_before(target as usize) } else { Vec::new() };
        let missing = if is_forward { counted - self.agreed(target, counted) } else { counted };
        let label = self.target(target);
        if looks.is_empty() && missing == 0 && !self.hands_over(target) {
            return Some(label);
        }
        Some(self.later(move |e| {
            e.count(missing);
            if !is_forward {
                return e.jump_back(target, site);
            }
            e.look_at(&looks);
            e.hand_over(target);
            e.asm.to(Code::Jmp_rel32_64, label);
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::op::{Alu, Cond};

    #[test]
    fn a_repeated_branch_has_the_same_condition_and_no_other_way_to_its_jump() {
        let branch =
            |cond, target| Op::Branch { wide: true, cond, a: 1, b: Operand::Reg(2), target, site: NO_SITE };
        let mov = |dst| Op::Alu { wide: true, op: Alu::Mov, dst, src: Operand::Reg(5) };
        let check = |between: Op, second: Op, last: Op, expected: bool| {
            let ops = [branch(Cond::Gt, 2), between, second, last, Op::Exit];
            assert_eq!(Repeats::new(&ops).has(2), expected, "{ops:?}");
        };
        let (same, exit) = (branch(Cond::Gt, 4), Op::Exit);
        check(mov(3), same, exit, true);
        check(mov(1), same, exit, false);
        check(mov(2), same, exit, false);
        check(Op::Call { callee: crate::code::op::Callee::Host, site: 0 }, same, exit, false);
        check(mov(3), branch(Cond::Ge, 4), exit, false);
        check(mov(3), same, branch(Cond::Lt, 2), false);
        check(mov(3), same, branch(Cond::Lt, 1), false);
    }
}
