//! A request from outside that a run end at the virtual instant that it has reached.
//!
//! It never changes what a run does, only how far the run goes: a run that is stopped at an instant has emitted the
//! same events as one whose duration ends there.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The request; its clones are one and the same. Asking is safe from any thread.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Asks every run that has this request to stop. There is no way back.
    pub fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Has a stop been requested?
    #[inline]
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
