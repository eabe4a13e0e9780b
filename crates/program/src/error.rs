//! Errors: why a program cannot be run, or cannot continue.

/// Why a program cannot be run or continue, in one sentence without the program's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    /// The host can't start it.
    #[error("{name} cannot be started: {why}")]
    Start {
        /// The file.
        name: String,
        /// The host's message.
        why: String,
    },
    /// The host does not allow it to be traced.
    #[error("the host does not let keel supervise it: {0}")]
    Host(String),
    /// It needs something that keel does not support. The text names it.
    #[error("{0}")]
    Unsupported(String),
}
