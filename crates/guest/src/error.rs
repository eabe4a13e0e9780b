//! Why there is no guest, or why it ended.

use std::io;
use std::path::{Path, PathBuf};

/// What went wrong, as one sentence without a full stop: where, what, what to do.
#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    /// An impossible request: a machine without CPUs, a kernel that does not exist.
    #[error("{0}")]
    Input(String),
    /// The host lacks a program, or may not use it.
    #[error("{0}")]
    Missing(String),
    /// Something could not be fetched. The same may succeed another day.
    #[error("{0}")]
    Unavailable(String),
    /// The guest did not boot, died, hung or took too long.
    #[error("{0}")]
    Guest(String),
    /// A file on the host.
    #[error("{}: {}", path.display(), why(source))]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The host's error message.
        source: io::Error,
    },
}

/// Adds the file to an error.
pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> GuestError + '_ {
    move |source| GuestError::File { path: path.to_owned(), source }
}

/// Returns the reason for an error in words, without its number.
pub(crate) fn why(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_lowercase()
}
