//! The caller that requests work: a person at a terminal, or a program.

use keel_abi::{Span, Stop};
use keel_report::StoppedBy;

/// Requests work, is notified of its progress, and can stop it early.
pub trait Caller: Sync {
    /// Returns the handle that stops the work at the virtual instant it has reached.
    fn stop(&self) -> Stop;

    /// Returns how a stop was requested, if one was.
    fn stopped_by(&self) -> Option<StoppedBy>;

    /// Receives a remark that is not part of the result: one line, safe to print.
    fn note(&self, text: &str);

    /// Called when this much more virtual time has been simulated.
    fn advance(&self, _by: Span) {}

    /// Called when this much more virtual time than previously announced will be simulated.
    fn expect(&self, _more: Span) {}

    /// Called when work that can be stopped on request begins.
    fn begins(&self) {}

    /// Called when that work ends.
    fn ends(&self) {}
}

/// Work in progress that can be stopped on request.
pub(crate) struct Work<'a>(&'a dyn Caller);

/// Begins a piece of work.
pub(crate) fn work(caller: &dyn Caller) -> Work<'_> {
    caller.begins();
    Work(caller)
}

impl Drop for Work<'_> {
    fn drop(&mut self) {
        self.0.ends();
    }
}
