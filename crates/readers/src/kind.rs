//! What a file is, by its first bytes.

use crate::{perfetto, text};

/// So many bytes of a file are read to detect its kind.
pub const LOOK: usize = 64 * 1024;

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Evenkeel's own trace.
    Own,
    /// `perf record`'s file, or its stream through a pipe.
    Perf,
    /// `trace-cmd record`'s file.
    TraceDat,
    /// A trace of Perfetto.
    Perfetto,
    /// ftrace's text, or that of `trace-cmd report` or `perf script`.
    Text,
}

impl Kind {
    /// What a file that begins with `first` is; `None` where it is nothing that is known.
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
        // It has no mark of its own, so it comes last.
        perfetto::is(first).then_some(Self::Perfetto)
    }

    /// What it is called.
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
