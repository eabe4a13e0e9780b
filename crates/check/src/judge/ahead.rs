//! Requests the rows of tasks a few events before these are judged.
//!
//! With thousands of tasks, none of their rows is in the host's nearest caches, and the checks would wait for one line
//! after the other.

use super::Judge;
use keel_abi::TaskId;
use keel_trace::{Event, What};

/// Rows are requested for so many events at once.
pub(super) const AT_ONCE: usize = 16;
/// So many events before these are yet to be judged then.
pub(super) const AHEAD: usize = 8;

impl Judge {
    /// Requests the rows for the first `most` of these events. Returns the others.
    #[inline(never)]
    pub(super) fn fetch_rows<'a>(&self, coming: &'a [Event], most: usize) -> &'a [Event] {
        let (events, later) = coming.split_at(coming.len().min(most));
        for event in events {
            // The previous task of a switch has come to the CPU by an earlier one. Other events come soon after one of
            // these.
            if let What::Switch { next: task, .. } | What::Wakeup { task, .. } | What::Woken { task, .. } =
                event.what
            {
                self.fetch_task(task);
            }
        }
        later
    }

    #[inline(always)]
    fn fetch_task(&self, task: TaskId) {
        let Some(slot) = self.conduct.fetch(task) else { return };
        self.waste.fetch(slot);
    }
}
