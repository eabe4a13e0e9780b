//! The entries from Rust: [`NativeFn`](crate::context::NativeFn)'s, which moves its arguments to the registers of BPF, and
//! that of a callback.

use super::asm::{Asm, Label};
use super::registers::{CONTEXT, DELTA, FRAME, at, at_sum, field, whole};
use crate::context::Context;
use iced_x86::{Code, Register};
use std::mem::offset_of;

/// Emits the entry of a function, and returns where it is.
pub(super) fn emit(asm: &mut Asm, function: Label) -> Label {
    use Register::{R8, R9, RCX, RDX, RSI, RSP};
    let entry = asm.label();
    asm.bind(entry);
    asm.reg(Code::Push_r64, FRAME);
    asm.reg(Code::Push_r64, DELTA);
    asm.reg_imm(Code::Sub_rm64_imm8, RSP, 8);
    asm.reg_mem(Code::Mov_r64_rm64, DELTA, field(offset_of!(Context, base)));
    asm.reg_mem(Code::Add_r64_rm64, DELTA, field(offset_of!(Context, minus_base)));
    asm.reg_mem(Code::Lea_r64_m, FRAME, at_sum(RSI, DELTA, 0));
    for (to, from) in [(RSI, RDX), (RDX, RCX), (RCX, R8), (R8, R9)] {
        asm.reg_reg(Code::Mov_r64_rm64, to, from);
    }
    // Behind the pushed registers and the return address.
    asm.reg_mem(Code::Mov_r64_rm64, R9, at(RSP, 32));
    asm.to(Code::Call_rel32_64, function);
    asm.reg_imm(Code::Add_rm64_imm8, RSP, 8);
    asm.reg(Code::Pop_r64, DELTA);
    asm.reg(Code::Pop_r64, FRAME);
    asm.bare(Code::Retnq);
    debug_assert_eq!(CONTEXT, Register::RDI, "it comes where it belongs");
    entry
}

/// Emits where a function begins as a callback ([`crate::fiber::Fiber::start`]), and returns where it is. The arguments
/// are in BPF's registers already, R10 is R1, and every register may be changed.
pub(super) fn emit_start(asm: &mut Asm, function: Label) -> Label {
    let start = asm.label();
    asm.bind(start);
    asm.reg_mem(Code::Mov_r64_rm64, DELTA, field(offset_of!(Context, base)));
    asm.reg_mem(Code::Add_r64_rm64, DELTA, field(offset_of!(Context, minus_base)));
    asm.reg_mem(Code::Lea_r64_m, FRAME, at_sum(whole(1), DELTA, 0));
    asm.to(Code::Jmp_rel32_64, function);
    start
}
