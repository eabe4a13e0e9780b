//! Errors in a recipe, with their position.

use std::ops::Range;

/// An error in a recipe, with its position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}, line {line}{}{field}: {problem}", if .field.is_empty() { "" } else { ", " })]
pub struct RecipeError {
    /// The file, as named by the caller.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The field, such as `set.nr_cpus`. Empty if the file's syntax is wrong.
    pub field: String,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// Invalid TOML: the parser's message.
    #[error("{0}")]
    Syntax(String),
    /// An unknown fact of a machine.
    #[error("a machine has no {0:?}; it has {list}", list = crate::facts::NAMES.join(", "))]
    NoFact(String),
    /// A value of the wrong kind.
    #[error("it takes an integer, true or false, a list of integers, or the name of a fact of the machine")]
    BadValue,
    /// A number out of range.
    #[error("it takes {low} to {high}, not {found}")]
    Range {
        /// The minimum.
        low: i64,
        /// The maximum.
        high: u64,
        /// The given number.
        found: String,
    },
    /// A list where one number is needed.
    #[error("it takes one number, not a list")]
    NotOne,
    /// One number where a list is needed.
    #[error("it takes a list, not one number")]
    NotList,
    /// Companions together with restarts: their maps are gone when the scheduler is loaded again.
    #[error("a scheduler with companions is not loaded again; leave out restart_ms, or the companions")]
    RestartBeside,
    /// An unknown flag of `struct sched_ext_ops`.
    #[error("there is no flag {0:?}; write one of SCX_OPS_* or a number")]
    NoFlag(String),
    /// A map without any description.
    #[error("it does not describe the map: add max_entries, values, inner_maps or entries")]
    EmptyMap,
    /// Values that do not fit the size of a variable's part.
    #[error("its values don't fit integers of {0} bytes")]
    Part(usize),
    /// An invalid record of a companion.
    #[error("{0}")]
    Record(#[from] crate::companion::LayoutError),
    /// Neither a list of fields nor a key and a value.
    #[error("it takes a list of fields, or a table with key and value")]
    NotRecord,
    /// An error in a companion's script.
    #[error("{0}")]
    Script(String),
    /// Too many items.
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
    /// Returns the line of a byte, counted from 1.
    pub(crate) fn line(self, at: &Range<usize>) -> usize {
        keel_tables::line(self.text, at.start)
    }

    /// Creates an error at a place. The field may contain a name from the file, which is untrusted text.
    pub(crate) fn error(self, at: &Range<usize>, field: impl Into<String>, problem: Problem) -> RecipeError {
        RecipeError { file: self.file.to_owned(), line: self.line(at), field: shown(&field.into()), problem }
    }
}

/// The maximum number of characters of a field in a message.
const MOST_SHOWN: usize = 200;

/// Returns the field on one line, without control characters, and not too long.
fn shown(field: &str) -> String {
    let escaped = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    field.chars().take(MOST_SHOWN).map(escaped).collect()
}
