//! Barriers, and who waits at them.

use keel_abi::TaskId;
use keel_abi::lines::Line;

/// A barrier and who has come to it.
#[derive(Clone, Debug)]
pub(crate) struct Barrier {
    wanted: u32,
    pub(crate) come: Vec<Comer>,
    /// Its counter.
    pub(crate) line: Line,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Comer {
    pub(crate) task: TaskId,
    pub(crate) spins: bool,
}

impl Barrier {
    /// One that waits for so many tasks.
    pub(super) fn of(wanted: u32) -> Self {
        Self { wanted, come: Vec::new(), line: Line::default() }
    }

    /// Whoever comes now is the last.
    pub(crate) fn is_complete(&self) -> bool {
        self.come.len() as u32 + 1 >= self.wanted
    }
}
