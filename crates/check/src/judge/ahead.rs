//! Requests the rows of tasks a few events before these are judged.
//!
//! Each check has a row for each task. With thousands of tasks, none of them is in the host's nearest caches, and the
//! checks would wait for one line after the other.

use super::Judge;
use keel_abi::TaskId;
use keel_trace::{Event, What};

/// So many events ahead, rows are requested.
const ROWS: usize = 12;
/// So many events ahead, what rows point to.
const BEYOND_ROWS: usize = 6;

impl Judge {
    /// `coming` are the next events.
    #[inline(always)]
    pub(super) fn fetch_ahead(&self, coming: &[Event]) {
        if let Some(event) = coming.get(ROWS) {
            self.fetch_rows(event.what);
        }
        if let Some(Event { cpu, what: What::Switch { prev, .. }, .. }) = coming.get(BEYOND_ROWS) {
            self.figures.fetch_time(*prev, *cpu);
        }
    }

    #[inline(always)]
    fn fetch_rows(&self, what: What) {
        match what {
            What::Switch { prev, next, .. } => {
                self.fetch_task(prev);
                self.fetch_task(next);
            }
            What::Wakeup { task, .. } | What::Woken { task, .. } => self.fetch_task(task),
            // The others come soon after one of these.
            _ => {}
        }
    }

    #[inline(always)]
    fn fetch_task(&self, task: TaskId) {
        let Some(slot) = self.conduct.fetch(task) else { return };
        self.figures.fetch(slot);
        self.waste.fetch(slot);
    }
}
