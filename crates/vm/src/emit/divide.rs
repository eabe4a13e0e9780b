//! Division: by 0 and with overflow as BPF defines it, where the processor would trap.
//!
//! The processor divides rdx:rax, which are R2 and R0: each is saved during the division if it is read later.

use super::alu::sized;
use super::asm::Label;
use super::function::Emitter;
use super::live;
use super::registers::{A, B, B32, half, whole};
use crate::code::op::{Alu, Operand};
use iced_x86::{Code, Register};

/// A copy of 32 and of 64 bits.
const MOV: [Code; 2] = [Code::Mov_r32_rm32, Code::Mov_r64_rm64];
const R0: u8 = 0;
const R2: u8 = 2;

impl Emitter<'_> {
    pub(super) fn divide(&mut self, op: Alu, wide: bool, dst: u8, src: Operand) {
        let done = self.asm.label();
        match (op, src) {
            (Alu::Mod, Operand::Reg(by @ 0..=9)) => self.reduce(wide, dst, by, done),
            _ => self.divide_fully(op, wide, dst, src, done),
        }
        self.asm.bind(done);
    }

    fn divide_fully(&mut self, op: Alu, wide: bool, dst: u8, src: Operand, done: Label) {
        let divisor = self.divisor(op == Alu::Div, wide, dst, src, done);
        self.save(wide, dst);
        self.asm.reg_reg(Code::Xor_r32_rm32, Register::EDX, Register::EDX);
        self.asm.reg([Code::Div_rm32, Code::Div_rm64][usize::from(wide)], divisor);
        self.restore(op == Alu::Div, dst);
    }

    /// The remainder of a division by a register, which mostly keeps a number in a ring: at most one subtraction gives
    /// it. Everything else, and the divisor 0, is left to a division, to which a subtraction makes no difference.
    fn reduce(&mut self, wide: bool, dst: u8, by: u8, done: Label) {
        let at = usize::from(wide);
        let (compare, copy) = ([Code::Cmp_r32_rm32, Code::Cmp_r64_rm64][at], MOV[at]);
        let (dividend, divisor) = (sized(wide, dst), sized(wide, by));
        let read_later = self.read_later;
        let fully = self.later(move |e| {
            e.read_later = read_later;
            e.divide_fully(Alu::Mod, wide, dst, Operand::Reg(by), done);
            e.asm.to(Code::Jmp_rel32_64, done);
        });
        if !wide && !self.values[usize::from(dst)].is_half() {
            self.asm.reg_reg(copy, dividend, dividend);
        }
        self.asm.reg_reg(compare, dividend, divisor);
        self.asm.to(Code::Jb_rel32_64, done);
        self.asm.reg_reg([Code::Sub_r32_rm32, Code::Sub_r64_rm64][at], dividend, divisor);
        self.asm.reg_reg(compare, dividend, divisor);
        self.asm.to(Code::Jae_rel32_64, fully);
    }

    /// Dividing by -1 negates, so that it cannot overflow.
    pub(super) fn divide_signed(&mut self, op: Alu, wide: bool, dst: u8, src: Operand) {
        let done = self.asm.label();
        let is_quotient = op == Alu::SignedDiv;
        let divisor = self.divisor(is_quotient, wide, dst, src, done);
        let minus_one = self.later(move |e| {
            if is_quotient {
                e.asm.reg([Code::Neg_rm32, Code::Neg_rm64][usize::from(wide)], sized(wide, dst));
            } else {
                e.zero(dst);
            }
            e.asm.to(Code::Jmp_rel32_64, done);
        });
        let compare = [Code::Cmp_rm32_imm8, Code::Cmp_rm64_imm8][usize::from(wide)];
        self.asm.reg_imm(compare, divisor, -1);
        self.asm.to(Code::Je_rel32_64, minus_one);
        self.save(wide, dst);
        self.asm.bare([Code::Cdq, Code::Cqo][usize::from(wide)]);
        self.asm.reg([Code::Idiv_rm32, Code::Idiv_rm64][usize::from(wide)], divisor);
        self.restore(is_quotient, dst);
        self.asm.bind(done);
    }

    /// The register of the divisor, which is `B` unless the division leaves its own alone. If the divisor is 0, continues
    /// at `done` with 0, or with the dividend as the remainder.
    fn divisor(&mut self, is_quotient: bool, wide: bool, dst: u8, src: Operand, done: Label) -> Register {
        let at = usize::from(wide);
        let mut divisor = [B32, B][at];
        match self.source(wide, src) {
            Ok(from) if !matches!(src, Operand::Reg(R0 | R2)) => divisor = from,
            Ok(from) => self.asm.reg_reg([Code::Mov_r32_rm32, Code::Mov_r64_rm64][at], divisor, from),
            Err(imm) => self.asm.reg_imm(Code::Mov_rm64_imm32, B, imm),
        }
        if matches!(src, Operand::Imm(1..)) {
            return divisor;
        }
        let by_zero = self.later(move |e| {
            if is_quotient {
                e.zero(dst);
            } else if !wide {
                e.asm.reg_reg(Code::Mov_r32_rm32, half(dst), half(dst));
            }
            e.asm.to(Code::Jmp_rel32_64, done);
        });
        self.asm.reg_reg([Code::Test_rm32_r32, Code::Test_rm64_r64][at], divisor, divisor);
        self.asm.to(Code::Je_rel32_64, by_zero);
        divisor
    }

    /// Returns whether a register other than the dividend must be preserved.
    fn keeps(&self, reg: u8, dst: u8) -> bool {
        reg != dst && live::has(self.read_later, reg)
    }

    /// Saves R0 and R2, except the dividend, which goes to rax.
    fn save(&mut self, wide: bool, dst: u8) {
        if self.keeps(R2, dst) {
            self.asm.reg(Code::Push_r64, whole(R2));
        }
        if self.keeps(R0, dst) {
            self.asm.reg_reg(Code::Mov_r64_rm64, A, whole(R0));
        }
        if dst != R0 {
            let code = [Code::Mov_r32_rm32, Code::Mov_r64_rm64][usize::from(wide)];
            self.asm.reg_reg(code, sized(wide, R0), sized(wide, dst));
        }
    }

    fn restore(&mut self, is_quotient: bool, dst: u8) {
        let result = if is_quotient { Register::RAX } else { Register::RDX };
        if whole(dst) != result {
            self.asm.reg_reg(Code::Mov_r64_rm64, whole(dst), result);
        }
        if self.keeps(R2, dst) {
            self.asm.reg(Code::Pop_r64, whole(R2));
        }
        if self.keeps(R0, dst) {
            self.asm.reg_reg(Code::Mov_r64_rm64, whole(R0), A);
        }
    }
}
