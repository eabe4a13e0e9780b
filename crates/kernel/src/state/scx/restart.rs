//! Whether a scheduler is reloaded when it ends, and how often it has been.

use keel_abi::{Instant, Span};

/// What the scheduler's user-space half does when it is asked to restart.
#[derive(Debug, Default)]
pub(crate) struct Restart {
    /// How long the reload takes; `None` if there is none.
    pub(crate) after: Option<Span>,
    /// When it has been reloaded.
    pub(crate) times: Vec<Instant>,
    /// A reload is pending.
    pub(crate) awaited: bool,
    /// The reload is due, or user space needs the run's owner.
    pub(crate) is_due: bool,
    /// A user-space program reloads it on its own, once it has noticed.
    pub(crate) by_program: bool,
}

impl Restart {
    /// Returns whether there will be a scheduler again.
    #[inline]
    pub(crate) fn is_awaited(&self) -> bool {
        self.awaited
    }

    /// User space needs the run's owner.
    pub(crate) fn ask(&mut self) {
        self.is_due = true;
    }

    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        self.is_due
    }
}
