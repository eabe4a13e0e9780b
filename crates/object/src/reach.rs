//! Leaves out functions that no program reaches. libbpf does so too: it loads a function in `.text` only with a program
//! that calls it or takes its address.
//!
//! A library that is linked into an object adds functions that may need what the object lacks, such as an arena. The
//! kernel never sees them.

use crate::code::{CALL, LD_IMM64};
use crate::model::{Function, Insn, Object, PSEUDO_CALL, PSEUDO_FUNC, PSEUDO_MAP, PSEUDO_MAP_VALUE};
use std::collections::BTreeSet;

/// `r0 = 0; exit`. Replaces a function that is not loaded, so that the others keep their indices.
const NOTHING: [Insn; 2] = [
    Insn { code: 0xb7, dst: 0, src: 0, off: 0, imm: 0 },
    Insn { code: 0x95, dst: 0, src: 0, off: 0, imm: 0 },
];

impl Object {
    /// Leaves out a program that is not a callback of a scheduler, and the functions that only it reaches
    /// (`bpf_program__set_autoload()`). Returns false if the object has no such program.
    pub fn leave_out(&mut self, program: &str) -> bool {
        let Some(at) = self.programs.iter().position(|other| other.name == program) else { return false };
        let mut callbacks = self.struct_ops.iter_mut().flat_map(|ops| &mut ops.callbacks);
        if callbacks.any(|(_, callback)| *callback as usize == at) {
            return false;
        }
        self.programs.remove(at);
        for (_, callback) in self.struct_ops.iter_mut().flat_map(|ops| &mut ops.callbacks) {
            *callback -= u32::from(*callback as usize > at);
        }
        leave_out_the_rest(self);
        true
    }
}

impl Object {
    /// Returns the maps that these functions and their callees use, in ascending order.
    pub fn maps_used_by(&self, functions: impl IntoIterator<Item = u32>) -> BTreeSet<u32> {
        let is_map =
            |insn: &&Insn| insn.code == LD_IMM64 && matches!(insn.src, PSEUDO_MAP | PSEUDO_MAP_VALUE);
        let reached = reached_by(self, functions);
        let insns = self.functions.iter().zip(reached).filter(|(_, reached)| *reached);
        insns.flat_map(|(function, _)| &function.insns).filter(is_map).map(|insn| insn.imm as u32).collect()
    }
}

/// Returns, for each function, whether it is one of these or reached by them.
fn reached_by(object: &Object, functions: impl IntoIterator<Item = u32>) -> Vec<bool> {
    let mut reached = vec![false; object.functions.len()];
    let mut next: Vec<u32> = functions.into_iter().collect();
    while let Some(function) = next.pop() {
        if let Some(seen @ false) = reached.get_mut(function as usize) {
            *seen = true;
            next.extend(named_by(&object.functions[function as usize]));
        }
    }
    reached
}

/// Replaces the functions that no program of the object reaches.
pub(crate) fn leave_out_the_rest(object: &mut Object) {
    let reached = reached_by(object, object.programs.iter().map(|program| program.function));
    for (function, reached) in object.functions.iter_mut().zip(reached) {
        if !reached {
            let name = std::mem::take(&mut function.name);
            *function = Function { name, insns: NOTHING.to_vec(), ..Function::default() };
        }
    }
}

/// Returns the functions that this one calls or whose address it takes.
fn named_by(function: &Function) -> impl Iterator<Item = u32> {
    function.insns.iter().filter_map(|insn| {
        let names = matches!((insn.code, insn.src), (CALL, PSEUDO_CALL) | (LD_IMM64, PSEUDO_FUNC));
        names.then_some(insn.imm as u32)
    })
}
