//! Arithmetic: Cranelift's, except for division by zero and overflowing division, which BPF defines and processors trap
//! on.

use super::translate::Translator;
use crate::code::op::{Alu, Operand};
use crate::maps::kernel_address;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I16, I32, I64};
use cranelift_codegen::ir::{InstBuilder, Type, Value};

fn int(bits: u8) -> Type {
    match bits {
        8 => I8,
        16 => I16,
        32 => I32,
        _ => I64,
    }
}

impl Translator<'_> {
    /// Like [`crate::interp_alu::to_kernel`].
    pub(super) fn cast_to_kernel(&mut self, dst: u8, src: u8) {
        let user = self.reg(src);
        let low = self.low_half(user);
        let base = self.number(kernel_address(0) as i64);
        let kernel = self.b.ins().iadd(low, base);
        let value = self.b.ins().select(user, kernel, user);
        self.set_reg(dst, value);
    }

    /// Like [`crate::interp_alu::to_user`].
    pub(super) fn cast_to_user(&mut self, dst: u8, src: u8, high: u64) {
        let kernel = self.reg(src);
        let low = self.low_half(kernel);
        let high = self.number(high as i64);
        let user = self.b.ins().bor(low, high);
        let value = self.b.ins().select(low, user, low);
        self.set_reg(dst, value);
    }

    fn low_half(&mut self, value: Value) -> Value {
        let low = self.b.ins().ireduce(I32, value);
        self.b.ins().uextend(I64, low)
    }

    pub(super) fn alu(&mut self, wide: bool, op: Alu, dst: u8, src: Operand) {
        let (mut a, mut b) = (self.reg(dst), self.operand(src));
        if !wide {
            a = self.b.ins().ireduce(I32, a);
            b = match src {
                Operand::Imm(i) => self.b.ins().iconst(I32, i64::from(i as u32)),
                Operand::Reg(_) => self.b.ins().ireduce(I32, b),
            };
        }
        let ty = if wide { I64 } else { I32 };
        let known = match src {
            Operand::Imm(i) => Some(i),
            Operand::Reg(_) => None,
        };
        let mut value = self.compute(op, ty, a, b, known);
        if !wide {
            value = self.b.ins().uextend(I64, value);
        }
        self.set_reg(dst, value);
    }

    fn compute(&mut self, op: Alu, ty: Type, a: Value, b: Value, known: Option<i64>) -> Value {
        match op {
            Alu::Add => self.b.ins().iadd(a, b),
            Alu::Sub => self.b.ins().isub(a, b),
            Alu::Mul => self.b.ins().imul(a, b),
            Alu::Or => self.b.ins().bor(a, b),
            Alu::And => self.b.ins().band(a, b),
            Alu::Xor => self.b.ins().bxor(a, b),
            Alu::Lsh => self.b.ins().ishl(a, b),
            Alu::Rsh => self.b.ins().ushr(a, b),
            Alu::Arsh => self.b.ins().sshr(a, b),
            Alu::Mov => b,
            Alu::Neg => self.b.ins().ineg(a),
            Alu::MovSigned(bits) if int(bits) == ty => b,
            Alu::MovSigned(bits) => {
                let low = self.b.ins().ireduce(int(bits), b);
                self.b.ins().sextend(ty, low)
            }
            Alu::Truncate(64) => a,
            Alu::Truncate(bits) => {
                let low = self.b.ins().ireduce(int(bits), a);
                self.b.ins().uextend(ty, low)
            }
            Alu::Swap(64) => self.b.ins().bswap(a),
            Alu::Swap(bits) => {
                let low = self.b.ins().ireduce(int(bits), a);
                let swapped = self.b.ins().bswap(low);
                self.b.ins().uextend(ty, swapped)
            }
            Alu::Div | Alu::Mod => self.unsigned_division(op, ty, a, b, known),
            Alu::SignedDiv | Alu::SignedMod => self.signed_division(op, ty, a, b),
        }
    }

    /// The quotient, which is 0 if the divisor is 0; or the remainder, which is then the dividend.
    fn unsigned_division(&mut self, op: Alu, ty: Type, a: Value, b: Value, known: Option<i64>) -> Value {
        let divide = |t: &mut Self, b| match op {
            Alu::Div => t.b.ins().udiv(a, b),
            _ => t.b.ins().urem(a, b),
        };
        if known.is_some_and(|divisor| divisor != 0) {
            return divide(self, b);
        }
        let (zero, one) = (self.b.ins().iconst(ty, 0), self.b.ins().iconst(ty, 1));
        let is_zero = self.b.ins().icmp(IntCC::Equal, b, zero);
        let safe = self.b.ins().select(is_zero, one, b);
        let value = divide(self, safe);
        let by_zero = if op == Alu::Div { zero } else { a };
        self.b.ins().select(is_zero, by_zero, value)
    }

    /// Like `unsigned_division` for signed numbers; dividing by -1 negates, so that it can't overflow.
    fn signed_division(&mut self, op: Alu, ty: Type, a: Value, b: Value) -> Value {
        let (zero, one) = (self.b.ins().iconst(ty, 0), self.b.ins().iconst(ty, 1));
        let minus_one = self.b.ins().ineg(one);
        let is_zero = self.b.ins().icmp(IntCC::Equal, b, zero);
        let is_minus_one = self.b.ins().icmp(IntCC::Equal, b, minus_one);
        let special = self.b.ins().bor(is_zero, is_minus_one);
        let safe = self.b.ins().select(special, one, b);
        let (value, by_zero, by_minus_one) = match op {
            Alu::SignedDiv => (self.b.ins().sdiv(a, safe), zero, self.b.ins().ineg(a)),
            _ => (self.b.ins().srem(a, safe), a, zero),
        };
        let value = self.b.ins().select(is_minus_one, by_minus_one, value);
        self.b.ins().select(is_zero, by_zero, value)
    }
}
