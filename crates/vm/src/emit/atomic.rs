//! Atomic instructions: when it is the callback's turn and the line has been moved here, plain ones suffice.

use super::function::Emitter;
use super::registers::{A, A32, B, B32, half, whole};
use super::stubs;
use crate::code::op::{Atomic, Size, in_frame};
use iced_x86::{Code, MemoryOperand, Register};

/// An instruction for 4 and one for 8 bytes.
type Both = [Code; 2];

const MOV_LOAD: Both = [Code::Mov_r32_rm32, Code::Mov_r64_rm64];
const MOV_STORE: Both = [Code::Mov_rm32_r32, Code::Mov_rm64_r64];
const CMP: Both = [Code::Cmp_r32_rm32, Code::Cmp_r64_rm64];

impl Emitter<'_> {
    pub(super) fn atomic(&mut self, base: u8, off: i32, size: Size, op: Atomic, src: u8, fetch: bool) {
        self.settle();
        let mem = self.place(base, off);
        let back = self.asm.label();
        if !in_frame(base, off, size) {
            let result = if op == Atomic::CompareExchange { 0 } else { src };
            let outside = self.later(move |e| {
                e.count_bad_access();
                if fetch {
                    e.zero(result);
                }
                e.asm.to(Code::Jmp_rel32_64, back);
            });
            self.check_bounds(base, off, size, outside);
            self.asm.call_tabled(stubs::TOUCH_ATOMICALLY);
            self.leave_if_denied(outside);
        }
        let wide = usize::from(size.0 == 3);
        let operand = match self.read(src, B) {
            B => [B32, B][wide],
            _ => [half(src), whole(src)][wide],
        };
        match op {
            Atomic::CompareExchange => self.compare_exchange(mem, operand, wide),
            Atomic::Exchange => self.exchange(mem, operand, wide),
            op if fetch => self.fetch(op, mem, operand, wide),
            op => self.asm.mem_reg(in_memory(op)[wide], mem, operand),
        }
        self.asm.bind(back);
    }

    fn compare_exchange(&mut self, mem: MemoryOperand, new: Register, wide: usize) {
        let old = [A32, A][wide];
        let differs = self.asm.label();
        self.asm.reg_mem(MOV_LOAD[wide], old, mem);
        self.asm.reg_reg(CMP[wide], old, [half(0), whole(0)][wide]);
        self.asm.to(Code::Jne_rel32_64, differs);
        self.asm.mem_reg(MOV_STORE[wide], mem, new);
        self.asm.bind(differs);
        self.asm.reg_reg(Code::Mov_r64_rm64, whole(0), A);
    }

    fn exchange(&mut self, mem: MemoryOperand, operand: Register, wide: usize) {
        let old = [A32, A][wide];
        self.asm.reg_mem(MOV_LOAD[wide], old, mem);
        self.asm.mem_reg(MOV_STORE[wide], mem, operand);
        self.asm.reg_reg(MOV_LOAD[wide], operand, old);
    }

    /// The operand's register gets the old value.
    fn fetch(&mut self, op: Atomic, mem: MemoryOperand, operand: Register, wide: usize) {
        let (old, new) = ([A32, A][wide], [B32, B][wide]);
        self.asm.reg_mem(MOV_LOAD[wide], old, mem);
        self.asm.reg_reg(MOV_LOAD[wide], new, old);
        self.asm.reg_reg(in_register(op)[wide], new, operand);
        self.asm.mem_reg(MOV_STORE[wide], mem, new);
        self.asm.reg_reg(MOV_LOAD[wide], operand, old);
    }
}

fn in_memory(op: Atomic) -> Both {
    match op {
        Atomic::Or => [Code::Or_rm32_r32, Code::Or_rm64_r64],
        Atomic::And => [Code::And_rm32_r32, Code::And_rm64_r64],
        Atomic::Xor => [Code::Xor_rm32_r32, Code::Xor_rm64_r64],
        _ => [Code::Add_rm32_r32, Code::Add_rm64_r64],
    }
}

fn in_register(op: Atomic) -> Both {
    match op {
        Atomic::Or => [Code::Or_r32_rm32, Code::Or_r64_rm64],
        Atomic::And => [Code::And_r32_rm32, Code::And_r64_rm64],
        Atomic::Xor => [Code::Xor_r32_rm32, Code::Xor_r64_rm64],
        _ => [Code::Add_r32_rm32, Code::Add_r64_rm64],
    }
}
