//! A profile that is over: what it counted, with the names and lines that the object has.

use super::{Node, Profile};
use crate::code::op::Op;
use crate::code::{Code, Func};
use crate::memory::{BASE, Blamed, Source, Watched};
use keel_abi::lines::LineUse;
use keel_object::model::LineInfo;

/// The profile of one object's code.
#[derive(Clone, Debug, Default)]
pub struct Taken {
    /// The object's functions.
    pub functions: Vec<ProfiledFunction>,
    /// Each function in each chain of calls; a caller comes before what it calls.
    pub nodes: Vec<Node>,
    /// Who took cache lines, and who had them.
    pub conflicts: Vec<Conflict>,
}

/// A function, as far as a reader of its counts must know it.
#[derive(Clone, Debug, Default)]
pub struct ProfiledFunction {
    /// Its name.
    pub name: String,
    /// Its source lines, by ascending instruction.
    pub lines: Vec<LineInfo>,
    /// What each of its instruction slots is.
    pub kinds: Vec<Kind>,
}

/// What an instruction slot is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An instruction.
    Plain,
    /// A conditional jump.
    Branch,
    /// A call.
    Call,
    /// The second half of the instruction before.
    Rest,
}

/// An instruction of the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The function, by its place in the object.
    pub function: u32,
    /// The instruction slot in it.
    pub insn: u32,
}

/// Moves of cache lines from one instruction to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// Who had the line: the last to write it, or to fetch it where the CPU that takes it wrote it last. Nothing for the
    /// kernel.
    pub from: Option<Place>,
    /// Who took it; nothing for the kernel, outside of callbacks.
    pub to: Option<Place>,
    /// Where it came from.
    pub source: Source,
    /// Whether it took the line to write it.
    pub writes: bool,
    /// One of the lines, by the address of its first byte.
    pub line: u64,
    /// Whether there were others.
    pub several: bool,
    /// How often, and how long the takers waited, in picoseconds.
    pub uses: LineUse,
}

impl Taken {
    pub(crate) fn new(
        profile: &Profile,
        code: &Code,
        moved: impl Iterator<Item = (Watched, Blamed)>,
    ) -> Self {
        let place = |number: u32| {
            let function = profile.firsts.partition_point(|first| *first <= number).checked_sub(1)?;
            let insn = number - profile.firsts[function];
            (insn < profile.sizes[function]).then_some(Place { function: function as u32, insn })
        };
        let conflict = |(moved, blamed): (Watched, Blamed)| Conflict {
            from: place(moved.from),
            to: place(moved.to),
            source: moved.source,
            writes: moved.writes,
            line: BASE + blamed.line,
            several: blamed.several,
            uses: blamed.uses,
        };
        let conflicts = moved.map(conflict).collect();
        let functions: Vec<ProfiledFunction> = code.functions.iter().map(function).collect();
        let mut nodes = profile.nodes.clone();
        for node in &mut nodes {
            // Runs of instructions go over the second half of a wide one.
            let kinds = &functions[node.function as usize].kinds;
            let halves = node.counts.iter_mut().zip(kinds).filter(|(_, kind)| **kind == Kind::Rest);
            halves.for_each(|(count, _)| count.executed = 0);
        }
        Self { functions, nodes, conflicts }
    }
}

fn function(func: &Func) -> ProfiledFunction {
    let kind = |op: &Op| match op {
        Op::Branch { .. } | Op::MayGoto { .. } => Kind::Branch,
        Op::Call { .. } => Kind::Call,
        Op::Hole => Kind::Rest,
        _ => Kind::Plain,
    };
    let kinds = func.ops.iter().map(kind).collect();
    ProfiledFunction { name: func.name.clone(), lines: func.lines().to_vec(), kinds }
}
