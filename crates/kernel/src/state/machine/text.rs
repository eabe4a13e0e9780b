//! Locates errors in the text of a machine file.

use super::{MachineError, Problem};
use std::ops::{Range, RangeInclusive};

/// The text of a file.
#[derive(Clone, Copy)]
pub(super) struct Text<'a>(pub(super) &'a str);

impl Text<'_> {
    /// Creates an error at a place in the text.
    pub(super) fn error(self, at: Range<usize>, field: impl Into<String>, problem: Problem) -> MachineError {
        MachineError { line: keel_tables::line(self.0, at.start), field: field.into(), problem }
    }
}

pub(super) fn in_range(value: u64, range: RangeInclusive<u64>) -> Result<(), Problem> {
    if range.contains(&value) {
        return Ok(());
    }
    Err(Problem::OutOfRange { value, least: *range.start(), most: *range.end() })
}
