//! Whether costs may be carried that the next call is charged for ([`crate::known`]).
//!
//! They are handed over whenever code is entered, also in the middle of an operation that lets others pass. The next
//! call takes them, so between two calls without such an operation there are none.

use crate::code::op::{Callee, Op, jump_targets};

/// Returns whether costs may be carried after an operation, given that for the moment before it.
pub(super) fn after(op: Op, before: bool) -> bool {
    match op {
        Op::Call { callee: Callee::Host | Callee::Known(_), .. } => false,
        Op::Call { callee: Callee::NumNext, .. } => before,
        Op::Call { .. } | Op::Atomic { .. } | Op::MayGoto { .. } => true,
        _ => before,
    }
}

/// For each operation, whether it is a call that emitted code serves, and that finds no costs: no other CPU runs before it
/// is over. `counts` says that there are prices, and `carried_at` is as in [`at_targets`].
pub(super) fn served(ops: &[Op], counts: bool, carried_at: &[bool]) -> Vec<bool> {
    let mut served = vec![false; ops.len()];
    let is_known = |op: &Op| matches!(op, Op::Call { callee: Callee::Known(_), .. });
    if !counts || !ops.iter().any(is_known) {
        return served;
    }
    let is_target = jump_targets(ops);
    let mut carried = true;
    for (at, &op) in ops.iter().enumerate() {
        if is_target[at] {
            carried = carried_at[at];
        }
        served[at] = is_known(&op) && !carried;
        // What is behind the end of a way is a target, or never executed.
        carried = after(op, carried) || op.ends();
    }
    served
}

/// The most rounds; if jumps need more, costs count as carried everywhere.
const ROUNDS: usize = 16;

/// Whether costs may be carried at each jump target, by operation.
pub(super) fn at_targets(ops: &[Op]) -> Vec<bool> {
    let is_target = jump_targets(ops);
    let mut carried_at = vec![false; ops.len()];
    for _ in 0..ROUNDS {
        let (mut carried, mut open, mut changed) = (true, true, false);
        for (at, &op) in ops.iter().enumerate() {
            if is_target[at] {
                carried_at[at] |= open && carried;
                (carried, open) = (carried_at[at], true);
            }
            if !open {
                continue;
            }
            carried = after(op, carried);
            if let Some(target) = op.target().map(|target| target as usize) {
                // Other targets are still ahead.
                changed |= carried && !carried_at[target] && target <= at;
                carried_at[target] |= carried;
            }
            open = !op.ends();
        }
        if !changed {
            return carried_at;
        }
    }
    vec![true; ops.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::op::{Cond, NO_SITE, Operand};
    use crate::known::Known;

    #[test]
    fn a_call_on_every_way_takes_what_is_carried() {
        let call = |callee| Op::Call { callee, site: 0 };
        let skip =
            Op::Branch { wide: true, cond: Cond::Eq, a: 1, b: Operand::Imm(0), target: 3, site: NO_SITE };
        let check = |first: Op, between: Op, expected: bool| {
            assert_eq!(at_targets(&[first, skip, between, Op::Exit])[3], expected, "{first:?} {between:?}");
        };
        let (known, other) = (call(Callee::Known(Known::Now)), call(Callee::Function(0)));
        check(known, Op::Hole, false);
        check(call(Callee::Host), call(Callee::NumNext), false);
        check(Op::Hole, known, true);
        check(known, other, true);
        check(known, Op::MayGoto { target: 3, site: 0 }, true);
    }

    #[test]
    fn a_call_behind_another_one_is_certainly_served() {
        let call = |callee| Op::Call { callee, site: 0 };
        let known = call(Callee::Known(Known::Now));
        let ops = [known, known, call(Callee::Function(0)), known, known, Op::Exit];
        let carried_at = at_targets(&ops);
        assert_eq!(served(&ops, true, &carried_at), [false, true, false, false, true, false]);
        assert_eq!(served(&ops, false, &carried_at), [false; 6]);
    }
}
