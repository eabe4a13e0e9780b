//! Barriers and their waiting tasks.

use keel_abi::TaskId;
use keel_abi::lines::Line;

/// A barrier and the tasks that have reached it.
#[derive(Clone, Debug)]
pub(crate) struct Barrier {
    wanted: u32,
    pub(crate) come: Vec<Comer>,
    /// The line of its counter.
    pub(crate) line: Line,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Comer {
    pub(crate) task: TaskId,
    pub(crate) spins: bool,
}

impl Barrier {
    /// A barrier for this many tasks.
    pub(super) fn of(wanted: u32) -> Self {
        Self { wanted, come: Vec::new(), line: Line::default() }
    }

    /// Returns whether the next task to arrive is the last.
    pub(crate) fn is_complete(&self) -> bool {
        self.come.len() as u32 + 1 >= self.wanted
    }
}
