//! Moving a cache line here: the common cases of [`Region`](crate::memory::Region) in emitted code.
//!
//! In these, the line has moved before, its last writer still holds it, a bit of its word stands for one CPU, and the
//! line evicts no other. The engine handles everything else.

use super::asm::{Asm, Label};
use super::registers::{A, A32, B, at, at_entry, field};
use super::stubs;
use crate::context::Context;
use crate::memory::{LineForm, Moved, RawMoves};
use iced_x86::{Code, MemoryOperand, Register};
use std::mem::offset_of;

const SAVED: [Register; 3] = [Register::RAX, Register::RCX, Register::RDX];

/// The code that moves a line that is read or written. It takes the line's number in `A` and its word in `B`, and
/// preserves all other registers.
#[derive(Clone, Copy)]
pub(super) struct Movers {
    pub(super) read: Label,
    pub(super) write: Label,
}

impl Movers {
    /// Emits both.
    pub(super) fn emit(asm: &mut Asm, lines: LineForm, has_arena: bool) -> Self {
        let movers = Self { read: asm.label(), write: asm.label() };
        for (label, write, stub) in
            [(movers.read, false, stubs::TOUCH_READ), (movers.write, true, stubs::TOUCH_WRITE)]
        {
            asm.bind(label);
            match lines.grouped {
                true => asm.jump_tabled(stub),
                false => mover(asm, write, (lines.crowded, has_arena), stub),
            }
        }
        movers
    }
}

fn load(asm: &mut Asm, to: Register, from: MemoryOperand) {
    asm.reg_mem(Code::Mov_r64_rm64, to, from);
}

fn mover(asm: &mut Asm, write: bool, (crowded, has_arena): (bool, bool), stub: usize) {
    use Register::{EAX, ECX, EDX, RAX, RCX, RDX};
    let (ask, ask_now) = (asm.label(), asm.label());
    asm.mem_imm(Code::Cmp_rm64_imm8, field(offset_of!(Context, prices)), 0);
    asm.to(Code::Je_rel32_64, ask_now);
    if crowded {
        // The line's word is no longer needed if the engine takes over.
        asm.reg(Code::Push_r64, B);
        asm.reg_reg(Code::Mov_r64_rm64, B, A);
        asm.reg_mem(Code::Sub_r64_rm64, B, field(offset_of!(Context, crowded_first)));
        asm.reg_mem(Code::Cmp_r64_rm64, B, field(offset_of!(Context, crowded_lines)));
        asm.reg(Code::Pop_r64, B);
        asm.to(Code::Jb_rel32_64, ask_now);
    }
    for register in SAVED {
        asm.reg(Code::Push_r64, register);
    }
    load(asm, RAX, field(offset_of!(Context, moves) + offset_of!(RawMoves, places)));
    asm.reg_mem(Code::Mov_r32_rm32, ECX, at_entry(RAX, A, 4));
    asm.reg_reg(Code::Test_rm32_r32, ECX, ECX);
    asm.to(Code::Je_rel32_64, ask);
    load(asm, RAX, field(offset_of!(Context, writers)));
    asm.reg_mem(Code::Movzx_r32_rm16, EDX, at_entry(RAX, A, 2));
    if write {
        from_another_holder(asm, ask);
    } else {
        asm.reg_reg(Code::Bt_rm64_r64, B, RDX);
        asm.to(Code::Jae_rel32_64, ask);
    }
    load(asm, RAX, field(offset_of!(Context, prices)));
    asm.reg_mem(Code::Mov_r32_rm32, EAX, at_entry(RAX, RDX, 4));
    count(asm);
    load(asm, RCX, field(offset_of!(Context, sharers)));
    if write {
        load(asm, B, field(offset_of!(Context, alone)));
        asm.reg_mem(Code::Mov_r32_rm32, EDX, field(offset_of!(Context, cpu)));
        load(asm, RAX, field(offset_of!(Context, writers)));
        asm.mem_reg(Code::Mov_rm16_r16, at_entry(RAX, A, 2), Register::DX);
    } else {
        asm.reg_mem(Code::Or_r64_rm64, B, field(offset_of!(Context, shared)));
    }
    asm.mem_reg(Code::Mov_rm64_r64, at_entry(RCX, A, 8), B);
    if has_arena {
        // Somebody holds the line, so its page is backed.
        asm.mem_imm(Code::Mov_rm64_imm32, field(offset_of!(Context, denied)), 0);
    }
    restore(asm);
    asm.bare(Code::Retnq);

    asm.bind(ask);
    restore(asm);
    asm.bind(ask_now);
    asm.jump_tabled(stub);
    debug_assert_ne!(A32, ECX);
}

/// Leaves in edx the CPU that a line to be written comes from: its last writer, or another holder if that is this CPU.
fn from_another_holder(asm: &mut Asm, ask: Label) {
    use Register::{EDX, RDX};
    let (own, found) = (asm.label(), asm.label());
    asm.reg_mem(Code::Cmp_r32_rm32, EDX, field(offset_of!(Context, cpu)));
    asm.to(Code::Je_rel32_64, own);
    asm.reg_reg(Code::Bt_rm64_r64, B, RDX);
    asm.to(Code::Jae_rel32_64, ask);
    asm.to(Code::Jmp_rel32_64, found);
    asm.bind(own);
    load(asm, RDX, field(offset_of!(Context, shared)));
    asm.reg_reg_reg(Code::VEX_Andn_r64_r64_rm64, RDX, RDX, B);
    asm.reg_reg(Code::Bsf_r64_rm64, RDX, RDX);
    asm.to(Code::Je_rel32_64, ask);
    asm.bind(found);
}

/// Charges and counts a move with the price in eax and the line's place in ecx. A free move does not count.
fn count(asm: &mut Asm) {
    use Register::{EAX, RAX, RCX, RDX};
    let entry = |offset: usize| at(RCX, offset as i64 - (1 << Moved::LOG2));
    let free = asm.label();
    asm.reg_reg(Code::Test_rm32_r32, EAX, EAX);
    asm.to(Code::Je_rel32_64, free);
    asm.mem_reg(Code::Add_rm64_r64, field(offset_of!(Context, stall_ps)), RAX);
    load(asm, RDX, field(offset_of!(Context, moves) + offset_of!(RawMoves, first)));
    asm.reg_imm(Code::Shl_rm64_imm8, RCX, Moved::LOG2 as i32);
    asm.reg_mem(Code::Add_r64_rm64, RCX, at(RDX, 0));
    asm.mem(Code::Inc_rm64, entry(offset_of!(Moved, times)));
    asm.mem_reg(Code::Add_rm64_r64, entry(offset_of!(Moved, stall_ps)), RAX);
    asm.bind(free);
}

fn restore(asm: &mut Asm) {
    for register in SAVED.into_iter().rev() {
        asm.reg(Code::Pop_r64, register);
    }
}
