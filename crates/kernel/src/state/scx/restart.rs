//! Whether a scheduler that ends is loaded again, and how often it has been.

use keel_abi::{Instant, Span};

/// What the scheduler's user-space half does when it is asked to restart.
#[derive(Debug, Default)]
pub(crate) struct Restart {
    /// How long it takes to; `None` where it does not.
    pub(crate) after: Option<Span>,
    /// When it did.
    pub(crate) times: Vec<Instant>,
    /// It is about to.
    pub(crate) awaited: bool,
    /// Now is the moment, or user space wants something of the run's owner.
    pub(crate) is_due: bool,
    /// A program of user space loads it again by itself, when it has noticed.
    pub(crate) by_program: bool,
}

impl Restart {
    /// Will there be a scheduler once more?
    #[inline]
    pub(crate) fn is_awaited(&self) -> bool {
        self.awaited
    }

    /// User space wants something.
    pub(crate) fn ask(&mut self) {
        self.is_due = true;
    }

    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        self.is_due
    }
}
