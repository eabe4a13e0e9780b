//! Profiles: where a run's time went.

use crate::error::OrRaise;
use crate::spec::Spec;
use crate::table::Table;
use crate::work::{Call, wait};
use keel_front::execute::{Place, execute};
use keel_front::failure::Failure;
use keel_front::lab::REAL;
use keel_front::profile::{Format, annotated, bytes, keep};
use keel_front::program;
use keel_profile::{diff, text};
use pyo3::prelude::*;

/// The profile of one run.
#[pyclass(frozen, module = "evenkeel._native")]
pub(crate) struct Profile(keel_profile::Profile);

/// Makes the run of a spec and counts the cost of each instruction. Returns the reason if the scheduler failed: the
/// profile ends there.
#[pyfunction]
#[pyo3(signature = (spec, progress=None))]
pub(crate) fn profile(
    py: Python<'_>,
    spec: PyRef<'_, Spec>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Profile, Option<String>)> {
    let mut specs = [spec.spec().clone()];
    keep(&mut specs).or_raise(py)?;
    let [spec] = specs;
    let call = Call::default();
    wait(py, &call, progress.as_ref(), || {
        let made = execute(&REAL, &spec, Vec::new(), &call, Place::Here)?;
        if let Some(end) = &made.program {
            program::tell(&spec.scheduler.name, end, &call);
        }
        let failed = made.report.failed().then(|| made.report.exit.reason.clone());
        let refused = || Failure::scheduler(format!("the kernel refused {}", spec.scheduler.name));
        let profile = made.profile.ok_or_else(refused)?;
        Ok((Profile(*profile), failed))
    })
}

/// Reads a profile that was written as JSON.
#[pyfunction]
pub(crate) fn read_profile(py: Python<'_>, text: &[u8]) -> PyResult<Profile> {
    let read = serde_json::from_slice::<keel_profile::Profile>(text)
        .map_err(|e| Failure::input(format!("it is not a profile: {e}")))
        .and_then(|profile| match profile.check() {
            Ok(()) => Ok(profile),
            Err(why) => Err(Failure::input(format!("it is not a profile: {why}"))),
        });
    read.or_raise(py).map(Profile)
}

#[pymethods]
impl Profile {
    /// Returns all of it as JSON, as printed by `keel profile --json`.
    fn json(&self) -> Vec<u8> {
        bytes(&self.0, Format::Json)
    }

    /// Returns the profile for pprof, compressed.
    fn pprof(&self) -> Vec<u8> {
        bytes(&self.0, Format::Pprof)
    }

    /// Returns folded stacks, for flame graphs.
    fn folded(&self) -> Vec<u8> {
        bytes(&self.0, Format::Folded)
    }

    /// Returns which lines and branches ran, for lcov.
    fn lcov(&self) -> Vec<u8> {
        bytes(&self.0, Format::Lcov)
    }

    /// Returns the tables that `keel profile` prints.
    fn summary(&self, top: usize) -> String {
        text::summary(&self.0, top)
    }

    /// Returns the source with the cost of each line.
    fn annotated(&self) -> String {
        annotated(&self.0)
    }

    /// Returns how a later profile differs, line by line.
    fn diff(&self, after: PyRef<'_, Self>, top: usize) -> String {
        diff::diff(&self.0, &after.0, top)
    }

    /// Returns a table with one row per source line.
    fn lines(&self) -> Table {
        Table::new(keel_arrow::profile::table(&self.0))
    }
}
