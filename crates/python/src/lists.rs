//! The built-in items, and the meaning of single values.

use crate::error::OrRaise;
use crate::given::{Given, machine};
use keel_front::failure::Failure;
use keel_front::lab::REAL;
use keel_front::parse;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Returns the built-in `schedulers`, `machines`, `workloads` or `experiments`: name and one-line description.
#[pyfunction]
pub(crate) fn built_in(what: &str) -> PyResult<Vec<(String, String)>> {
    match what {
        "schedulers" => Ok((REAL.schedulers)()),
        "machines" => Ok((REAL.machines)()),
        "workloads" => Ok((REAL.workloads)()),
        "experiments" => Ok((REAL.experiments)().into_iter().map(|one| (one.id, one.title)).collect()),
        other => Err(PyKeyError::new_err(other.to_owned())),
    }
}

/// Converts a duration such as `10s` or `1.5ms` to nanoseconds.
#[pyfunction]
pub(crate) fn duration_ns(py: Python<'_>, text: &str) -> PyResult<u64> {
    let span = parse::duration(text)
        .map_err(|why| Failure::input(format!("'{}': {why}", keel_front::text::shown(text))));
    span.or_raise(py).map(|span| span.as_ns())
}

/// Returns a machine's name and shape.
#[pyfunction]
pub(crate) fn machine_facts<'py>(py: Python<'py>, given: Given) -> PyResult<Bound<'py, PyDict>> {
    let machine = machine(&given).or_raise(py)?;
    let topology = &machine.topology;
    let facts = PyDict::new(py);
    facts.set_item("name", &machine.name)?;
    facts.set_item("cpus", topology.cpus())?;
    facts.set_item("nodes", topology.nodes())?;
    facts.set_item("smt", topology.has_smt())?;
    facts.set_item("hz", machine.hz)?;
    let places = topology.iter().map(|cpu| topology.place(cpu));
    facts.set_item("node_of_cpu", places.map(|place| place.node.0).collect::<Vec<_>>())?;
    Ok(facts)
}

/// Returns the version of keel.
#[pyfunction]
pub(crate) fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}
