//! The source files of an object, with the cost of each line, summed over functions.

use crate::lines::{Line, lines};
use crate::model::Profile;
use std::collections::BTreeMap;

/// A file that the object has lines from.
#[derive(Debug)]
pub(crate) struct Source {
    /// Its name, as given to the compiler.
    pub(crate) name: String,
    /// Its whole text, if it exists and is the compiled version.
    pub(crate) text: Option<String>,
    /// The lines in the object, by number.
    pub(crate) known: BTreeMap<u32, Line>,
}

/// Returns all files by name. `file` reads one.
pub(crate) fn sources(profile: &Profile, file: &dyn Fn(&str) -> Option<String>) -> Vec<Source> {
    let mut files = BTreeMap::<String, BTreeMap<u32, Line>>::new();
    for (key, line) in lines(profile) {
        if key.line == 0 {
            continue;
        }
        let known = files.entry(key.file).or_default().entry(key.line).or_default();
        add(known, &line);
    }
    let source = |(name, known): (String, BTreeMap<u32, Line>)| {
        let text = file(&name).filter(|text| is_of(text, &known));
        Source { name, text, known }
    };
    files.into_iter().map(source).collect()
}

fn add(sum: &mut Line, line: &Line) {
    if sum.text.is_empty() {
        sum.text.clone_from(&line.text);
    }
    sum.executed += line.executed;
    sum.insn_ps += line.insn_ps;
    sum.calls_ps += line.calls_ps;
    sum.lines_ps += line.lines_ps;
    sum.waits_ns += line.waits_ns;
    sum.hits += line.hits;
    sum.branches.extend(&line.branches);
}

/// Returns whether a file is the compiled version: all lines in the object must be at their places.
fn is_of(source: &str, known: &BTreeMap<u32, Line>) -> bool {
    let lines: Vec<&str> = source.lines().collect();
    let mut told = known.iter().filter(|(_, line)| !line.text.trim().is_empty()).peekable();
    told.peek().is_some()
        && told.all(|(number, line)| {
            lines.get(*number as usize - 1).is_some_and(|there| there.trim() == line.text.trim())
        })
}

/// Returns how many directions of a line's conditional jumps were taken, and how many there are.
pub(crate) fn ways(line: &Line) -> (usize, usize) {
    let gone = |(executed, jumped): &(u64, u64)| usize::from(*jumped > 0) + usize::from(executed > jumped);
    (line.branches.iter().map(gone).sum(), 2 * line.branches.len())
}
