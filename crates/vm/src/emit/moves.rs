//! Moving a cache line here: the common cases of [`Region`](crate::memory::Region) in emitted code.
//!
//! In these, its last writer still holds the line, as always if no line evicts others, and the move has a price. The
//! submodule reads lines that do evict others, where a bit of their word stands for one CPU. The engine handles
//! everything else.

mod crowded;

use super::asm::{Asm, Label};
use super::live::Set;
use super::registers::{A, B, at_entry, field};
use super::stubs;
use crate::context::Context;
use crate::memory::{LineForm, Moved, RawCrowd, RawMoves};
use iced_x86::{Code, MemoryOperand, Register};
use keel_abi::holders::GROUPS;
use std::mem::offset_of;

/// What a move may change beside `A` and `B`: R0 and R5, which compilers use last. Who needs them saves them.
pub(super) const CHANGED: Set = 1 << 0 | 1 << 5;

/// The code that moves a line that is read or written. It takes the line's number in `A` and its word in `B`, and
/// preserves all registers but those and [`CHANGED`].
#[derive(Clone, Copy)]
pub(super) struct Movers {
    pub(super) read: Mover,
    pub(super) write: Mover,
}

/// The entries of such code.
#[derive(Clone, Copy)]
pub(super) struct Mover {
    /// For a line's number in the region.
    pub(super) by_number: Label,
    /// For its number if the line at the simulated address 0 has number 0.
    pub(super) by_address: Label,
}

impl Mover {
    pub(super) fn new(asm: &mut Asm) -> Self {
        Self { by_number: asm.label(), by_address: asm.label() }
    }
}

impl Movers {
    /// Emits both.
    pub(super) fn emit(asm: &mut Asm, lines: LineForm, has_arena: bool) -> Self {
        let movers = Self { read: Mover::new(asm), write: Mover::new(asm) };
        for (mover, write, stub) in
            [(movers.read, false, stubs::TOUCH_READ), (movers.write, true, stubs::TOUCH_WRITE)]
        {
            asm.bind(mover.by_number);
            asm.reg_mem(Code::Add_r64_rm64, A, field(offset_of!(Context, first_line)));
            asm.bind(mover.by_address);
            match (lines.grouped, lines.crowded) {
                (true, true) => asm.jump_tabled(stub),
                (true, false) => move_between_groups(asm, write, stub),
                (false, crowded) => move_line(asm, write, (crowded, has_arena), stub),
            }
        }
        movers
    }
}

fn load(asm: &mut Asm, to: Register, from: MemoryOperand) {
    asm.reg_mem(Code::Mov_r64_rm64, to, from);
}

fn move_line(asm: &mut Asm, write: bool, (crowded, has_arena): (bool, bool), stub: usize) {
    use Register::RAX;
    let (ask, paid, free, crowds) = (asm.label(), asm.label(), asm.label(), asm.label());
    if crowded {
        asm.reg_reg(Code::Mov_r64_rm64, RAX, A);
        asm.reg_mem(Code::Sub_r64_rm64, RAX, crowd(offset_of!(RawCrowd, first)));
        asm.reg_mem(Code::Cmp_r64_rm64, RAX, crowd(offset_of!(RawCrowd, count)));
        asm.to(Code::Jb_rel32_64, if write { ask } else { crowds });
    }
    load_writer(asm);
    load_price(asm, 0);
    // Free, or so dear that it must be [`crate::seat::ASK`].
    asm.to(Code::Jle_rel32_64, if write { free } else { ask });
    asm.bind(paid);
    asm.mem_reg(Code::Add_rm64_r64, field(offset_of!(Context, stall_ps)), RAX);
    take(asm, write);
    count(asm, RAX);
    finish(asm);
    if write {
        asm.bind(free);
        price_of_another_holder(asm, ask);
        asm.to(Code::Jg_rel32_64, paid);
    }
    asm.bind(ask);
    asm.jump_tabled(stub);
    if crowded && !write {
        asm.bind(crowds);
        crowded::read(asm, has_arena, ask);
    }
}

/// Like `move_line` where a bit of the line's word stands for several CPUs.
fn move_between_groups(asm: &mut Asm, write: bool, stub: usize) {
    use Register::{R9D, RAX};
    let ask = asm.label();
    load_writer(asm);
    if write {
        // Its own line may be held by others, too.
        let before = MemoryOperand::with_base_displ_size(RAX, -1, 1);
        asm.reg_mem(Code::Lea_r32_m, R9D, before);
        asm.reg_mem(Code::Cmp_r32_rm32, R9D, field(offset_of!(Context, place.cpu)));
        asm.to(Code::Je_rel32_64, ask);
    }
    load_price(asm, 0);
    // Free, or so dear that it must be [`crate::seat::ASK`].
    asm.to(Code::Jle_rel32_64, ask);
    asm.mem_reg(Code::Add_rm64_r64, field(offset_of!(Context, stall_ps)), RAX);
    if !write {
        // Nobody holds it alone any more.
        let above = (u64::BITS - GROUPS) as i32;
        asm.reg_imm(Code::Shl_rm64_imm8, B, above);
        asm.reg_imm(Code::Shr_rm64_imm8, B, above);
    }
    take(asm, write);
    count(asm, RAX);
    finish(asm);
    asm.bind(ask);
    asm.jump_tabled(stub);
}

/// The line is here: returns. The carry flag says that it isn't, but the last addition has cleared that.
fn finish(asm: &mut Asm) {
    asm.bare(Code::Retnq);
}

/// A field of [`RawCrowd`], by its offset.
fn crowd(offset: usize) -> MemoryOperand {
    field(offset_of!(Context, crowded) + offset)
}

/// Leaves in rax the entry of the line's last writer.
fn load_writer(asm: &mut Asm) {
    load(asm, Register::RAX, field(offset_of!(Context, writers)));
    asm.reg_mem(Code::Movzx_r32_rm16, Register::EAX, at_entry(Register::RAX, A, 2));
}

/// Leaves in rax the price that is `after` those of the writer in rax, compared with 0. Changes r9.
fn load_price(asm: &mut Asm, after: i64) {
    use Register::{EAX, R9, RAX};
    load(asm, R9, field(offset_of!(Context, place.prices)));
    let price = MemoryOperand::with_base_index_scale_displ_size(R9, RAX, 4, 4 * after, 1);
    asm.reg_mem(Code::Mov_r32_rm32, EAX, price);
    asm.reg_reg(Code::Test_rm32_r32, EAX, EAX);
}

/// If this CPU is the line's last writer, but others hold it, too: like `load_price` for one of these.
fn price_of_another_holder(asm: &mut Asm, ask: Label) {
    use Register::{EAX, RAX};
    load_writer(asm);
    asm.reg(Code::Dec_rm32, EAX);
    asm.reg_mem(Code::Cmp_r32_rm32, EAX, field(offset_of!(Context, place.cpu)));
    asm.to(Code::Jne_rel32_64, ask);
    load(asm, RAX, field(offset_of!(Context, place.shared)));
    asm.reg_reg_reg(Code::VEX_Andn_r64_r64_rm64, RAX, RAX, B);
    asm.reg_reg(Code::Bsf_r64_rm64, RAX, RAX);
    asm.to(Code::Je_rel32_64, ask);
    load_price(asm, 1);
}

/// The CPU has the line from now on. Changes r9 and `B`.
fn take(asm: &mut Asm, write: bool) {
    use Register::{R9, R9D, R9W};
    if write {
        load(asm, B, field(offset_of!(Context, place.alone)));
    } else {
        asm.reg_mem(Code::Or_r64_rm64, B, field(offset_of!(Context, place.shared)));
    }
    load(asm, R9, field(offset_of!(Context, words)));
    asm.mem_reg(Code::Mov_rm64_r64, at_entry(R9, A, 8), B);
    if write {
        asm.reg_mem(Code::Mov_r32_rm32, R9D, field(offset_of!(Context, place.cpu)));
        asm.reg(Code::Inc_rm32, R9D);
        load(asm, B, field(offset_of!(Context, writers)));
        asm.mem_reg(Code::Mov_rm16_r16, at_entry(B, A, 2), R9W);
    }
}

/// Counts a move with the price in this register. A line that somebody held has a place. Changes r9 and `B`.
fn count(asm: &mut Asm, price: Register) {
    use Register::{R9, R9D};
    // A place is a multiple of an entry's number.
    const SCALE: u32 = (1 << Moved::LOG2) / Moved::PLACES;
    let entry = |offset: usize| {
        let displacement = offset as i64 - (1 << Moved::LOG2);
        MemoryOperand::with_base_index_scale_displ_size(B, R9, SCALE, displacement, 1)
    };
    load(asm, R9, field(offset_of!(Context, moves) + offset_of!(RawMoves, places)));
    asm.reg_mem(Code::Mov_r32_rm32, R9D, at_entry(R9, A, 4));
    load(asm, B, field(offset_of!(Context, moves) + offset_of!(RawMoves, first)));
    asm.mem(Code::Inc_rm64, entry(offset_of!(Moved, times)));
    asm.mem_reg(Code::Add_rm64_r64, entry(offset_of!(Moved, stall_ps)), price);
}

fn save(asm: &mut Asm, registers: &[Register]) {
    registers.iter().for_each(|&register| asm.reg(Code::Push_r64, register));
}

fn restore(asm: &mut Asm, registers: &[Register]) {
    registers.iter().rev().for_each(|&register| asm.reg(Code::Pop_r64, register));
}
