//! When tasks of the workload are due.

use keel_abi::Instant;

/// When tasks that come by themselves were due, by their number.
#[derive(Debug, Default)]
pub(crate) struct Starts(pub(crate) Vec<Instant>);

impl Starts {
    /// One is due now; an earlier moment of the same counts no more.
    pub(crate) fn due_at(&mut self, start: u32, at: Instant) {
        let place = start as usize;
        if place >= self.0.len() {
            self.0.resize(place + 1, Instant::ZERO);
        }
        self.0[place] = at;
    }
}
