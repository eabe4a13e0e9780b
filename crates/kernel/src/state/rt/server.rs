//! The server of a class on a CPU: whether it is armed, and what it still has to give.

use keel_abi::{Instant, Span};

/// The server of a class on a CPU.
#[derive(Debug, Default)]
pub(crate) struct ClassServer {
    /// Its timer runs until this moment; what tasks of the class had got of the CPU when it began.
    pub(crate) armed: Option<(Instant, Span)>,
    /// What tasks of the class have got of the CPU in all.
    pub(crate) ran: Span,
    /// They go before those of higher classes until they have got this in all.
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

    /// Its CPU goes offline: a pending timer no longer belongs to it.
    pub(crate) fn disarm(&mut self) {
        self.armed = None;
        self.stop();
    }
}
