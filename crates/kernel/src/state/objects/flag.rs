//! Flags that tasks raise, lower and wait for.

use keel_abi::TaskId;
use keel_abi::lines::Line;

/// A flag and the tasks that spin on it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flag {
    pub(crate) is_up: bool,
    pub(crate) spinners: Vec<TaskId>,
    pub(crate) line: Line,
}
