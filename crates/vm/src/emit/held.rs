//! Cache lines that the CPU certainly holds already. From one call to the next nobody else runs, so that a line which was
//! checked once stays: only of accesses that are certainly in bounds ([`super::values`]), since others may not have
//! happened.
//!
//! Where ways meet, and so at the head of a loop, those stay that have a place of their own and are held on every way
//! ([`at_targets`]).

use super::function::Target;
use super::live::{self, Set};
use super::values::{self, Registers, Value};
use crate::code::op::{Access, Alu, Callee, Op, Operand, Size, in_frame};

/// A line, by what is certainly the same address whenever it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// So many bytes into a map's global data.
    Fixed(u32, u64),
    /// So far from the end of the function's own frame.
    Frame(i64),
    /// So far from where a register pointed once.
    From(u32, i64),
}

/// Lines that are held, each with whether it may be written.
pub(super) type Lines = Vec<(Line, bool)>;

/// The lines held, and where registers point.
pub(super) struct Held {
    /// Per register a number for what it was set to last but for additions, and what was added since.
    roots: [(u32, i64); 10],
    next: u32,
    lines: Lines,
}

impl Held {
    pub(super) fn new() -> Self {
        let mut held = Self { roots: [(0, 0); 10], next: 0, lines: Vec::new() };
        held.forget_all();
        held
    }

    /// Nothing is known.
    fn forget_all(&mut self) {
        self.meet(&[]);
    }

    /// Control may come from elsewhere, where these lines are held.
    pub(super) fn meet(&mut self, lines: &[(Line, bool)]) {
        self.lines.clear();
        self.lines.extend_from_slice(lines);
        (0..10).for_each(|reg| self.renew(reg));
    }

    fn renew(&mut self, reg: u8) {
        self.next += 1;
        self.roots[usize::from(reg)] = (self.next, 0);
    }

    /// The line of an access, if it is the same for all that the register may hold.
    pub(super) fn line(&self, base: u8, off: i32, value: Value, bytes: u64) -> Option<Line> {
        let within = value.within_line(off, bytes)?;
        match value {
            Value::Data { map, from, more: 0, .. } => {
                return Some(Line::Fixed(map, from.wrapping_add_signed(off.into()).wrapping_sub(within)));
            }
            Value::Frame(from) => return Some(Line::Frame(from + i64::from(off) - within as i64)),
            _ => {}
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

    /// The line of an access to be noted: one that is certainly in bounds, on a machine where a line that is fetched takes
    /// no other's place.
    pub(super) fn line_of(
        &self,
        (base, off): (u8, i32),
        size: Size,
        registers: &Registers,
        target: &Target<'_>,
    ) -> Option<Line> {
        let &value = registers.get(usize::from(base))?;
        let is_kept = !target.lines.crowded && target.is_within(value, off, size);
        is_kept.then(|| self.line(base, off, value, 1 << target.lines.log2)).flatten()
    }

    /// Those that have a place of their own.
    fn placed(&self) -> Lines {
        self.lines.iter().copied().filter(|(line, _)| !matches!(line, Line::From(..))).collect()
    }

    /// What an operation changes; `counts` says that the engine serves `bpf_iter_num_next` itself.
    pub(super) fn after(&mut self, op: Op, counts: bool) {
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
            Op::Call { callee: Callee::NumNext, .. } if counts => {}
            // Others may have had their turn.
            Op::Call { .. } | Op::MayGoto { .. } => self.lines.clear(),
            Op::Atomic { base, off, size, .. } if !in_frame(base, off, size) => self.lines.clear(),
            _ => {}
        }
        let written: Set = live::uses(op).1;
        live::each(written, 0..=9).for_each(|reg| self.renew(reg));
    }
}

/// The lines held wherever a jump may lead, by operation; nothing where no way is known to lead.
pub(super) fn at_targets(
    ops: &[Op],
    values_at: &[Option<Box<Registers>>],
    target: &Target<'_>,
) -> Vec<Option<Lines>> {
    let mut known: Vec<Option<Lines>> = vec![None; ops.len()];
    // Each round takes lines away, or is the last but one.
    const MOST_ROUNDS: usize = 20;
    for _ in 0..MOST_ROUNDS {
        if !walk(ops, values_at, target, &mut known) {
            return known;
        }
    }
    vec![None; ops.len()]
}

/// Goes through a function once; says whether anything has become known or has turned out not to hold.
fn walk(
    ops: &[Op],
    values_at: &[Option<Box<Registers>>],
    target: &Target<'_>,
    known: &mut [Option<Lines>],
) -> bool {
    let (mut held, mut registers, mut open, mut changed) = (Held::new(), [Value::Any; 10], true, false);
    for (at, &op) in ops.iter().enumerate() {
        if let Some(values) = &values_at[at] {
            if open {
                changed |= keep_common(&mut known[at], held.placed());
            }
            let Some(lines) = &known[at] else { continue };
            held.meet(lines);
            (registers, open) = (**values, true);
        }
        if !open {
            continue;
        }
        let access = match op {
            Op::Load { base, off, size, .. } => Some((base, off, size, Access::Load)),
            Op::Store { base, off, size, .. } => Some((base, off, size, Access::Store)),
            _ => None,
        };
        if let Some((base, off, size, access)) = access
            && let Some(line) = held.line_of((base, off), size, &registers, target)
        {
            held.add(line, access != Access::Load);
        }
        values::after(op, &mut registers, target.data);
        held.after(op, target.data.counts());
        if let Some(to) = op.target() {
            changed |= keep_common(&mut known[to as usize], held.placed());
        }
        open = !op.ends();
    }
    changed
}

/// Keeps what is held on one more way, too; says whether that changes anything.
fn keep_common(known: &mut Option<Lines>, way: Lines) -> bool {
    let Some(known) = known else {
        *known = Some(way);
        return true;
    };
    let has =
        |line: Line, write: bool| way.iter().any(|&(held, writable)| held == line && (writable || !write));
    let before = known.clone();
    known.iter_mut().for_each(|(line, write)| *write &= has(*line, true));
    known.retain(|&(line, _)| has(line, false));
    *known != before
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::op::{Cond, NO_SITE};
    use crate::emit::asm::Asm;
    use crate::emit::moves::Movers;
    use crate::emit::tests::OneMap;
    use crate::memory::LineForm;

    const ELEMENT: Value = Value::Data { map: 0, from: 128, more: 1 << 20, step: 64 };

    fn check(ops: &[Op], reg: u8, off: i32, expected: bool) {
        let mut held = Held::new();
        let first = held.line(1, 8, ELEMENT, 64).expect("it is within one line");
        held.add(first, false);
        ops.iter().for_each(|&op| held.after(op, true));
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

    /// What is held at a loop's head, which is the fourth operation; `body` is what it repeats.
    fn check_loop(before: [Op; 3], body: Op, crowded: bool, expected: &[(Line, bool)]) {
        let mut asm = Asm::default();
        let movers = Movers { read: asm.label(), write: asm.label() };
        let lines = LineForm { log2: 6, grouped: false, crowded };
        let target = Target { lines, has_arena: false, movers, data: &OneMap };
        let back = Op::Branch { wide: true, cond: Cond::Ne, a: 6, b: Operand::Imm(0), target: 3, site: 0 };
        let ops: Vec<Op> = before.into_iter().chain([body, back, Op::Exit]).collect();
        let known = at_targets(&ops, &values::at_targets(&ops, target.data), &target);
        assert_eq!(known[3].as_deref(), Some(expected), "{before:?} {body:?}");
    }

    #[test]
    fn at_the_head_of_a_loop_a_line_is_held_that_is_on_every_way() {
        let address = Op::Address { dst: 7, slot: 0 };
        let load = Op::Load { dst: 8, base: 7, off: 72, size: Size(3), signed: false };
        let store = Op::Store { base: 7, off: 64, size: Size(3), src: Operand::Imm(1) };
        let call = |callee| Op::Call { callee, site: 0 };
        let skip =
            Op::Branch { wide: true, cond: Cond::Eq, a: 6, b: Operand::Imm(0), target: 3, site: NO_SITE };
        let line = Line::Fixed(0, 64);
        check_loop([address, load, Op::Hole], Op::Hole, false, &[(line, false)]);
        check_loop([address, store, Op::Hole], load, false, &[(line, true)]);
        check_loop([address, load, Op::Hole], call(Callee::NumNext), false, &[(line, false)]);
        check_loop([address, load, Op::Hole], call(Callee::Host), false, &[]);
        check_loop([address, Op::Hole, Op::Hole], load, false, &[]);
        check_loop([address, skip, load], Op::Hole, false, &[]);
        check_loop([address, load, store], Op::Hole, true, &[]);
    }
}
