//! A run's report, as JSON and tables.

use crate::table::Table;
use keel_report::{RunReport, Style, compare, table, verdict};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// A run's report.
#[pyclass(frozen, module = "evenkeel._native")]
pub(crate) struct Report(RunReport);

impl Report {
    /// Wraps the report of a run.
    pub(crate) fn new(report: RunReport) -> Self {
        Self(report)
    }
}

#[pymethods]
impl Report {
    /// Returns the JSON object that `keel sim --json` prints, as UTF-8.
    fn json<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &json(&self.0))
    }

    /// Returns the same without the tasks, of which there may be many.
    fn facts<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let mut without = self.0.clone();
        without.tasks = Vec::new();
        PyBytes::new(py, &json(&without))
    }

    /// Returns a list of the report as a table.
    fn table(&self, name: &str) -> PyResult<Table> {
        let of = keel_arrow::Table::from_name(name).ok_or_else(|| PyKeyError::new_err(name.to_owned()))?;
        Ok(Table::new(keel_arrow::table(&self.0, of)))
    }

    /// Returns the table of `keel sim`, as printed to a file.
    fn text(&self) -> String {
        table::run(&self.0, Style::PLAIN)
    }

    /// Describes the run in one sentence.
    fn sentence(&self) -> String {
        verdict::sentence(&self.0)
    }

    /// Returns whether the scheduler failed.
    #[getter]
    fn failed(&self) -> bool {
        self.0.failed()
    }
}

fn json(report: &RunReport) -> Vec<u8> {
    serde_json::to_vec(report).expect("reports have only string keys")
}

/// Returns the table of `keel compare`, and the schedulers whose runs are identical for every seed.
#[pyfunction]
pub(crate) fn comparison(reports: Vec<PyRef<'_, Report>>) -> (String, Vec<String>) {
    let runs: Vec<RunReport> = reports.iter().map(|report| report.0.clone()).collect();
    let seedless = compare::seedless(&runs).into_iter().map(str::to_owned).collect();
    (compare::table(&runs, Style::PLAIN), seedless)
}
