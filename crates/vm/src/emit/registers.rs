//! The assignment of registers.
//!
//! | BPF | x86-64 | |
//! | --- | --- | --- |
//! | R0 | rax | where a C function leaves its value |
//! | R1 to R5 | rsi, rdx, rcx, r8, r9 | a C function's arguments after the context |
//! | R6 to R9 | rbx, r13, r14, r15 | a C function preserves them |
//! | R10 | rbp | holds the process's address of the frame's end |
//!
//! rdi has the context; a C function may change it, so it is also on the stack. r12 has the difference between the
//! process's and the simulated addresses. r10 and r11 are free within an operation.

use crate::context::Context;
use iced_x86::{MemoryOperand, Register};
use std::mem::offset_of;

pub(super) const CONTEXT: Register = Register::RDI;
pub(super) const FRAME: Register = Register::RBP;
pub(super) const DELTA: Register = Register::R12;
pub(super) const A: Register = Register::R10;
pub(super) const A32: Register = Register::R10D;
pub(super) const A8: Register = Register::R10L;
pub(super) const B: Register = Register::R11;
pub(super) const B32: Register = Register::R11D;

/// R0 to R9, by the used size: 1, 2, 4 and 8 bytes.
const REGISTERS: [[Register; 10]; 4] = {
    use Register::*;
    [
        [AL, SIL, DL, CL, R8L, R9L, BL, R13L, R14L, R15L],
        [AX, SI, DX, CX, R8W, R9W, BX, R13W, R14W, R15W],
        [EAX, ESI, EDX, ECX, R8D, R9D, EBX, R13D, R14D, R15D],
        [RAX, RSI, RDX, RCX, R8, R9, RBX, R13, R14, R15],
    ]
};

/// The low bytes of a BPF register (R0 to R9), as many as 2 to the power of `size`.
pub(super) fn part(reg: u8, size: u8) -> Register {
    REGISTERS[usize::from(size)][usize::from(reg)]
}

/// The whole of a BPF register (R0 to R9).
pub(super) fn whole(reg: u8) -> Register {
    part(reg, 3)
}

/// The low half of it.
pub(super) fn half(reg: u8) -> Register {
    part(reg, 2)
}

/// The part of `B` that has this size.
pub(super) fn part_of_b(size: u8) -> Register {
    [Register::R11L, Register::R11W, Register::R11D, Register::R11][usize::from(size)]
}

/// A field of the context, by its offset.
pub(super) fn field(offset: usize) -> MemoryOperand {
    MemoryOperand::with_base_displ_size(CONTEXT, offset as i64, 1)
}

pub(super) fn insns() -> MemoryOperand {
    field(offset_of!(Context, insns))
}

/// Memory at a register and a displacement.
pub(super) fn at(base: Register, displacement: i64) -> MemoryOperand {
    MemoryOperand::with_base_displ_size(base, displacement, 1)
}

/// Memory at the sum of two registers and a displacement.
pub(super) fn at_sum(base: Register, index: Register, displacement: i64) -> MemoryOperand {
    MemoryOperand::with_base_index_scale_displ_size(base, index, 1, displacement, 1)
}

/// An entry of a table of words with this many bytes.
pub(super) fn at_entry(table: Register, index: Register, bytes: u32) -> MemoryOperand {
    MemoryOperand::with_base_index_scale(table, index, bytes)
}
