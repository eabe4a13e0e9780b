//! Judges, explains, and replays recordings under another scheduler.

use crate::error::OrRaise;
use crate::given::GivenScheduler;
use crate::report::Report;
use crate::spec::Spec;
use crate::work::{Call, one, wait};
use keel_abi::Span;
use keel_check::Limits;
use keel_front::check::{Part, judge, waits};
use keel_front::execute::Place;
use keel_front::failure::Failure;
use keel_front::lab::REAL;
use keel_front::moment::{Moment, moment};
use keel_front::replay as recorded_as;
use keel_lab::RunSpec;
use keel_report::Style;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;

/// Returns the output of `keel check --json` as UTF-8, and the text output of `keel check`.
#[pyfunction]
#[pyo3(signature = (trace, *, from_time=None, until=None, delay_ns=None, assume_unrestricted=false))]
pub(crate) fn check<'py>(
    py: Python<'py>,
    trace: PathBuf,
    from_time: Option<String>,
    until: Option<String>,
    delay_ns: Option<u64>,
    assume_unrestricted: bool,
) -> PyResult<(Bound<'py, PyBytes>, String)> {
    let part = part(trace, from_time, until).or_raise(py)?;
    let limits = Limits { delay: delay_ns.map(Span::from_ns), assume_unrestricted };
    let call = Call::default();
    let report = wait(py, &call, None, || judge(&part, limits, &call))?;
    Ok((json(py, &report), report.text(Style::PLAIN)))
}

/// Returns the output of `keel check --task`, with `--json` as UTF-8, and without it as text.
#[pyfunction]
#[pyo3(signature = (trace, task, top, *, from_time=None, until=None))]
pub(crate) fn why_waits<'py>(
    py: Python<'py>,
    trace: PathBuf,
    task: &str,
    top: usize,
    from_time: Option<String>,
    until: Option<String>,
) -> PyResult<(Bound<'py, PyBytes>, String)> {
    let part = part(trace, from_time, until).or_raise(py)?;
    let call = Call::default();
    let report = wait(py, &call, None, || waits(&part, task, top, &call))?;
    Ok((json(py, &report), report.text(Style::PLAIN)))
}

fn json<'py>(py: Python<'py>, report: &impl serde::Serialize) -> Bound<'py, PyBytes> {
    PyBytes::new(py, &serde_json::to_vec(report).expect("reports have only string keys"))
}

fn part(trace: PathBuf, from: Option<String>, until: Option<String>) -> Result<Part, Failure> {
    let read = |text: Option<String>| -> Result<Option<Moment>, Failure> {
        text.map(|text| moment(&text).map_err(Failure::input)).transpose()
    };
    Ok(Part { trace, from: read(from)?, until: read(until)? })
}

/// Runs a recording's load under a scheduler. Returns the run, its report, how reliable it is, and why.
#[pyfunction]
#[pyo3(signature = (trace, scheduler, *, machine=None, keep=Vec::new(), scale=1, duration_ns=None, seed=None, settings=Vec::new(), progress=None))]
#[expect(clippy::too_many_arguments, reason = "Python names each of them")]
pub(crate) fn replay(
    py: Python<'_>,
    trace: PathBuf,
    scheduler: GivenScheduler,
    machine: Option<String>,
    keep: Vec<String>,
    scale: u32,
    duration_ns: Option<u64>,
    seed: Option<u64>,
    settings: Vec<(String, String)>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Spec, Report, String, Vec<String>)> {
    let call = Call::default();
    let (spec, report, level, notes) = wait(py, &call, progress.as_ref(), || {
        let (source, own) = scheduler.read()?;
        let part = recorded_as::Part { machine, cpus: None, keep, scale };
        let (recorded, machine) = recorded_as::recorded(&part, &trace, &REAL, &call)?;
        let spec = recorded_as::spec(source, settings.into_iter().chain(own).collect(), &recorded, machine);
        let duration = duration_ns.map_or(spec.duration, Span::from_ns);
        let spec = RunSpec { duration, seed: seed.unwrap_or(spec.seed), ..spec };
        let report = one(&call, &spec, Vec::new(), Place::Beside)?;
        Ok((spec, report, recorded.confidence.level().to_owned(), recorded.confidence.sentences()))
    })?;
    Ok((Spec::new(spec), Report::new(report), level, notes))
}
