//! Why a run could not be made at all.

/// A run that could not begin or go on. What the scheduler itself does wrong is an
/// [`Outcome`](crate::Outcome) instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LabError {
    /// An object, workload, machine or setting that is wrong: one sentence with its place.
    #[error("{0}")]
    BadInput(String),
    /// The object or workload needs something that we do not support: one sentence that names it.
    #[error("{0}")]
    Unsupported(String),
    /// A `SEC("syscall")` program that the recipe runs failed: what it returned, or why it was stopped.
    #[error("{0}")]
    Program(String),
    /// A scheduler's own program attached nothing, or ended before the run did: why, and all that it has printed, which
    /// is untrusted.
    #[error("{why}")]
    OwnProgram {
        /// One sentence, with its last words.
        why: String,
        /// Both of its streams.
        printed: Vec<u8>,
    },
    /// Our own fault: what was expected, and what was found.
    #[error("{0}")]
    Bug(String),
}
