//! Calls: of the object's functions, of the host, of the engine's helpers.

use super::function::Emitter;
use super::live::{self, Set};
use super::registers::{A, B, B32, DELTA, FRAME, at, at_sum, field, whole};
use super::stubs;
use crate::code::op::{Callee, FRAME_BYTES};
use crate::context::Context;
use iced_x86::{Code, MemoryOperand};
use std::mem::offset_of;

impl Emitter<'_> {
    /// A call, after which these registers are read.
    pub(super) fn call(&mut self, callee: Callee, site: u32, read: Set) {
        match callee {
            Callee::Function(function) => self.call_function(function, site),
            Callee::Host => self.call_host(site),
            Callee::Known(known) => self.known(known, site),
            Callee::Loop => self.call_engine(stubs::BPF_LOOP, site),
            Callee::ForEach => self.call_engine(stubs::FOR_EACH, site),
            Callee::Drain => self.call_engine(stubs::DRAIN, site),
            Callee::RbtreeAdd => self.call_engine(stubs::RBTREE_ADD, site),
            Callee::NumNext => self.num_next(site),
            Callee::Poison => {
                self.set_site(site);
                self.asm.call_tabled(stubs::POISONED);
            }
        }
        for reg in live::each(read, 1..=5) {
            self.zero(reg);
        }
    }

    pub(super) fn call_host(&mut self, site: u32) {
        self.set_site(site);
        self.asm.mem(Code::Call_rm64, field(offset_of!(Context, host_call)));
        self.reload_context();
    }

    pub(super) fn set_site(&mut self, site: u32) {
        self.asm.mem_imm(Code::Mov_rm32_imm32, field(offset_of!(Context, site)), site as i32);
    }

    fn call_engine(&mut self, function: usize, site: u32) {
        self.set_site(site);
        self.read(10, A);
        self.asm.mem_reg(Code::Mov_rm64_r64, field(offset_of!(Context, frame)), A);
        self.asm.call_tabled(function);
        self.reload_context();
    }

    fn call_function(&mut self, function: u32, site: u32) {
        self.check_fuel(site);
        let too_deep = self.later(move |e| {
            e.set_site(site);
            e.asm.call_tabled(stubs::TOO_DEEP);
        });
        self.read(10, A);
        self.asm.reg_mem(Code::Cmp_r64_rm64, A, field(offset_of!(Context, stack_floor)));
        self.asm.to(Code::Je_rel32_64, too_deep);
        let frame = FRAME_BYTES as i64;
        self.asm.reg_mem(Code::Lea_r64_m, FRAME, at(FRAME, -frame));
        self.asm.to(Code::Call_rel32_64, self.functions[function as usize]);
        self.asm.reg_mem(Code::Lea_r64_m, FRAME, at(FRAME, frame));
    }

    /// Like [`crate::numbers::num_next`], which is called if the host counts, and for an iterator outside the
    /// function's own frame.
    fn num_next(&mut self, site: u32) {
        if !self.target.data.counts() {
            return self.call_engine(stubs::NUM_NEXT, site);
        }
        let (iterator, done) = (whole(1), self.asm.label());
        let elsewhere = self.later(move |e| {
            e.call_engine(stubs::NUM_NEXT, site);
            e.asm.to(Code::Jmp_rel32_64, done);
        });
        let pair: MemoryOperand = at_sum(DELTA, iterator, 0);
        let end: MemoryOperand = at_sum(DELTA, iterator, 4);
        let over = self.later(move |e| {
            e.asm.mem_imm(Code::Mov_rm64_imm32, pair, 0);
            e.zero(0);
            e.asm.to(Code::Jmp_rel32_64, done);
        });
        self.check_fuel(site);
        self.check_iterator(elsewhere);
        self.asm.reg_mem(Code::Mov_r64_rm64, B, field(offset_of!(Context, num_next_ps)));
        self.asm.mem_reg(Code::Add_rm64_r64, field(offset_of!(Context, stall_ps)), B);
        self.asm.reg_mem(Code::Mov_r32_rm32, B32, pair);
        self.asm.reg(Code::Inc_rm32, B32);
        self.asm.reg_mem(Code::Cmp_r32_rm32, B32, end);
        self.asm.to(Code::Jge_rel32_64, over);
        self.asm.mem_reg(Code::Mov_rm32_r32, pair, B32);
        self.asm.reg_reg(Code::Mov_r64_rm64, whole(0), iterator);
        self.asm.bind(done);
    }
}
