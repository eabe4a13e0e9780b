//! Charging for a loop's rounds together.
//!
//! A round of a loop over numbers that calls nothing else costs what its usual way costs, and its next number: the way
//! to the loop charges both for as many rounds as come, at most [`MOST_ROUNDS`]. Who leaves the loop earlier gives back
//! the rest. What another way through a round costs more or less is charged on that way, as always.
//!
//! Nobody sees the charges early: while the loop runs nothing reads them, and if the callback might not have enough
//! fuel for these rounds, the interpreter executes them. The context keeps how many of these rounds are left, so that
//! the loop counts down; it certainly does not change its numbers itself.

use super::asm::Label;
use super::function::{Emitter, Target};
use super::iterators::branch_behind;
use super::order::Order;
use super::registers::{A, B, B32, FRAME, at, field, insns};
use super::repeats::Repeats;
use super::values::{self, NUMBERS_BYTES, Registers, Value};
use crate::code::op::{Callee, Cond, NO_SITE, Op, Size, jump_targets};
use crate::context::Context;
use crate::known::Known;
use iced_x86::{Code, MemoryOperand};
use std::collections::BTreeMap;
use std::mem::offset_of;

/// The most rounds that are charged at once: with few of them the fuel rarely looks too little.
const MOST_ROUNDS: i32 = 256;

/// For so few rounds it doesn't pay.
const FEW_ROUNDS: i32 = 16;

/// A loop that is charged for its rounds together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Loop {
    /// The call for the next number, and the branch on whether there is one.
    call: usize,
    branch: usize,
    /// Where the branch leads if there is one.
    head: usize,
    /// The iterator's place in the frame.
    off: i64,
    /// Another operation than the branch may end it.
    is_search: bool,
    /// A round executes at most as many operations.
    most: i32,
    /// How many the usual way through a round executes, once the call has been emitted.
    insns: i32,
    /// Where the next round begins.
    round: Option<Label>,
}

/// The loops of a function that are charged together.
pub(super) struct Together {
    loops: Vec<Loop>,
    /// For each operation, the loop that it is part of. Empty if there are none.
    part_of: Vec<Option<u32>>,
}

impl Together {
    pub(super) fn new(
        ops: &[Op],
        values_at: &[Option<Box<Registers>>],
        (order, repeats): (&Order, &Repeats),
        pending_at: &[Option<i32>],
        target: &Target<'_>,
    ) -> Self {
        let mut all = Self { loops: Vec::new(), part_of: Vec::new() };
        let is_next = |op: &Op| matches!(op, Op::Call { callee: Callee::NumNext, .. });
        if target.data.number_ps().is_none() || !ops.iter().any(is_next) {
            return all;
        }
        let (mut calls, mut lengths, mut stores) = (Vec::new(), BTreeMap::new(), Vec::new());
        values::each(ops, values_at, target.entry(), target.data, |at, op, registers| {
            match (op, registers[1]) {
                (Op::Call { callee: Callee::NumNext, .. }, Value::Frame(off))
                    if registers[1].is_in_frame(0, NUMBERS_BYTES) =>
                {
                    calls.push((at, off));
                }
                (Op::Call { callee: Callee::Known(Known::NumNew), .. }, Value::Frame(off)) => {
                    lengths.insert(off, length(registers));
                }
                (Op::Store { base, off, size, .. }, _) => {
                    let value = registers.get(usize::from(base)).copied().unwrap_or(Value::Frame(0));
                    stores.push((at, value, off, size));
                }
                _ => {}
            }
        });
        let is_target = jump_targets(ops);
        for (call, off) in calls {
            let length = lengths.get(&off).copied().flatten();
            let found = Loop::of(ops, (call, off), &is_target, (order, repeats), pending_at);
            let Some((found, parts)) = found.filter(|(found, _)| found.pays(length)) else { continue };
            if all.part_of.is_empty() {
                all.part_of = vec![None; ops.len()];
            }
            let number = Some(all.loops.len() as u32);
            parts.into_iter().for_each(|at| all.part_of[at] = number);
            all.loops.push(found);
        }
        let mut changes = vec![false; all.loops.len()];
        for (at, value, off, size) in stores {
            if let Some(number) = all.number(at) {
                changes[number] |= all.loops[number].may_be_changed_by(value, off, size, target);
            }
        }
        for part in &mut all.part_of {
            *part = part.filter(|&number| !changes[number as usize]);
        }
        all
    }

    fn number(&self, at: usize) -> Option<usize> {
        self.part_of.get(at).copied().flatten().map(|number| number as usize)
    }

    /// The loop that the operation is part of, and may leave before the end of its charged rounds.
    pub(super) fn around(&self, at: usize) -> Option<usize> {
        self.number(at).filter(|&number| !(self.loops[number].call..=self.loops[number].branch).contains(&at))
    }

    /// The loop that is left early on the way from one operation to another.
    pub(super) fn left(&self, from: usize, to: usize) -> Option<usize> {
        self.around(from).filter(|_| self.number(from) != self.number(to))
    }

    /// The loop whose rounds begin with an operation.
    fn begun_by(&self, at: usize) -> Option<usize> {
        self.number(at).filter(|&number| self.loops[number].head == at)
    }

    /// The loop whose next number this call or branch is about.
    fn of_number(&self, at: usize) -> Option<usize> {
        self.number(at).filter(|&number| [self.loops[number].call, self.loops[number].branch].contains(&at))
    }
}

impl Loop {
    /// The loop that asks for its next number by this call, for an iterator at this place in the frame; and the
    /// operations that are part of it.
    fn of(
        ops: &[Op],
        (call, off): (usize, i64),
        is_target: &[bool],
        (order, repeats): (&Order, &Repeats),
        pending_at: &[Option<i32>],
    ) -> Option<(Self, Vec<usize>)> {
        let branch = branch_behind(ops, call, |at| is_target[at], repeats)?;
        let Op::Branch { cond: Cond::Ne, target, site, .. } = ops[branch] else { return None };
        let head = target as usize;
        // The call looks at the fuel for the branch, too.
        if order.is_aside(branch)
            || site != NO_SITE && pending_at[head] != Some(0)
            || matches!(ops[head], Op::Hole)
        {
            return None;
        }
        let body = body(ops, head, call)?;
        let is_in = |at: usize| body[at] || (call..=branch).contains(&at);
        let (mut most, mut is_search) = ((branch + 1 - call) as i32, false);
        for (at, &op) in ops.iter().enumerate() {
            for to in ways(ops, at).into_iter().flatten() {
                let leaves = body[at] && !is_in(to);
                let can_leave = match op {
                    Op::Branch { site, .. } => site == NO_SITE && !repeats.has(at) || to == at + 1,
                    _ => true,
                };
                let enters = is_in(to) && !is_in(at) && to != head;
                if leaves && !can_leave || enters {
                    return None;
                }
                is_search |= leaves;
            }
            most += i32::from(body[at]);
        }
        let parts = (0..ops.len()).filter(|&at| is_in(at)).collect();
        Some((Self { call, branch, head, off, is_search, most, insns: 0, round: None }, parts))
    }

    /// Returns whether it pays to charge for its rounds together, given how many numbers its iterator has if that is
    /// certain: a search mostly ends soon, unless its end is far because it stands for none.
    fn pays(&self, length: Option<i32>) -> bool {
        match self.is_search {
            true => length.is_some_and(|length| length > MOST_ROUNDS),
            false => length.is_none_or(|length| length > FEW_ROUNDS),
        }
    }

    /// Returns whether a store may change the iterator.
    fn may_be_changed_by(&self, value: Value, off: i32, size: Size, target: &Target<'_>) -> bool {
        let bytes = size.bytes();
        if value.is_in_stack(off, bytes) {
            let first = value.frame_offset(off);
            return first < self.off + NUMBERS_BYTES as i64 && self.off < first + bytes as i64;
        }
        !target.is_within(value, off, size)
    }
}

/// How many numbers an iterator from R2 to R3 has, if that is certain.
fn length(registers: &Registers) -> Option<i32> {
    match (registers[2], registers[3]) {
        (Value::Const(first), Value::Const(end)) => Some((end as i32).saturating_sub(first as i32)),
        _ => None,
    }
}

/// Where control may go from an operation.
fn ways(ops: &[Op], at: usize) -> [Option<usize>; 2] {
    let next = (!ops[at].ends() && at + 1 < ops.len()).then_some(at + 1);
    [next, ops[at].target().map(|target| target as usize)]
}

/// The operations on the ways from a loop's head to its call, if each is executed at most once on them, and none looks
/// at charges.
fn body(ops: &[Op], head: usize, call: usize) -> Option<Vec<bool>> {
    let jump = |(at, op): (usize, &Op)| Some((op.target()? as usize, at));
    let mut jumps: Vec<_> = ops.iter().enumerate().filter_map(jump).collect();
    jumps.sort_unstable();
    let before = |to: usize| {
        let in_order = to.checked_sub(1).filter(|&at| !ops[at].ends());
        let first = jumps.partition_point(|&(target, _)| target < to);
        let there = jumps[first..].iter().take_while(move |&&(target, _)| target == to);
        in_order.into_iter().chain(there.map(|&(_, at)| at))
    };
    let mut body = vec![false; ops.len()];
    let mut open = vec![call];
    while let Some(at) = open.pop() {
        for from in before(at).filter(|_| at != head) {
            if !std::mem::replace(&mut body[from], true) {
                open.push(from);
            }
        }
    }
    // Each operation comes behind all that lead to it; in a loop of its own, none would be the first.
    let is_left = |at: usize, ordered: &[bool]| before(at).any(|from| body[from] && !ordered[from]);
    let (mut ordered, mut ready) = (vec![false; ops.len()], vec![head]);
    while let Some(at) = ready.pop() {
        if !body[at] || ordered[at] || is_left(at, &ordered) {
            continue;
        }
        ordered[at] = true;
        ready.extend(ways(ops, at).into_iter().flatten().filter(|&to| to != call));
    }
    let is_quiet = |op: Op| {
        let computes = matches!(op, Op::Alu { .. } | Op::Const { .. } | Op::Address { .. } | Op::Hole);
        computes || matches!(op, Op::Load { .. } | Op::Store { .. } | Op::Branch { .. } | Op::Jump { .. })
    };
    let is_fine = |at: usize| !body[at] || ordered[at] && is_quiet(ops[at]);
    // The function begins nowhere else in the loop.
    let is_entered = head != 0 && body[0];
    (body[head] && !is_entered && (0..ops.len()).all(is_fine)).then_some(body)
}

impl Emitter<'_> {
    /// Where the rounds of a loop begin that is charged for them together, and not the ways to it: these charge.
    pub(super) fn round(&mut self, at: usize) -> Option<Label> {
        let number = self.together.begun_by(at)?;
        let label = self.asm.label();
        Some(*self.together.loops[number].round.get_or_insert(label))
    }

    /// At the head of such a loop, whose first operation is counted: emits the way to it, which charges.
    pub(super) fn charge_ahead(&mut self) {
        let Some(number) = self.together.begun_by(self.at) else { return };
        let (label, outside) = (self.target(self.at as u32), self.exit_before_rounds());
        let Loop { off, most, round, .. } = self.together.loops[number];
        let round = round.expect("it begins here");
        self.later(move |e| {
            e.asm.bind(label);
            let known = e.asm.label();
            let other = e.later(move |e| {
                // Without any, the loop would end after the next round.
                let some = e.asm.label();
                e.asm.reg_reg(Code::Test_rm64_r64, B, B);
                e.asm.reg_imm(Code::Mov_r32_imm32, B32, MOST_ROUNDS);
                e.asm.to(Code::Jg_rel32_64, some);
                e.asm.reg_imm(Code::Mov_r32_imm32, B32, 1);
                e.asm.bind(some);
                e.asm.to(Code::Jmp_rel32_64, known);
            });
            let most_charged = most + e.together.loops[number].insns;
            e.asm.mem_imm(Code::Cmp_rm64_imm32, insns(), -most_charged * MOST_ROUNDS);
            e.asm.to(Code::Jg_rel32_64, outside);
            e.asm.reg_mem(Code::Movsxd_r64_rm32, B, at(FRAME, off + 4));
            e.asm.reg_mem(Code::Movsxd_r64_rm32, A, at(FRAME, off));
            e.asm.reg_reg(Code::Sub_r64_rm64, B, A);
            e.asm.reg_mem(Code::Lea_r64_m, A, at(B, -1));
            e.asm.reg_imm(Code::Cmp_rm64_imm32, A, MOST_ROUNDS);
            e.asm.to(Code::Jae_rel32_64, other);
            e.asm.bind(known);
            e.asm.mem_reg(Code::Mov_rm32_r32, left(), B32);
            e.charge_rounds(number, Code::Add_rm64_r64);
            e.asm.to(Code::Jmp_rel32_64, round);
        });
    }

    /// Charges for as many rounds of a loop as `B` says, or gives that back.
    fn charge_rounds(&mut self, number: usize, code: Code) {
        let price_ps = self.target.data.number_ps().expect("it is known for such a loop");
        let insns_each = self.together.loops[number].insns;
        self.asm.reg_reg_imm(Code::Imul_r64_rm64_imm32, A, B, insns_each);
        self.asm.mem_reg(code, insns(), A);
        self.asm.reg_reg_imm(Code::Imul_r64_rm64_imm32, A, B, price_ps);
        self.asm.mem_reg(code, field(offset_of!(Context, stall_ps)), A);
    }

    /// Gives back the rounds that a loop was charged for and doesn't make. Changes the flags.
    pub(super) fn give_back(&mut self, number: usize) {
        self.asm.reg_mem(Code::Mov_r32_rm32, B32, left());
        self.charge_rounds(number, Code::Sub_rm64_r64);
    }

    /// Like [`Emitter::give_back`] on the way that goes on.
    pub(super) fn give_back_aside(&mut self, number: usize) {
        let goes_on = self.asm.label();
        let aside = self.later(move |e| {
            e.give_back(number);
            e.asm.to(Code::Jmp_rel32_64, goes_on);
        });
        self.asm.to(Code::Jmp_rel32_64, aside);
        self.asm.bind(goes_on);
    }

    /// Counts to a loop's next number, if its rounds are charged together.
    pub(super) fn count_on(&mut self, off: i64) -> bool {
        let counts = self.together.of_number(self.at).is_some();
        if counts {
            self.unchecked = None;
            self.asm.mem(Code::Inc_rm32, at(FRAME, off));
        }
        counts
    }

    /// If the rounds are charged together: notes what the usual one executes, which has been counted so far.
    pub(super) fn settle_round(&mut self) {
        if let Some(number) = self.together.of_number(self.at) {
            self.together.loops[number].insns = std::mem::take(&mut self.pending);
        }
    }

    /// Begins the next round of a loop whose rounds are charged together, or goes on if it is over.
    pub(super) fn begin_round(&mut self, target: u32, off: i64) -> bool {
        let Some(number) = self.together.of_number(self.at) else { return false };
        let round = self.together.loops[number].round.expect("it has begun");
        let (round, charging) = (self.way_to_label(target, round), self.way_to(target));
        self.asm.mem(Code::Dec_rm32, left());
        self.asm.to(Code::Jne_rel32_64, round);
        self.compare_number(off);
        self.asm.to(Code::Jl_rel32_64, charging);
        true
    }
}

/// The rounds that are charged and have not been made.
fn left() -> MemoryOperand {
    field(offset_of!(Context, rounds_left))
}
