//! Where a scheduler's time goes, by callback, function and source line.
//!
//! A [`Profile`] is what one run has counted, and nothing else: this crate makes no run and reads no file. Its sums are
//! the run's own counts ([`Totals`]), to the instruction and to the nanosecond.
//!
//! - [`model`]: what is counted
//! - [`lines`]: the same by source line
//! - [`text`]: tables, and the annotated source
//! - [`diff`], [`growth`]: several profiles, line by line
//! - [`view`]: for a page, bounded
//! - [`folded`], [`pprof`], [`lcov`]: for other programs
//! - `origins`, `pairs`, `sources`: by callback, by pair of lines, by file
//! - `stacks`: chains of calls, as both folded stacks and pprof have them
//! - `shown`: untrusted text and times, as people read them
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
