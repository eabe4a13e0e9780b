//! Errors: why a run could not be made.

/// A run that could not begin or continue. An error of the scheduler itself is an [`Outcome`](crate::Outcome) instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LabError {
    /// An invalid object, workload, machine or setting: one sentence with its place.
    #[error("{0}")]
    BadInput(String),
    /// The object or workload needs something that is not supported: one sentence that names it.
    #[error("{0}")]
    Unsupported(String),
    /// A `SEC("syscall")` program that the recipe runs failed: its return value, or why it was stopped.
    #[error("{0}")]
    Program(String),
    /// A run with a scheduler's own program failed.
    #[error("{error}")]
    AfterOutput {
        /// Why.
        error: Box<LabError>,
        /// The program's output until then: untrusted.
        output: Vec<u8>,
    },
    /// An internal error: what was expected, and what was found.
    #[error("{0}")]
    Bug(String),
}
