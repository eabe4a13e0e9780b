//! Runs and judges published experiments.

use crate::error::OrRaise;
use crate::work::{Call, wait};
use keel_experiment::plan::plan;
use keel_front::Caller;
use keel_front::experiments::{Batch, How, chosen, complete, longest, make_enough, reports};
use keel_front::failure::Failure;
use keel_front::lab::REAL;
use keel_lab::Engine;
use pyo3::prelude::*;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Runs experiments and judges them. If none is named, runs all built-in ones. Returns their reports as JSON. Calls
/// `total` first, with the virtual nanoseconds of all runs together, except those that close verdicts need.
#[pyfunction]
#[pyo3(signature = (names, *, runs, native, jobs, programs, total=None, progress=None))]
#[expect(clippy::too_many_arguments, reason = "Python names each of them")]
pub(crate) fn lab(
    py: Python<'_>,
    names: Vec<String>,
    runs: Option<u32>,
    native: bool,
    jobs: Option<NonZeroUsize>,
    programs: PathBuf,
    total: Option<Py<PyAny>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Vec<u8>> {
    let call = Call::default();
    let experiments = chosen(&REAL, &names, Some(&programs), &call).or_raise(py)?;
    if let Some(total) = total {
        total.call1(py, (longest(&experiments, &plan(&experiments, runs)).as_ns(),))?;
    }
    let how = How { jobs, engine: Engine::Native, native, programs };
    wait(py, &call, progress.as_ref(), || {
        let Batch { asked, made } = make_enough(&REAL, &experiments, runs, &how, &call);
        if call.stop().is_asked() {
            return Err(Failure::input("the runs were stopped"));
        }
        let (planned, figures) = complete(&asked, made);
        let reports = reports(&experiments, &asked, &planned, figures);
        Ok(serde_json::to_vec(&reports).expect("reports have only string keys"))
    })
}
