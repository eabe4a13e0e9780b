//! Events as they arrive: a run or a reader on its own thread, a short queue of record batches, and their reader.

use crate::error::OrRaise;
use crate::report::Report;
use crate::table::stream;
use crate::work::{Call, one};
use keel_arrow::{ArrowError, Batches, RecordBatch, RecordBatchReader, SchemaRef, events_schema};
use keel_front::Caller;
use keel_front::execute::Place;
use keel_front::failure::Failure;
use keel_front::recording::Source;
use keel_lab::{LabError, RunSpec};
use keel_report::RunReport;
use keel_trace::{Class, Sink};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The maximum number of queued batches. The run waits for the reader, so memory stays bounded.
const QUEUE: usize = 2;

/// How the stream's source ended: a run's report, or nothing for a recording.
type Ended = Arc<OnceLock<Result<Option<RunReport>, Failure>>>;

/// A stream of events, which can be read once.
#[pyclass(frozen, module = "evenkeel._native")]
pub(crate) struct EventStream {
    batches: Mutex<Option<Reader>>,
    ended: Ended,
}

impl EventStream {
    /// Returns the events of these classes from a run, which starts at once.
    pub(crate) fn of_run(spec: RunSpec, classes: &[String]) -> PyResult<Self> {
        let wants = classes_of(classes)?;
        Ok(Self::of(wants, move |call, sink| one(call, &spec, vec![sink], Place::Here).map(Some)))
    }

    fn of(
        wants: Class,
        work: impl FnOnce(&Call, &mut dyn Sink) -> Result<Option<RunReport>, Failure> + Send + 'static,
    ) -> Self {
        let (to, from) = sync_channel(QUEUE);
        let ended = Ended::default();
        let at_end = ended.clone();
        std::thread::spawn(move || {
            let call = Call::default();
            let made = catch_unwind(AssertUnwindSafe(|| fill(wants, &to, &call, work)));
            let broke_off = |_| Err(Failure::from_lab(LabError::Bug("the run broke off".into())));
            // Set before the queue closes, so that a reader that sees the end finds it.
            let _ = at_end.set(made.unwrap_or_else(broke_off));
            drop(to);
        });
        Self { batches: Mutex::new(Some(Reader { from, ended: ended.clone(), said: false })), ended }
    }
}

/// Passes on the batches of `work`. Stops the work if nobody reads them any more.
fn fill(
    wants: Class,
    to: &SyncSender<RecordBatch>,
    call: &Call,
    work: impl FnOnce(&Call, &mut dyn Sink) -> Result<Option<RunReport>, Failure>,
) -> Result<Option<RunReport>, Failure> {
    let stop = call.stop();
    let mut batches = Batches::new(wants, |batch| {
        if to.send(batch).is_err() {
            stop.ask();
        }
    });
    let made = work(call, &mut batches);
    batches.finish();
    made
}

/// Returns the requested classes by their names.
fn classes_of(names: &[String]) -> PyResult<Class> {
    let class = |name: &String| match name.as_str() {
        "core" => Ok(Class::CORE),
        "decisions" => Ok(Class::DECISIONS),
        "queues" => Ok(Class::QUEUES),
        "costs" => Ok(Class::COSTS),
        "counts" => Ok(Class::COUNTS),
        "locks" => Ok(Class::LOCKS),
        "acts" => Ok(Class::ACTS),
        "calls" => Ok(Class::CALLS),
        other => Err(PyValueError::new_err(format!("there is no class of events '{other}'"))),
    };
    names.iter().map(class).try_fold(Class::NONE, |all, class| Ok(all.with(class?)))
}

/// The end of the queue that batches are read from.
struct Reader {
    from: Receiver<RecordBatch>,
    ended: Ended,
    said: bool,
}

impl Iterator for Reader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Ok(batch) = self.from.recv() {
            return Some(Ok(batch));
        }
        let failed = self.ended.get().and_then(|ended| ended.as_ref().err());
        let said = std::mem::replace(&mut self.said, true);
        failed.filter(|_| !said).map(|failure| Err(ArrowError::ExternalError(failure.sentence().into())))
    }
}

impl RecordBatchReader for Reader {
    fn schema(&self) -> SchemaRef {
        events_schema()
    }
}

#[pymethods]
impl EventStream {
    /// Returns the events, as an `arrow_array_stream` capsule. Can be called once.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let taken = self.batches.lock().unwrap_or_else(PoisonError::into_inner).take();
        let reader = taken.ok_or_else(|| PyRuntimeError::new_err("the events were read already"))?;
        stream(py, Box::new(reader))
    }

    /// Returns the run's report once all events are read. None before that, and for a recording.
    fn report(&self, py: Python<'_>) -> PyResult<Option<Report>> {
        match self.ended.get().cloned() {
            None => Ok(None),
            Some(ended) => Ok(ended.or_raise(py)?.map(Report::new)),
        }
    }
}

/// Returns the events of these classes from a recording.
#[pyfunction]
pub(crate) fn recorded_events(py: Python<'_>, trace: PathBuf, classes: Vec<String>) -> PyResult<EventStream> {
    let wants = classes_of(&classes)?;
    let source = py.detach(|| Source::open(&trace)).or_raise(py)?;
    Ok(EventStream::of(wants, move |call, sink| source.read(sink, call).map(|_| None)))
}
