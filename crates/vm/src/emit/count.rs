//! Counting instructions: once per call, exit and jump backwards, where somebody looks at the count.
//!
//! Elsewhere the context's count lacks some, which the emitter knows. Where ways meet, all of them leave the same
//! number uncounted.

use super::branch::fits;
use super::function::Emitter;
use super::order::Order;
use super::registers;
use super::repeats::Repeats;
use crate::code::op::{NO_SITE, Op, jump_targets};
use iced_x86::Code;

/// Returns whether it is a jump, but neither one that looks at the count nor a `may_goto`.
pub(super) fn is_forward_jump(op: Op) -> bool {
    matches!(op, Op::Jump { site: NO_SITE, .. } | Op::Branch { site: NO_SITE, .. })
}

/// Returns whether an operation is a jump that looks at the count.
fn looks_at_count(at: usize, op: Op, order: &Order) -> bool {
    !is_forward_jump(op) && order.until_call(at).is_none()
}

/// How much the count lacks at jump targets: nothing where a jump leads that needs it. Elsewhere as much as on the way
/// there that is in the most loops, which has nothing to add then.
pub(super) fn at_targets(ops: &[Op], order: &Order, repeats: &Repeats) -> Vec<Option<i32>> {
    let mut pending = vec![None; ops.len()];
    let looks =
        |&(at, &op): &(usize, &Op)| looks_at_count(at, op, order) && !order.is_aside(at) && !repeats.has(at);
    for target in ops.iter().enumerate().filter(looks).filter_map(|(_, op)| op.target()) {
        pending[target as usize] = Some(0);
    }
    let (fixed, depths) = (pending.clone(), loops_around(ops));
    let mut chosen: Vec<Option<usize>> = vec![None; ops.len()];
    let is_target = jump_targets(ops);
    let steps = steps(ops, &is_target, repeats);
    ways(ops, &steps, (order, repeats), &pending, |from, to, _| {
        if chosen[to].is_none_or(|best| depths[best] < depths[from]) {
            chosen[to] = Some(from);
        }
    });
    // What one way lacks may depend on what others lack.
    const ROUNDS: usize = 8;
    let mut next = Vec::new();
    for _ in 0..ROUNDS {
        next.clone_from(&fixed);
        ways(ops, &steps, (order, repeats), &pending, |from, to, lacks| {
            if fixed[to].is_none() && chosen[to] == Some(from) {
                next[to] = Some(lacks);
            }
        });
        if next == pending {
            break;
        }
        std::mem::swap(&mut pending, &mut next);
    }
    pending
}

/// For each operation, how many jumps backwards lead past it.
fn loops_around(ops: &[Op]) -> Vec<u32> {
    let mut changes = vec![0_i32; ops.len() + 1];
    for (at, target) in ops.iter().enumerate().filter_map(|(at, op)| Some((at, op.target()? as usize))) {
        if target <= at {
            changes[target] += 1;
            changes[at + 1] -= 1;
        }
    }
    let depth = |depth: &mut i32, change: i32| {
        *depth += change;
        Some(*depth as u32)
    };
    changes.into_iter().scan(0, depth).collect()
}

/// An operation that may be a way's end or beginning, or that is counted with those before it.
struct Step {
    at: usize,
    /// Jumps lead there, other than from the branch that it repeats.
    is_target: bool,
    /// How many other operations there are since the one before.
    others: i32,
}

/// These of a function, which are few of its operations.
fn steps(ops: &[Op], is_target: &[bool], repeats: &Repeats) -> Vec<Step> {
    let (mut steps, mut others) = (Vec::new(), 0);
    for (at, &op) in ops.iter().enumerate() {
        match op {
            Op::Hole if !is_target[at] => {}
            Op::Alu { .. }
            | Op::Const { .. }
            | Op::Address { .. }
            | Op::CastToKernel { .. }
            | Op::CastToUser { .. }
            | Op::Load { .. }
            | Op::Store { .. }
                if !is_target[at] =>
            {
                others += 1;
            }
            _ => {
                let is_target = is_target[at] && !repeats.has(at);
                steps.push(Step { at, is_target, others: std::mem::take(&mut others) });
            }
        }
    }
    steps
}

/// Calls `way` for each way to a jump target: from where, to where, and how much the count lacks, given that for the
/// targets.
fn ways(
    ops: &[Op],
    steps: &[Step],
    (order, repeats): (&Order, &Repeats),
    pending_at: &[Option<i32>],
    mut way: impl FnMut(usize, usize, i32),
) {
    let (mut pending, mut open) = (0, true);
    for &Step { at, is_target, others } in steps {
        let op = ops[at];
        if open {
            pending += others;
        }
        if is_target {
            if open && at > 0 {
                way(at - 1, at, pending);
            }
            (pending, open) = (pending_at[at].unwrap_or(pending), true);
        }
        if !open || matches!(op, Op::Hole) {
            continue;
        }
        pending += 1;
        if repeats.has(at) {
            continue;
        }
        if let Some(repeat) = repeats.by(at) {
            // Its jump passes the repeat, too, and counts by itself what that needs.
            let repeat = repeat as usize;
            if let Some(target) = ops[repeat].target().filter(|_| is_forward_jump(ops[repeat])) {
                way(at, target as usize, pending + 1);
            }
            continue;
        }
        if let Some(target) = op.target().filter(|_| !looks_at_count(at, op, order)) {
            way(at, target as usize, pending);
            // The jump may have been counted.
            pending = pending_at[target as usize].unwrap_or(pending);
        }
        let is_counted = matches!(op, Op::Call { .. } | Op::MayGoto { .. } | Op::Atomic { .. } | Op::Exit);
        if is_counted || op.target().is_some() && looks_at_count(at, op, order) && !order.is_aside(at) {
            pending = 0;
        }
        open = !op.ends();
    }
}

impl Emitter<'_> {
    /// Brings the context's count up to date. Changes the flags.
    pub(super) fn settle(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        self.count(pending);
    }

    /// Adds to the context's count. Changes the flags.
    pub(super) fn count(&mut self, insns: i32) {
        let code = if fits(insns) { Code::Add_rm64_imm8 } else { Code::Add_rm64_imm32 };
        if insns != 0 {
            self.asm.mem_imm(code, registers::insns(), insns);
        }
    }

    /// A jump backwards looks at the count, so that is brought up to date.
    pub(super) fn settle_before_jump(&mut self, target: u32, site: u32) {
        if site == NO_SITE { self.agree(target) } else { self.settle() }
    }

    /// On all ways to an operation, the context's count lacks as much as on the first one. Changes the flags.
    pub(super) fn agree(&mut self, target: u32) {
        let agreed = self.agreed(target, self.pending);
        self.count(self.pending - agreed);
        self.pending = agreed;
    }

    /// How much the context's count lacks on the ways to an operation; `pending`, if this is the first one.
    pub(super) fn agreed(&mut self, target: u32, pending: i32) -> i32 {
        *self.pending_at[target as usize].get_or_insert(pending)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::op::{Cond, Operand};

    #[test]
    fn the_way_that_is_in_a_loop_adds_nothing() {
        let (jump, nop) = (Op::Jump { target: 4, site: NO_SITE }, Op::Const { dst: 0, value: 0 });
        let back =
            |target, site| Op::Branch { wide: true, cond: Cond::Ne, a: 1, b: Operand::Imm(0), target, site };
        let check = |last: Op, expected: [Option<i32>; 2]| {
            let ops = [jump, nop, nop, nop, nop, last, Op::Exit];
            let pending = at_targets(&ops, &Order::new(&ops, true), &Repeats::new(&ops));
            assert_eq!([pending[1], pending[4]], expected, "{last:?}");
        };
        check(back(1, 7), [Some(0), Some(3)]);
        check(nop, [None, Some(1)]);
    }

    #[test]
    fn what_a_branch_leads_past_its_repeat_counts_that_too() {
        let branch = |target| Op::Branch {
            wide: true,
            cond: Cond::Gt,
            a: 1,
            b: Operand::Imm(7),
            target,
            site: NO_SITE,
        };
        let nop = Op::Const { dst: 0, value: 0 };
        let ops = [branch(2), nop, branch(4), nop, nop, Op::Exit];
        let pending = at_targets(&ops, &Order::new(&ops, true), &Repeats::new(&ops));
        assert_eq!([pending[2], pending[4]], [None, Some(2)]);
    }
}
