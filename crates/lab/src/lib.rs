//! Joins `object`, `vm`, `kernel` and `workload`: a scheduler object, a workload and a machine go in; events and an
//! [`Outcome`] come out.
//!
//! This crate never judges, prints, reads files or reads the host's clock: callers provide bytes and a sink, and
//! measure time themselves.
//!
//! - [`spec`]: everything that determines a run.
//! - [`run`]: one run.
//! - [`watch`]: runs that end as soon as the sink has seen enough.
//! - [`compare`]: many runs, in parallel on the host's threads.
//! - [`prepared`]: a scheduler that is loaded once and run often.
//! - `load`: loads a scheduler's bytes and attaches it to a kernel.
//! - `recipe` and `companion`: a recipe, and its companions, on the simulated kernel.
//! - `program`: a scheduler's own user-space program, run alongside the simulated kernel.
//! - `profile`: an engine's and a kernel's counts, by the names in the scheduler's source.
//! - `living`: detects when the last task of a workload has exited.
//! - [`outcome`]: how a run ended, without its events.
//! - [`variables`]: the scheduler's global variables after a run.
//! - [`schedulers`], [`machines`] and [`workloads`]: the built-in ones, by name.
//! - [`features`]: what a scheduler can use here, and how exact each feature is.
//! - [`error`]: why a run could not be made.
#![forbid(unsafe_code)]

mod companion;
pub mod compare;
pub mod error;
pub mod features;
pub mod lines;
mod living;
mod load;
pub mod locks;
pub mod machines;
pub mod native;
pub mod outcome;
pub mod prepared;
mod profile;
mod program;
pub mod races;
mod recipe;
pub mod run;
pub mod schedulers;
pub mod spec;
pub mod variables;
pub mod watch;
pub mod workloads;

pub use compare::{compare, each};
pub use error::LabError;
pub use features::features;
pub use keel_kernel::{Log, LogLine};
pub use keel_program::{Clients, News};
pub use machines::{Machine, Scale};
pub use outcome::{Counters, Outcome, Overhead, ProgramEnd};
pub use prepared::Prepared;
pub use program::{last_words, recorded_recipe};
pub use run::{Progress, run, run_and_read, run_or_stop, run_to_end, run_to_end_or_stop};
pub use spec::{Engine, ObjectBytes, RunSpec, SchedulerSource};
