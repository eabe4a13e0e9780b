//! Runs work without the interpreter's lock, on its own thread. Meanwhile, the calling thread of Python checks for
//! Ctrl-C and reports progress.

use crate::error::OrRaise;
use crate::report::Report;
use crate::spec::Spec;
use keel_abi::{Span, Stop};
use keel_front::Caller;
use keel_front::execute::{Executed, Place, execute};
use keel_front::failure::Failure;
use keel_front::lab::REAL;
use keel_front::program;
use keel_lab::{LabError, RunSpec};
use keel_report::{RunReport, StoppedBy};
use keel_trace::Sink;
use pyo3::prelude::*;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How often signals are checked.
const TICK: Duration = Duration::from_millis(50);

/// A call from Python.
#[derive(Default)]
pub(crate) struct Call {
    stop: Stop,
    reached_ns: AtomicU64,
    notes: Mutex<Vec<String>>,
}

impl Caller for Call {
    fn stop(&self) -> Stop {
        self.stop.clone()
    }

    fn stopped_by(&self) -> Option<StoppedBy> {
        self.stop.is_asked().then_some(StoppedBy::Interrupt)
    }

    fn note(&self, text: &str) {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).push(text.to_owned());
    }

    fn advance(&self, by: Span) {
        self.reached_ns.fetch_add(by.as_ns(), Ordering::Relaxed);
    }
}

impl Call {
    /// Passes remarks on as Python's warnings.
    pub(crate) fn warn(&self, py: Python<'_>) -> PyResult<()> {
        let notes = std::mem::take(&mut *self.notes.lock().unwrap_or_else(PoisonError::into_inner));
        if notes.is_empty() {
            return Ok(());
        }
        py.import("evenkeel._errors")?.getattr("warn")?.call1((notes,)).map(drop)
    }
}

/// Runs `work` without the interpreter's lock. Calls `progress` with the virtual nanoseconds simulated so far.
///
/// # Errors
/// The error of `work`. `KeyboardInterrupt` and anything else that a signal handler or `progress` raises, once the work
/// has stopped.
pub(crate) fn wait<T: Send>(
    py: Python<'_>,
    call: &Call,
    progress: Option<&Py<PyAny>>,
    work: impl FnOnce() -> Result<T, Failure> + Send,
) -> PyResult<T> {
    let (result, raised) = py.detach(|| {
        std::thread::scope(|scope| {
            let (done, is_done) = channel();
            let worker = scope.spawn(move || {
                let result = catch_unwind(AssertUnwindSafe(work));
                // The waiting side exists until the thread has ended.
                let _ = done.send(());
                result
            });
            let mut raised = None;
            while is_done.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                if raised.is_none() {
                    raised = Python::attach(|py| look_around(py, call, progress)).err();
                }
                if raised.is_some() {
                    call.stop.ask();
                }
            }
            (worker.join().and_then(|result| result), raised)
        })
    });
    if let Some(raised) = raised {
        return Err(raised);
    }
    report_progress(py, call, progress)?;
    call.warn(py)?;
    let panicked =
        |_| Err(Failure::from_lab(LabError::Bug("the run broke off; the message is above".into())));
    result.unwrap_or_else(panicked).or_raise(py)
}

fn look_around(py: Python<'_>, call: &Call, progress: Option<&Py<PyAny>>) -> PyResult<()> {
    py.check_signals()?;
    report_progress(py, call, progress)
}

fn report_progress(py: Python<'_>, call: &Call, progress: Option<&Py<PyAny>>) -> PyResult<()> {
    match progress {
        Some(progress) => progress.call1(py, (call.reached_ns.load(Ordering::Relaxed),)).map(drop),
        None => Ok(()),
    }
}

/// Makes one run, with other listeners besides the judge.
pub(crate) fn one(
    call: &Call,
    spec: &RunSpec,
    others: Vec<&mut dyn Sink>,
    place: Place,
) -> Result<RunReport, Failure> {
    let place = if spec.scheduler.bytes.program().is_some() { Place::Here } else { place };
    let Executed { report, program, .. } = execute(&REAL, spec, others, call, place)?;
    if let Some(end) = &program {
        program::tell(&spec.scheduler.name, end, call);
    }
    Ok(report)
}

/// Runs each spec `runs` times, with seeds counted up from its own, on `jobs` threads (None: one per CPU). Returns the
/// reports in the order of the specs, then of the seeds.
#[pyfunction]
#[pyo3(signature = (specs, runs, jobs=None, progress=None))]
pub(crate) fn compare(
    py: Python<'_>,
    specs: Vec<PyRef<'_, Spec>>,
    runs: u32,
    jobs: Option<NonZeroUsize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Vec<Report>> {
    let specs: Vec<RunSpec> = specs.iter().map(|spec| spec.spec().clone()).collect();
    let call = Call::default();
    let made = wait(py, &call, progress.as_ref(), || {
        let one = |spec: &RunSpec| {
            if call.stop.is_asked() {
                return Ok(None);
            }
            one(&call, spec, Vec::new(), Place::Here).map(Some)
        };
        let all = keel_lab::compare(&specs, runs, keel_front::host::jobs(jobs), one);
        all.into_iter().flatten().collect::<Result<Vec<_>, _>>()
    })?;
    Ok(made.into_iter().flatten().map(Report::new).collect())
}
