//! Reading a line that crowds others out of a cache: it takes a free way, or that of the line that this CPU fetched
//! longest ago, as in [`Set::put`].
//!
//! The line comes from its last writer, or from memory if that has lost it. The engine moves each line the first time.

use super::super::asm::{Asm, Label};
use super::super::registers::{A, B, B32, at, at_entry, field};
use super::{count, crowd, finish, load, restore, save};
use crate::context::Context;
use crate::memory::{KnownLine, RawCrowd};
use iced_x86::{Code, MemoryOperand, Register};
use keel_abi::crowd::Set;
use std::mem::offset_of;

use Register::{EAX, ECX, ESI, RAX, RCX, RDX, RSI, XMM0, XMM1};

const SAVED: [Register; 3] = [RCX, RDX, RSI];

// `fill` compares the lines of a set in two aligned halves.
const _: () = assert!(size_of::<[u32; 8]>() == offset_of!(Set, ways) && offset_of!(Set, lines) == 0);

/// Moves the line with its number in `A` and its word in `B`. Rax has its number among the lines that crowd each other.
/// Jumps to `ask` without having changed anything if the engine has to move it.
pub(super) fn read(asm: &mut Asm, has_arena: bool, ask: Label) {
    let (rare, shared, has_moved, free) = (asm.label(), asm.label(), asm.label(), asm.label());
    save(asm, &SAVED);
    find_set(asm, rare);
    asm.reg_reg(Code::Test_rm64_r64, B, B);
    asm.to(Code::Jne_rel32_64, shared);
    own(asm);
    count_from_memory(asm);
    asm.bind(has_moved);
    hold(asm);
    asm.mem_imm(Code::Cmp_rm32_imm8, in_set(offset_of!(Set, free)), 0);
    asm.to(Code::Jne_rel32_64, free);
    evict(asm);
    leave(asm, has_arena);
    asm.bind(shared);
    share(asm, has_moved, rare);
    asm.bind(free);
    fill(asm);
    leave(asm, has_arena);
    asm.bind(rare);
    restore(asm, &SAVED);
    asm.to(Code::Jmp_rel32_64, ask);
}

/// Restores registers and finishes.
fn leave(asm: &mut Asm, has_arena: bool) {
    if has_arena {
        // Somebody held the line once, so its page is backed. This clears the carry flag.
        asm.reg_reg(Code::Test_rm64_r64, B, B);
    }
    restore(asm, &SAVED);
    finish(asm);
}

/// Leaves in rcx the address of what is known of the line, and in rdx that of its set in this CPU's cache. Changes rsi.
fn find_set(asm: &mut Asm, rare: Label) {
    asm.reg_reg(Code::Mov_r64_rm64, RCX, RAX);
    asm.reg_imm(Code::Shl_rm64_imm8, RCX, KnownLine::LOG2 as i32);
    asm.reg_mem(Code::Add_r64_rm64, RCX, crowd(offset_of!(RawCrowd, known)));
    load(asm, RDX, at(RCX, offset_of!(KnownLine, set) as i64));
    asm.reg_reg(Code::Test_rm64_r64, RDX, RDX);
    asm.to(Code::Je_rel32_64, rare);
    asm.reg_mem(Code::Mov_r32_rm32, ESI, field(offset_of!(Context, place.cpu)));
    asm.reg_imm(Code::Shl_rm32_imm8, ESI, KnownLine::SET_LOG2 as i32);
    asm.reg_reg(Code::Add_r64_rm64, RDX, RSI);
}

/// A field of the set.
fn in_set(offset: usize) -> MemoryOperand {
    at(RDX, offset as i64)
}

/// The line in the way with the number in rcx.
fn way() -> MemoryOperand {
    MemoryOperand::with_base_index_scale_displ_size(RDX, RCX, 4, offset_of!(Set, lines) as i64, 1)
}

/// Nobody holds the line: this CPU becomes its writer. Leaves its new word in `B`. Changes rsi.
fn own(asm: &mut Asm) {
    load(asm, RSI, field(offset_of!(Context, writers)));
    asm.reg_mem(Code::Mov_r32_rm32, B32, field(offset_of!(Context, place.cpu)));
    asm.reg(Code::Inc_rm32, B32);
    asm.mem_reg(Code::Mov_rm16_r16, at_entry(RSI, A, 2), Register::R11W);
    load(asm, B, field(offset_of!(Context, place.alone)));
}

/// Changes rcx.
fn count_from_memory(asm: &mut Asm) {
    asm.mem(Code::Inc_rm64, at(RCX, offset_of!(KnownLine, from_memory) as i64));
    load(asm, RCX, crowd(offset_of!(RawCrowd, memory_ps)));
    asm.mem_reg(Code::Add_rm64_r64, field(offset_of!(Context, stall_ps)), RCX);
}

/// Others hold the line. Continues at `has_moved` with its new word in `B`. Changes rcx and rsi.
fn share(asm: &mut Asm, has_moved: Label, rare: Label) {
    let from_writer = asm.label();
    load(asm, RSI, field(offset_of!(Context, writers)));
    asm.reg_mem(Code::Movzx_r32_rm16, ESI, at_entry(RSI, A, 2));
    asm.reg(Code::Dec_rm32, ESI);
    asm.reg_reg(Code::Bt_rm64_r64, B, RSI);
    asm.to(Code::Jb_rel32_64, from_writer);
    asm.reg_mem(Code::Or_r64_rm64, B, field(offset_of!(Context, place.shared)));
    count_from_memory(asm);
    asm.to(Code::Jmp_rel32_64, has_moved);
    asm.bind(from_writer);
    load(asm, RCX, field(offset_of!(Context, place.prices)));
    asm.reg_mem(Code::Mov_r32_rm32, ESI, MemoryOperand::with_base_index_scale_displ_size(RCX, RSI, 4, 4, 1));
    // Free, or so dear that it must be [`crate::seat::ASK`].
    asm.reg_reg(Code::Test_rm32_r32, ESI, ESI);
    asm.to(Code::Jle_rel32_64, rare);
    asm.mem_reg(Code::Add_rm64_r64, field(offset_of!(Context, stall_ps)), RSI);
    asm.reg_mem(Code::Or_r64_rm64, B, field(offset_of!(Context, place.shared)));
    asm.reg(Code::Push_r64, B);
    count(asm, RSI);
    asm.reg(Code::Pop_r64, B);
    asm.to(Code::Jmp_rel32_64, has_moved);
}

/// Writes the line's new word. Leaves the words' address in rsi.
fn hold(asm: &mut Asm) {
    load(asm, RSI, field(offset_of!(Context, words)));
    asm.mem_reg(Code::Mov_rm64_r64, at_entry(RSI, A, 8), B);
}

/// The line replaces the next one of the set at rdx, which the CPU loses.
fn evict(asm: &mut Asm) {
    let next = in_set(offset_of!(Set, next));
    asm.reg_mem(Code::Mov_r32_rm32, ECX, next);
    asm.reg_mem(Code::Mov_r32_rm32, B32, way());
    asm.mem_reg(Code::Mov_rm32_r32, way(), EAX);
    // The way after it, or the first one again.
    asm.reg(Code::Inc_rm32, ECX);
    asm.reg_mem(Code::Cmp_r32_rm32, ECX, in_set(offset_of!(Set, ways)));
    asm.reg_reg(Code::Sbb_r32_rm32, EAX, EAX);
    asm.reg_reg(Code::And_r32_rm32, ECX, EAX);
    asm.mem_reg(Code::Mov_rm32_r32, next, ECX);
    asm.reg_mem(Code::Add_r64_rm64, B, crowd(offset_of!(RawCrowd, first)));
    load(asm, RCX, field(offset_of!(Context, place.shared)));
    asm.reg(Code::Not_rm64, RCX);
    asm.mem_reg(Code::And_rm64_r64, at_entry(RSI, B, 8), RCX);
}

/// The line takes the way where it was before another CPU invalidated it, or else the first free one.
fn fill(asm: &mut Asm) {
    let known = asm.label();
    let free = || in_set(offset_of!(Set, free));
    // Compares four lines at once; then a bit says whether one is equal.
    asm.reg_reg(Code::Movd_xmm_rm32, XMM0, EAX);
    asm.reg_reg_imm(Code::Pshufd_xmm_xmmm128_imm8, XMM0, XMM0, 0);
    asm.reg_reg(Code::Movdqa_xmm_xmmm128, XMM1, XMM0);
    asm.reg_mem(Code::Pcmpeqd_xmm_xmmm128, XMM0, in_set(offset_of!(Set, lines)));
    asm.reg_mem(Code::Pcmpeqd_xmm_xmmm128, XMM1, in_set(offset_of!(Set, lines) + 16));
    asm.reg_reg(Code::Packssdw_xmm_xmmm128, XMM0, XMM1);
    asm.reg_reg(Code::Packsswb_xmm_xmmm128, XMM0, XMM0);
    asm.reg_reg(Code::Pmovmskb_r32_xmm, ECX, XMM0);
    asm.reg_reg(Code::Bsf_r32_rm32, ECX, ECX);
    asm.to(Code::Jne_rel32_64, known);
    asm.reg_mem(Code::Bsf_r32_rm32, ECX, free());
    asm.bind(known);
    asm.mem_reg(Code::Mov_rm32_r32, way(), EAX);
    asm.reg_mem(Code::Mov_r32_rm32, EAX, free());
    asm.reg_reg(Code::Btr_rm32_r32, EAX, ECX);
    asm.mem_reg(Code::Mov_rm32_r32, free(), EAX);
}
