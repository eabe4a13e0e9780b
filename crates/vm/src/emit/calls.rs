//! Calls: of the object's functions, of the host, of the engine's helpers.

use super::function::Emitter;
use super::live::{self, Set};
use super::registers::{A, FRAME, at, field};
use super::stubs;
use crate::code::op::{Callee, FRAME_BYTES};
use crate::context::Context;
use iced_x86::Code;
use std::mem::offset_of;

impl Emitter<'_> {
    /// A call, after which these registers are read.
    pub(super) fn call(&mut self, callee: Callee, site: u32, read: Set) {
        match callee {
            Callee::Function(function) => self.call_function(function, site),
            Callee::Host => {
                self.check_fuel(site);
                self.call_host(site);
            }
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
        self.owed = read & live::ARGUMENTS;
    }

    /// A call of the host. The fuel has been checked.
    pub(super) fn call_host(&mut self, site: u32) {
        self.set_site(site);
        let entry = match self.target.data.frequent(site) {
            Some(which) => offset_of!(Context, frequent_calls) + 8 * which as usize,
            None => offset_of!(Context, host_call),
        };
        self.asm.mem(Code::Call_rm64, field(entry));
        self.reload_context();
    }

    pub(super) fn set_site(&mut self, site: u32) {
        self.asm.mem_imm(Code::Mov_rm32_imm32, field(offset_of!(Context, site)), site as i32);
    }

    pub(super) fn call_engine(&mut self, function: usize, site: u32) {
        self.set_site(site);
        self.read(10, A);
        self.asm.mem_reg(Code::Mov_rm64_r64, field(offset_of!(Context, frame)), A);
        self.asm.call_tabled(function);
        self.reload_context();
    }

    fn call_function(&mut self, function: u32, site: u32) {
        self.check_fuel(site);
        if self.target.is_deepest {
            let too_deep = self.later(move |e| {
                e.set_site(site);
                e.asm.call_tabled(stubs::TOO_DEEP);
            });
            self.asm.reg_mem(Code::Cmp_r64_rm64, FRAME, field(offset_of!(Context, place.floor_at)));
            self.asm.to(Code::Je_rel32_64, too_deep);
        }
        let label = self.functions[function as usize];
        if self.target.data.is_leaf(function) {
            return self.asm.to(Code::Call_rel32_64, label);
        }
        let frame = FRAME_BYTES as i64;
        self.asm.reg_mem(Code::Lea_r64_m, FRAME, at(FRAME, -frame));
        self.asm.to(Code::Call_rel32_64, label);
        self.asm.reg_mem(Code::Lea_r64_m, FRAME, at(FRAME, frame));
    }
}
