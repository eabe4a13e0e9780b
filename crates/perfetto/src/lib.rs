//! A run as a Perfetto trace: the kernel's own events, as ftrace would have recorded them, so that every tool that
//! reads ftrace can use them, and the episodes of wasted cores as slices on tracks of their own.
//!
//! This crate never touches files (callers provide the writer), and never judges.
//!
//! - `writer`: from the stream to packets, one bundle for each CPU
//! - `messages`: the messages of Perfetto's published protos that are written here
//! - `tests`: tests that read the output using only the wire format and the published field numbers
#![forbid(unsafe_code)]

mod messages;
#[cfg(test)]
mod tests;
mod writer;

pub use writer::Perfetto;
