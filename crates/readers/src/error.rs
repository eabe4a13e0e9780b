//! Errors: why a file could not be judged at all, in one sentence each.

use keel_abi::Span;
use std::io;

/// Why a recording could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file is empty.
    #[error("the file is empty")]
    Empty,
    /// The file is of an unknown kind.
    #[error(
        "unknown format: keel reads its own traces, perf.data, trace.dat, Perfetto traces, and the text of ftrace, \
         trace-cmd report and perf script"
    )]
    Foreign,
    /// The file is of an unsupported version or variant.
    #[error("{0}")]
    Unsupported(String),
    /// The head of the file is invalid.
    #[error("the {format} file is damaged at byte {at}: {what}")]
    Damaged {
        /// The kind of file.
        format: &'static str,
        /// The offset, in bytes.
        at: u64,
        /// What is wrong.
        what: &'static str,
    },
    /// It contains no `sched_switch`.
    #[error("it contains no sched_switch event, so it does not show which task ran: {0}")]
    NoSwitches(String),
    /// Its records are not in order of time.
    #[error(
        "time runs backwards at {backwards} of its {records} records, by up to {furthest}, so keel cannot judge \
         it; write it again in order of time"
    )]
    NoOrder {
        /// The number of records that were earlier than the one before them.
        backwards: u64,
        /// The number of records.
        records: u64,
        /// The largest step backwards.
        furthest: Span,
    },
    /// The host cannot read it.
    #[error("cannot read it: {0}")]
    Io(#[from] io::Error),
}
