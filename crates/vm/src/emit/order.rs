//! The order in which a function's operations are emitted: mostly their own, but what only jumps lead to follows one of
//! these, which needs no code then.
//!
//! Compilers put the step of a loop before its body, and jump back to it from there. If that step asks for the next
//! number, that call looks at the fuel for the jump, too: what lies between them changes only registers.

use super::live;
use crate::code::op::{Callee, Cond, NO_SITE, Op, Operand};

/// The order of a function's operations.
pub(super) struct Order {
    /// Their numbers.
    pub(super) ops: Vec<usize>,
    /// Whether the target of a jump is emitted right behind it.
    follows: Vec<bool>,
    /// Whether a branch backwards is not the last one to its target, so that it mostly is not taken.
    aside: Vec<bool>,
    /// For a jump whose fuel the next call looks at: the operations from its target up to that call, which it counts.
    until_call: Vec<Option<i32>>,
}

impl Order {
    /// The order of these operations; `counts` says that emitted code serves `bpf_iter_num_next`.
    pub(super) fn new(ops: &[Op], counts: bool) -> Self {
        let mut jumps = vec![0_u32; ops.len()];
        let mut is_jumped_to = vec![false; ops.len()];
        for &op in ops {
            if let Some(target) = op.target() {
                jumps[target as usize] += 1;
                is_jumped_to[target as usize] |= matches!(op, Op::Jump { .. });
            }
        }
        let begins = |at: usize| at == 0 || ops[at - 1].ends();
        let waits = |at: usize| at > 0 && jumps[at] == 1 && is_jumped_to[at];
        let mut order = Self {
            ops: Vec::with_capacity(ops.len()),
            follows: vec![false; ops.len()],
            aside: aside(ops),
            until_call: Vec::new(),
        };
        let mut placed = vec![false; ops.len()];
        for at in 0..ops.len() {
            // What a single jump leads to is emitted behind that, if it is emitted at all.
            if begins(at) && !placed[at] && !waits(at) {
                order.place(ops, at, &mut placed);
            }
        }
        order.place_entered(ops, begins, &mut placed);
        // Branches that lead aside look at the fuel themselves.
        let mut others = vec![0; ops.len()];
        for (at, target) in ops.iter().enumerate().filter_map(|(at, op)| Some((at, op.target()?))) {
            others[target as usize] += u32::from(order.aside[at]);
        }
        let until_call = |at: usize| {
            let Op::Jump { target, site } = ops[at] else { return None };
            let is_alone = jumps[target as usize] == 1 + others[target as usize];
            let is_counted = counts && order.follows[at] && site != NO_SITE && is_alone;
            if is_counted { until_call(ops, target as usize, &jumps) } else { None }
        };
        order.until_call = (0..ops.len()).map(until_call).collect();
        order
    }

    /// Appends the operation at `at` and those that control comes to from there.
    fn place(&mut self, ops: &[Op], mut at: usize, placed: &mut [bool]) {
        while at < ops.len() {
            placed[at] = true;
            self.ops.push(at);
            let target = match ops[at] {
                Op::Jump { target, .. } => target as usize,
                op if op.ends() => return,
                _ => {
                    at += 1;
                    continue;
                }
            };
            if placed[target] || target == 0 || !ops[target - 1].ends() {
                return;
            }
            self.follows[at] = true;
            at = target;
        }
    }

    /// Appends what only its own end jumps back to, if control enters it in the middle.
    fn place_entered(&mut self, ops: &[Op], begins: impl Fn(usize) -> bool, placed: &mut [bool]) {
        let mut looked_at = 0;
        while let Some(&at) = self.ops.get(looked_at) {
            if let Some(target) = ops[at].target().map(|target| target as usize).filter(|&to| !placed[to]) {
                let first = (0..=target).rev().find(|&at| begins(at)).unwrap_or(0);
                self.place(ops, first, placed);
            }
            looked_at += 1;
        }
    }

    /// The operation from which control comes to another one in order, if there is one.
    pub(super) fn before(&self, ops: &[Op], at: usize) -> Option<usize> {
        let place = self.ops.iter().position(|&other| other == at)?;
        let before = *self.ops.get(place.checked_sub(1)?)?;
        (self.follows[before] || !ops[before].ends()).then_some(before)
    }

    /// Returns whether the target of a jump is emitted right behind it.
    pub(super) fn follows(&self, jump: usize) -> bool {
        self.follows[jump]
    }

    /// Returns whether a branch backwards leads aside first, to code that counts and looks at the fuel, so that the way
    /// past it need not.
    pub(super) fn is_aside(&self, branch: usize) -> bool {
        self.aside[branch]
    }

    /// If the next call looks at the fuel for a jump: how many operations that call counts since then.
    pub(super) fn until_call(&self, jump: usize) -> Option<i32> {
        self.until_call[jump]
    }
}

/// The branches backwards that are not the last ones to their targets: a loop mostly goes on where its body ends. And
/// those that leave a loop over numbers, which compilers may place behind what comes next.
fn aside(ops: &[Op]) -> Vec<bool> {
    let mut last = vec![0; ops.len()];
    for (at, target) in ops.iter().enumerate().filter_map(|(at, op)| Some((at, op.target()? as usize))) {
        if target <= at {
            last[target] = at;
        }
    }
    let is_aside = |(at, &op): (usize, &Op)| match op {
        Op::Branch { target, site, .. } => {
            site != NO_SITE && (last[target as usize] > at || ends_numbers(ops, at))
        }
        _ => false,
    };
    ops.iter().enumerate().map(is_aside).collect()
}

/// Returns whether a branch is taken if a `bpf_iter_num_next` just before it has found no number.
fn ends_numbers(ops: &[Op], branch: usize) -> bool {
    const MOST_BETWEEN: usize = 4;
    let Op::Branch { wide: true, cond: Cond::Eq, a: 0, b: Operand::Imm(0), .. } = ops[branch] else {
        return false;
    };
    let mut before = ops[..branch].iter().rev().take(1 + MOST_BETWEEN);
    let call = before.find(|op| live::has(live::uses(**op).1, 0));
    matches!(call, Some(Op::Call { callee: Callee::NumNext, .. }))
}

/// How many operations there are up to a `bpf_iter_num_next`, if all before it change only registers.
fn until_call(ops: &[Op], from: usize, jumps: &[u32]) -> Option<i32> {
    let mut count = 0;
    for (at, &op) in ops.iter().enumerate().skip(from) {
        if at > from && jumps[at] > 0 {
            return None;
        }
        match op {
            Op::Hole => {}
            Op::Alu { .. } | Op::Const { .. } | Op::Address { .. } => count += 1,
            Op::Call { callee: Callee::NumNext, .. } => return Some(count + 1),
            _ => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOP: Op = Op::Const { dst: 0, value: 0 };

    fn jump(target: u32, site: u32) -> Op {
        Op::Jump { target, site }
    }

    #[test]
    fn what_only_jumps_lead_to_follows_one_of_them() {
        let check =
            |ops: &[Op], expected: &[usize]| assert_eq!(Order::new(ops, true).ops, expected, "{ops:?}");
        check(&[NOP, Op::Exit], &[0, 1]);
        check(&[jump(2, NO_SITE), Op::Exit, NOP, Op::Exit], &[0, 2, 3, 1]);
        // Control also comes to it in order.
        let branch =
            Op::Branch { wide: true, cond: Cond::Eq, a: 1, b: Operand::Imm(0), target: 2, site: NO_SITE };
        check(&[branch, jump(2, NO_SITE), NOP, Op::Exit], &[0, 1, 2, 3]);
        // The step of a loop comes behind its body.
        check(&[jump(3, NO_SITE), NOP, jump(3, NO_SITE), branch, jump(1, 7)], &[0, 3, 4, 1, 2]);
        // Nothing leads there.
        check(&[Op::Exit, jump(1, 7)], &[0]);
        // A branch enters a loop whose start only its end jumps to.
        let enter =
            Op::Branch { wide: true, cond: Cond::Eq, a: 1, b: Operand::Imm(0), target: 3, site: NO_SITE };
        check(&[enter, Op::Exit, NOP, NOP, jump(2, 7)], &[0, 1, 2, 3, 4]);
    }

    #[test]
    fn a_branch_backwards_leads_aside_if_another_one_comes_later() {
        let branch =
            |target, site| Op::Branch { wide: true, cond: Cond::Eq, a: 1, b: Operand::Imm(0), target, site };
        let ops = [NOP, branch(0, 7), branch(3, NO_SITE), branch(0, 8), Op::Exit];
        let order = Order::new(&ops, true);
        assert_eq!([1, 2, 3].map(|at| order.is_aside(at)), [true, false, false]);
    }

    #[test]
    fn a_call_for_the_next_number_looks_at_the_fuel_for_the_jump() {
        let call = |callee| Op::Call { callee, site: 4 };
        let check = |call: Op, counts: bool, expected: Option<i32>| {
            let ops = [jump(4, NO_SITE), NOP, call, jump(4, NO_SITE), NOP, jump(1, 7)];
            assert_eq!(Order::new(&ops, counts).until_call(5), expected, "{ops:?}");
        };
        check(call(Callee::NumNext), true, Some(2));
        check(call(Callee::NumNext), false, None);
        check(call(Callee::Host), true, None);
    }
}
