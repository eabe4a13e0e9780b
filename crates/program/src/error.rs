//! Why a program cannot be run, or cannot continue.

/// One sentence, without the program's name.
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
    /// The host does not let it be supervised.
    #[error("the host does not let keel supervise it: {0}")]
    Host(String),
    /// It needs something that keel does not have: its name.
    #[error("{0}")]
    Unsupported(String),
}
