//! Which registers are read after an operation, before something else is written to them.
//!
//! BPF programs that no verifier has checked may read registers that a call has clobbered; they are 0 then. If nothing
//! reads them, they need not be zeroed.

use super::values::Data;
use crate::code::op::{Alu, Atomic, Callee, Op, Operand};

/// A bit for each of R0 to R10.
pub(super) type Set = u16;

/// Every register.
pub(super) const ALL: Set = 0x7ff;
/// R1 to R5.
pub(super) const ARGUMENTS: Set = 0x3e;
/// The most rounds; a program whose jumps need more counts as reading everything.
const ROUNDS: usize = 16;

/// The registers that each operation reads. What a call ignores need not be zeroed for it.
pub(super) fn reads(ops: &[Op], data: &dyn Data) -> Vec<Set> {
    let reads = |&op: &Op| match op {
        Op::Call { callee, site } => uses(op).0 & data.arguments(callee, site),
        _ => uses(op).0,
    };
    ops.iter().map(reads).collect()
}

/// The first of R1 to R5.
pub(super) fn arguments(count: usize) -> Set {
    ARGUMENTS & ((2 << count) - 1)
}

/// Per operation, the registers that are read from there on, given those that each one reads.
pub(super) fn before(ops: &[Op], reads: &[Set]) -> Vec<Set> {
    let mut live: Vec<Set> = vec![0; ops.len()];
    // Who is jumped back to.
    let mut heads = Vec::new();
    for (at, op) in ops.iter().enumerate() {
        heads.extend(op.target().filter(|&target| target as usize <= at));
    }
    let mut at_heads: Vec<Set> = vec![0; heads.len()];
    for _ in 0..ROUNDS {
        let mut next = 0;
        for ((at, &op), &reads) in ops.iter().enumerate().zip(reads).rev() {
            next = reads
                | match op {
                    Op::Exit => 0,
                    Op::Jump { target, .. } => live[target as usize],
                    Op::Branch { target, .. } | Op::MayGoto { target, .. } => next | live[target as usize],
                    _ => next & !uses(op).1,
                };
            live[at] = next;
        }
        // All other ways have been found by then.
        let mut changed = false;
        for (before, &head) in at_heads.iter_mut().zip(&heads) {
            changed |= std::mem::replace(before, live[head as usize]) != live[head as usize];
        }
        if !changed {
            return live;
        }
    }
    vec![ALL; ops.len()]
}

/// The registers that are read once the operation is done.
pub(super) fn after(ops: &[Op], live: &[Set], at: usize) -> Set {
    let op = ops[at];
    let next = if op.ends() { 0 } else { live.get(at + 1).copied().unwrap_or(0) };
    next | op.target().map_or(0, |target| live[target as usize])
}

/// Returns whether the register is among those of a set.
pub(super) fn has(set: Set, reg: u8) -> bool {
    set & bit(reg) != 0
}

pub(super) fn bit(reg: u8) -> Set {
    1 << reg
}

fn of(operand: Operand) -> Set {
    match operand {
        Operand::Reg(reg) => bit(reg),
        Operand::Imm(_) => 0,
    }
}

/// The registers that an operation reads and writes.
#[inline]
pub(super) fn uses(op: Op) -> (Set, Set) {
    match op {
        Op::Alu { op: Alu::Mov | Alu::MovSigned(_), dst, src, .. } => (of(src), bit(dst)),
        Op::Alu { dst, src, .. } => (of(src) | bit(dst), bit(dst)),
        Op::Const { dst, .. } | Op::Address { dst, .. } => (0, bit(dst)),
        Op::CastToKernel { dst, src } | Op::CastToUser { dst, src, .. } => (bit(src), bit(dst)),
        Op::Load { dst, base, .. } => (bit(base), bit(dst)),
        Op::Store { base, src, .. } => (bit(base) | of(src), 0),
        Op::Atomic { base, op: Atomic::CompareExchange, src, .. } => (bit(base) | bit(src) | 1, 1),
        Op::Atomic { base, src, fetch, .. } => (bit(base) | bit(src), if fetch { bit(src) } else { 0 }),
        Op::Branch { a, b, .. } => (bit(a) | of(b), 0),
        Op::Call { callee: Callee::Poison, .. } => (0, ARGUMENTS | 1),
        // It has one argument.
        Op::Call { callee: Callee::NumNext, .. } => (bit(1), ARGUMENTS | 1),
        Op::Call { .. } => (ARGUMENTS, ARGUMENTS | 1),
        Op::Exit => (1, 0),
        Op::Jump { .. } | Op::MayGoto { .. } | Op::Hole => (0, 0),
    }
}

/// The registers of a set among these, by number.
pub(super) fn each(set: Set, among: std::ops::RangeInclusive<u8>) -> impl Iterator<Item = u8> {
    let behind: Set = 2 << among.end();
    let mut left = set >> among.start() << among.start() & (behind - 1);
    std::iter::from_fn(move || {
        let first = left.trailing_zeros() as u8;
        left &= left.wrapping_sub(1);
        (first < 16).then_some(first)
    })
}
