//! The counts of a run, instruction by instruction.

use serde::{Deserialize, Serialize};

/// The profile of one run. All names and texts in it are untrusted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    /// The run.
    pub about: About,
    /// The run's own counts.
    pub totals: Totals,
    /// The cost of an instruction, in picoseconds.
    pub insn_ps: u64,
    /// The difference between the sum of the parts and the time in callbacks, because the cost of a callback is rounded
    /// to whole nanoseconds. It has been subtracted from the cost of entering callbacks. In picoseconds.
    pub rounding_ps: i64,
    /// The object's functions.
    pub functions: Vec<Function>,
    /// Functions in call chains. A caller comes before its callees.
    pub nodes: Vec<Node>,
    /// Who took cache lines, and who had them.
    pub conflicts: Vec<Conflict>,
    /// Who waited for whose lock.
    pub waits: Vec<Wait>,
}

/// Identifies the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// The scheduler's name.
    pub scheduler: String,
    /// The workload's name.
    pub workload: String,
    /// The machine's name.
    pub machine: String,
    /// Its CPUs.
    pub cpus: u32,
    /// The seed.
    pub seed: u64,
    /// The length of the run, in virtual nanoseconds.
    pub duration_ns: u64,
}

/// The run's own counts, with or without a profile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Callbacks.
    pub callbacks: u64,
    /// BPF instructions in them.
    pub instructions: u64,
    /// Time in them, in nanoseconds.
    pub callback_ns: u64,
    /// Time waiting for locks, in callbacks and elsewhere, in nanoseconds.
    pub lock_wait_ns: u64,
    /// How often lines of BPF memory moved, in callbacks and elsewhere.
    pub line_moves: u64,
    /// How long CPUs waited for them, in picoseconds.
    pub line_ps: u64,
}

/// A function of the object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Its source lines, by ascending instruction. Empty if the object has no line information.
    pub lines: Vec<SourceLine>,
    /// The conditional jumps among its instructions, ascending.
    pub branches: Vec<u32>,
}

/// The source line of some instructions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceLine {
    /// The first of them.
    pub insn: u32,
    /// The file's name, as given to the compiler.
    pub file: String,
    /// The line's number, from 1.
    pub line: u32,
    /// The line's text, if the object contains it.
    pub text: String,
}

/// A function in a call chain.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// What called the outermost function: `ops.enqueue`, `timer`.
    pub origin: String,
    /// Whether its time counts as the scheduler's time in callbacks. That of programs which user space runs does not.
    pub in_callbacks: bool,
    /// The caller and its instruction. `None` for the outermost function.
    pub caller: Option<(u32, u32)>,
    /// The function.
    pub function: u32,
    /// How often it was called.
    pub calls: u64,
    /// The cost of entering the callback, in picoseconds.
    pub entry_ps: u64,
    /// Each executed instruction, ascending.
    pub counts: Vec<Count>,
}

/// The costs of one instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// The instruction.
    pub insn: u32,
    /// How often it was executed.
    pub executed: u64,
    /// How often it jumped, if it is a conditional jump.
    pub taken: u64,
    /// How long it waited for cache lines that it accessed, in picoseconds.
    pub lines_ps: u64,
    /// The cost of its calls of the kernel, in picoseconds.
    pub calls_ps: u64,
}

/// An instruction of the object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    /// The function.
    pub function: u32,
    /// Its instruction.
    pub insn: u32,
}

/// Cache lines that one instruction took from another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conflict {
    /// The previous owner. `None` for the kernel, and for lines without an owner.
    pub from: Option<Place>,
    /// The new owner. `None` for the kernel, outside of callbacks.
    pub to: Option<Place>,
    /// The source: `memory`, `same LLC`, `2 hops`.
    pub distance: String,
    /// Whether they were taken for writing.
    pub writes: bool,
    /// The variable in one of the lines, or a description.
    pub name: String,
    /// Whether there were other lines.
    pub several: bool,
    /// How often.
    pub moves: u64,
    /// How long the takers waited, in picoseconds.
    pub ps: u64,
}

/// Who waits for a lock, or holds it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiter {
    /// The callback.
    pub origin: String,
    /// The call that took the lock.
    pub place: Place,
}

/// Waits for a lock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    /// The waiter. `None` for the kernel outside of callbacks.
    pub waiter: Option<Waiter>,
    /// The holder. `None` for the kernel.
    pub holder: Option<Waiter>,
    /// The lock's name.
    pub lock: String,
    /// How often.
    pub count: u64,
    /// How long, summed over the waiting CPUs, in nanoseconds.
    pub ns: u64,
}

impl Function {
    /// Returns the source line of an instruction.
    pub fn line(&self, insn: u32) -> Option<&SourceLine> {
        let after = self.lines.partition_point(|line| line.insn <= insn);
        Some(&self.lines[after.checked_sub(1)?])
    }
}

impl Count {
    /// Returns the total cost, in picoseconds.
    pub fn ps(&self, insn_ps: u64) -> u64 {
        self.executed * insn_ps + self.lines_ps + self.calls_ps
    }
}

impl Node {
    /// Returns the total cost of the function itself, in picoseconds.
    pub fn ps(&self, insn_ps: u64) -> u64 {
        self.entry_ps + self.counts.iter().map(|count| count.ps(insn_ps)).sum::<u64>()
    }
}

impl Profile {
    /// Returns the nodes whose time counts as time in callbacks.
    pub fn in_callbacks(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(|node| node.in_callbacks)
    }

    /// Returns the number of instructions executed in callbacks. Equal to [`Totals::instructions`].
    pub fn instructions(&self) -> u64 {
        self.in_callbacks().flat_map(|node| &node.counts).map(|count| count.executed).sum()
    }

    /// Returns the time of all nodes in callbacks, in picoseconds. Once settled, equal to [`Totals::callback_ns`].
    pub fn callback_ps(&self) -> u64 {
        self.in_callbacks().map(|node| node.ps(self.insn_ps)).sum()
    }

    /// Returns how often lines moved, and how long CPUs waited, over all conflicts.
    pub fn moved(&self) -> (u64, u64) {
        self.conflicts.iter().fold((0, 0), |(moves, ps), conflict| (moves + conflict.moves, ps + conflict.ps))
    }

    /// Makes the sum of the parts equal to the run's time in callbacks: subtracts each callback's rounding from its
    /// entry.
    pub fn settle(&mut self) {
        let is_entered = |node: &&mut Node| node.in_callbacks && node.caller.is_none();
        let counted = i128::from(self.callback_ps());
        let rounding = i128::from(self.totals.callback_ns) * 1000 - counted;
        self.rounding_ps = rounding as i64;
        let calls: u64 = self.in_callbacks().filter(|n| n.caller.is_none()).map(|n| n.calls).sum();
        let (mut before, mut given) = (0_i128, 0_i128);
        for node in self.nodes.iter_mut().filter(is_entered) {
            before += i128::from(node.calls);
            let share = rounding * before / i128::from(calls.max(1)) - given;
            given += share;
            node.entry_ps = (i128::from(node.entry_ps) + share).max(0) as u64;
        }
    }
}

impl Profile {
    /// Checks that everything it refers to exists. A profile from a file may contain anything.
    ///
    /// # Errors
    /// A sentence about what does not exist.
    pub fn check(&self) -> Result<(), String> {
        let has = |place: &Place| (place.function as usize) < self.functions.len();
        for (at, node) in self.nodes.iter().enumerate() {
            if node.function as usize >= self.functions.len() {
                return Err(format!("node {at} has no function"));
            }
            if node.caller.is_some_and(|(caller, _)| caller as usize >= at) {
                return Err(format!("node {at} is called by one that comes later"));
            }
        }
        let ends = self.conflicts.iter().flat_map(|conflict| [&conflict.from, &conflict.to]).flatten();
        let waits = self.waits.iter().flat_map(|wait| [&wait.waiter, &wait.holder]).flatten();
        if !ends.chain(waits.map(|waiter| &waiter.place)).all(has) {
            return Err("an instruction is in no function".to_owned());
        }
        match self.fits() {
            Some(true) => Ok(()),
            _ => Err("its counts are too large, or less than their parts".to_owned()),
        }
    }

    /// Returns whether all counts can be added up as picoseconds. `None` if one part alone is too large.
    fn fits(&self) -> Option<bool> {
        let mut sum = 0_u64;
        let mut add = |part: u64| {
            sum = sum.checked_add(part)?;
            Some(())
        };
        for node in &self.nodes {
            add(node.entry_ps)?;
            add(node.calls)?;
            for count in &node.counts {
                add(count.executed.checked_mul(self.insn_ps.max(1))?)?;
                add(count.lines_ps)?;
                add(count.calls_ps)?;
                count.executed.checked_sub(count.taken)?;
            }
        }
        for conflict in &self.conflicts {
            add(conflict.moves)?;
            add(conflict.ps)?;
        }
        for wait in &self.waits {
            add(wait.count)?;
            add(wait.ns.checked_mul(1000)?)?;
        }
        let Totals { callback_ns, lock_wait_ns, .. } = self.totals;
        add(callback_ns.checked_mul(1000)?)?;
        add(lock_wait_ns.checked_mul(1000)?)?;
        add(self.about.duration_ns.checked_mul(u64::from(self.about.cpus).max(1000))?)?;
        Some(sum < u64::MAX)
    }
}
