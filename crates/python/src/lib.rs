//! `evenkeel._native`: the part of the Python package `evenkeel` that calls keel's crates.
//!
//! It starts no process. Python sees plain values: text, numbers, JSON and Arrow. The public classes are written in
//! Python, in the folder `python`.
//!
//! - [`given`]: converts arguments to schedulers, machines and workloads
//! - [`spec`]: everything that determines a run
//! - [`work`]: work without the interpreter's lock, which Ctrl-C ends
//! - [`report`]: a run's report
//! - [`table`]: Arrow tables, by the Arrow C data interface
//! - [`stream`]: a run's events as they arrive
//! - [`recordings`]: recordings, judged and replayed
//! - [`laboratory`]: published experiments
//! - [`profile`]: where a run's time went
//! - [`lists`]: the built-in items
//! - [`error`]: exceptions, by the exit code
#![forbid(unsafe_code)]

mod error;
mod given;
mod laboratory;
mod lists;
mod profile;
mod recordings;
mod report;
mod spec;
mod stream;
mod table;
mod work;

use pyo3::prelude::*;

/// The part of keel's crates that the Python package `evenkeel` uses.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::laboratory::lab;
    #[pymodule_export]
    use super::lists::{built_in, duration_ns, machine_facts, version};
    #[pymodule_export]
    use super::profile::{Profile, profile, read_profile};
    #[pymodule_export]
    use super::recordings::{check, replay, why_waits};
    #[pymodule_export]
    use super::report::{Report, comparison};
    #[pymodule_export]
    use super::spec::{Spec, spec};
    #[pymodule_export]
    use super::stream::{EventStream, recorded_events};
    #[pymodule_export]
    use super::table::Table;
    #[pymodule_export]
    use super::work::compare;
}
