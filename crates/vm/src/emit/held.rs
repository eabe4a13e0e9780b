//! Cache lines that the CPU certainly holds already, and places that are certainly in bounds. Between two calls no other
//! CPU runs, so a line that was checked once stays; and memory never becomes smaller. Every access counts: code that
//! comes behind it is only executed if it was in bounds ([`super::exits`]).
//!
//! Where control-flow paths meet, such as at the head of a loop, only the lines remain that can't be evicted and are
//! held on every path ([`at_targets`]). Some of them are held because the ways into a loop look at them
//! ([`super::early`]).

use super::alu::is_address;
use super::count::is_forward_jump;
use super::early::{self, Looks, Use};
use super::function::Target;
use super::live::{self, Set};
use super::values::{Registers, Value};
use crate::code::op::{Access, Alu, Callee, Op, Operand, Size, in_frame};
use keel_abi::lines::LINE_BYTES;

/// A line, identified so that equal values are certainly the same address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// This many bytes into a map's global data.
    Fixed(u32, u64),
    /// At this distance from the end of the function's own frame.
    Frame(i64),
    /// In this map's global data, at this distance from an earlier value of a register. The distance is first: it is
    /// compared first, and mostly differs.
    From { at: i64, map: u32, root: Root },
    /// That of the byte at this distance from an earlier value of a register, anywhere.
    Of { at: i64, root: Root },
}

impl Line {
    /// The line of `line` bytes of an access, if only constants determine it.
    pub(super) fn fixed(value: Value, off: i32, line: u64) -> Option<Self> {
        let within = value.within_line(off, line)?;
        match value {
            Value::Data { map, from, more: 0, .. } => {
                Some(Self::Fixed(map, from.wrapping_add_signed(off.into()).wrapping_sub(within)))
            }
            Value::Frame(from) => Some(Self::Frame(from + i64::from(off) - within as i64)),
            _ => None,
        }
    }

    fn map(self) -> Option<u32> {
        match self {
            Self::Fixed(map, _) | Self::From { map, .. } => Some(map),
            Self::Frame(_) | Self::Of { .. } => None,
        }
    }

    /// Returns whether no other CPU takes it away: it is in the callback's own stack, or programs can't write to it.
    fn is_own(self, target: &Target<'_>) -> bool {
        match self {
            Self::Frame(_) => true,
            Self::Fixed(map, _) | Self::From { map, .. } => target.data.is_read_only(map),
            Self::Of { .. } => false,
        }
    }

    /// The operation that its name is of, or 0.
    fn set_by(self) -> u32 {
        match self {
            Self::From { root: Root::Set(by, _), .. } | Self::Of { root: Root::Set(by, _), .. } => by,
            Self::Fixed(..) | Self::Frame(_) | Self::From { .. } | Self::Of { .. } => 0,
        }
    }

    /// Returns whether it can belong to a task's structure, given their map.
    fn may_be_tasks(self, tasks: Option<u32>) -> bool {
        match self {
            Self::Of { .. } => true,
            line => line.map().is_some() && line.map() == tasks,
        }
    }
}

/// A name for an earlier value of a register; each new value replaces the old one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Root {
    /// Its value at the function's beginning.
    Entry(u8),
    /// Its value after the last execution of this operation.
    Set(u32, u8),
    /// Its value when the paths to this operation last met.
    Met(u32, u8),
    /// Unknown.
    Lost,
}

/// Held lines, each with whether it may be written.
type Lines = Vec<(Line, bool)>;

/// Bytes that are in bounds, from one distance from an earlier value of a register up to another.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Span {
    root: Root,
    from: i64,
    to: i64,
}

/// Distances from a value that are considered: their sum with an address in the region does not overflow.
const MOST_DISTANCE: u64 = 1 << 40;

/// A held place near an access that is probably in the same line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Near {
    /// The first byte of both, at this distance from the register.
    pub(super) from: i16,
    /// How far behind that the last one is.
    pub(super) more: u64,
    /// If it is in the same line, the access is in bounds.
    pub(super) reaches: bool,
}

/// What is known at one place.
#[derive(Debug, PartialEq)]
pub(super) struct Known {
    /// For each register, its last value before additions, and the sum of the additions since.
    roots: [(Root, i64); 10],
    lines: Lines,
    spans: Vec<Span>,
    /// No name is of an operation behind this one.
    newest: u32,
}

impl Clone for Known {
    fn clone(&self) -> Self {
        Self { lines: self.lines.clone(), spans: self.spans.clone(), ..*self }
    }

    /// Reuses the memory: this is done at each place where ways meet.
    fn clone_from(&mut self, other: &Self) {
        (self.roots, self.newest) = (other.roots, other.newest);
        self.lines.clone_from(&other.lines);
        self.spans.clone_from(&other.spans);
    }
}

impl Known {
    pub(super) fn has(&self, line: Line, write: bool) -> bool {
        self.lines.iter().any(|&(held, writable)| held == line && (writable || !write))
    }

    /// Returns whether the line is held: by itself, or as that of one of two others, of a place before it and one behind
    /// it that are at most a line of `bytes` bytes apart.
    fn holds(&self, line: Line, write: bool, bytes: u64) -> bool {
        let (mut before, mut behind) = (i64::MIN, i64::MAX);
        for &(held, writable) in &self.lines {
            if write && !writable {
                continue;
            }
            if held == line {
                return true;
            }
            if let (Line::Of { at: place, root: of }, Line::Of { at, root }) = (held, line)
                && of == root
            {
                if place < at {
                    before = before.max(place);
                } else {
                    behind = behind.min(place);
                }
            }
        }
        before.abs_diff(behind) <= bytes
    }

    fn with(&self, mut more: Lines) -> Self {
        let newest = more.iter().map(|(line, _)| line.set_by()).fold(self.newest, u32::max);
        more.extend(&self.lines);
        Self { lines: more, newest, ..self.clone() }
    }
}

/// The held lines, and where registers point.
pub(super) struct Held {
    known: Known,
}

impl Held {
    pub(super) fn new() -> Self {
        let roots = std::array::from_fn(|reg| (Root::Entry(reg as u8), 0));
        Self { known: Known { roots, lines: Vec::new(), spans: Vec::new(), newest: 0 } }
    }

    /// Control may also come from elsewhere, with this knowledge.
    pub(super) fn meet(&mut self, known: Option<&Known>, at: u32) {
        match known {
            Some(known) => self.known.clone_from(known),
            None => {
                self.known.lines.clear();
                self.known.spans.clear();
                self.known.roots = std::array::from_fn(|reg| (Root::Met(at, reg as u8), 0));
                self.known.newest = 0;
            }
        }
    }

    /// The line of an access, if it is the same for all possible values of the register.
    fn line(&self, base: u8, off: i32, value: Value, bytes: u64) -> Option<Line> {
        if let Some(line) = Line::fixed(value, off, bytes) {
            return Some(line);
        }
        let (within, map) = (value.within_line(off, bytes)?, value.map()?);
        let (root, added) = *self.known.roots.get(usize::from(base)).filter(|root| root.0 != Root::Lost)?;
        let at = added.checked_add(i64::from(off))?.checked_sub_unsigned(within)?;
        Some(Line::From { map, root, at })
    }

    /// The bytes of an access, if it can be described.
    fn span(&self, base: u8, off: i32, size: Size) -> Option<Span> {
        let (root, added) = *self.known.roots.get(usize::from(base)).filter(|root| root.0 != Root::Lost)?;
        let from = added.checked_add(off.into()).filter(|from| from.unsigned_abs() < MOST_DISTANCE)?;
        Some(Span { root, from, to: from + size.bytes() as i64 })
    }

    /// Returns whether accesses were certainly made at both ends of this one, or beyond.
    pub(super) fn reaches(&self, base: u8, off: i32, size: Size) -> bool {
        let Some(span) = self.span(base, off, size) else { return false };
        let holds = |known: &Span| known.root == span.root && known.from <= span.from && span.to <= known.to;
        self.known.spans.iter().any(holds)
    }

    /// The nearest place whose line is held and is also that of an access, if the value that both are described by is
    /// the beginning of a line of `line` bytes. That is a guess: most structures begin at one.
    pub(super) fn near(&self, base: u8, off: i32, size: Size, write: bool, line: i64) -> Option<Near> {
        let Span { root, from, to } = self.span(base, off, size)?;
        let added = self.known.roots[usize::from(base)].1;
        let places = self.known.lines.iter().filter_map(|&(held, writable)| match held {
            Line::Of { root: of, at } if of == root && (writable || !write) => {
                Some((at.min(from), at.max(to - 1)))
            }
            _ => None,
        });
        let same = places.filter(|(first, last)| first.div_euclid(line) == last.div_euclid(line));
        let (first, last) = same.min_by_key(|(first, last)| last - first)?;
        let reaches = self.known.spans.iter().any(|known| known.root == root && to <= known.to);
        Some(Near { from: i16::try_from(first - added).ok()?, more: (last - first) as u64, reaches })
    }

    /// Records an access that is in bounds.
    fn reach(&mut self, span: Span) {
        match self.known.spans.iter_mut().find(|known| known.root == span.root) {
            Some(known) => (known.from, known.to) = (known.from.min(span.from), known.to.max(span.to)),
            None => self.known.spans.push(span),
        }
    }

    pub(super) fn known(&self) -> &Known {
        &self.known
    }

    /// Records an access at an offset from a register with this value; returns whether its line is certainly held. If
    /// not, it is held from now on.
    pub(super) fn access(
        &mut self,
        (base, off): (u8, i32),
        size: Size,
        write: bool,
        value: Value,
        target: &Target<'_>,
    ) -> bool {
        let is_within = target.is_within(value, off, size);
        let span = if is_within { None } else { self.span(base, off, size) };
        let line = match is_within {
            true => self.line(base, off, value, 1 << target.lines.log2),
            false => span.map(|Span { root, from, .. }| Line::Of { root, at: from }),
        };
        if let Some(span) = span {
            self.reach(span);
        }
        let bytes = 1 << target.lines.log2;
        if line.is_some_and(|line| self.known.holds(line, write, bytes)) {
            return true;
        }
        let elsewhere = is_within && value.map().is_none_or(|map| Some(map) != target.data.tasks());
        if !elsewhere {
            self.evict(target);
        }
        self.known.lines.extend(line.map(|line| (line, write)));
        false
    }

    /// A line was fetched that may belong to a task's structure: if these crowd each other, another line may be lost.
    fn evict(&mut self, target: &Target<'_>) {
        if target.lines.crowded {
            let tasks = target.data.tasks();
            self.known.lines.retain(|(line, _)| !line.may_be_tasks(tasks));
        }
    }

    /// Other CPUs may have run: only lines stay that they don't take away. Objects begin at multiples of
    /// [`LINE_BYTES`], so a larger line may have bytes of another one, too.
    fn keep_own(&mut self, target: &Target<'_>) {
        let are_whole = 1 << target.lines.log2 <= LINE_BYTES;
        self.known.lines.retain(|(line, _)| are_whole && line.is_own(target));
    }

    /// Applies the changes by the operation with this number.
    pub(super) fn after(&mut self, op: Op, number: u32, target: &Target<'_>) {
        match op {
            Op::Alu { wide: true, op: Alu::Mov, dst, src: Operand::Reg(src @ 0..=9) } => {
                self.known.roots[usize::from(dst)] = self.known.roots[usize::from(src)];
                return;
            }
            Op::Alu { wide: true, op: Alu::Add, dst, src: Operand::Imm(imm) } => {
                let (root, added) = self.known.roots[usize::from(dst)];
                if let Some(added) = added.checked_add(imm) {
                    self.known.roots[usize::from(dst)] = (root, added);
                    return;
                }
            }
            Op::Call { callee: Callee::NumNext, .. } if target.data.counts() => self.evict(target),
            Op::Call { .. } if target.is_served(number) => self.evict(target),
            Op::Call { .. } | Op::MayGoto { .. } => self.keep_own(target),
            Op::Atomic { base, off, size, .. } if !in_frame(base, off, size) => self.keep_own(target),
            // They set no register.
            Op::Store { .. } | Op::Branch { .. } | Op::Jump { .. } | Op::Exit | Op::Hole => return,
            _ => {}
        }
        self.set(live::uses(op).1, number);
    }

    /// If the operation at `at` has set an address in the arena that is certainly used, records that it is in bounds at
    /// any offset of an instruction: around the window, there are guards.
    pub(super) fn find_arena(&mut self, ops: &[Op], at: usize) {
        const REACH: i64 = 1 << 15;
        if let Op::CastToKernel { dst, .. } = ops[at]
            && is_address(ops, at)
        {
            let (root, _) = self.known.roots[usize::from(dst)];
            self.reach(Span { root, from: -REACH, to: REACH });
        }
    }

    /// The operation with this number sets registers to new values: those that it set before have no names any more.
    fn set(&mut self, written: Set, number: u32) {
        if written == 0 {
            return;
        }
        if number > self.known.newest {
            for reg in live::each(written, 0..=9) {
                self.known.roots[usize::from(reg)] = (Root::Set(number, reg), 0);
            }
            self.known.newest = number;
            return;
        }
        let is_its = |root: Root| matches!(root, Root::Set(by, _) if by == number);
        self.known.lines.retain(|&(line, _)| match line {
            Line::From { root, .. } | Line::Of { root, .. } => !is_its(root),
            Line::Fixed(..) | Line::Frame(_) => true,
        });
        self.known.spans.retain(|span| !is_its(span.root));
        for (reg, root) in (0..).zip(&mut self.known.roots) {
            if live::has(written, reg) {
                *root = (Root::Set(number, reg), 0);
            } else if is_its(root.0) {
                root.0 = Root::Lost;
            }
        }
    }
}

/// What is known at each operation that jumps lead to.
pub(super) type Places = Vec<Option<Box<Known>>>;

/// A function, with what its registers may hold.
struct Function<'a> {
    ops: &'a [Op],
    values_at: &'a [Option<Box<Registers>>],
    /// For each load and store, its base.
    bases: &'a [Value],
    target: &'a Target<'a>,
}

/// What is known at every jump target, by operation; `None` if no path is known to lead there. Of the looks that loops
/// begin with, only those remain that pay, and these count as made on every way to their loop.
pub(super) fn at_targets(
    ops: &[Op],
    values_at: &[Option<Box<Registers>>],
    bases: &[Value],
    looks: &mut Looks,
    target: &Target<'_>,
) -> Places {
    const MOST_TIMES: usize = 4;
    if values_at.iter().all(Option::is_none) {
        // There is no jump.
        return vec![None; ops.len()];
    }
    let function = Function { ops, values_at, bases, target };
    for _ in 0..MOST_TIMES {
        let mut known = settled(&function, looks);
        if looks.iter().all(Vec::is_empty) {
            return known;
        }
        let mut useful = looks.iter().map(|looks| vec![Use::default(); looks.len()]).collect::<Vec<_>>();
        walk(0, &function, &mut known, |_, to, can_look, way| {
            for (look, useful) in looks[to].iter().zip(&mut useful[to]) {
                useful.note(way.has(look.line, look.writes()), can_look);
            }
            false
        });
        if !early::keep(looks, &useful) {
            return known;
        }
    }
    looks.iter_mut().for_each(Vec::clear);
    settled(&function, looks)
}

/// What is known at every jump target if each loop's looks are made on every way to it.
fn settled(function: &Function<'_>, looks: &Looks) -> Places {
    let mut known: Places = vec![None; function.ops.len()];
    // Each round removes something, or is the last. It begins where the one before has changed something first: all
    // before that stays.
    const MOST_ROUNDS: usize = 20;
    let mut from = 0;
    for _ in 0..MOST_ROUNDS {
        let changed = walk(from, function, &mut known, |known, to, _, way| {
            let looks = looks[to].iter().filter(|look| !way.has(look.line, look.writes()));
            let looks: Lines = looks.map(|look| (look.line, look.writes())).collect();
            match looks.is_empty() {
                true => keep_common(known, way, to as u32),
                false => keep_common(known, &way.with(looks), to as u32),
            }
        });
        match changed {
            Some(first) => from = first,
            None => return known,
        }
    }
    vec![None; function.ops.len()]
}

/// Goes through a function once, from its beginning or from a jump target. At each way to a jump target calls `arrive`
/// with what is known there so far, the target, whether looks can be made on the way, and what is held on it. Returns
/// the first target of a jump backwards for which that returned true: all other targets are still ahead then.
fn walk(
    from: usize,
    &Function { ops, values_at, bases, target }: &Function<'_>,
    known: &mut [Option<Box<Known>>],
    mut arrive: impl FnMut(&mut Option<Box<Known>>, usize, bool, &Known) -> bool,
) -> Option<usize> {
    let (mut held, mut open, mut changed) = (Held::new(), from == 0, None);
    for (at, &op) in ops.iter().enumerate().skip(from) {
        let number = at as u32;
        if values_at[at].is_some() {
            if open {
                arrive(&mut known[at], at, true, &held.known);
            }
            let Some(known) = &known[at] else { continue };
            held.meet(Some(known), number);
            open = true;
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
            && !in_frame(base, off, size)
        {
            held.access((base, off), size, access != Access::Load, bases[at], target);
        }
        held.after(op, number, target);
        held.find_arena(ops, at);
        if let Some(to) = op.target() {
            let to = to as usize;
            if arrive(&mut known[to], to, is_forward_jump(op), &held.known) && to <= at {
                changed = Some(changed.map_or(to, |first: usize| first.min(to)));
            }
        }
        open = !op.ends();
    }
    changed
}

/// Keeps what is also known on another path to an operation; returns whether that changes anything.
fn keep_common(known: &mut Option<Box<Known>>, way: &Known, number: u32) -> bool {
    let Some(known) = known else {
        *known = Some(Box::new(way.clone()));
        return true;
    };
    let mut changed = false;
    for (reg, (root, &other)) in known.roots.iter_mut().zip(&way.roots).enumerate() {
        let met = (Root::Met(number, reg as u8), 0);
        if *root != other && *root != met {
            (*root, changed) = (met, true);
        }
    }
    // Both were mostly held in the same order.
    let mut next = 0;
    known.lines.retain_mut(|(line, write)| {
        if way.lines.get(next) == Some(&(*line, *write)) {
            next += 1;
            return true;
        }
        let Some(place) = way.lines.iter().position(|(held, _)| held == line) else {
            changed = true;
            return false;
        };
        next = place + 1;
        let writes = *write && way.has(*line, true);
        changed |= writes != *write;
        *write = writes;
        true
    });
    known.spans.retain_mut(|span| {
        let other = way.spans.iter().find(|other| other.root == span.root);
        let common = other.map(|other| (span.from.max(other.from), span.to.min(other.to)));
        let common = common.filter(|(from, to)| from < to);
        changed |= common != Some((span.from, span.to));
        (span.from, span.to) = common.unwrap_or_default();
        common.is_some()
    });
    changed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::op::{Cond, NO_SITE};
    use crate::emit::asm::Asm;
    use crate::emit::moves::{Mover, Movers};
    use crate::emit::tests::OneMap;
    use crate::emit::values;
    use crate::memory::LineForm;

    const WORD: Size = Size(3);

    /// An element of the data that others have in map 0, and of the tasks' structures in map 1.
    const fn element(map: u32) -> Value {
        Value::Data { map, from: 128, more: 1 << 10, step: 64 }
    }

    fn with_target(crowded: bool, f: impl FnOnce(&Target<'_>)) {
        let mut asm = Asm::default();
        let movers = Movers { read: Mover::new(&mut asm), write: Mover::new(&mut asm) };
        let lines = LineForm { log2: 6, grouped: false, crowded };
        let target = Target {
            lines,
            has_arena: false,
            has_may_goto: false,
            movers,
            data: &OneMap,
            served: &[],
            is_callback: false,
            is_leaf: false,
            is_deepest: true,
        };
        f(&target);
    }

    fn check(ops: &[Op], reg: u8, off: i32, expected: bool) {
        with_target(false, |target| {
            let mut held = Held::new();
            assert!(!held.access((1, 8), WORD, false, element(0), target));
            (0..).zip(ops).for_each(|(number, &op)| held.after(op, number, target));
            let mut written = Held { known: held.known.clone() };
            assert_eq!(held.access((reg, off), WORD, false, element(0), target), expected, "{ops:?}, {off}");
            assert!(!written.access((reg, off), WORD, true, element(0), target), "it was read");
        });
    }

    #[test]
    fn a_line_stays_until_a_call_or_until_its_register_changes() {
        let copy = Op::Alu { wide: true, op: Alu::Mov, dst: 6, src: Operand::Reg(1) };
        let load = |dst| Op::Load { dst, base: 1, off: 0, size: WORD, signed: false };
        let call = Op::Call { callee: Callee::Host, site: 0 };
        check(&[], 1, 56, true);
        check(&[], 1, 64, false);
        check(&[], 2, 8, false);
        check(&[copy, load(1)], 6, 0, true);
        check(&[load(1)], 1, 0, false);
        check(&[copy, call], 6, 0, false);
    }

    #[test]
    fn between_two_accesses_everything_is_in_bounds() {
        with_target(false, |target| {
            let mut held = Held::new();
            let access = |held: &mut Held, off| held.access((6, off), WORD, false, Value::Any, target);
            assert!(!access(&mut held, 8) && !access(&mut held, 24), "nothing was accessed before");
            let check = |held: &Held, expected: [bool; 5]| {
                assert_eq!([7, 8, 17, 24, 25].map(|off| held.reaches(6, off, WORD)), expected);
            };
            check(&held, [false, true, true, true, false]);
            assert!(access(&mut held, 8) && access(&mut held, 9), "it is in the line of one of both");
            assert!(!access(&mut held, 25), "it may be in another line");
            held.after(Op::Call { callee: Callee::Host, site: 0 }, 3, target);
            check(&held, [false, true, true, true, true]);
            assert!(!access(&mut held, 8), "another CPU may have it");
            held.after(Op::Load { dst: 6, base: 6, off: 8, size: WORD, signed: false }, 4, target);
            check(&held, [false; 5]);
        });
    }

    #[test]
    fn a_place_is_near_one_that_is_held_if_both_are_in_a_line_behind_their_root() {
        with_target(false, |target| {
            let mut held = Held::new();
            let add = Op::Alu { wide: true, op: Alu::Add, dst: 6, src: Operand::Imm(16) };
            held.access((6, 24), WORD, false, Value::Any, target);
            held.after(add, 3, target);
            let check = |off, write, expected| {
                assert_eq!(held.near(6, off, WORD, write, 64), expected, "{off}, {write}");
            };
            check(-8, false, Some(Near { from: -8, more: 16, reaches: true }));
            check(32, false, Some(Near { from: 8, more: 31, reaches: false }));
            check(32, true, None);
            check(48, false, None);
            check(-24, false, None);
        });
    }

    #[test]
    fn what_is_set_again_has_another_name() {
        with_target(false, |target| {
            let load = Op::Load { dst: 1, base: 2, off: 0, size: WORD, signed: false };
            let copy = Op::Alu { wide: true, op: Alu::Mov, dst: 6, src: Operand::Reg(1) };
            let mut held = Held::new();
            held.after(load, 7, target);
            assert!(!held.access((1, 0), WORD, false, element(0), target));
            held.after(copy, 8, target);
            held.after(load, 7, target);
            assert!(!held.access((1, 0), WORD, false, element(0), target), "another element");
            assert!(!held.access((6, 0), WORD, false, element(0), target), "the one before");
        });
    }

    #[test]
    fn a_line_that_is_fetched_may_take_the_place_of_a_tasks() {
        let check = |crowded, first: Value, second: (Value, i32), expected| {
            with_target(crowded, |target| {
                let mut held = Held::new();
                held.access((1, 0), WORD, false, first, target);
                held.access((2, second.1), WORD, false, second.0, target);
                assert_eq!(held.access((1, 8), WORD, false, first, target), expected, "{first:?} {second:?}");
            });
        };
        let frame = Value::Frame(0);
        check(true, element(1), (element(1), 0), false);
        check(true, element(1), (Value::Any, 0), false);
        check(true, element(1), (element(1), 1 << 20), false);
        check(true, element(1), (element(0), 0), true);
        check(true, element(1), (frame, -8), true);
        check(true, element(0), (element(1), 0), true);
        check(false, element(1), (element(1), 0), true);
    }

    fn at_targets_of(ops: &[Op], values_at: &[Option<Box<Registers>>], target: &Target<'_>) -> Places {
        let bases = values::bases(ops, values_at, target.entry(), target.data);
        at_targets(ops, values_at, &bases, &mut early::all(ops, values_at, target), target)
    }

    /// Which of these accesses have lines that are known to be held where two paths meet.
    #[test]
    fn where_ways_meet_a_line_stays_that_both_have() {
        let branch = |target| Op::Branch {
            wide: true,
            cond: Cond::Eq,
            a: 6,
            b: Operand::Imm(0),
            target,
            site: NO_SITE,
        };
        let load = |dst, base, off| Op::Load { dst, base, off, size: WORD, signed: false };
        let check = |between: Op, base: u8, expected| {
            with_target(false, |target| {
                let add = Op::Alu { wide: true, op: Alu::Add, dst: 1, src: Operand::Reg(2) };
                let mask = Op::Alu { wide: true, op: Alu::And, dst: 2, src: Operand::Imm(0x3c0) };
                let ops = [
                    mask,
                    Op::Address { dst: 1, slot: 0 },
                    add,
                    load(3, 1, 0),
                    branch(6),
                    between,
                    load(4, base, 8),
                    Op::Exit,
                ];
                let values_at = values::at_targets(&ops, target.entry(), target.data);
                let known = at_targets_of(&ops, &values_at, target);
                let mut held = Held::new();
                held.meet(known[6].as_deref(), 6);
                let values = values_at[6].as_deref().expect("a jump leads there");
                let value = values[usize::from(base)];
                assert_eq!(held.access((base, 8), WORD, false, value, target), expected, "{between:?}");
            });
        };
        check(Op::Hole, 1, true);
        check(load(5, 1, 16), 1, true);
        check(Op::Call { callee: Callee::Host, site: 0 }, 1, false);
        check(Op::Alu { wide: true, op: Alu::Add, dst: 1, src: Operand::Imm(64) }, 1, false);
        check(load(1, 1, 16), 1, false);
    }

    /// What is held at a loop's head, which is the fourth operation; `body` is what it repeats.
    fn check_loop(before: [Op; 3], body: Op, crowded: bool, expected: &[(Line, bool)]) {
        with_target(crowded, |target| {
            let back =
                Op::Branch { wide: true, cond: Cond::Ne, a: 6, b: Operand::Imm(0), target: 3, site: 0 };
            let ops: Vec<Op> = before.into_iter().chain([body, back, Op::Exit]).collect();
            let values_at = values::at_targets(&ops, target.entry(), target.data);
            let known = at_targets_of(&ops, &values_at, target);
            let lines = known[3].as_ref().map(|known| &known.lines[..]);
            assert_eq!(lines, Some(expected), "{before:?} {body:?}");
        });
    }

    #[test]
    fn at_the_head_of_a_loop_a_line_is_held_that_is_on_every_way() {
        let address = Op::Address { dst: 7, slot: 0 };
        let load = Op::Load { dst: 8, base: 7, off: 72, size: WORD, signed: false };
        let store = Op::Store { base: 7, off: 64, size: WORD, src: Operand::Imm(1) };
        let call = |callee| Op::Call { callee, site: 0 };
        let skip =
            Op::Branch { wide: true, cond: Cond::Eq, a: 6, b: Operand::Imm(0), target: 3, site: NO_SITE };
        let line = Line::Fixed(0, 64);
        check_loop([address, load, Op::Hole], Op::Hole, false, &[(line, false)]);
        check_loop([address, store, Op::Hole], load, false, &[(line, true)]);
        check_loop([address, load, Op::Hole], call(Callee::NumNext), false, &[(line, false)]);
        check_loop([address, load, Op::Hole], call(Callee::Host), false, &[]);
        // The loop begins with it, so the way into the loop looks at it; but not if it is lost in each round.
        check_loop([address, Op::Hole, Op::Hole], load, false, &[(line, false)]);
        check_loop([address, Op::Hole, Op::Hole], store, false, &[(line, true)]);
        check_loop(
            [address, Op::Hole, Op::Hole],
            Op::Load { dst: 7, base: 7, off: 0, size: WORD, signed: false },
            false,
            &[],
        );
        check_loop([address, skip, load], Op::Hole, false, &[]);
        // Lines other than tasks' structures evict no line.
        check_loop([address, load, Op::Hole], Op::Hole, true, &[(line, false)]);
    }
}
