//! Functions that emitted code handles itself ([`crate::known`]): inline, except clocks, which only the host can read.

use super::function::Emitter;
use super::registers::{A, A32, B, B32, DELTA, FRAME, at, at_sum, field, half, whole};
use super::values::{NUMBERS_BYTES, Value};
use crate::code::op::FRAME_BYTES;
use crate::context::Context;
use crate::known::{HOST_SERVES, Known};
use iced_x86::{Code, MemoryOperand};
use std::mem::offset_of;

/// The most numbers that an iterator has.
const MOST_NUMBERS: i32 = 8 << 20;

impl Emitter<'_> {
    pub(super) fn known(&mut self, known: Known, site: u32) {
        let done = self.asm.label();
        let iterates = matches!(known, Known::NumNew | Known::NumDestroy);
        // Its address may not have been loaded.
        let iterator = if iterates { self.iterator_in_frame() } else { None };
        let elsewhere = self.later(move |e| {
            if let Some(off) = iterator {
                e.load_frame_address(1, off);
            }
            e.call_host(site);
            e.asm.to(Code::Jmp_rel32_64, done);
        });
        let carry = field(offset_of!(Context, carry_ps));
        let is_carried = self.carried || !self.target.data.counts();
        self.check_fuel(site);
        if is_carried {
            self.asm.reg_mem(Code::Mov_r64_rm64, B, carry);
            const { assert!(HOST_SERVES == u64::MAX) };
            self.asm.reg_imm(Code::Cmp_rm64_imm8, B, -1);
            self.asm.to(Code::Je_rel32_64, elsewhere);
        }
        match known {
            Known::Ktime | Known::Now => {
                self.asm.reg_imm(Code::Mov_r32_imm32, half(1), known as i32);
                self.asm.mem(Code::Call_rm64, field(offset_of!(Context, host_clock)));
                self.reload_context();
                return self.asm.bind(done);
            }
            Known::NumNew | Known::NumDestroy => {
                self.check_iterator(elsewhere);
                if known == Known::NumNew {
                    self.check_range(elsewhere);
                }
            }
            Known::SmpId | Known::RcuLock | Known::RcuUnlock => {}
        }
        let price = field(offset_of!(Context, known_ps) + 8 * known as usize);
        let charge = if is_carried { Code::Add_r64_rm64 } else { Code::Mov_r64_rm64 };
        self.asm.reg_mem(charge, B, price);
        self.asm.mem_reg(Code::Add_rm64_r64, field(offset_of!(Context, stall_ps)), B);
        if is_carried {
            self.asm.mem_imm(Code::Mov_rm64_imm32, carry, 0);
        }
        let pair = iterator.map_or(at_sum(DELTA, whole(1), 0), |off| at(FRAME, off));
        self.answer(known, pair);
        self.asm.bind(done);
    }

    /// Emits a function's action and result; an iterator is at `pair`.
    fn answer(&mut self, known: Known, pair: MemoryOperand) {
        match known {
            Known::SmpId => {
                self.asm.reg_mem(Code::Mov_r32_rm32, half(0), field(offset_of!(Context, place.cpu)))
            }
            Known::NumNew => {
                self.begin_numbers(pair);
                self.zero(0);
            }
            Known::NumDestroy => {
                self.asm.mem_imm(Code::Mov_rm64_imm32, pair, 0);
                self.zero(0);
            }
            _ => self.zero(0),
        }
    }

    /// Continues if the iterator in R1 is in the function's own frame.
    pub(super) fn check_iterator(&mut self, elsewhere: super::asm::Label) {
        if self.values[1].is_in_frame(0, NUMBERS_BYTES) {
            return;
        }
        // At or after the start of the frame.
        self.asm.reg_mem(Code::Lea_r64_m, A, at_sum(DELTA, whole(1), FRAME_BYTES as i64));
        self.asm.reg_reg(Code::Sub_r64_rm64, A, FRAME);
        self.asm.reg_imm(Code::Cmp_rm64_imm32, A, FRAME_BYTES as i32 - NUMBERS_BYTES as i32);
        self.asm.to(Code::Ja_rel32_64, elsewhere);
    }

    /// Continues if R2 up to R3 is a range that an iterator accepts.
    fn check_range(&mut self, elsewhere: super::asm::Label) {
        const MOST_FIRST: u64 = 1 << 30;
        match (self.values[2], self.values[3]) {
            (Value::Const(first), Value::Const(end)) if is_range(first as i32, end as i32) => return,
            // If there are few numbers from the first one to the last one, they don't overflow.
            (Value::Const(first), _) if first <= MOST_FIRST => {
                let count = MemoryOperand::with_base_displ(whole(3), -(first as i64));
                self.asm.reg_mem(Code::Lea_r32_m, A32, count);
            }
            _ => {
                self.asm.reg_reg(Code::Mov_r32_rm32, A32, half(3));
                self.asm.reg_reg(Code::Sub_r32_rm32, A32, half(2));
                self.asm.to(Code::Jl_rel32_64, elsewhere);
            }
        }
        self.asm.reg_imm(Code::Cmp_rm32_imm32, A32, MOST_NUMBERS);
        self.asm.to(Code::Ja_rel32_64, elsewhere);
        debug_assert_ne!(A32, B32);
    }

    /// Sets up the iterator at `pair` for the numbers from R2 to R3.
    fn begin_numbers(&mut self, pair: MemoryOperand) {
        let last = MemoryOperand { displacement: pair.displacement + 4, ..pair };
        match self.values[2] {
            Value::Const(first) => {
                self.asm.mem_imm(Code::Mov_rm32_imm32, pair, (first as i32).wrapping_sub(1));
            }
            _ => {
                self.asm.reg_mem(Code::Lea_r32_m, A32, MemoryOperand::with_base_displ(whole(2), -1));
                self.asm.mem_reg(Code::Mov_rm32_r32, pair, A32);
            }
        }
        match self.values[3] {
            Value::Const(end) => self.asm.mem_imm(Code::Mov_rm32_imm32, last, end as i32),
            _ => self.asm.mem_reg(Code::Mov_rm32_r32, last, half(3)),
        }
    }
}

/// Returns whether an iterator accepts this range.
fn is_range(first: i32, end: i32) -> bool {
    end.checked_sub(first).is_some_and(|count| (0..=MOST_NUMBERS).contains(&count))
}
