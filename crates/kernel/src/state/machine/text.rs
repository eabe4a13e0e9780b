//! Locates errors in the text of a machine file.

use super::{MachineError, Problem};
use std::ops::{Range, RangeInclusive};

/// The text of a file.
#[derive(Clone, Copy)]
pub(super) struct Text<'a>(pub(super) &'a str);

impl Text<'_> {
    /// Creates an error at a place in the text.
    pub(super) fn error(self, at: Range<usize>, field: impl Into<String>, problem: Problem) -> MachineError {
        let before = self.0.as_bytes().iter().take(at.start);
        MachineError { line: 1 + before.filter(|&&b| b == b'\n').count(), field: field.into(), problem }
    }
}

pub(super) fn in_range(value: u64, range: RangeInclusive<u64>) -> Result<(), Problem> {
    if range.contains(&value) {
        return Ok(());
    }
    Err(Problem::OutOfRange { value, least: *range.start(), most: *range.end() })
}
