//! A request from outside to end a run at the virtual instant that it has reached.
//!
//! It never changes what a run does, only how far it gets: a run that is stopped at an instant has emitted the same
//! events as one whose duration ends there.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A request to stop. All clones share its state. It can be made from any thread.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Requests that every run with this handle stop. This can't be undone.
    pub fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns whether a stop has been requested.
    #[inline]
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
