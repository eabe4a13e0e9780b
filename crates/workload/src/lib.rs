//! Workloads: what the simulated tasks do.
//!
//! [`parse`] reads rt-app's JSON, [`generated`] makes what a name such as `mix:1000:80` or `chat:10:20:100`
//! asks for, and [`built_in`] holds the files of `workloads/`. Each gives a [`Workload`]: data, which the
//! kernel room executes; [`join`] makes several one. The language as supported is described in
//! `docs/reference/workloads.md`.
//!
//! Pure functions: no file, clock or environment is touched, and whatever a stranger's file
//! holds, reading it ends in time and memory proportional to its length.
#![forbid(unsafe_code)]

mod affinity;
mod built_in;
mod cgroups;
mod compile;
mod endless;
mod error;
mod event;
mod extension;
mod generators;
mod global;
mod join;
mod json;
mod keys;
mod limits;
mod mix;
mod names;
mod phase;
mod place;
mod programs;
mod sched;
mod settings;
mod source;
mod spins;
mod steps;
mod task;
mod timeline;
mod timers;

pub use built_in::{built_in, built_in_names};
pub use compile::{MAX_INSTANCES, MAX_STEPS, MAX_STEPS_PER_TASK, parse};
pub use error::{Warning, WorkloadError};
pub use generators::{Generator, generated, generators};
pub use join::{MAX_PARTS, join, parts};
pub use keel_abi::task::Workload;
pub use mix::mix;
pub use programs::{program, programs};
pub use settings::{Setting, apply, settings};
