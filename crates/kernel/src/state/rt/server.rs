//! The server of a class on a CPU: whether it is armed, and the runtime that it still has to give.

use keel_abi::{Instant, Span};

/// The server of a class on a CPU.
#[derive(Debug, Default)]
pub(crate) struct ClassServer {
    /// When its timer expires, and the CPU time that the class's tasks had had when it was armed.
    pub(crate) armed: Option<(Instant, Span)>,
    /// The total CPU time that tasks of the class have had.
    pub(crate) ran: Span,
    /// They run before higher classes until their total reaches this.
    pub(crate) until: Span,
}

impl ClassServer {
    #[inline]
    pub(crate) fn is_serving(&self) -> bool {
        self.ran < self.until
    }

    #[inline]
    pub(crate) fn stop(&mut self) {
        self.until = Span::ZERO;
    }

    /// The CPU goes offline: a pending timer no longer belongs to the server.
    pub(crate) fn disarm(&mut self) {
        self.armed = None;
        self.stop();
    }
}
