//! Where a scheduler's time goes, by callback, function and source line.
//!
//! A [`Profile`] contains one run's counts and nothing else. This crate runs nothing and reads no files. Its sums equal
//! the run's own counts ([`Totals`]), to the instruction and the nanosecond.
//!
//! - [`model`]: what is counted
//! - [`lines`]: the same by source line
//! - [`text`]: tables, and the annotated source
//! - [`diff`], [`growth`]: several profiles, line by line
//! - [`view`]: a bounded profile, for a page
//! - [`folded`], [`pprof`], [`lcov`]: for other programs
//! - `origins`, `pairs`, `sources`: by callback, by pair of lines, by file
//! - `stacks`: call chains, for both folded stacks and pprof
//! - `shown`: untrusted text and times, formatted for people
#![forbid(unsafe_code)]

pub mod diff;
pub mod folded;
pub mod growth;
pub mod lcov;
pub mod lines;
pub mod model;
mod origins;
mod pairs;
pub mod pprof;
mod shown;
mod sources;
mod stacks;
pub mod text;
pub mod view;

#[cfg(test)]
mod tests;

pub use model::{About, Conflict, Count, Function, Node, Place, Profile, SourceLine, Totals, Wait, Waiter};
pub use view::View;
