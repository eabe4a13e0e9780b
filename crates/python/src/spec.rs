//! Everything that determines one run, read once and run as often as you like.

use crate::error::OrRaise;
use crate::given::{Given, GivenScheduler, scene};
use crate::report::Report;
use crate::stream::EventStream;
use crate::table::Table;
use crate::work::{Call, one, wait};
use keel_abi::{Noise, Span};
use keel_front::execute::Place;
use keel_front::failure::Failure;
use keel_front::inputs::DEFAULT_DURATION;
use keel_lab::{Engine, RunSpec};
use keel_report::Picture;
use keel_report::picture::Caption;
use keel_trace::Sink;
use pyo3::prelude::*;

/// A run before it is made. The same spec gives the same run, byte for byte.
#[pyclass(frozen, module = "evenkeel._native")]
pub(crate) struct Spec(RunSpec);

impl Spec {
    /// Wraps the spec of a run.
    pub(crate) fn new(spec: RunSpec) -> Self {
        Self(spec)
    }

    /// Returns the spec.
    pub(crate) fn spec(&self) -> &RunSpec {
        &self.0
    }
}

/// Reads what determines a run. Settings and numbers are as on the command line.
#[pyfunction]
#[pyo3(signature = (scheduler, machine, workload, *, duration_ns, seed, noise, settings, checked, engine))]
#[expect(clippy::too_many_arguments, reason = "Python names each of them")]
pub(crate) fn spec(
    py: Python<'_>,
    scheduler: GivenScheduler,
    machine: Option<Given>,
    workload: Option<Given>,
    duration_ns: Option<u64>,
    seed: u64,
    noise: &str,
    settings: Vec<(String, String)>,
    checked: bool,
    engine: &str,
) -> PyResult<Spec> {
    let call = Call::default();
    let noise = noise_of(noise).or_raise(py)?;
    let engine = engine_of(engine).or_raise(py)?;
    let workload = workload.unwrap_or_else(|| Given::Named(keel_lab::workloads::DEFAULT.to_owned()));
    let read = || {
        let (source, own) = scheduler.read()?;
        let (machine, workload) = scene(machine.as_ref(), &workload, &call)?;
        let duration = duration_ns.map(Span::from_ns).or(workload.duration).unwrap_or(DEFAULT_DURATION);
        // The last one counts, which is the scheduler's own.
        let settings = settings.into_iter().chain(own).collect();
        let scheduler = source;
        Ok(RunSpec {
            scheduler,
            settings,
            workload,
            machine,
            duration,
            seed,
            noise,
            engine,
            order: None,
            checked,
        })
    };
    let made = py.detach(read);
    call.warn(py)?;
    made.or_raise(py).map(Spec)
}

fn noise_of(name: &str) -> Result<Noise, Failure> {
    let all = [Noise::None, Noise::Quiet, Noise::Busy];
    all.into_iter()
        .find(|noise| noise.name() == name)
        .ok_or_else(|| Failure::input("noise must be 'none', 'quiet' or 'busy'"))
}

fn engine_of(name: &str) -> Result<Engine, Failure> {
    match name {
        "native" => Ok(Engine::Native),
        "cranelift" => Ok(Engine::Cranelift),
        "interpreter" => Ok(Engine::Interpreter),
        "frames" => Ok(Engine::Frames),
        _ => Err(Failure::input("engine must be 'native', 'cranelift', 'interpreter' or 'frames'")),
    }
}

#[pymethods]
impl Spec {
    /// Makes the run. Calls `progress` regularly with the virtual nanoseconds simulated so far. With `beside`, the
    /// judge has its own thread.
    #[pyo3(signature = (progress=None, beside=true))]
    fn run(&self, py: Python<'_>, progress: Option<Py<PyAny>>, beside: bool) -> PyResult<Report> {
        let call = Call::default();
        let several = keel_front::host::has_several_cpus();
        let place = if beside && several { Place::Beside } else { Place::Here };
        wait(py, &call, progress.as_ref(), || one(&call, &self.0, Vec::new(), place)).map(Report::new)
    }

    /// Makes the run in its own thread, and returns its events as they arrive.
    fn events(&self, classes: Vec<String>) -> PyResult<EventStream> {
        EventStream::of_run(self.0.clone(), &classes)
    }

    /// Makes the run, and returns what each CPU did as a table.
    fn map(&self, py: Python<'_>) -> PyResult<Table> {
        let picture = self.drawn(py)?.0;
        let cells = { picture }.cells();
        Ok(Table::new(keel_arrow::report::map(&cells)))
    }

    /// Makes the run, and draws it as an SVG document.
    fn picture(&self, py: Python<'_>) -> PyResult<String> {
        let (mut picture, report) = self.drawn(py)?;
        Ok(picture.svg(&Caption::of(&report)))
    }

    /// Returns the same run with another seed.
    fn with_seed(&self, seed: u64) -> Self {
        Self(RunSpec { seed, ..self.0.clone() })
    }

    /// Returns the same run with another length in virtual time.
    fn with_duration(&self, duration_ns: u64) -> Self {
        Self(RunSpec { duration: Span::from_ns(duration_ns), ..self.0.clone() })
    }

    /// Returns the same run with another name for its scheduler.
    fn named(&self, name: String) -> Self {
        let mut spec = self.0.clone();
        spec.scheduler.name = name;
        Self(spec)
    }

    /// Returns the scheduler's name.
    #[getter]
    fn scheduler(&self) -> &str {
        &self.0.scheduler.name
    }

    /// Returns the workload's name.
    #[getter]
    fn workload(&self) -> &str {
        &self.0.workload.name
    }

    /// Returns the machine's name.
    #[getter]
    fn machine(&self) -> &str {
        &self.0.machine.name
    }

    /// Returns the seed.
    #[getter]
    fn seed(&self) -> u64 {
        self.0.seed
    }

    /// Returns the length in virtual nanoseconds.
    #[getter]
    fn duration_ns(&self) -> u64 {
        self.0.duration.as_ns()
    }
}

impl Spec {
    fn drawn(&self, py: Python<'_>) -> PyResult<(Picture, keel_report::RunReport)> {
        let call = Call::default();
        let mut picture = Picture::new();
        let report = wait(py, &call, None, || {
            one(&call, &self.0, vec![&mut picture as &mut dyn Sink], Place::Beside)
        })?;
        Ok((picture, report))
    }
}
