//! Compares each instruction with what the encoder of [`iced_x86`] makes of it, in debug builds.

use super::encode::{Operands, Rm};
use super::forms::{Fields, form};
use iced_x86::{Code, Encoder, IcedError, Instruction, MemoryOperand, Register};

/// Compares the bytes of an instruction, whose distance is still 0.
///
/// # Panics
/// Panics if the encoders disagree, or the operands do not fit the instruction.
pub(super) fn check(code: Code, operands: &Operands, bytes: &[u8]) {
    let made = instruction(code, operands, bytes.len() as u64);
    let mut encoder = Encoder::new(64);
    let encoded = made.and_then(|instruction| encoder.encode(&instruction, 0));
    assert!(encoded.is_ok(), "{code:?} has other operands: {encoded:?}");
    assert_eq!(encoder.take_buffer(), bytes, "{code:?}");
}

/// The instruction, which ends at address `end`.
fn instruction(code: Code, operands: &Operands, end: u64) -> Result<Instruction, IcedError> {
    let form = form(code);
    let (reg, vex, immediate) = (operands.reg, operands.vex, operands.immediate);
    let has_immediate = form.immediate != 0;
    match (form.fields, operands.rm) {
        (Fields::Nothing, _) if has_immediate => Instruction::with_branch(code, end),
        (Fields::Nothing, _) => Ok(Instruction::with(code)),
        (Fields::Opcode, _) if form.immediate == 8 => Instruction::with2(code, reg, immediate),
        (Fields::Opcode, _) if has_immediate => Instruction::with2(code, reg, immediate as i32),
        (Fields::Opcode, _) => Instruction::with1(code, reg),
        (Fields::Extended(_), Some(Rm::Reg(rm))) if has_immediate => {
            Instruction::with2(code, rm, immediate as i32)
        }
        (Fields::Extended(_), Some(Rm::Reg(rm))) => Instruction::with1(code, rm),
        (Fields::Extended(_), Some(Rm::Mem(mem))) if has_immediate => {
            Instruction::with2(code, short(mem, end), immediate as i32)
        }
        (Fields::Extended(_), Some(Rm::Mem(mem))) => Instruction::with1(code, short(mem, end)),
        (Fields::RmReg, Some(Rm::Reg(rm))) => Instruction::with2(code, rm, reg),
        (Fields::RmReg, Some(Rm::Mem(mem))) => Instruction::with2(code, short(mem, end), reg),
        (Fields::RegRm, Some(Rm::Reg(rm))) if has_immediate => {
            Instruction::with3(code, reg, rm, immediate as i32)
        }
        (Fields::RegRm, Some(Rm::Reg(rm))) => Instruction::with2(code, reg, rm),
        (Fields::RegRm, Some(Rm::Mem(mem))) => Instruction::with2(code, reg, short(mem, end)),
        (Fields::RegRmVex, Some(Rm::Reg(rm))) => Instruction::with3(code, reg, rm, vex),
        (Fields::RegVexRm, Some(Rm::Reg(rm))) => Instruction::with3(code, reg, vex, rm),
        (fields, _) => unreachable!("{code:?} has no operand for {fields:?}"),
    }
}

/// The same operand, without a displacement of 0, or with the address that its distance of 0 leads to.
fn short(mem: MemoryOperand, end: u64) -> MemoryOperand {
    match (mem.base, mem.displacement) {
        (Register::RIP, _) => MemoryOperand { displacement: end as i64, ..mem },
        (Register::None, _) => mem,
        (_, 0) => MemoryOperand { displ_size: 0, ..mem },
        _ => mem,
    }
}
