//! Why there is no guest, or none any more.

use std::io;
use std::path::{Path, PathBuf};

/// What went wrong, as one sentence without a full stop: where, what, what to do.
#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    /// An impossible request: a machine without CPUs, a kernel that does not exist.
    #[error("{0}")]
    Input(String),
    /// The host lacks a program, or may not use one.
    #[error("{0}")]
    Missing(String),
    /// Something could not be fetched; the same may succeed another day.
    #[error("{0}")]
    Unavailable(String),
    /// The guest did not come up, died, hung or took too long.
    #[error("{0}")]
    Guest(String),
    /// A file of the host's.
    #[error("{}: {}", path.display(), why(source))]
    File {
        /// Which file or folder.
        path: PathBuf,
        /// What the host says.
        source: io::Error,
    },
}

/// Says which file an error is about.
pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> GuestError + '_ {
    move |source| GuestError::File { path: path.to_owned(), source }
}

/// The reason for an error in words, without its number.
pub(crate) fn why(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_lowercase()
}
