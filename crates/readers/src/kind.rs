//! Detects the kind of a file from its first bytes.

use crate::{perfetto, text};

/// The number of bytes that are read to detect a file's kind.
pub const LOOK: usize = 64 * 1024;

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Evenkeel's own trace.
    Own,
    /// `perf record`'s file, or its stream through a pipe.
    Perf,
    /// `trace-cmd record`'s file.
    TraceDat,
    /// A Perfetto trace.
    Perfetto,
    /// ftrace's text, or that of `trace-cmd report` or `perf script`.
    Text,
}

impl Kind {
    /// Returns the kind of a file that begins with `first`, or `None` if it is unknown.
    pub fn of(first: &[u8]) -> Option<Self> {
        if first.starts_with(b"KEELTRC") {
            return Some(Self::Own);
        }
        if first.starts_with(b"PERFILE2") || first.starts_with(b"2ELIFREP") {
            return Some(Self::Perf);
        }
        if first.starts_with(b"\x17\x08\x44tracing") {
            return Some(Self::TraceDat);
        }
        let first = &first[..first.len().min(LOOK)];
        if text::is(first) {
            return Some(Self::Text);
        }
        // It has no magic number, so it comes last.
        perfetto::is(first).then_some(Self::Perfetto)
    }

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Own => "keel",
            Self::Perf => "perf.data",
            Self::TraceDat => "trace.dat",
            Self::Perfetto => "Perfetto",
            Self::Text => "text",
        }
    }
}
