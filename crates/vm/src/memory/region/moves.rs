//! What has become of each line that moved: how often, what that cost, and when it arrives.
//!
//! Every move is counted, so a line finds its entry by its number alone, without a search.
#![allow(unsafe_code)]

use crate::memory::ReserveError;
use crate::memory::mapping::Mapping;
use keel_abi::lines::{InTransit, LineUse};

/// A line that moved.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moved {
    pub(super) uses: LineUse,
    /// On its way for an atomic instruction.
    pub(super) transit: InTransit,
}

/// All lines that moved.
pub(super) struct Moves {
    /// Per line of the region a 32-bit number: its place in `moved`, counted from 1; 0 for a line that never moved.
    places: Mapping,
    lines: u64,
    /// Beside each its line's number.
    moved: Vec<(u64, Moved)>,
}

impl Moves {
    /// For so many lines, none of which has moved.
    ///
    /// # Errors
    /// The host gives no address space.
    pub(super) fn new(lines: u64) -> Result<Self, ReserveError> {
        Ok(Self { places: Mapping::new(lines * size_of::<u32>() as u64)?, lines, moved: Vec::new() })
    }

    /// The entry of a line, which begins at zero.
    #[inline]
    pub(super) fn of(&mut self, line: u64) -> &mut Moved {
        assert!(line < self.lines, "the line is one of the region's");
        // SAFETY: the table has a number for each line, and nobody else has a reference into it.
        let place = unsafe { &mut *self.places.start().as_ptr().cast::<u32>().add(line as usize) };
        if *place == 0 {
            self.moved.push((line, Moved::default()));
            *place = u32::try_from(self.moved.len()).expect("fewer lines move than 32 bits count");
        }
        &mut self.moved[*place as usize - 1].1
    }

    /// The lines by number, and what their moves have cost.
    pub(super) fn sorted(&self) -> Vec<(u64, LineUse)> {
        let mut all: Vec<_> = self.moved.iter().map(|(line, moved)| (*line, moved.uses)).collect();
        all.sort_unstable_by_key(|(line, _)| *line);
        all
    }
}
