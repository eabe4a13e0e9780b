//! Writes an answer into its instruction, as libbpf's `bpf_core_patch_insn`.

use super::value::Answer;
use super::{CoreError, malformed};
use crate::code::{CALL, LD_IMM64};
use crate::model::{Insn, POISON_HELPER};

/// What relocation does to an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It gets the kernel's answer in place of the object's.
    Patch {
        /// The answer with the object's types.
        old: Answer,
        /// The answer with the kernel's types.
        new: Answer,
        /// Whether a load or store would change the value, because the sizes differ and not both are pointers or
        /// unsigned.
        misread: bool,
    },
    /// The kernel has no answer.
    Poison {
        /// What it lacks.
        missing: String,
    },
}

/// A call that must never be executed.
pub(crate) const POISON: Insn = Insn { code: CALL, dst: 0, src: 0, off: 0, imm: POISON_HELPER };

/// Poisons an instruction: both slots of a wide one.
pub(crate) fn poison(insns: &mut [Insn], at: usize) {
    if insns[at].code == LD_IMM64
        && let Some(second) = insns.get_mut(at + 1)
    {
        *second = POISON;
    }
    insns[at] = POISON;
}

/// Patches an instruction. Returns `false` if it must be poisoned instead.
pub(super) fn patch(
    insns: &mut [Insn],
    at: usize,
    old: &Answer,
    new: &Answer,
    misread: bool,
) -> Result<bool, CoreError> {
    const ALU: u8 = 0x04;
    const ALU64: u8 = 0x07;
    let insn = insns[at];
    let wrong = |found: u64| old.certain && found != old.value;
    match insn.code & 0x07 {
        ALU | ALU64 => {
            if insn.code & 0x08 != 0 {
                return malformed("its instruction takes no immediate");
            }
            if old.certain && insn.imm as u32 != old.value as u32 {
                return malformed("its instruction holds another value than the object's types say");
            }
            insns[at].imm = new.value as i32;
            Ok(true)
        }
        0x01..=0x03 => {
            if wrong(insn.off as i64 as u64) {
                return malformed("its instruction holds another offset than the object's types say");
            }
            let Ok(off) = i16::try_from(new.value) else {
                return malformed("the kernel's offset doesn't fit into an instruction");
            };
            if misread {
                return Ok(false);
            }
            insns[at].off = off;
            insns[at].code = resized(insn.code, old, new)?;
            Ok(true)
        }
        0x00 => {
            if insn.code != LD_IMM64 || insn.src != 0 || insn.off != 0 || at + 1 >= insns.len() {
                return malformed("its instruction is no load of a constant");
            }
            let next = insns[at + 1];
            if wrong(u64::from(next.imm as u32) << 32 | u64::from(insn.imm as u32)) {
                return malformed("its instruction holds another value than the object's types say");
            }
            insns[at].imm = new.value as i32;
            insns[at + 1].imm = (new.value >> 32) as i32;
            Ok(true)
        }
        _ => malformed("its instruction is neither arithmetic, nor a load, nor a store"),
    }
}

/// Returns the opcode with the size of the kernel's field.
fn resized(code: u8, old: &Answer, new: &Answer) -> Result<u8, CoreError> {
    const SIZES: [(u8, u32); 4] = [(0x10, 1), (0x08, 2), (0x00, 4), (0x18, 8)];
    let (Some((old, _)), Some((new, _))) = (old.access, new.access) else { return Ok(code) };
    if old == new {
        return Ok(code);
    }
    if !SIZES.contains(&(code & 0x18, old)) {
        return malformed("its instruction accesses another size than the object's types say");
    }
    match SIZES.iter().find(|(_, size)| *size == new) {
        Some((bits, _)) => Ok(code & !0x18 | bits),
        None => malformed("the kernel's field has a size that no instruction loads"),
    }
}
