//! Who of the real-time class runs next (`pick_next_rt_entity()`).

use crate::state::rt::queue::RtQueue;
use keel_abi::TaskId;

impl RtQueue {
    /// Whose turn it is.
    pub(crate) fn first(&self) -> Option<TaskId> {
        self.queues.get(usize::from(self.highest()))?.front().copied()
    }
}
