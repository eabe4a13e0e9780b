//! What a round of a loop hands to the next one.
//!
//! A value that a loop changes only sometimes is in one of R6 to R9 while the next number is asked for, which clobbers the
//! other registers. Compilers mostly keep it in one of these during the round: each round copies it there behind the
//! call, and back before it. Here the copies behind the call are made on each way to it instead. On the usual way they
//! only undo the copies before them, so neither needs code. Behind the last round, the registers get what these copies
//! would have left there.

use super::function::{Emitter, Target};
use super::iterators::branch_behind;
use super::live::{self, Set};
use super::order::Order;
use super::repeats::Repeats;
use super::values::{self, NUMBERS_BYTES, Registers, Value};
use crate::code::op::{Alu, Callee, Cond, NO_SITE, Op, Operand, jump_targets};
use std::collections::BTreeMap;

/// A copy of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Copy {
    wide: bool,
    dst: u8,
    src: u8,
}

impl Copy {
    fn of(op: Op) -> Option<Self> {
        match op {
            Op::Alu { wide, op: Alu::Mov, dst: dst @ 1..=9, src: Operand::Reg(src @ 1..=9) } => {
                Some(Self { wide, dst, src })
            }
            _ => None,
        }
    }
}

/// The loops of a function that hand over registers.
pub(super) struct Rounds {
    /// For the operation that such a loop's rounds begin with, what every jump to it copies.
    copies: BTreeMap<usize, Vec<Copy>>,
    /// For the branch on whether there is a next number, the copies where there is none.
    at_end: BTreeMap<usize, Vec<Copy>>,
    /// Operations that need no code.
    silent: Vec<bool>,
}

impl Rounds {
    pub(super) fn new(
        ops: &[Op],
        values_at: &[Option<Box<Registers>>],
        live: &[Set],
        (order, repeats): (&Order, &Repeats),
        target: &Target<'_>,
    ) -> Self {
        let mut rounds =
            Self { copies: BTreeMap::new(), at_end: BTreeMap::new(), silent: vec![false; ops.len()] };
        if !target.data.counts() {
            return rounds;
        }
        let is_target = jump_targets(ops);
        let found = (0..ops.len()).filter_map(|call| Round::of(ops, call, &is_target, (order, repeats)));
        let found: Vec<Round> = found.collect();
        if found.is_empty() {
            return rounds;
        }
        // Before each operation, the registers of which the upper half is 0.
        let mut halves: Vec<Set> = vec![0; ops.len()];
        values::each(ops, values_at, target.entry(), target.data, |at, _, registers| {
            let is_half = |reg: &u8| registers[usize::from(*reg)].is_half();
            halves[at] = live::each(live::ALL, 0..=9).filter(is_half).map(live::bit).sum();
        });
        for round in found {
            let (again, over) = round.ways(ops);
            let kept = round.kept(halves[round.first]);
            if live[again] & !kept == 0
                && let Some(at_end) = round.copies_back(live[over] & !kept, halves[round.branch])
            {
                round.silent.iter().for_each(|&at| rounds.silent[at] = true);
                rounds.copies.insert(round.start, round.behind);
                rounds.at_end.insert(round.branch, at_end);
            }
        }
        rounds
    }

    /// Returns whether an operation needs no code.
    pub(super) fn is_silent(&self, at: usize) -> bool {
        self.silent[at]
    }
}

/// One loop's round.
struct Round {
    /// The operation that it begins with, where control comes to it in order, too.
    start: usize,
    /// The branch on whether there is a next number.
    branch: usize,
    /// The copies that lead to `start` in order, and the first operation of these.
    before: Vec<Copy>,
    first: usize,
    /// Those between the call and the branch.
    behind: Vec<Copy>,
    /// The operations of all these copies.
    silent: Vec<usize>,
}

impl Round {
    /// That of the loop which asks for its next number here.
    fn of(ops: &[Op], call: usize, is_target: &[bool], (order, repeats): (&Order, &Repeats)) -> Option<Self> {
        let start = call.checked_sub(2)?;
        let Op::Call { callee: Callee::NumNext, .. } = ops[call] else { return None };
        let is_frame = ops[start] == Op::Alu { wide: true, op: Alu::Mov, dst: 1, src: Operand::Reg(10) };
        let Op::Alu { wide: true, op: Alu::Add, dst: 1, src: Operand::Imm(off) } = ops[start + 1] else {
            return None;
        };
        // The call needs no register for the iterator.
        let is_known = is_frame && Value::Frame(off).is_in_frame(0, NUMBERS_BYTES);
        if !is_known || is_target[start + 1] || is_target[call] || !jumps_may_copy(ops, start, order, repeats)
        {
            return None;
        }
        let branch = branch_behind(ops, call, |at| is_target[at], repeats)?;
        let (mut silent, mut behind, mut others) = (Vec::new(), Vec::new(), 0);
        for (at, &op) in ops.iter().enumerate().take(branch).skip(call + 1) {
            match Copy::of(op).filter(|copy| copy.src >= 6) {
                Some(copy) => {
                    silent.push(at);
                    behind.push(copy);
                }
                None => others |= live::uses(op).0 | live::uses(op).1,
            }
        }
        let is_apart = |copy: &Copy| !live::has(others, copy.dst) && !live::has(others, copy.src);
        if behind.is_empty() || !behind.iter().all(is_apart) {
            return None;
        }
        let mut at = order.before(ops, start)?;
        let (mut before, mut first) = (Vec::new(), None);
        if matches!(ops[at], Op::Jump { .. }) && !is_target[at] {
            at = at.checked_sub(1)?;
        }
        loop {
            match (Copy::of(ops[at]), ops[at]) {
                (Some(copy), _) => {
                    before.push(copy);
                    silent.push(at);
                    first = Some(at);
                }
                (None, Op::Hole) => {}
                (None, _) if repeats.has(at) => {}
                _ => break,
            }
            if at == 0 || is_target[at] && !repeats.has(at) {
                break;
            }
            at -= 1;
        }
        before.reverse();
        Some(Self { start, branch, before, first: first?, behind, silent })
    }

    /// Where the loop goes on if there is a next number, and if there is none.
    fn ways(&self, ops: &[Op]) -> (usize, usize) {
        let Op::Branch { cond, target, .. } = ops[self.branch] else { unreachable!("it is a branch") };
        let (target, next) = (target as usize, self.branch + 1);
        if cond == Cond::Ne { (target, next) } else { (next, target) }
    }

    /// The registers that all copies in order don't change, given those of which the upper half is 0 before.
    fn kept(&self, halves: Set) -> Set {
        let mut from: [(u8, bool); 10] = std::array::from_fn(|reg| (reg as u8, false));
        for &Copy { wide, dst, src } in self.before.iter().chain(&self.behind) {
            let (origin, is_cut) = from[usize::from(src)];
            from[usize::from(dst)] = (origin, is_cut || !wide);
        }
        let is_kept = |&reg: &u8| {
            let (origin, is_cut) = from[usize::from(reg)];
            origin == reg && (!is_cut || live::has(halves, reg))
        };
        live::each(live::ALL, 0..=9).filter(is_kept).map(live::bit).fold(live::bit(10), |set, reg| set | reg)
    }

    /// What gives these registers their values if no copy is made, provided that each of them has been copied behind the
    /// call; and given those of which the upper half is 0 there.
    fn copies_back(&self, changed: Set, halves: Set) -> Option<Vec<Copy>> {
        let back = |reg: u8| {
            let mut copies =
                self.behind.iter().filter(|copy| copy.src == reg && (copy.wide || live::has(halves, reg)));
            let &Copy { dst, .. } = copies.next()?;
            let times = self.behind.iter().filter(|copy| copy.dst == dst || copy.dst == reg).count();
            (times == 1).then_some(Copy { wide: true, dst: reg, src: dst })
        };
        live::each(changed, 0..=9).map(back).collect()
    }
}

/// Returns whether all jumps to an operation are such that they can make copies.
fn jumps_may_copy(ops: &[Op], to: usize, order: &Order, repeats: &Repeats) -> bool {
    ops.iter().enumerate().filter(|(_, op)| op.target() == Some(to as u32)).all(|(at, &op)| match op {
        Op::Jump { .. } | Op::Branch { site: NO_SITE, .. } => true,
        Op::Branch { .. } => order.is_aside(at) || repeats.has(at),
        _ => false,
    })
}

impl Emitter<'_> {
    /// Makes the copies that every jump to an operation makes.
    pub(super) fn hand_over(&mut self, to: u32) {
        let copies = self.rounds.copies.get(&(to as usize)).cloned().unwrap_or_default();
        for Copy { wide, dst, src } in copies {
            self.alu(wide, Alu::Mov, dst, Operand::Reg(src));
        }
    }

    /// Makes the copies where a branch finds that there is no next number.
    pub(super) fn hand_back(&mut self, branch: usize) {
        for Copy { wide, dst, src } in self.rounds.at_end.get(&branch).cloned().unwrap_or_default() {
            self.alu(wide, Alu::Mov, dst, Operand::Reg(src));
        }
    }

    /// Returns whether jumps to an operation make copies.
    pub(super) fn hands_over(&self, to: u32) -> bool {
        self.rounds.copies.contains_key(&(to as usize))
    }
}
