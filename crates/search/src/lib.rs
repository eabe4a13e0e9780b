//! Searches for runs that break a scheduler: which inputs to try next, what was new about a run, and how small an input
//! can become and still fail.
//!
//! This crate makes no runs, and reads no file or clock: its caller provides a [`Subject`]. The same seed gives the
//! same search, however many threads make the runs.
//!
//! - [`genome`]: an input: machine, tasks, timeline, settings, seed.
//! - [`draw`] and [`mutate`]: inputs at random, and from other inputs.
//! - [`render`]: an input as the files that define a run.
//! - [`states`]: what a run's events reveal about the states that it was in.
//! - [`seen`]: everything seen in any run so far.
//! - [`fuzz`]: the search.
//! - [`shrink`]: smaller inputs that fail the same way.
//! - [`orders`] and [`explore`]: one input in many orders.
//! - [`rng`]: random numbers from a seed.
#![forbid(unsafe_code)]

pub mod draw;
pub mod explore;
pub mod fuzz;
pub mod genome;
pub mod mutate;
pub mod orders;
pub mod render;
pub mod rng;
pub mod seen;
pub mod shrink;
pub mod states;

pub use fuzz::{Failure, Ran, Subject};
pub use genome::{Genome, Range};
