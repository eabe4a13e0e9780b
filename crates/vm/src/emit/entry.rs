//! The entries from Rust: [`NativeFn`](crate::context::NativeFn)'s, which moves its arguments to the registers of BPF,
//! and that of a callback.

use super::asm::{Asm, Label};
use super::function::Target;
use super::live::{self, Set};
use super::registers::{CONTEXT, DELTA, FRAME, at, at_sum, field, half, whole};
use crate::context::{Context, LOOPS_BETWEEN_TURNS, MAX_LOOPS};
use iced_x86::{Code, Register};
use std::mem::offset_of;

/// Emits the entry of a function, and returns where it is.
pub(super) fn emit(asm: &mut Asm, function: Label, is_callback: bool) -> Label {
    use Register::{R8, R9, RCX, RDX, RSI, RSP};
    let entry = asm.label();
    asm.bind(entry);
    asm.reg(Code::Push_r64, FRAME);
    asm.reg(Code::Push_r64, DELTA);
    // What begins as a callback doesn't keep R6 to R9. They are an even number, as the stack's alignment needs.
    let saved = 6..if is_callback { 10 } else { 6 };
    saved.clone().for_each(|reg| asm.reg(Code::Push_r64, whole(reg)));
    asm.reg_imm(Code::Sub_rm64_imm8, RSP, 8);
    if is_callback {
        // Where calls find it again.
        asm.reg(Code::Push_r64, CONTEXT);
    }
    let words = if is_callback { 2 } else { 1 };
    asm.reg_mem(Code::Mov_r64_rm64, DELTA, field(offset_of!(Context, delta)));
    asm.reg_mem(Code::Lea_r64_m, FRAME, at_sum(RSI, DELTA, 0));
    for (to, from) in [(RSI, RDX), (RDX, RCX), (RCX, R8), (R8, R9)] {
        asm.reg_reg(Code::Mov_r64_rm64, to, from);
    }
    // Behind the pushed registers and the return address.
    asm.reg_mem(Code::Mov_r64_rm64, R9, at(RSP, 24 + 8 * (words + saved.len()) as i64));
    asm.to(Code::Call_rel32_64, function);
    asm.reg_imm(Code::Add_rm64_imm8, RSP, 8 * words as i32);
    saved.rev().for_each(|reg| asm.reg(Code::Pop_r64, whole(reg)));
    asm.reg(Code::Pop_r64, DELTA);
    asm.reg(Code::Pop_r64, FRAME);
    asm.bare(Code::Retnq);
    debug_assert_eq!(CONTEXT, Register::RDI, "it comes where it belongs");
    entry
}

/// Emits where a function begins as a callback ([`crate::fiber::start`]). If it only begins there, this goes straight
/// on to the function, where it leaves the stack as it is: the context is behind the return address. R1 and R10 are the
/// first frame's end. Zeroes those of R2 to R5 that the function reads, and counts its `may_goto`s if it may come to
/// any.
pub(super) fn emit_start(asm: &mut Asm, function: Label, target: &Target<'_>, reads: Set) -> Label {
    let start = asm.label();
    asm.bind(start);
    asm.reg_mem(Code::Mov_r64_rm64, DELTA, field(offset_of!(Context, delta)));
    asm.reg_mem(Code::Mov_r64_rm64, whole(1), field(offset_of!(Context, place.first_frame)));
    asm.reg_mem(Code::Lea_r64_m, FRAME, at_sum(whole(1), DELTA, 0));
    live::each(reads, 2..=5).for_each(|reg| asm.reg_reg(Code::Xor_r32_rm32, half(reg), half(reg)));
    if target.has_may_goto {
        let (now, later) = (LOOPS_BETWEEN_TURNS, MAX_LOOPS - LOOPS_BETWEEN_TURNS);
        let counts = [(offset_of!(Context, loops_left), now), (offset_of!(Context, more_loops), later)];
        for (offset, loops) in counts {
            asm.mem_imm(Code::Mov_rm64_imm32, field(offset), loops as i32);
        }
    }
    if !target.is_callback {
        asm.to(Code::Call_rel32_64, function);
        asm.bare(Code::Retnq);
    }
    start
}
