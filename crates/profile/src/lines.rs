//! A profile by source line.

use crate::model::{Function, Place, Profile};
use std::collections::BTreeMap;

/// Identifies a line: function, file, line. A static function that the compiler inlined into another counts as that
/// one.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The function's name.
    pub function: String,
    /// The file. Empty if the object has no line information.
    pub file: String,
    /// The line. 0 stands for entering the function as a callback.
    pub line: u32,
}

/// The costs of a line, in callbacks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// The line's text, if the object contains it.
    pub text: String,
    /// Instructions executed.
    pub executed: u64,
    /// The cost of these instructions, in picoseconds.
    pub insn_ps: u64,
    /// The cost of entering the callback, in picoseconds. Not part of any real line.
    pub entry_ps: u64,
    /// The cost of its calls of the kernel, including waits for locks, in picoseconds.
    pub calls_ps: u64,
    /// How long it waited for cache lines, in picoseconds.
    pub lines_ps: u64,
    /// How long its calls waited for locks, in nanoseconds: part of `calls_ps`.
    pub waits_ns: u64,
    /// How often the line was reached: the count of its most executed instruction.
    pub hits: u64,
    /// For each conditional jump, how often it was executed, and how often it jumped.
    pub branches: Vec<(u64, u64)>,
}

impl Line {
    /// Returns the total, in picoseconds.
    pub fn ps(&self) -> u64 {
        self.entry_ps + self.insn_ps + self.calls_ps + self.lines_ps
    }
}

/// Returns the place of an instruction.
pub fn key(functions: &[Function], place: Place) -> Key {
    let Some(function) = functions.get(place.function as usize) else { return Key::default() };
    let name = function.name.clone();
    match function.line(place.insn) {
        Some(line) => Key { function: name, file: line.file.clone(), line: line.line },
        None => Key { function: name, ..Key::default() },
    }
}

/// Returns every line of every function, including those that never ran.
pub fn lines(profile: &Profile) -> BTreeMap<Key, Line> {
    let mut lines = BTreeMap::<Key, Line>::new();
    let mut branches = BTreeMap::<Place, (u64, u64)>::new();
    for (number, function) in (0..).zip(&profile.functions) {
        for line in &function.lines {
            let key = Key { function: function.name.clone(), file: line.file.clone(), line: line.line };
            let known = lines.entry(key).or_default();
            if known.text.is_empty() {
                known.text.clone_from(&line.text);
            }
        }
        branches.extend(function.branches.iter().map(|&insn| (Place { function: number, insn }, (0, 0))));
    }
    let mut hits = BTreeMap::<Place, u64>::new();
    for node in profile.in_callbacks() {
        if node.entry_ps > 0 || node.caller.is_none() {
            let function = profile.functions[node.function as usize].name.clone();
            let entry = lines.entry(Key { function, ..Key::default() }).or_default();
            entry.entry_ps += node.entry_ps;
            entry.hits += node.calls;
        }
        for count in &node.counts {
            let place = Place { function: node.function, insn: count.insn };
            *hits.entry(place).or_default() += count.executed;
            if let Some(branch) = branches.get_mut(&place) {
                branch.0 += count.executed;
                branch.1 += count.taken;
            }
            let line = lines.entry(key(&profile.functions, place)).or_default();
            line.executed += count.executed;
            line.insn_ps += count.executed * profile.insn_ps;
            line.calls_ps += count.calls_ps;
            line.lines_ps += count.lines_ps;
        }
    }
    for (place, executed) in hits {
        let line = lines.entry(key(&profile.functions, place)).or_default();
        line.hits = line.hits.max(executed);
    }
    for (place, counts) in branches {
        lines.entry(key(&profile.functions, place)).or_default().branches.push(counts);
    }
    for wait in &profile.waits {
        if let Some(waiter) = &wait.waiter {
            lines.entry(key(&profile.functions, waiter.place)).or_default().waits_ns += wait.ns;
        }
    }
    lines
}
