//! Counting instructions: once per call, exit and jump backwards, where somebody looks at the count.
//!
//! Elsewhere the context's count lacks some, which the emitter knows. Where ways meet, all of them leave the same number
//! uncounted.

use super::branch::fits;
use super::function::Emitter;
use super::registers;
use crate::code::op::{NO_SITE, Op};
use iced_x86::Code;

/// Is it a jump, but neither one that looks at the count nor a `may_goto`?
pub(super) fn is_forward_jump(op: Op) -> bool {
    matches!(op, Op::Jump { site: NO_SITE, .. } | Op::Branch { site: NO_SITE, .. })
}

/// How much the count lacks at jump targets: nothing where a jump leads that needs it, and otherwise it is open.
pub(super) fn at_targets(ops: &[Op]) -> Vec<Option<i32>> {
    let mut pending = vec![None; ops.len()];
    for target in ops.iter().filter(|&&op| !is_forward_jump(op)).filter_map(|op| op.target()) {
        pending[target as usize] = Some(0);
    }
    pending
}

impl Emitter<'_> {
    /// Brings the context's count up to date. Changes the flags.
    pub(super) fn settle(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        self.count(pending);
    }

    /// Adds to the context's count. Changes the flags.
    pub(super) fn count(&mut self, insns: i32) {
        let code = if fits(insns) { Code::Add_rm64_imm8 } else { Code::Add_rm64_imm32 };
        if insns != 0 {
            self.asm.mem_imm(code, registers::insns(), insns);
        }
    }

    /// A jump backwards looks at the count, so that is brought up to date.
    pub(super) fn settle_before_jump(&mut self, target: u32, site: u32) {
        if site == NO_SITE { self.agree(target) } else { self.settle() }
    }

    /// On all ways to an operation, the context's count lacks as much as on the first one. Changes the flags.
    pub(super) fn agree(&mut self, target: u32) {
        let agreed = self.agreed(target, self.pending);
        self.count(self.pending - agreed);
        self.pending = agreed;
    }

    /// How much the context's count lacks on the ways to an operation; `pending`, if this is the first one.
    pub(super) fn agreed(&mut self, target: u32, pending: i32) -> i32 {
        *self.pending_at[target as usize].get_or_insert(pending)
    }
}
