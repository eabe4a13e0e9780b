//! Arithmetic: mostly one instruction each.

use super::branch::fits;
use super::function::Emitter;
use super::live;
use super::registers::{A, A32, B, B32, field, half, part, part_of_b, whole};
use crate::code::op::{Alu, Op, Operand};
use crate::context::Context;
use iced_x86::{Code, Register};
use std::mem::offset_of;

/// The forms of an instruction: 32 and 64 bits of two registers, of a register and 8 bits, of a register and 32 bits.
struct Forms {
    registers: [Code; 2],
    short: [Code; 2],
    long: [Code; 2],
}

impl Emitter<'_> {
    pub(super) fn alu(&mut self, wide: bool, op: Alu, dst: u8, src: Operand) {
        match op {
            Alu::Mov => self.mov(wide, dst, src),
            Alu::MovSigned(bits) => self.mov_signed(wide, bits, dst, src),
            Alu::Neg => self.asm.reg([Code::Neg_rm32, Code::Neg_rm64][usize::from(wide)], sized(wide, dst)),
            Alu::Truncate(bits) => self.truncate(bits, dst),
            Alu::Swap(bits) => self.swap(bits, dst),
            Alu::Lsh | Alu::Rsh | Alu::Arsh => self.shift(op, wide, dst, src),
            Alu::Mul => self.multiply(wide, dst, src),
            Alu::Div | Alu::Mod => self.divide(op, wide, dst, src),
            Alu::SignedDiv | Alu::SignedMod => self.divide_signed(op, wide, dst, src),
            _ => self.plain(&forms(op), wide, dst, src),
        }
    }

    fn plain(&mut self, forms: &Forms, wide: bool, dst: u8, src: Operand) {
        let to = sized(wide, dst);
        match self.source(wide, src) {
            Ok(from) => self.asm.reg_reg(forms.registers[usize::from(wide)], to, from),
            Err(imm) if fits(imm) => self.asm.reg_imm(forms.short[usize::from(wide)], to, imm),
            Err(imm) => self.asm.reg_imm(forms.long[usize::from(wide)], to, imm),
        }
    }

    /// The second operand's register, of the right size, or its immediate. Changes the flags and `B`.
    pub(super) fn source(&mut self, wide: bool, src: Operand) -> Result<Register, i32> {
        let whole = self.read_operand(src, B)?;
        match src {
            Operand::Reg(reg) if reg < 10 => Ok(sized(wide, reg)),
            _ => Ok(if wide { whole } else { B32 }),
        }
    }

    /// Sets a register to a constant.
    pub(super) fn constant(&mut self, dst: u8, value: u64) {
        if value == 0 {
            self.zero(dst);
        } else if u32::try_from(value).is_ok() {
            self.asm.reg_imm(Code::Mov_r32_imm32, half(dst), value as u32 as i32);
        } else if let Ok(short) = i32::try_from(value as i64) {
            self.asm.reg_imm(Code::Mov_rm64_imm32, whole(dst), short);
        } else {
            self.asm.reg_imm64(Code::Mov_r64_imm64, whole(dst), value);
        }
    }

    fn mov(&mut self, wide: bool, dst: u8, src: Operand) {
        match src {
            Operand::Imm(imm) => self.constant(dst, if wide { imm as u64 } else { u64::from(imm as u32) }),
            Operand::Reg(10) if wide => {
                self.read(10, whole(dst));
            }
            Operand::Reg(_) => {
                let from = self.source(wide, src).expect("it is a register");
                self.asm.reg_reg(
                    [Code::Mov_r32_rm32, Code::Mov_r64_rm64][usize::from(wide)],
                    sized(wide, dst),
                    from,
                );
            }
        }
    }

    fn mov_signed(&mut self, wide: bool, bits: u8, dst: u8, src: Operand) {
        let Operand::Reg(reg) = src else { unreachable!("only registers are sign-extended") };
        self.read(reg, B);
        let size = bits.trailing_zeros() as u8 - 3;
        let from = if reg < 10 { part(reg, size) } else { part_of_b(size) };
        let code = match (bits, wide) {
            (8, false) => Code::Movsx_r32_rm8,
            (8, true) => Code::Movsx_r64_rm8,
            (16, false) => Code::Movsx_r32_rm16,
            (16, true) => Code::Movsx_r64_rm16,
            (_, false) => Code::Mov_r32_rm32,
            (_, true) => Code::Movsxd_r64_rm32,
        };
        self.asm.reg_reg(code, sized(wide, dst), from);
    }

    fn truncate(&mut self, bits: u8, dst: u8) {
        match bits {
            16 => self.asm.reg_reg(Code::Movzx_r32_rm16, half(dst), part(dst, 1)),
            32 => self.asm.reg_reg(Code::Mov_r32_rm32, half(dst), half(dst)),
            _ => {}
        }
    }

    fn swap(&mut self, bits: u8, dst: u8) {
        match bits {
            16 => {
                self.asm.reg_imm(Code::Rol_rm16_imm8, part(dst, 1), 8);
                self.truncate(16, dst);
            }
            32 => self.asm.reg(Code::Bswap_r32, half(dst)),
            _ => self.asm.reg(Code::Bswap_r64, whole(dst)),
        }
    }

    fn shift(&mut self, op: Alu, wide: bool, dst: u8, src: Operand) {
        let at = usize::from(wide);
        let to = sized(wide, dst);
        let by_register = match op {
            Alu::Lsh => [Code::VEX_Shlx_r32_rm32_r32, Code::VEX_Shlx_r64_rm64_r64],
            Alu::Rsh => [Code::VEX_Shrx_r32_rm32_r32, Code::VEX_Shrx_r64_rm64_r64],
            _ => [Code::VEX_Sarx_r32_rm32_r32, Code::VEX_Sarx_r64_rm64_r64],
        };
        let by_constant = match op {
            Alu::Lsh => [Code::Shl_rm32_imm8, Code::Shl_rm64_imm8],
            Alu::Rsh => [Code::Shr_rm32_imm8, Code::Shr_rm64_imm8],
            _ => [Code::Sar_rm32_imm8, Code::Sar_rm64_imm8],
        };
        match self.source(wide, src) {
            Ok(by) => self.asm.reg_reg_reg(by_register[at], to, to, by),
            Err(imm) => match imm & if wide { 63 } else { 31 } {
                // Even a shift by 0 clears the high half.
                0 if !wide => self.truncate(32, dst),
                by => self.asm.reg_imm(by_constant[at], to, by),
            },
        }
    }

    fn multiply(&mut self, wide: bool, dst: u8, src: Operand) {
        let (at, to) = (usize::from(wide), sized(wide, dst));
        match self.source(wide, src) {
            Ok(by) => self.asm.reg_reg([Code::Imul_r32_rm32, Code::Imul_r64_rm64][at], to, by),
            Err(imm) => {
                let code = [Code::Imul_r32_rm32_imm32, Code::Imul_r64_rm64_imm32][at];
                self.asm.reg_reg_imm(code, to, to, imm);
            }
        }
    }

    /// Like [`crate::interp_alu::to_kernel`].
    pub(super) fn cast_to_kernel(&mut self, dst: u8, src: u8) {
        let user = self.read(src, A);
        let low = if src < 10 { half(src) } else { A32 };
        self.asm.reg_reg(Code::Test_rm64_r64, user, user);
        // A null pointer stays null. If it is certainly used as an address soon, the interpreter takes over at once.
        let done = self.asm.label();
        let null = if is_address(self.ops, self.at) { self.exit_here() } else { done };
        if null != done {
            self.asm.to(Code::Je_rel32_64, null);
        }
        // This leaves the flags as they are.
        self.asm.reg_reg(Code::Mov_r32_rm32, half(dst), low);
        if null == done {
            self.asm.to(Code::Je_rel32_64, done);
        }
        self.asm.reg_mem(Code::Add_r64_rm64, whole(dst), field(offset_of!(Context, arena)));
        self.asm.bind(done);
    }

    /// Like [`crate::interp_alu::to_user`].
    pub(super) fn cast_to_user(&mut self, dst: u8, src: u8, high: u64) {
        self.read(src, A);
        let low = if src < 10 { half(src) } else { A32 };
        self.asm.reg_reg(Code::Mov_r32_rm32, B32, low);
        self.asm.reg_reg(Code::Test_rm32_r32, B32, B32);
        let done = self.asm.label();
        self.asm.to(Code::Je_rel32_64, done);
        self.asm.reg_imm64(Code::Mov_r64_imm64, A, high);
        self.asm.reg_reg(Code::Or_r64_rm64, B, A);
        self.asm.bind(done);
        self.asm.reg_reg(Code::Mov_r64_rm64, whole(dst), B);
    }
}

/// Returns whether a load or store certainly follows the operation with this number, at an address in the register that
/// it sets.
pub(super) fn is_address(ops: &[Op], at: usize) -> bool {
    const MOST_BETWEEN: usize = 6;
    let Op::CastToKernel { dst, .. } = ops[at] else { return false };
    for &op in ops.iter().skip(at + 1).take(1 + MOST_BETWEEN) {
        let is_plain = match op {
            Op::Load { base, .. } | Op::Store { base, .. } if base == dst => return true,
            Op::Load { .. } | Op::Store { .. } | Op::Alu { .. } | Op::Const { .. } => true,
            Op::Address { .. } | Op::CastToKernel { .. } | Op::CastToUser { .. } | Op::Hole => true,
            _ => false,
        };
        if !is_plain || live::has(live::uses(op).1, dst) {
            return false;
        }
    }
    false
}

/// A BPF register (R0 to R9), or its low half.
pub(super) fn sized(wide: bool, reg: u8) -> Register {
    if wide { whole(reg) } else { half(reg) }
}

fn forms(op: Alu) -> Forms {
    match op {
        Alu::Add => Forms {
            registers: [Code::Add_r32_rm32, Code::Add_r64_rm64],
            short: [Code::Add_rm32_imm8, Code::Add_rm64_imm8],
            long: [Code::Add_rm32_imm32, Code::Add_rm64_imm32],
        },
        Alu::Sub => Forms {
            registers: [Code::Sub_r32_rm32, Code::Sub_r64_rm64],
            short: [Code::Sub_rm32_imm8, Code::Sub_rm64_imm8],
            long: [Code::Sub_rm32_imm32, Code::Sub_rm64_imm32],
        },
        Alu::Or => Forms {
            registers: [Code::Or_r32_rm32, Code::Or_r64_rm64],
            short: [Code::Or_rm32_imm8, Code::Or_rm64_imm8],
            long: [Code::Or_rm32_imm32, Code::Or_rm64_imm32],
        },
        Alu::And => Forms {
            registers: [Code::And_r32_rm32, Code::And_r64_rm64],
            short: [Code::And_rm32_imm8, Code::And_rm64_imm8],
            long: [Code::And_rm32_imm32, Code::And_rm64_imm32],
        },
        Alu::Xor => Forms {
            registers: [Code::Xor_r32_rm32, Code::Xor_r64_rm64],
            short: [Code::Xor_rm32_imm8, Code::Xor_rm64_imm8],
            long: [Code::Xor_rm32_imm32, Code::Xor_rm64_imm32],
        },
        _ => unreachable!("other operations have forms of their own"),
    }
}
