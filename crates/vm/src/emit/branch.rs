//! Jumps: forward jumps always, backward jumps only while there is fuel.

use super::asm::Label;
use super::function::Emitter;
use super::registers::{A, B, B32, field, half, insns};
use super::stubs;
use crate::code::op::{Cond, NO_SITE, Operand};
use crate::context::Context;
use iced_x86::{Code, Register};
use std::mem::offset_of;

impl Emitter<'_> {
    /// A jump that has just been counted.
    pub(super) fn jump(&mut self, target: u32, site: u32) {
        if site == NO_SITE {
            self.look_at(&self.looks_before(target as usize));
        } else {
            self.check_fuel(site);
        }
        self.hand_over(target);
        let target = self.target(target);
        self.asm.to(Code::Jmp_rel32_64, target);
    }

    /// A jump backwards that has just been counted. If another one leaves something uncounted there, so does this one.
    pub(super) fn jump_back(&mut self, target: u32, site: u32) {
        self.check_fuel(site);
        let uncounted = self.agreed(target, 0);
        self.count(-uncounted);
        self.hand_over(target);
        let target = self.target(target);
        self.asm.to(Code::Jmp_rel32_64, target);
    }

    /// A jump whose target follows it.
    pub(super) fn go_on(&mut self, number: usize, site: u32) {
        if site == NO_SITE {
            return;
        }
        self.unchecked = self.order.until_call(number).map(|count| (site, count));
        if self.unchecked.is_none() {
            self.settle();
            self.check_fuel(site);
        }
    }

    /// Like `jump` if something else has set the flags since.
    fn jump_later(&mut self, target: u32, site: u32) {
        if site != NO_SITE {
            self.asm.mem_imm(Code::Cmp_rm64_imm8, insns(), 0);
        }
        self.jump(target, site);
    }

    /// Continues unless the fuel is used up. The operation has just been counted, which has set the flags.
    pub(super) fn check_fuel(&mut self, site: u32) {
        let unchecked = self.unchecked.take();
        let never_ends = self.later(move |e| {
            if let Some((jump, since)) = unchecked {
                e.stop_if_used_up(jump, since);
            }
            e.set_site(site);
            e.asm.call_tabled(stubs::NEVER_ENDS);
        });
        self.asm.to(Code::Jg_rel32_64, never_ends);
    }

    /// Stops the callback at a site if the fuel was used up there, before this many operations that have been counted
    /// since.
    pub(super) fn stop_if_used_up(&mut self, site: u32, since: i32) {
        let since_then = self.asm.label();
        self.asm.mem_imm(Code::Cmp_rm64_imm32, insns(), since);
        self.asm.to(Code::Jle_rel32_64, since_then);
        self.count(-since);
        self.set_site(site);
        self.asm.call_tabled(stubs::NEVER_ENDS);
        self.asm.bind(since_then);
    }

    /// A conditional jump to an operation, or to the label that is given instead.
    pub(super) fn branch(
        &mut self,
        wide: bool,
        cond: Cond,
        (a, b): (u8, Operand),
        target: u32,
        site: u32,
        instead: Option<Label>,
    ) {
        if site == NO_SITE {
            let target = instead.unwrap_or_else(|| self.way_to(target));
            self.compare(wide, cond == Cond::Set, a, b);
            return self.asm.to(taken(cond), target);
        }
        if self.order.is_aside(self.at) {
            let counted = self.pending;
            let aside = self.later(move |e| {
                e.count(counted);
                e.jump_back(target, site);
            });
            self.compare(wide, cond == Cond::Set, a, b);
            return self.asm.to(taken(cond), aside);
        }
        let next = self.asm.label();
        // Counting has set the flags, but it matters only if the jump is taken.
        let fuel_is_used_up = self.later(move |e| {
            e.compare(wide, cond == Cond::Set, a, b);
            e.asm.to(not_taken(cond), next);
            e.set_site(site);
            e.asm.call_tabled(stubs::NEVER_ENDS);
        });
        self.asm.to(Code::Jg_rel32_64, fuel_is_used_up);
        self.compare(wide, cond == Cond::Set, a, b);
        let target = self.target(target);
        self.asm.to(taken(cond), target);
        self.asm.bind(next);
    }

    /// The target of a forward jump, or a detour there that makes its looks and copies, and zeroes registers.
    pub(super) fn way_to(&mut self, target: u32) -> Label {
        self.way_to_label(target, self.target(target))
    }

    /// Like `way_to` for a label that stands for the target.
    pub(super) fn way_to_label(&mut self, target: u32, label: Label) -> Label {
        let looks = self.looks_before(target as usize);
        let due = self.owed & self.zero_at(target as usize);
        let left = self.together.left(self.at, target as usize);
        if looks.is_empty() && due == 0 && left.is_none() && !self.hands_over(target) {
            return label;
        }
        self.later(move |e| {
            if let Some(number) = left {
                e.give_back(number);
            }
            e.zero_all(due);
            e.look_at(&looks);
            e.hand_over(target);
            e.asm.to(Code::Jmp_rel32_64, label);
        })
    }

    fn compare(&mut self, wide: bool, bits: bool, a: u8, b: Operand) {
        let second = self.read_operand(b, B);
        let first = self.read(a, A);
        let narrow = |reg: u8, temporary: Register| if reg < 10 { half(reg) } else { temporary };
        let first = if wide { first } else { narrow(a, super::registers::A32) };
        match (second, b) {
            (Ok(second), Operand::Reg(reg)) => {
                let second = if wide { second } else { narrow(reg, B32) };
                let code = match (wide, bits) {
                    (true, true) => Code::Test_rm64_r64,
                    (false, true) => Code::Test_rm32_r32,
                    (true, false) => Code::Cmp_r64_rm64,
                    (false, false) => Code::Cmp_r32_rm32,
                };
                self.asm.reg_reg(code, first, second);
            }
            (Err(0), _) if !bits => {
                let code = if wide { Code::Test_rm64_r64 } else { Code::Test_rm32_r32 };
                self.asm.reg_reg(code, first, first);
            }
            (Err(imm), _) => {
                let code = match (wide, bits) {
                    (true, true) => Code::Test_rm64_imm32,
                    (false, true) => Code::Test_rm32_imm32,
                    (true, false) if fits(imm) => Code::Cmp_rm64_imm8,
                    (true, false) => Code::Cmp_rm64_imm32,
                    (false, false) if fits(imm) => Code::Cmp_rm32_imm8,
                    (false, false) => Code::Cmp_rm32_imm32,
                };
                self.asm.reg_imm(code, first, imm);
            }
            (Ok(_), Operand::Imm(_)) => unreachable!("an immediate is in no register"),
        }
    }

    pub(super) fn may_goto(&mut self, target: u32, site: u32) {
        let left = field(offset_of!(Context, loops_left));
        let go_on = self.asm.label();
        let used_up = self.later(move |e| {
            e.asm.call_tabled(stubs::REFILL_LOOPS);
            e.asm.mem_imm(Code::Cmp_rm64_imm8, left, 0);
            e.asm.to(Code::Jne_rel32_64, go_on);
            e.jump_later(target, site);
        });
        self.asm.mem_imm(Code::Cmp_rm64_imm8, left, 0);
        self.asm.to(Code::Je_rel32_64, used_up);
        self.asm.bind(go_on);
        self.asm.mem(Code::Dec_rm64, left);
    }
}

/// Returns whether the immediate fits into 8 bits.
pub(super) fn fits(imm: i32) -> bool {
    i8::try_from(imm).is_ok()
}

/// The jump that is taken if the condition holds. A comparison with 0 by `test` leaves the same flags as `cmp`.
fn taken(cond: Cond) -> Code {
    match cond {
        Cond::Eq => Code::Je_rel32_64,
        Cond::Ne | Cond::Set => Code::Jne_rel32_64,
        Cond::Gt => Code::Ja_rel32_64,
        Cond::Ge => Code::Jae_rel32_64,
        Cond::Lt => Code::Jb_rel32_64,
        Cond::Le => Code::Jbe_rel32_64,
        Cond::SignedGt => Code::Jg_rel32_64,
        Cond::SignedGe => Code::Jge_rel32_64,
        Cond::SignedLt => Code::Jl_rel32_64,
        Cond::SignedLe => Code::Jle_rel32_64,
    }
}

fn not_taken(cond: Cond) -> Code {
    match cond {
        Cond::Eq => Code::Jne_rel32_64,
        Cond::Ne | Cond::Set => Code::Je_rel32_64,
        Cond::Gt => Code::Jbe_rel32_64,
        Cond::Ge => Code::Jb_rel32_64,
        Cond::Lt => Code::Jae_rel32_64,
        Cond::Le => Code::Ja_rel32_64,
        Cond::SignedGt => Code::Jle_rel32_64,
        Cond::SignedGe => Code::Jl_rel32_64,
        Cond::SignedLt => Code::Jge_rel32_64,
        Cond::SignedLe => Code::Jg_rel32_64,
    }
}
