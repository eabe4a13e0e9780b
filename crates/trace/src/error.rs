//! Errors of reading and writing trace files.

use std::io;

/// Why a trace could not be read.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The file is not a trace.
    #[error("this is not a keel trace: it does not begin with 'KEELTRC'")]
    Foreign,
    /// The file is of a version that this program does not know.
    #[error("this keel trace has format version {0}; this program reads versions up to {known}", known = crate::format::VERSION)]
    Version(u8),
    /// The file ends before its end record: the writer was stopped.
    #[error("the trace is cut off at byte {at}: its end record is missing")]
    Truncated {
        /// The number of bytes read so far.
        at: u64,
    },
    /// The file contains something that no writer writes.
    #[error("the trace is damaged at byte {at}: {what}")]
    Damaged {
        /// The offset of the bad record, in bytes.
        at: u64,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The file could not be read.
    #[error("the trace could not be read: {0}")]
    Io(#[from] io::Error),
}

/// Why a trace could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// A write failed; the file is incomplete.
    #[error("the trace could not be written: {0}")]
    Io(#[from] io::Error),
    /// The stream ended without its end record.
    #[error("the trace is incomplete: the run did not finish")]
    NoEnd,
}
