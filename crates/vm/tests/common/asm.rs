//! A tiny assembler: one function per instruction, sequences as vectors.

use keel_object::model::{Insn, PSEUDO_CALL, PSEUDO_FUNC, PSEUDO_KFUNC};

/// Any instruction.
pub fn insn(code: u8, dst: u8, src: u8, off: i16, imm: i32) -> Insn {
    Insn { code, dst, src, off, imm }
}

/// 64-bit arithmetic with an immediate; `op` is the high nibble.
pub fn alu(op: u8, dst: u8, imm: i32) -> Insn {
    insn(op << 4 | 7, dst, 0, 0, imm)
}

/// 64-bit arithmetic with a register.
pub fn alu_r(op: u8, dst: u8, src: u8) -> Insn {
    insn(op << 4 | 0xf, dst, src, 0, 0)
}

pub fn mov(dst: u8, imm: i32) -> Insn {
    alu(0xb, dst, imm)
}

pub fn mov_r(dst: u8, src: u8) -> Insn {
    alu_r(0xb, dst, src)
}

pub fn add(dst: u8, imm: i32) -> Insn {
    alu(0, dst, imm)
}

pub fn add_r(dst: u8, src: u8) -> Insn {
    alu_r(0, dst, src)
}

/// `ld_imm64`.
pub fn imm64(dst: u8, value: u64) -> [Insn; 2] {
    wide(dst, 0, value as i32, (value >> 32) as i32)
}

/// `ld_imm64` of a function's address.
pub fn function(dst: u8, index: i32) -> [Insn; 2] {
    wide(dst, PSEUDO_FUNC, index, 0)
}

pub fn wide(dst: u8, src: u8, low: i32, high: i32) -> [Insn; 2] {
    [insn(0x18, dst, src, 0, low), insn(0, 0, 0, 0, high)]
}

/// Opcode bits of 1, 2, 4 and 8 bytes.
fn size_bits(bytes: u8) -> u8 {
    match bytes {
        1 => 0x10,
        2 => 0x08,
        4 => 0x00,
        _ => 0x18,
    }
}

pub fn load(bytes: u8, dst: u8, base: u8, off: i16) -> Insn {
    insn(0x61 | size_bits(bytes), dst, base, off, 0)
}

pub fn load_signed(bytes: u8, dst: u8, base: u8, off: i16) -> Insn {
    insn(0x81 | size_bits(bytes), dst, base, off, 0)
}

pub fn store(bytes: u8, base: u8, off: i16, src: u8) -> Insn {
    insn(0x63 | size_bits(bytes), base, src, off, 0)
}

pub fn store_imm(bytes: u8, base: u8, off: i16, imm: i32) -> Insn {
    insn(0x62 | size_bits(bytes), base, 0, off, imm)
}

/// An atomic operation; `op` as the instruction set numbers them.
pub fn atomic(bytes: u8, op: i32, base: u8, off: i16, src: u8) -> Insn {
    insn(0xc3 | size_bits(bytes), base, src, off, op)
}

/// A 64-bit conditional jump against an immediate; `op` is the high nibble.
pub fn jump(op: u8, a: u8, imm: i32, off: i16) -> Insn {
    insn(op << 4 | 5, a, 0, off, imm)
}

pub fn jump_r(op: u8, a: u8, b: u8, off: i16) -> Insn {
    insn(op << 4 | 0xd, a, b, off, 0)
}

pub fn goto(off: i16) -> Insn {
    insn(0x05, 0, 0, off, 0)
}

pub fn helper(number: i32) -> Insn {
    insn(0x85, 0, 0, 0, number)
}

pub fn kfunc(index: i32) -> Insn {
    insn(0x85, 0, PSEUDO_KFUNC, 0, index)
}

pub fn call(function: i32) -> Insn {
    insn(0x85, 0, PSEUDO_CALL, 0, function)
}

pub fn exit() -> Insn {
    insn(0x95, 0, 0, 0, 0)
}

/// Sequences of sequences, flat.
pub fn seq(parts: &[&[Insn]]) -> Vec<Insn> {
    parts.concat()
}
