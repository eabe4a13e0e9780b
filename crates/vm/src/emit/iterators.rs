//! `bpf_iter_num_next`, and the branch on whether there is another number.

use super::asm::Label;
use super::function::Emitter;
use super::live;
use super::registers::{B, B32, DELTA, FRAME, at, at_sum, field, insns, whole};
use super::repeats::Repeats;
use super::stubs;
use super::values::{NUMBERS_BYTES, Value};
use crate::code::op::{Alu, Cond, NO_SITE, Op, Operand};
use crate::context::Context;
use iced_x86::{Code, MemoryOperand};
use std::mem::offset_of;

/// A next number whose result only one branch looks at at first.
#[derive(Clone, Copy)]
pub(super) struct Iteration {
    pub(super) branch: usize,
    /// The iterator's place in the frame.
    off: i64,
    /// How many operations behind the call it counts.
    ahead: i32,
    /// The site of the branch if the call also looks at the fuel for it.
    back: Option<u32>,
}

impl Emitter<'_> {
    /// Before a call of `bpf_iter_num_next` is counted: notes the branch on its result, and counts what that counts.
    pub(super) fn begin_iteration(&mut self) {
        if !self.target.data.counts() {
            return;
        }
        let Some(off) = self.iterator_in_frame() else { return };
        let Some(branch) = branch_behind(self.ops, self.at, |at| self.is_target(at), &self.repeats) else {
            return;
        };
        let Op::Branch { cond, target, site, .. } = self.ops[branch] else { unreachable!("it is a branch") };
        let counted =
            self.ops[self.at + 1..=branch].iter().filter(|op| !matches!(op, Op::Hole)).count() as i32;
        let agreed = match site {
            NO_SITE => self.agreed(target, counted),
            _ if self.order.is_aside(branch) => counted,
            _ => self.agreed(target, 0),
        };
        let back = Some(site).filter(|&site| cond == Cond::Ne && site != NO_SITE && agreed == 0);
        let counts_all = site == NO_SITE || back.is_some();
        let ahead = if counts_all { (counted - agreed).max(0) } else { 0 };
        self.pending += ahead;
        self.iteration = Some(Iteration { branch, off, ahead, back });
    }

    /// The place of R1's iterator if it is in the function's own frame.
    pub(super) fn iterator_in_frame(&self) -> Option<i64> {
        match self.values[1] {
            Value::Frame(off) if self.values[1].is_in_frame(0, NUMBERS_BYTES) => Some(off),
            _ => None,
        }
    }

    /// Like [`crate::numbers::num_next`], which is called if the host counts, and for an iterator outside the
    /// function's own frame.
    pub(super) fn num_next(&mut self, site: u32) {
        if !self.target.data.counts() {
            return self.call_engine(stubs::NUM_NEXT, site);
        }
        let Some(off) = self.iterator_in_frame() else { return self.num_next_anywhere(site) };
        if self.count_on(off) {
            return;
        }
        if let Some(iteration) = self.iteration {
            self.check_fuel_ahead(site, iteration);
            self.charge_number();
            // Whether there is one is tested where the ways part.
            return self.asm.mem(Code::Inc_rm32, at(FRAME, off));
        }
        let done = self.asm.label();
        let over = self.over(at(FRAME, off), done);
        self.check_fuel(site);
        self.charge_number();
        self.asm.mem(Code::Inc_rm32, at(FRAME, off));
        self.compare_number(off);
        self.asm.to(Code::Jge_rel32_64, over);
        self.load_frame_address(0, off);
        self.asm.bind(done);
    }

    /// Compares the number of an iterator in the frame with its end.
    pub(super) fn compare_number(&mut self, off: i64) {
        self.asm.reg_mem(Code::Mov_r32_rm32, B32, at(FRAME, off));
        self.asm.reg_mem(Code::Cmp_r32_rm32, B32, at(FRAME, off + 4));
    }

    /// Like `check_fuel` for a call that has counted operations behind it, perhaps up to a branch that looks at the
    /// fuel, too.
    fn check_fuel_ahead(&mut self, site: u32, Iteration { off, ahead, back, .. }: Iteration) {
        if ahead == 0 {
            return self.check_fuel(site);
        }
        let (unchecked, goes_on) = (self.unchecked.take(), self.asm.label());
        let used_up = self.later(move |e| {
            if let Some((jump, since)) = unchecked {
                e.stop_if_used_up(jump, since + ahead);
            }
            e.stop_if_used_up(site, ahead);
            if let Some(branch) = back {
                // The call is still made; the branch doesn't jump if that was the last number.
                let (is_over, number) = (e.asm.label(), at(FRAME, off));
                e.asm.reg_mem(Code::Mov_r32_rm32, B32, number);
                e.asm.reg(Code::Inc_rm32, B32);
                e.asm.reg_mem(Code::Cmp_r32_rm32, B32, at(FRAME, off + 4));
                e.asm.to(Code::Jge_rel32_64, is_over);
                e.asm.mem_reg(Code::Mov_rm32_r32, number, B32);
                e.charge_number();
                e.set_site(branch);
                e.asm.call_tabled(stubs::NEVER_ENDS);
                e.asm.bind(is_over);
            }
            e.asm.to(Code::Jmp_rel32_64, goes_on);
        });
        self.asm.to(Code::Jg_rel32_64, used_up);
        self.asm.bind(goes_on);
    }

    /// Returns whether the code that follows a branch if there is another number reads R0.
    fn needs_result(&self, branch: usize) -> bool {
        let next = match self.ops[branch] {
            Op::Branch { cond: Cond::Ne, target, .. } => target as usize,
            _ => branch + 1,
        };
        self.needed.get(next).is_none_or(|&needed| live::has(needed, 0))
    }

    /// Like `num_next` for an iterator that may be elsewhere.
    fn num_next_anywhere(&mut self, site: u32) {
        let (iterator, done) = (whole(1), self.asm.label());
        let elsewhere = self.later(move |e| {
            e.call_engine(stubs::NUM_NEXT, site);
            e.asm.to(Code::Jmp_rel32_64, done);
        });
        let pair: MemoryOperand = at_sum(DELTA, iterator, 0);
        let end: MemoryOperand = at_sum(DELTA, iterator, 4);
        let over = self.over(pair, done);
        self.check_fuel(site);
        self.check_iterator(elsewhere);
        self.charge_number();
        self.asm.reg_mem(Code::Mov_r32_rm32, B32, pair);
        self.asm.reg(Code::Inc_rm32, B32);
        self.asm.reg_mem(Code::Cmp_r32_rm32, B32, end);
        self.asm.to(Code::Jge_rel32_64, over);
        self.asm.mem_reg(Code::Mov_rm32_r32, pair, B32);
        self.asm.reg_reg(Code::Mov_r64_rm64, whole(0), iterator);
        self.asm.bind(done);
    }

    fn charge_number(&mut self) {
        if let Some(price_ps) = self.target.data.number_ps() {
            return self.asm.mem_imm(Code::Add_rm64_imm32, field(offset_of!(Context, stall_ps)), price_ps);
        }
        self.asm.reg_mem(Code::Mov_r64_rm64, B, field(offset_of!(Context, num_next_ps)));
        self.asm.mem_reg(Code::Add_rm64_r64, field(offset_of!(Context, stall_ps)), B);
    }

    /// Where there is no other number: the iterator at `pair` ends, and the result is 0.
    fn over(&mut self, pair: MemoryOperand, done: Label) -> Label {
        self.later(move |e| {
            e.end_iterator(pair);
            e.asm.to(Code::Jmp_rel32_64, done);
        })
    }

    fn end_iterator(&mut self, pair: MemoryOperand) {
        self.asm.mem_imm(Code::Mov_rm64_imm32, pair, 0);
        self.zero(0);
    }

    /// The branch at which a next number's two ways part.
    pub(super) fn end_iteration(&mut self, op: Op, Iteration { branch, off, ahead, back }: Iteration) {
        let Op::Branch { cond, target, site, .. } = op else { unreachable!("it is a branch") };
        let goes_on = cond == Cond::Ne;
        if goes_on || site != NO_SITE {
            self.pay(self.zero_at(target as usize));
        }
        self.pending -= ahead;
        match site {
            NO_SITE => self.agree(target),
            _ if goes_on => self.settle(),
            // It leads aside, where it is counted.
            _ => {}
        }
        if self.needs_result(branch) {
            self.load_frame_address(0, off);
        }
        if self.begin_round(target, off) {
            self.end_iterator(at(FRAME, off));
            return self.hand_back(branch);
        }
        self.compare_number(off);
        if !goes_on {
            let way = if site == NO_SITE { Some(self.way_to(target)) } else { None };
            let counted = self.pending;
            let over = self.later(move |e| {
                e.end_iterator(at(FRAME, off));
                e.hand_back(branch);
                match way {
                    Some(way) => e.asm.to(Code::Jmp_rel32_64, way),
                    None => {
                        e.count(counted);
                        e.jump_back(target, site);
                    }
                }
            });
            return self.asm.to(Code::Jge_rel32_64, over);
        }
        let next = match site {
            NO_SITE => self.way_to(target),
            _ if back.is_some() => self.target(target),
            _ => self.later(move |e| {
                e.asm.mem_imm(Code::Cmp_rm64_imm8, insns(), 0);
                e.jump_back(target, site);
            }),
        };
        self.asm.to(Code::Jl_rel32_64, next);
        self.end_iterator(at(FRAME, off));
        self.hand_back(branch);
    }
}

/// The branch that asks whether a call's result is 0, if only operations that set other registers are between them.
pub(super) fn branch_behind(
    ops: &[Op],
    call: usize,
    is_target: impl Fn(usize) -> bool,
    repeats: &Repeats,
) -> Option<usize> {
    const MOST_BETWEEN: usize = 4;
    for number in call + 1..=call + 1 + MOST_BETWEEN {
        let op = *ops.get(number)?;
        if is_target(number) {
            return None;
        }
        match op {
            Op::Alu { op: Alu::Mov, dst: 1..=9, src: Operand::Imm(_) | Operand::Reg(1..=9), .. } => {}
            Op::Const { dst: 1..=9, .. } | Op::Address { dst: 1..=9, .. } | Op::Hole => {}
            Op::Branch { wide: true, cond, a: 0, b: Operand::Imm(0), .. } => {
                let is_simple = repeats.by(number).is_none() && !repeats.has(number);
                let is_usual = matches!(cond, Cond::Ne | Cond::Eq);
                return (is_simple && is_usual).then_some(number);
            }
            _ => return None,
        }
    }
    None
}
