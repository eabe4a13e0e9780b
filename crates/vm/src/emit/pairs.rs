//! Pairs of operations that take one instruction, or two for an address in the frame.

use super::alu::sized;
use super::function::Emitter;
use super::live;
use super::registers::{DELTA, FRAME, at, at_sum, half, part, whole};
use super::values::{NUMBERS_BYTES, Value};
use crate::code::op::{Alu, Callee, Op, Operand};
use crate::known::Known;
use iced_x86::{Code, MemoryOperand, Register};

/// Such a pair, whose result is in one register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pair {
    /// An address at this distance from R10.
    Frame(i32),
    /// A register and a number.
    Sum(u8, i32),
    /// Two registers.
    SumOf(u8, u8),
    /// A register, shifted left by as many bits as an address allows.
    Shifted(u8, u32),
    /// A register times a number.
    Product(u8, i32),
    /// The low half, quarter or eighth of the register itself; 2 to the power of this many bytes.
    Part { size: u8, signed: bool },
}

impl Emitter<'_> {
    /// The pair of an operation and the next one, its register, and whether its result has 64 bits.
    pub(super) fn pair(&self, number: usize) -> Option<(Pair, u8, bool)> {
        let next = self.emitted(number + 1).filter(|_| !self.is_target(number + 1))?;
        let (Op::Alu { wide, op: first, dst, src }, Op::Alu { wide: all, op, dst: result, src: other }) =
            (self.emitted(number)?, next)
        else {
            return None;
        };
        if result != dst {
            return None;
        }
        let pair = match (first, src) {
            (Alu::Mov, Operand::Reg(10)) if wide && all => frame(op, other),
            (Alu::Mov, Operand::Reg(src @ 0..=9)) if wide || !all => copied(op, dst, src, other),
            (Alu::Lsh, Operand::Imm(by)) if wide == all && other == src => shifted_back(op, wide, by),
            _ => None,
        };
        pair.map(|pair| (pair, dst, all))
    }

    /// Emits a pair that begins with the current operation.
    pub(super) fn both(&mut self, (pair, dst, wide): (Pair, u8, bool)) {
        let second = self.ops[self.at + 1];
        self.pay(live::uses(second).0 & !live::uses(second).1);
        let lea = [Code::Lea_r32_m, Code::Lea_r64_m][usize::from(wide)];
        let to = sized(wide, dst);
        match pair {
            Pair::Frame(off) if self.feeds_iterator(dst, off) => {}
            Pair::Frame(off) => self.load_frame_address(dst, off.into()),
            Pair::Sum(src, imm) => self.asm.reg_mem(lea, to, at(whole(src), imm.into())),
            Pair::SumOf(a, b) => self.asm.reg_mem(lea, to, at_sum(whole(a), whole(b), 0)),
            Pair::Shifted(src, by) => {
                let scaled = MemoryOperand::with_base_index_scale_displ_size(
                    Register::None,
                    whole(src),
                    1 << by,
                    0,
                    8,
                );
                self.asm.reg_mem(lea, to, scaled);
            }
            Pair::Product(src, imm) => {
                let code = [Code::Imul_r32_rm32_imm32, Code::Imul_r64_rm64_imm32][usize::from(wide)];
                self.asm.reg_reg_imm(code, to, sized(wide, src), imm);
            }
            Pair::Part { size, signed } => {
                let (code, to) = part_of(size, signed, wide, dst);
                self.asm.reg_reg(code, to, part(dst, size));
            }
        }
    }

    /// Loads an address in the frame.
    pub(super) fn load_frame_address(&mut self, dst: u8, off: i64) {
        self.asm.reg_mem(Code::Lea_r64_m, whole(dst), at(FRAME, off));
        self.asm.reg_reg(Code::Sub_r64_rm64, whole(dst), DELTA);
    }

    /// Returns whether an address in the frame is only for the next call, which knows it.
    fn feeds_iterator(&self, dst: u8, off: i32) -> bool {
        let is_known = Value::Frame(off.into()).is_in_frame(0, NUMBERS_BYTES);
        dst == 1 && is_known && self.target.data.counts() && self.calls_iterator(self.at + 2)
    }

    /// Returns whether an operation calls a function of number iterators, perhaps after some that set other arguments.
    fn calls_iterator(&self, first: usize) -> bool {
        const MOST_BETWEEN: usize = 3;
        for number in first..=first + MOST_BETWEEN {
            if self.is_target(number) {
                return false;
            }
            match self.ops.get(number) {
                Some(Op::Call { callee: Callee::NumNext, .. }) => return true,
                Some(Op::Call { callee: Callee::Known(Known::NumNew | Known::NumDestroy), .. }) => {
                    return true;
                }
                Some(Op::Alu {
                    op: Alu::Mov, dst: 2.., src: Operand::Imm(_) | Operand::Reg(2..=9), ..
                }) => {}
                Some(Op::Const { dst: 2.., .. } | Op::Hole) => {}
                _ => return false,
            }
        }
        false
    }
}

fn frame(op: Alu, other: Operand) -> Option<Pair> {
    match (op, other) {
        (Alu::Add, Operand::Imm(off)) => Some(Pair::Frame(off as i32)),
        _ => None,
    }
}

fn copied(op: Alu, dst: u8, src: u8, other: Operand) -> Option<Pair> {
    match (op, other) {
        (Alu::Add, Operand::Imm(imm)) => Some(Pair::Sum(src, imm as i32)),
        (Alu::Sub, Operand::Imm(imm)) => i32::try_from(-imm).ok().map(|imm| Pair::Sum(src, imm)),
        (Alu::Add, Operand::Reg(other)) if other < 10 && other != dst => Some(Pair::SumOf(src, other)),
        (Alu::Lsh, Operand::Imm(by @ 1..=3)) => Some(Pair::Shifted(src, by as u32)),
        (Alu::Mul, Operand::Imm(imm)) => Some(Pair::Product(src, imm as i32)),
        _ => None,
    }
}

/// A shift to the left and back by the same number of bits.
fn shifted_back(op: Alu, wide: bool, by: i64) -> Option<Pair> {
    let signed = match op {
        Alu::Arsh => true,
        Alu::Rsh => false,
        _ => return None,
    };
    let size = match if wide { 64 - by } else { 32 - by } {
        8 => 0,
        16 => 1,
        32 if wide => 2,
        _ => return None,
    };
    Some(Pair::Part { size, signed })
}

fn part_of(size: u8, signed: bool, wide: bool, dst: u8) -> (Code, Register) {
    match (size, signed, wide) {
        (0, false, _) => (Code::Movzx_r32_rm8, half(dst)),
        (1, false, _) => (Code::Movzx_r32_rm16, half(dst)),
        (_, false, _) => (Code::Mov_r32_rm32, half(dst)),
        (0, true, false) => (Code::Movsx_r32_rm8, half(dst)),
        (1, true, false) => (Code::Movsx_r32_rm16, half(dst)),
        (0, true, true) => (Code::Movsx_r64_rm8, whole(dst)),
        (1, true, true) => (Code::Movsx_r64_rm16, whole(dst)),
        (_, true, _) => (Code::Movsxd_r64_rm32, whole(dst)),
    }
}
