//! DSQ iterations in progress.

use crate::state::dsq::Cursor;

/// The iterations in progress. Only the most recent ones are kept: a program can have few open at once, and a program
/// that forgets to close them loses the oldest.
#[derive(Debug, Default)]
pub(crate) struct Cursors {
    ring: Vec<Cursor>,
    made: u32,
}

/// Iterations that may be open at once over all CPUs.
const KEPT: u32 = 8192;

impl Cursors {
    pub(crate) fn keep(&mut self, cursor: Cursor) -> u32 {
        let slot = self.made;
        self.made = self.made.wrapping_add(1);
        let at = (slot % KEPT) as usize;
        if at < self.ring.len() {
            self.ring[at] = cursor
        } else {
            self.ring.push(cursor)
        }
        slot
    }

    pub(crate) fn get(&self, slot: u32) -> Option<Cursor> {
        let age = self.made.wrapping_sub(slot);
        (1..=KEPT).contains(&age).then(|| self.ring.get((slot % KEPT) as usize).copied()).flatten()
    }

    pub(crate) fn set(&mut self, slot: u32, cursor: Cursor) {
        self.ring[(slot % KEPT) as usize] = cursor;
    }
}
