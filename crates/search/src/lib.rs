//! Searches for runs that break a scheduler: which inputs to try next, what was new about a run, and how small an input can get
//! that still fails.
//!
//! This crate makes no run, and reads no file or clock: its caller brings a [`Subject`]. The same seed gives the same
//! search, however many threads make the runs.
//!
//! - [`genome`]: an input: machine, tasks, timeline, settings, seed.
//! - [`draw`] and [`mutate`]: inputs at random, and from other inputs.
//! - [`render`]: an input as the files that a run is made of.
//! - [`states`]: what a run's events tell of the states that it was in.
//! - [`seen`]: what was seen in any run so far.
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
