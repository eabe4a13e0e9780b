//! Who asks for work: a person at a terminal, or a program.

use keel_abi::{Span, Stop};
use keel_report::StoppedBy;

/// Who asks for work. Is notified of how far it is, and can end it early.
pub trait Caller: Sync {
    /// On request, ends the work at the virtual instant that it has reached.
    fn stop(&self) -> Stop;

    /// How the stop was requested, if it was.
    fn stopped_by(&self) -> Option<StoppedBy>;

    /// A remark beside the result: one line, safe to print.
    fn note(&self, text: &str);

    /// This much more virtual time has been simulated.
    fn advance(&self, _by: Span) {}

    /// This much more virtual time is to be simulated than was known before.
    fn expect(&self, _more: Span) {}

    /// Work begins that stops on request.
    fn begins(&self) {}

    /// That work has ended.
    fn ends(&self) {}
}

/// Work in progress that stops on request.
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
