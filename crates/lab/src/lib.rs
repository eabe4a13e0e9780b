//! The joining room: a scheduler object, a workload and a machine in; events and an [`Outcome`]
//! out.
//!
//! It alone knows `object`, `vm`, `kernel` and `workload` together. It never judges, prints,
//! reads files or looks at a clock: callers bring bytes and a sink, and measure the time of the
//! host themselves.
#![forbid(unsafe_code)]

mod companion;
pub mod compare;
pub mod error;
pub mod features;
mod living;
mod load;
pub mod machines;
pub mod outcome;
pub mod prepared;
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
pub use machines::{Machine, Scale};
pub use outcome::{Counters, Outcome, Overhead};
pub use prepared::Prepared;
pub use run::{Progress, run, run_and_read, run_or_stop, run_to_end, run_to_end_or_stop};
pub use spec::{Engine, ObjectBytes, RunSpec, SchedulerSource};
