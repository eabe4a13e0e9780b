//! What can be wrong with a recipe, with its place.

use std::ops::Range;

/// What is wrong, where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}, line {line}{}{field}: {problem}", if .field.is_empty() { "" } else { ", " })]
pub struct RecipeError {
    /// The file, as it was named.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The field, such as `set.nr_cpus`; empty where the file's syntax is wrong.
    pub field: String,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// It is no such TOML: the reader's words.
    #[error("{0}")]
    Syntax(String),
    /// A word that is no fact of a machine.
    #[error("a machine has no {0:?}; it has {list}", list = crate::facts::NAMES.join(", "))]
    NoFact(String),
    /// A value of a wrong kind.
    #[error("it takes an integer, true or false, a list of integers, or the name of a fact of the machine")]
    BadValue,
    /// A number that is out of range.
    #[error("it takes {low} to {high}, not {found}")]
    Range {
        /// The least.
        low: i64,
        /// The greatest.
        high: u64,
        /// What was given.
        found: String,
    },
    /// A list where one number is needed.
    #[error("it takes one number, not a list")]
    NotOne,
    /// One number where a list is needed.
    #[error("it takes a list, not one number")]
    NotList,
    /// Companions, whose maps are gone when the scheduler is loaded again.
    #[error("a scheduler with companions is not loaded again; leave out restart_ms, or the companions")]
    RestartBeside,
    /// No flag of `struct sched_ext_ops`.
    #[error("there is no flag {0:?}; write one of SCX_OPS_* or a number")]
    NoFlag(String),
    /// A map without any description.
    #[error("it does not describe the map: add max_entries, values, inner_maps or entries")]
    EmptyMap,
    /// Values of a variable's part that don't fit their size.
    #[error("its values don't fit integers of {0} bytes")]
    Part(usize),
    /// A record of a companion that cannot be.
    #[error("{0}")]
    Record(#[from] crate::companion::LayoutError),
    /// Neither a list of fields nor a key and a value.
    #[error("it takes a list of fields, or a table with key and value")]
    NotRecord,
    /// What is wrong with a companion's script.
    #[error("{0}")]
    Script(String),
    /// Too much of something.
    #[error("there are more than {0}")]
    TooMany(usize),
}

/// A file's name and text, to locate errors.
#[derive(Clone, Copy)]
pub(crate) struct Text<'a> {
    pub(crate) file: &'a str,
    pub(crate) text: &'a str,
}

impl Text<'_> {
    /// Returns the line of a byte, from 1.
    pub(crate) fn line(self, at: &Range<usize>) -> usize {
        1 + self.text.as_bytes().iter().take(at.start).filter(|&&b| b == b'\n').count()
    }

    /// Returns an error at a place. The field may hold a name of the file's, which is untrusted text.
    pub(crate) fn error(self, at: &Range<usize>, field: impl Into<String>, problem: Problem) -> RecipeError {
        RecipeError { file: self.file.to_owned(), line: self.line(at), field: shown(&field.into()), problem }
    }
}

/// Most characters of a field in a message.
const MOST_SHOWN: usize = 200;

/// On one line, without control characters, and not too long.
fn shown(field: &str) -> String {
    let escaped = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    field.chars().take(MOST_SHOWN).map(escaped).collect()
}
