//! Errors: why watching could not start or continue.

use crate::errors::Class;
use crate::record::RecordError;

/// Why watching could not start or continue, in one sentence each.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WatchError {
    /// This process is neither root nor has the capabilities.
    #[error("watching needs root, or the capabilities CAP_BPF and CAP_PERFMON")]
    NoRights,
    /// The kernel rejects the program that takes samples.
    #[error("this kernel refuses keel's watch program: {0}")]
    Refused(String),
    /// A sample failed, or its result cannot be read.
    #[error("cannot watch the CPUs: {0}")]
    Failed(String),
    /// An error from recording.
    #[error("{0}")]
    Record(RecordError),
}

impl WatchError {
    /// Returns what it means for the caller.
    pub fn class(&self) -> Class {
        match self {
            Self::Refused(_) => Class::Unsupported,
            Self::NoRights | Self::Failed(_) => Class::Input,
            Self::Record(error) => error.class(),
        }
    }

    /// Returns what to do about it, if that is not obvious.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Self::NoRights => Some("run it with sudo"),
            Self::Refused(_) => Some("keel vm boots a kernel that can be watched"),
            Self::Failed(_) => None,
            Self::Record(error) => error.help(),
        }
    }
}

impl From<RecordError> for WatchError {
    fn from(error: RecordError) -> Self {
        match error {
            RecordError::NoRights => Self::NoRights,
            other => Self::Record(other),
        }
    }
}
