//! Loads and stores: one comparison for the bounds, one test of the line's holders, and everything else off the hot
//! path.

use super::asm::Label;
use super::early::Base;
use super::function::Emitter;
use super::held::{Line, Near};
use super::live::{self, Set};
use super::moves::{self, Mover};
use super::registers::{
    A, A8, A32, B, DELTA, FRAME, at, at_entry, at_sum, field, half, part, part_of_b, whole,
};
use super::values::Value;
use crate::code::op::{Access, Operand, Size, in_frame};
use crate::context::Context;
use iced_x86::{Code, MemoryOperand, Register};
use std::mem::offset_of;

/// How the word of a line is found.
#[derive(Clone, Copy)]
enum Spot {
    /// By the address at this distance from a base.
    Any(Base, i32),
    /// By a register that points to the beginning of a line, and how many lines behind that one.
    Aligned(u8, i32),
    /// By a word whose place is in this field of the context, and this many bytes behind that word.
    Fixed(usize, i32),
}

impl Emitter<'_> {
    pub(super) fn load(&mut self, dst: u8, base: u8, off: i32, size: Size, signed: bool) {
        let mem = self.place(base, off);
        if in_frame(base, off, size) || self.is_within(base, off, size) {
            self.hold(base, off, size, Access::Load);
            return self.load_from(dst, mem, size, signed);
        }
        self.check(base, off, size, Access::Load);
        self.load_from(dst, mem, size, signed);
    }

    pub(super) fn store(&mut self, base: u8, off: i32, size: Size, src: Operand) {
        let mem = self.place(base, off);
        if in_frame(base, off, size) || self.is_within(base, off, size) {
            self.hold(base, off, size, Access::Store);
            return self.store_to(mem, size, src);
        }
        self.check(base, off, size, Access::Store);
        self.store_to(mem, size, src);
    }

    /// The place of an access that is in bounds.
    pub(super) fn place(&self, base: u8, off: i32) -> MemoryOperand {
        match self.values.get(usize::from(base)) {
            None => at(FRAME, off.into()),
            Some(value) if value.is_in_stack(off, 1) => at(FRAME, value.frame_offset(off)),
            Some(_) => at_sum(DELTA, whole(base), off.into()),
        }
    }

    /// The registers that the current operation or a later one reads.
    fn needed_here(&self) -> Set {
        (self.reads[self.at] | self.read_later) & !self.owed
    }

    /// Moves a line here, and preserves these registers.
    fn call_mover(&mut self, mover: Label, keep: Set) {
        let saved = keep & moves::CHANGED;
        live::each(saved, 0..=9).for_each(|reg| self.asm.reg(Code::Push_r64, whole(reg)));
        self.asm.to(Code::Call_rel32_64, mover);
        let mut saved: Vec<u8> = live::each(saved, 0..=9).collect();
        while let Some(reg) = saved.pop() {
            self.asm.reg(Code::Pop_r64, whole(reg));
        }
    }

    pub(super) fn count_bad_access(&mut self) {
        self.asm.mem(Code::Inc_rm64, field(offset_of!(Context, bad_accesses)));
    }

    /// What a register may hold.
    fn value(&self, reg: u8) -> Value {
        self.values.get(usize::from(reg)).copied().unwrap_or(Value::Any)
    }

    /// Continues if the access is in bounds, once the CPU holds the line; moves the line here if necessary.
    fn check(&mut self, base: u8, off: i32, size: Size, access: Access) {
        let write = access != Access::Load;
        // An address scales a register by 8 at most, which `leave_unless_near` needs for lines of 32 bytes.
        let log2 = self.target.lines.log2;
        let near = if log2 >= 5 { self.held.near(base, off, size, write, 1 << log2) } else { None };
        let reaches = self.held.reaches(base, off, size);
        let is_held = self.held.access((base, off), size, write, self.value(base), &self.target);
        if reaches && is_held {
            return;
        }
        let (outside, keep) = (self.exit_here(), self.needed_here());
        if is_held {
            return self.check_bounds(base, off, size, outside);
        }
        let Some(near) = near else {
            return self.check_line((base, off), (!reaches).then_some(size), access, outside, keep);
        };
        if !reaches && !near.reaches {
            self.check_bounds(base, off, size, outside);
        }
        let done = self.asm.label();
        let bounded = (!reaches && near.reaches).then_some(size);
        let another = self.later(move |e| {
            e.check_line((base, off), bounded, access, outside, keep);
            e.asm.to(Code::Jmp_rel32_64, done);
        });
        self.leave_unless_near(base, near, another);
        self.asm.bind(done);
    }

    /// Jumps to `another` unless both ends of these places are in the same line: the place in a line, in the upper bits
    /// of a byte, overflows where the line ends.
    fn leave_unless_near(&mut self, base: u8, near: Near, another: Label) {
        let scale = 256 >> self.target.lines.log2;
        let first = MemoryOperand::with_base_index_scale_displ_size(
            Register::None,
            whole(base),
            scale,
            i64::from(near.from) * i64::from(scale),
            8,
        );
        self.asm.reg_mem(Code::Lea_r32_m, A32, first);
        self.asm.reg_imm(Code::Add_rm8_imm8, A8, near.more as i32 * scale as i32);
        self.asm.to(Code::Jb_rel32_64, another);
    }

    /// Continues once the CPU holds the line of an access, which may be out of bounds if its size is given; moves the
    /// line here if necessary, and then preserves these registers.
    fn check_line(
        &mut self,
        (base, off): (u8, i32),
        bounded: Option<Size>,
        access: Access,
        outside: Label,
        keep: Set,
    ) {
        let mover = self.mover(access);
        // The line's number, and its word.
        let (mover, words) = match bounded {
            None => {
                self.number_line_at(Spot::Any(Base::Register(base), off));
                (mover.by_address, field(offset_of!(Context, words)))
            }
            Some(size) => {
                self.check_bounds(base, off, size, outside);
                self.number_line();
                (mover.by_number, field(offset_of!(Context, sharers)))
            }
        };
        self.asm.reg_mem(Code::Mov_r64_rm64, B, words);
        self.asm.reg_mem(Code::Mov_r64_rm64, B, at_entry(B, A, 8));
        let held = self.asm.label();
        let moves = self.later(move |e| {
            e.call_mover(mover, keep);
            if e.target.has_arena {
                e.asm.to(Code::Jb_rel32_64, outside);
            }
            e.asm.to(Code::Jmp_rel32_64, held);
        });
        self.leave_unless_held(access, moves);
        self.asm.bind(held);
    }

    /// Returns whether the access is certainly within the object's global data.
    fn is_within(&self, base: u8, off: i32, size: Size) -> bool {
        self.values.get(usize::from(base)).is_some_and(|&value| self.target.is_within(value, off, size))
    }

    /// Continues once the CPU holds the line of an access that is in bounds; moves the line here if necessary.
    fn hold(&mut self, base: u8, off: i32, size: Size, access: Access) {
        if in_frame(base, off, size) {
            return;
        }
        let write = access != Access::Load;
        if self.held.access((base, off), size, write, self.value(base), &self.target) {
            return;
        }
        let line = 1_u64 << self.target.lines.log2;
        let value = self.values[usize::from(base)];
        let place = Spot::Any(Base::of(base, value), off);
        let fixed = Line::fixed(value, off, line).and_then(|line| self.fixed_spot(line));
        let aligned = value.map().is_some() && value.within_line(0, line) == Some(0);
        let spot = fixed.or(aligned.then_some(Spot::Aligned(base, off.div_euclid(line as i32))));
        self.look(spot.unwrap_or(place), place, access, self.needed_here());
    }

    /// The place of a line's word beside that of an address from the table, or beside that of a callback's first frame.
    fn fixed_spot(&self, line: Line) -> Option<Spot> {
        let log2 = self.target.lines.log2;
        let (word, lines) = match line {
            Line::Fixed(map, at) => {
                let (slot, from) = self.target.data.slot_in(map)?;
                let word = offset_of!(Context, first_words) + 8 * slot as usize;
                (word, (at >> log2) as i64 - (from >> log2) as i64)
            }
            Line::Frame(at) if self.target.is_callback => {
                (offset_of!(Context, place.first_frame_word), at >> log2)
            }
            _ => return None,
        };
        i32::try_from(8 * lines).ok().map(|bytes| Spot::Fixed(word, bytes))
    }

    /// Like `fixed_spot` for a line that a loop begins with.
    pub(super) fn look_early(&mut self, line: Line, base: Base, off: i32, access: Access) {
        let place = Spot::Any(base, off);
        self.look(self.fixed_spot(line).unwrap_or(place), place, access, live::ALL);
    }

    /// Continues once the CPU holds the line at this spot, whose address is at `place`, if that is in bounds; moves the
    /// line here if necessary, and then preserves these registers.
    fn look(&mut self, spot: Spot, place: Spot, access: Access, keep: Set) {
        let (held, mover) = (self.asm.label(), self.mover(access).by_address);
        let moves = self.later(move |e| {
            match spot {
                Spot::Any(..) | Spot::Aligned(_, 0) => {}
                Spot::Aligned(_, lines) => e.asm.reg_imm(Code::Add_rm64_imm32, A, lines),
                Spot::Fixed(..) => e.number_line_at(place),
            }
            e.call_mover(mover, keep);
            e.asm.to(Code::Jmp_rel32_64, held);
        });
        let words = field(offset_of!(Context, words));
        match spot {
            Spot::Any(..) => {
                self.number_line_at(place);
                self.asm.reg_mem(Code::Mov_r64_rm64, B, words);
                self.asm.reg_mem(Code::Mov_r64_rm64, B, at_entry(B, A, 8));
            }
            Spot::Aligned(reg, lines) => {
                let log2 = self.target.lines.log2 as i32;
                self.asm.reg_reg_imm(Code::VEX_Rorx_r64_rm64_imm8, A, whole(reg), log2);
                self.asm.reg_mem(Code::Mov_r64_rm64, B, words);
                let word = MemoryOperand::with_base_index_scale_displ_size(B, A, 8, 8 * i64::from(lines), 1);
                self.asm.reg_mem(Code::Mov_r64_rm64, B, word);
            }
            Spot::Fixed(word, bytes) => {
                self.asm.reg_mem(Code::Mov_r64_rm64, B, field(word));
                self.asm.reg_mem(Code::Mov_r64_rm64, B, at(B, bytes.into()));
            }
        }
        self.leave_unless_held(access, moves);
        self.asm.bind(held);
    }

    /// Leaves the number of a place's line in `A`, counted from address 0.
    fn number_line_at(&mut self, place: Spot) {
        match place {
            Spot::Any(Base::Register(reg), off) => {
                self.asm.reg_mem(Code::Lea_r64_m, A, at(whole(reg), off.into()));
            }
            Spot::Any(Base::Frame(from), off) => {
                self.asm.reg_mem(Code::Lea_r64_m, A, at(FRAME, from + i64::from(off)));
                self.asm.reg_reg(Code::Sub_r64_rm64, A, DELTA);
            }
            Spot::Any(Base::Slot(slot), off) => {
                self.tabled_address(A, slot);
                self.asm.reg_imm(Code::Add_rm64_imm32, A, off);
            }
            Spot::Aligned(..) | Spot::Fixed(..) => unreachable!("it is given by its address"),
        }
        self.number_line();
    }

    /// Converts the address in `A` to its line's number.
    fn number_line(&mut self) {
        self.asm.reg_imm(Code::Shr_rm64_imm8, A, self.target.lines.log2 as i32);
    }

    fn mover(&self, access: Access) -> Mover {
        let movers = self.target.movers;
        if access == Access::Load { movers.read } else { movers.write }
    }

    /// Jumps to `moves` unless the line with the word in `B` allows this access.
    fn leave_unless_held(&mut self, access: Access, moves: Label) {
        if access == Access::Load {
            self.asm.mem_reg(Code::Test_rm64_r64, field(offset_of!(Context, place.shared)), B);
            self.asm.to(Code::Je_rel32_64, moves);
        } else {
            self.asm.reg_mem(Code::Cmp_r64_rm64, B, field(offset_of!(Context, place.alone)));
            self.asm.to(Code::Jne_rel32_64, moves);
        }
    }

    /// Leaves the access's offset into the region in `A`.
    pub(super) fn check_bounds(&mut self, base: u8, off: i32, size: Size, outside: Label) {
        let address = self.read(base, B);
        self.asm.reg_mem(Code::Mov_r64_rm64, A, field(offset_of!(Context, minus_base)));
        self.asm.reg_mem(Code::Lea_r64_m, A, at_sum(A, address, off.into()));
        let limit = field(offset_of!(Context, limits) + 8 * usize::from(size.0));
        self.asm.reg_mem(Code::Cmp_r64_rm64, A, limit);
        self.asm.to(Code::Ja_rel32_64, outside);
    }

    /// Leaves if the line was refused because its page of the arena is unbacked.
    pub(super) fn leave_if_denied(&mut self, outside: Label) {
        if self.target.has_arena {
            self.asm.mem_imm(Code::Cmp_rm64_imm8, field(offset_of!(Context, denied)), 0);
            self.asm.to(Code::Jne_rel32_64, outside);
        }
    }

    fn load_from(&mut self, dst: u8, mem: MemoryOperand, size: Size, signed: bool) {
        let (code, to) = match (size.0, signed) {
            (0, false) => (Code::Movzx_r32_rm8, half(dst)),
            (1, false) => (Code::Movzx_r32_rm16, half(dst)),
            (2, false) => (Code::Mov_r32_rm32, half(dst)),
            (0, true) => (Code::Movsx_r64_rm8, whole(dst)),
            (1, true) => (Code::Movsx_r64_rm16, whole(dst)),
            (2, true) => (Code::Movsxd_r64_rm32, whole(dst)),
            _ => (Code::Mov_r64_rm64, whole(dst)),
        };
        self.asm.reg_mem(code, to, mem);
    }

    fn store_to(&mut self, mem: MemoryOperand, size: Size, src: Operand) {
        const REGISTER: [Code; 4] =
            [Code::Mov_rm8_r8, Code::Mov_rm16_r16, Code::Mov_rm32_r32, Code::Mov_rm64_r64];
        const IMMEDIATE: [Code; 4] =
            [Code::Mov_rm8_imm8, Code::Mov_rm16_imm16, Code::Mov_rm32_imm32, Code::Mov_rm64_imm32];
        let at = usize::from(size.0);
        match src {
            Operand::Reg(10) => {
                self.read(10, B);
                self.asm.mem_reg(REGISTER[at], mem, part_of_b(size.0));
            }
            Operand::Reg(reg) => self.asm.mem_reg(REGISTER[at], mem, part(reg, size.0)),
            Operand::Imm(imm) => {
                let kept = match size.0 {
                    0 => i64::from(imm as i8),
                    1 => i64::from(imm as i16),
                    _ => imm,
                };
                self.asm.mem_imm(IMMEDIATE[at], mem, kept as i32);
            }
        }
    }
}
