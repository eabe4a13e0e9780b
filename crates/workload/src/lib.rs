//! Workloads: what the simulated tasks do.
//!
//! Start at [`parse`], which reads rt-app's JSON. [`generated`] makes the workload for a name such as `mix:1000:80` or
//! `chat:10:20:100`, and [`built_in()`] returns the files of `workloads/`. The result is a [`Workload`]: data that the
//! simulated kernel executes. [`join()`] combines several into one. `docs/reference/workloads.md` describes the
//! supported language.
//!
//! All functions in this crate are pure: they access no files, clock or environment. Reading an untrusted file takes
//! time and memory proportional to its length.
//!
//! Files:
//!
//! - `compile`: compiles a file's text to a [`Workload`]
//! - `source`: the text of a file, and its lines
//! - `json`: an object's fields in rt-app's order, and values of the right type
//! - `place`: a value's position in the file
//! - `error`: errors and warnings about a file
//!
//! rt-app's language:
//!
//! - `global`: the `global` object: the run's duration, default policy, mutexes
//! - `task`: compiles a task to one program of steps
//! - `phase`: reads a task or phase: settings, then events
//! - `event`: converts an event to steps
//! - `keys`: what a key in a task or phase means
//! - `sched`: policies and priorities
//! - `affinity`: where a task may run
//! - `cgroups`: cgroups, from rt-app's `taskgroup` and the extension
//! - `timers`: which task owns a timer, and whether the timer is relative or absolute
//! - `names`: ids for mutexes, conditions, barriers and the rest
//! - `own_changes`: steps in which a task changes itself
//! - `endless`: rejects tasks that loop forever without time passing
//! - `waits`: rejects cycles of tasks that wait for each other
//!
//! The extension:
//!
//! - `extension`: the contents of `"evenkeel"`: jitter, units, counting, nodes
//! - `steps`: steps that rt-app lacks, and channels
//! - `spins`: waits that keep a CPU busy
//! - `timeline`: what happens from outside during a run
//!
//! Other sources of workloads:
//!
//! - `built_in`: the files of `workloads/`
//! - `generators`: workloads made from names with numbers
//! - `mix`: run-and-sleep tasks of a given load
//! - `programs`: models of the programs that published benchmarks ran
//! - `limits`: the valid ranges of the numbers in a generator's name, as text
//! - `settings`: settings in a workload's name
//! - `join`: combines several workloads
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
mod own_changes;
mod phase;
mod place;
mod programs;
mod sched;
mod settings;
mod source;
mod spins;
mod starter;
mod steps;
mod task;
mod timeline;
mod timers;
mod waits;

pub use built_in::{built_in, built_in_names};
pub use compile::{MAX_INSTANCES, MAX_STEPS, MAX_STEPS_PER_TASK, parse};
pub use error::{Warning, WorkloadError};
pub use generators::{Generator, generated, generators};
pub use join::{MAX_PARTS, join, parts};
pub use keel_abi::task::Workload;
pub use mix::mix;
pub use programs::{program, programs};
pub use settings::{Setting, apply, settings};
