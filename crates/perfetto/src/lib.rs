//! A run as a Perfetto trace: what the kernel's own events would have told, so that every tool which knows
//! ftrace knows what to do with it, and the moments of wasted cores as slices of tracks of their own.
//!
//! Never here: files (callers say what is written to), a judgement of its own.
#![forbid(unsafe_code)]

mod messages;
#[cfg(test)]
mod tests;
mod writer;

pub use writer::Perfetto;
