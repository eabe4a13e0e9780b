//! Looks at lines that are taken out of loops: if a loop begins with an access to a line that is still held when the loop
//! begins again, only the ways into the loop look at it.
//!
//! The loop's head then has the line on every way. Nothing between the head and the access lets other CPUs run, so it
//! makes no difference that the line is fetched a few operations earlier: the price is the same.

use super::function::{Emitter, Target};
use super::held::{Known, Line};
use super::live::{self, Set};
use super::values::{self, Registers, Value};
use crate::code::op::{Access, Op, Size, in_frame, jump_targets};

/// Where the address of an access comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    /// A register.
    Register(u8),
    /// The table of addresses.
    Slot(u32),
    /// The end of the function's frame, at this distance.
    Frame(i64),
}

impl Base {
    /// That of a register with this value.
    pub(super) fn of(reg: u8, value: Value) -> Self {
        match value {
            Value::Frame(from) => Self::Frame(from),
            _ => Self::Register(reg),
        }
    }
}

/// A look at a line that a loop begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Look {
    pub(super) line: Line,
    pub(super) access: Access,
    base: Base,
    off: i32,
}

impl Look {
    pub(super) fn writes(&self) -> bool {
        self.access != Access::Load
    }
}

/// The looks at each loop's head, by operation.
pub(super) type Looks = Vec<Vec<Look>>;

/// Whether a look pays.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Use {
    /// There is a way to the loop on which its line is held anyway.
    saves: bool,
    /// There is one on which it isn't, and where no look can be made.
    is_impossible: bool,
}

impl Use {
    /// A way to the loop.
    pub(super) fn note(&mut self, is_held: bool, can_look: bool) {
        self.saves |= is_held;
        self.is_impossible |= !is_held && !can_look;
    }
}

/// Drops looks that don't pay; returns whether there are any.
pub(super) fn keep(looks: &mut Looks, uses: &[Vec<Use>]) -> bool {
    let mut dropped = false;
    for (looks, uses) in looks.iter_mut().zip(uses) {
        let mut uses = uses.iter();
        let before = looks.len();
        looks.retain(|_| uses.next().is_some_and(|u| u.saves && !u.is_impossible));
        dropped |= looks.len() < before;
    }
    dropped
}

/// What the loops of a function begin with.
pub(super) fn all(ops: &[Op], values_at: &[Option<Box<Registers>>], target: &Target<'_>) -> Looks {
    let mut looks = vec![Vec::new(); ops.len()];
    for head in heads(ops) {
        if let Some(values) = &values_at[head] {
            looks[head] = begins_with(ops, head, values, values_at, target);
        }
    }
    looks
}

/// The operations at which loops begin: a depth-first search that is still at one of them comes there again.
fn heads(ops: &[Op]) -> Vec<usize> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        Open,
        Done,
    }
    let leads_back = |(at, op): (usize, &Op)| op.target().is_some_and(|target| target as usize <= at);
    if !ops.iter().enumerate().any(leads_back) {
        return Vec::new();
    }
    // Only jump targets are come to again. What lies between them is one step of the search.
    let is_target = jump_targets(ops);
    let mut states = vec![State::New; ops.len()];
    // Where a step begins, and where those of its jumps end that have not been followed.
    let (mut path, mut heads) = (Vec::<(usize, usize)>::new(), Vec::new());
    let mut next = Some(0);
    loop {
        while let Some(at) = next.take() {
            match states[at] {
                State::New => {
                    states[at] = State::Open;
                    let ends = |&end: &usize| ops[end].ends() || is_target.get(end + 1) == Some(&true);
                    let end = (at..ops.len()).find(ends).unwrap_or(ops.len() - 1);
                    path.push((at, end + 1));
                    next = (!ops[end].ends() && end + 1 < ops.len()).then_some(end + 1);
                }
                State::Open => heads.push(at),
                State::Done => {}
            }
        }
        let Some((at, left)) = path.last_mut() else { break };
        if left == at {
            states[*at] = State::Done;
            path.pop();
        } else {
            *left -= 1;
            next = ops[*left].target().map(|target| target as usize);
        }
    }
    heads.sort_unstable();
    heads.dedup();
    heads
}

/// The lines that are certainly accessed after an operation, before control may go elsewhere or other CPUs may run.
fn begins_with(
    ops: &[Op],
    head: usize,
    values: &Registers,
    values_at: &[Option<Box<Registers>>],
    target: &Target<'_>,
) -> Vec<Look> {
    let (mut registers, mut looks) = (*values, Vec::<Look>::new());
    let mut bases: [Option<Base>; 10] = std::array::from_fn(|reg| Some(Base::Register(reg as u8)));
    for (at, &op) in ops.iter().enumerate().skip(head) {
        if at > head && values_at[at].is_some() {
            break;
        }
        let access = match op {
            Op::Load { base, off, size, .. } => Some((base, off, size, Access::Load)),
            Op::Store { base, off, size, .. } => Some((base, off, size, Access::Store)),
            Op::Alu { .. } | Op::Const { .. } | Op::Address { .. } | Op::Hole => None,
            _ => break,
        };
        if let Some((base, off, size, access)) = access
            && let Some(look) = look((base, off, size), access, &registers, &bases, target)
            && !looks.iter().any(|known| known.line == look.line && (known.writes() || !look.writes()))
        {
            looks.push(look);
        }
        values::after(op, &mut registers, target.data);
        let written: Set = live::uses(op).1;
        for reg in live::each(written, 0..=9) {
            bases[usize::from(reg)] = match op {
                Op::Address { slot, .. } => Some(Base::Slot(slot)),
                _ => None,
            };
        }
    }
    looks
}

/// The look of an access at a line that is the same in every round.
fn look(
    (base, off, size): (u8, i32, Size),
    access: Access,
    registers: &Registers,
    bases: &[Option<Base>; 10],
    target: &Target<'_>,
) -> Option<Look> {
    let value = *registers.get(usize::from(base))?;
    let is_tasks = value.map().is_some() && value.map() == target.data.tasks();
    if in_frame(base, off, size) || !target.is_within(value, off, size) || target.lines.crowded && is_tasks {
        return None;
    }
    let line = Line::fixed(value, off, 1 << target.lines.log2)?;
    let base = match Base::of(base, value) {
        Base::Register(_) => bases[usize::from(base)]?,
        other => other,
    };
    Some(Look { line, access, base, off })
}

impl<'a> Emitter<'a> {
    /// The looks that a way to an operation has to make, given what is held now.
    pub(super) fn looks_before(&self, to: usize) -> Vec<Look> {
        missing(&self.looks[to], self.held.known())
    }

    pub(super) fn look_at(&mut self, looks: &[Look]) {
        for look in looks {
            self.look_early(look.line, look.base, look.off, look.access);
        }
    }
}

/// Those of the looks whose lines are not known to be held.
fn missing(looks: &[Look], known: &Known) -> Vec<Look> {
    looks.iter().filter(|look| !known.has(look.line, look.writes())).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::op::{Cond, NO_SITE, Operand};

    const NOP: Op = Op::Const { dst: 0, value: 0 };

    fn branch(target: u32) -> Op {
        Op::Branch { wide: true, cond: Cond::Eq, a: 1, b: Operand::Imm(0), target, site: NO_SITE }
    }

    #[test]
    fn a_loop_begins_where_every_way_into_it_leads() {
        let jump = |target| Op::Jump { target, site: NO_SITE };
        let check = |ops: &[Op], expected: &[usize]| assert_eq!(heads(ops), expected, "{ops:?}");
        check(&[NOP, Op::Exit], &[]);
        check(&[NOP, branch(0), Op::Exit], &[0]);
        check(&[branch(2), NOP, NOP, Op::Exit], &[]);
        // The way into it leads to its middle.
        check(&[jump(3), NOP, branch(5), NOP, jump(1), Op::Exit], &[3]);
        check(&[NOP, NOP, branch(1), branch(0), Op::Exit], &[0, 1]);
    }
}
