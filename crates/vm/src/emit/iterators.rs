//! `bpf_iter_num_next`, and the branch on whether there is another number.

use super::asm::Label;
use super::function::Emitter;
use super::live::{self, Set};
use super::registers::{B, B32, DELTA, FRAME, at, at_sum, field, whole};
use super::stubs;
use super::values::{NUMBERS_BYTES, Value};
use crate::code::op::{Alu, Cond, NO_SITE, Op, Operand};
use crate::context::Context;
use iced_x86::{Code, MemoryOperand};
use std::mem::offset_of;

/// A next number whose result only one branch looks at at first.
#[derive(Clone, Copy)]
pub(super) struct Iteration {
    /// The call and the branch.
    call: usize,
    pub(super) branch: usize,
    /// Where the code goes if there is no other number.
    over: Label,
    /// The iterator's place in the frame.
    off: i64,
    owed: Set,
}

impl Emitter<'_> {
    /// Like [`crate::numbers::num_next`], which is called if the host counts, and for an iterator outside the
    /// function's own frame.
    pub(super) fn num_next(&mut self, site: u32, read: Set) {
        if !self.target.data.counts() {
            return self.call_engine(stubs::NUM_NEXT, site);
        }
        let off = match self.values[1] {
            Value::Frame(off) if self.values[1].is_in_frame(0, NUMBERS_BYTES) => off,
            _ => return self.num_next_anywhere(site),
        };
        let done = self.asm.label();
        let over = match self.branch_of(self.at) {
            Some(branch) => {
                let (call, over, owed) = (self.at, self.asm.label(), read & live::ARGUMENTS);
                self.iteration = Some(Iteration { call, branch, over, off, owed });
                over
            }
            None => self.over(at(FRAME, off), done),
        };
        self.check_fuel(site);
        self.charge_number();
        let (number, end) = (at(FRAME, off), at(FRAME, off + 4));
        self.asm.mem(Code::Inc_rm32, number);
        self.asm.reg_mem(Code::Mov_r32_rm32, B32, number);
        self.asm.reg_mem(Code::Cmp_r32_rm32, B32, end);
        self.asm.to(Code::Jge_rel32_64, over);
        if self.iteration.is_none_or(|iteration| self.needs_result(iteration.branch)) {
            self.load_frame_address(0, off);
        }
        self.asm.bind(done);
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

    /// The branch that asks whether a call's result is 0, if only operations that set other registers are between them.
    fn branch_of(&self, call: usize) -> Option<usize> {
        const MOST_BETWEEN: usize = 4;
        for number in call + 1..=call + 1 + MOST_BETWEEN {
            if self.is_target(number) {
                return None;
            }
            match *self.ops.get(number)? {
                Op::Alu { op: Alu::Mov, dst: 1..=9, src: Operand::Imm(_) | Operand::Reg(1..=9), .. } => {}
                Op::Const { dst: 1..=9, .. } | Op::Address { dst: 1..=9, .. } | Op::Hole => {}
                Op::Branch { wide: true, cond, a: 0, b: Operand::Imm(0), site, .. } => {
                    let is_simple = self.repeats.by(number).is_none() && !self.repeats.has(number);
                    let is_usual = cond == Cond::Ne || cond == Cond::Eq && site == NO_SITE;
                    return (is_simple && is_usual).then_some(number);
                }
                _ => return None,
            }
        }
        None
    }

    /// The branch at which a next number's two ways part. They have done so already: here there is a number.
    pub(super) fn end_iteration(&mut self, op: Op, iteration: Iteration) {
        let Op::Branch { cond, target, site, .. } = op else { unreachable!("it is a branch") };
        let goes_on = cond == Cond::Ne;
        if goes_on {
            self.pay(self.zero_at(target as usize));
        }
        let agreed = if site == NO_SITE { self.agreed(target, self.pending) } else { 0 };
        let missing = self.pending - agreed;
        self.pending = agreed;
        let (next, label) = (self.asm.label(), self.target(target));
        let looks = if goes_on { Vec::new() } else { self.looks_before(target as usize) };
        let copies = &self.ops[iteration.call + 1..iteration.branch];
        self.later(move |e| {
            e.asm.bind(iteration.over);
            e.end_iterator(at(FRAME, iteration.off));
            e.zero_all(iteration.owed);
            for &copy in copies {
                match copy {
                    Op::Alu { wide, op, dst, src } => e.alu(wide, op, dst, src),
                    Op::Const { dst, value } => e.constant(dst, value),
                    Op::Address { dst, slot } => e.tabled_address(whole(dst), slot),
                    _ => {}
                }
            }
            e.count(missing);
            e.look_at(&looks);
            e.asm.to(Code::Jmp_rel32_64, if goes_on { next } else { label });
        });
        self.count(missing);
        if goes_on {
            match site {
                NO_SITE => self.jump(target, site),
                _ => self.jump_back(target, site),
            }
            // Who comes behind the branch has zeroed everything.
            self.owed = 0;
        }
        self.asm.bind(next);
    }
}
