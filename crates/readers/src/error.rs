//! Why nothing of a file could be judged: one sentence each.

use keel_abi::Span;
use std::io;

/// Why a recording could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// A file without a byte.
    #[error("the file is empty")]
    Empty,
    /// Of no kind that is known.
    #[error(
        "unknown format: keel reads its own traces, perf.data, trace.dat, Perfetto traces, and the text of ftrace, \
         trace-cmd report and perf script"
    )]
    Foreign,
    /// A version or a variant that is not known.
    #[error("{0}")]
    Unsupported(String),
    /// The head of the file makes no sense.
    #[error("the {format} file is damaged at byte {at}: {what}")]
    Damaged {
        /// What kind of file it is.
        format: &'static str,
        /// Where, in bytes.
        at: u64,
        /// What is wrong.
        what: &'static str,
    },
    /// No `sched_switch` in it.
    #[error("it contains no sched_switch event, so it does not show which task ran: {0}")]
    NoSwitches(String),
    /// Its records are in no order of time.
    #[error(
        "time runs backwards at {backwards} of its {records} records, by up to {furthest}, so keel cannot judge \
         it; write it again in order of time"
    )]
    NoOrder {
        /// How many records were earlier than the one before them.
        backwards: u64,
        /// How many there are.
        records: u64,
        /// The furthest that one was.
        furthest: Span,
    },
    /// The host cannot read it.
    #[error("cannot read it: {0}")]
    Io(#[from] io::Error),
}
