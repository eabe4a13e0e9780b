//! Errors: why a recording could not start or continue.

use crate::errors::Class;

/// Why a recording could not start or continue, in one sentence each.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// There is no `/sys/kernel/btf/vmlinux`.
    #[error(
        "this kernel does not provide its types (/sys/kernel/btf/vmlinux): it needs CONFIG_DEBUG_INFO_BTF=y"
    )]
    NoBtf,
    /// This process is neither root nor has the capabilities.
    #[error("recording needs root, or the capabilities CAP_BPF and CAP_PERFMON")]
    NoRights,
    /// The kernel rejects the programs.
    #[error("this kernel refuses keel's recording programs: {0}")]
    Refused(String),
    /// The tasks could not be listed, or the buffers not created or read.
    #[error("the recording failed: {0}")]
    Failed(String),
}

impl RecordError {
    /// Returns what it means for the caller.
    pub fn class(&self) -> Class {
        match self {
            Self::NoBtf | Self::Refused(_) => Class::Unsupported,
            Self::NoRights | Self::Failed(_) => Class::Input,
        }
    }

    /// Returns what to do about it, if that is not obvious.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Self::NoBtf | Self::Refused(_) => Some("keel vm boots a kernel that can be recorded"),
            Self::NoRights => Some("run it with sudo"),
            Self::Failed(_) => None,
        }
    }
}
