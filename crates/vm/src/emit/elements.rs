//! Addresses of arrays' elements.
//!
//! Compilers compute an element's distance from the beginning of its array in a register of its own, load the address
//! of the array, and add both. If nothing else reads the distance, it is computed in the register that gets the sum, to
//! which the array's address is added from the table.

use super::function::Emitter;
use super::live::{self, Set};
use super::registers::{A, at, field, whole};
use crate::code::op::{Alu, Op, Operand, jump_targets};
use crate::context::{Context, FIRST_ADDRESSES};
use iced_x86::Code;
use std::mem::offset_of;

/// What is emitted instead of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Instead {
    /// The same in another register.
    Op(Op),
    /// The address is added later.
    Nothing,
    /// An address from the table is added.
    AddAddress { dst: u8, slot: u32 },
}

/// For each operation, what is emitted instead, if it computes such an address.
pub(super) struct Elements(Vec<Option<Instead>>);

impl Elements {
    pub(super) fn get(&self, at: usize) -> Option<Instead> {
        *self.0.get(at)?
    }
}

/// How far before the addition the computation may begin.
const MOST_BEFORE: usize = 12;

/// Those of a function, given the registers that are read from each operation on, and which operations need no code.
pub(super) fn all(ops: &[Op], live: &[Set], is_silent: impl Fn(usize) -> bool) -> Elements {
    let is_target = jump_targets(ops);
    let mut all = vec![None; ops.len()];
    for (sum, &op) in ops.iter().enumerate() {
        let Op::Alu { wide: true, op: Alu::Add, dst, src: Operand::Reg(distance @ 0..=9) } = op else {
            continue;
        };
        if distance == dst || live::has(live::after(ops, live, sum), distance) {
            continue;
        }
        let element = element(ops, sum, (dst, distance), &is_target);
        let is_free = |&(at, _): &(usize, Instead)| !is_silent(at) && all[at].is_none();
        for (at, instead) in element.filter(|element| element.iter().all(is_free)).unwrap_or_default() {
            all[at] = Some(instead);
        }
    }
    Elements(all)
}

/// What is emitted instead if the addition is that of a distance to the address of an array.
fn element(
    ops: &[Op],
    sum: usize,
    (dst, distance): (u8, u8),
    is_target: &[bool],
) -> Option<Vec<(usize, Instead)>> {
    let (mut slot, mut begins, mut instead) = (None, false, Vec::new());
    for at in (sum.saturating_sub(MOST_BEFORE)..sum).rev() {
        if slot.is_some() && begins || is_target[at + 1] {
            break;
        }
        let op = ops[at];
        let (reads, writes) = live::uses(op);
        let touches = |reg: u8| live::has(reads | writes, reg);
        match op {
            Op::Hole => {}
            Op::Address { dst: to, slot: of } if to == dst && slot.is_none() => {
                slot = Some(of);
                instead.push((at, Instead::Nothing));
            }
            _ if live::has(writes, distance) && !begins => {
                begins = !live::has(reads, distance);
                let is_plain = matches!(op, Op::Alu { .. } | Op::Const { .. });
                // An access may leave to the interpreter before everything else.
                let is_first = begins && slot.is_some() && matches!(op, Op::Load { .. });
                let reads_sum = live::has(reads, dst) && !(begins && slot.is_some());
                if !is_plain && !is_first || reads_sum || live::has(reads, 10) {
                    return None;
                }
                instead.push((at, Instead::Op(moved(op, distance, dst)?)));
            }
            Op::Alu { .. } | Op::Const { .. } | Op::Address { .. } if !touches(dst) && !touches(distance) => {
            }
            _ => return None,
        }
    }
    let slot = slot.filter(|_| begins)?;
    instead.push((sum, Instead::AddAddress { dst, slot }));
    Some(instead)
}

/// An operation that computes a distance, in another register.
fn moved(op: Op, from: u8, to: u8) -> Option<Op> {
    match op {
        Op::Alu { wide, op, src, .. } => {
            use Alu::{Add, And, Arsh, Lsh, Mov, Mul, Or, Rsh, Sub, Xor};
            let src = if src == Operand::Reg(from) { Operand::Reg(to) } else { src };
            let is_plain = matches!(op, Add | And | Arsh | Lsh | Mov | Mul | Or | Rsh | Sub | Xor);
            is_plain.then_some(Op::Alu { wide, op, dst: to, src })
        }
        Op::Const { value, .. } => Some(Op::Const { dst: to, value }),
        Op::Load { base, off, size, signed, .. } => Some(Op::Load { dst: to, base, off, size, signed }),
        _ => None,
    }
}

impl Emitter<'_> {
    /// What is emitted for an operation, if anything simple is.
    pub(super) fn emitted(&self, number: usize) -> Option<Op> {
        match self.elements.get(number) {
            None => self.ops.get(number).copied(),
            Some(Instead::Op(op)) => Some(op),
            Some(Instead::Nothing | Instead::AddAddress { .. }) => None,
        }
    }

    /// Adds an address from the table to a register.
    pub(super) fn add_tabled_address(&mut self, dst: u8, slot: u32) {
        if (slot as usize) < FIRST_ADDRESSES {
            let entry = field(offset_of!(Context, first_addresses) + 8 * slot as usize);
            return self.asm.reg_mem(Code::Add_r64_rm64, whole(dst), entry);
        }
        self.asm.reg_mem(Code::Mov_r64_rm64, A, field(offset_of!(Context, addresses)));
        self.asm.reg_mem(Code::Add_r64_rm64, whole(dst), at(A, 8 * i64::from(slot)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::op::Size;

    fn alu(op: Alu, dst: u8, src: Operand) -> Op {
        Op::Alu { wide: true, op, dst, src }
    }

    #[test]
    fn a_distance_is_computed_where_the_sum_goes() {
        let copy = alu(Alu::Mov, 3, Operand::Reg(8));
        let scale = |dst| alu(Alu::Mul, dst, Operand::Imm(1280));
        let address = Op::Address { dst: 4, slot: 2 };
        let sum = alu(Alu::Add, 4, Operand::Reg(3));
        let load = Op::Load { dst: 3, base: 4, off: 0, size: Size(2), signed: false };
        let check = |ops: [Op; 6], later: Set, expected: &[usize]| {
            let mut live = [0; 6];
            live[5] = later | live::bit(4);
            let found = all(&ops, &live, |_| false);
            let changed = (0..ops.len()).filter(|&at| found.get(at).is_some());
            assert_eq!(changed.collect::<Vec<_>>(), expected, "{ops:?}");
        };
        let rest = Op::Exit;
        check([copy, scale(3), address, Op::Hole, sum, rest], 0, &[0, 1, 2, 4]);
        check([address, Op::Hole, copy, scale(3), sum, rest], 0, &[0, 2, 3, 4]);
        check([load, scale(3), address, Op::Hole, sum, rest], 0, &[0, 1, 2, 4]);
        // The interpreter would need the address.
        check([address, Op::Hole, load, scale(3), sum, rest], 0, &[]);
        check([copy, scale(3), address, Op::Hole, sum, rest], live::bit(3), &[]);
        // Something else reads the register before it gets the address.
        check([copy, alu(Alu::Add, 3, Operand::Reg(4)), address, Op::Hole, sum, rest], 0, &[]);
    }
}
