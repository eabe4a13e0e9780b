//! Cache lines that the CPU certainly holds already. From one call to the next nobody else runs, so that a line which was
//! checked once stays: only of accesses that are certainly in bounds ([`super::values`]), since others may not have
//! happened.

use super::live::{self, Set};
use super::values::Value;
use crate::code::op::{Alu, Op, Operand, in_frame};

/// A line, by what is certainly the same address whenever it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// So many bytes into a map's global data.
    Fixed(u32, u64),
    /// So far from where a register pointed once.
    From(u32, i64),
}

/// The lines held, and where registers point.
pub(super) struct Held {
    /// Per register a number for what it was set to last but for additions, and what was added since.
    roots: [(u32, i64); 10],
    next: u32,
    /// Each with whether it may be written.
    lines: Vec<(Line, bool)>,
}

impl Held {
    pub(super) fn new() -> Self {
        let mut held = Self { roots: [(0, 0); 10], next: 0, lines: Vec::new() };
        held.forget_all();
        held
    }

    /// Control may come from elsewhere.
    pub(super) fn forget_all(&mut self) {
        self.lines.clear();
        (0..10).for_each(|reg| self.renew(reg));
    }

    fn renew(&mut self, reg: u8) {
        self.next += 1;
        self.roots[usize::from(reg)] = (self.next, 0);
    }

    /// The line of an access, if it is the same for all that the register may hold.
    pub(super) fn line(&self, base: u8, off: i32, value: Value, bytes: u64) -> Option<Line> {
        let within = value.within_line(off, bytes)?;
        if let Value::Data { map, from, more: 0, .. } = value {
            return Some(Line::Fixed(map, from.wrapping_add_signed(off.into()).wrapping_sub(within)));
        }
        let (root, added) = *self.roots.get(usize::from(base))?;
        Some(Line::From(root, added.checked_add(i64::from(off))?.checked_sub_unsigned(within)?))
    }

    pub(super) fn has(&self, line: Line, write: bool) -> bool {
        self.lines.iter().any(|&(held, writable)| held == line && (writable || !write))
    }

    pub(super) fn add(&mut self, line: Line, write: bool) {
        self.lines.push((line, write));
    }

    /// What an operation changes.
    pub(super) fn after(&mut self, op: Op) {
        match op {
            Op::Alu { wide: true, op: Alu::Mov, dst, src: Operand::Reg(src @ 0..=9) } => {
                self.roots[usize::from(dst)] = self.roots[usize::from(src)];
                return;
            }
            Op::Alu { wide: true, op: Alu::Add, dst, src: Operand::Imm(imm) } => {
                let (root, added) = self.roots[usize::from(dst)];
                if let Some(added) = added.checked_add(imm) {
                    self.roots[usize::from(dst)] = (root, added);
                    return;
                }
            }
            // Others may have had their turn.
            Op::Call { .. } | Op::MayGoto { .. } => self.lines.clear(),
            Op::Atomic { base, off, size, .. } if !in_frame(base, off, size) => self.lines.clear(),
            _ => {}
        }
        let written: Set = live::uses(op).1;
        live::each(written, 0..=9).for_each(|reg| self.renew(reg));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::op::{Callee, Size};

    const ELEMENT: Value = Value::Data { map: 0, from: 128, more: 1 << 20, step: 64 };

    fn check(ops: &[Op], reg: u8, off: i32, expected: bool) {
        let mut held = Held::new();
        let first = held.line(1, 8, ELEMENT, 64).expect("it is within one line");
        held.add(first, false);
        ops.iter().for_each(|&op| held.after(op));
        let line = held.line(reg, off, ELEMENT, 64).expect("it is within one line");
        assert_eq!(held.has(line, false), expected, "{ops:?}, {off} from R{reg}");
        assert!(!held.has(line, true), "it was read");
    }

    #[test]
    fn a_line_stays_until_a_call_or_until_its_register_changes() {
        let copy = Op::Alu { wide: true, op: Alu::Mov, dst: 6, src: Operand::Reg(1) };
        let load = |dst| Op::Load { dst, base: 1, off: 0, size: Size(3), signed: false };
        let call = Op::Call { callee: Callee::Host, site: 0 };
        check(&[], 1, 63, true);
        check(&[], 1, 64, false);
        check(&[], 2, 8, false);
        check(&[copy, load(1)], 6, 0, true);
        check(&[load(1)], 1, 0, false);
        check(&[copy, call], 6, 0, false);
    }
}
