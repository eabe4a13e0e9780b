//! Converts failures to exceptions: `evenkeel.KeelError` and its subclasses, by exit code.

use keel_front::failure::{Code, Failure};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

/// Returns the exception for a failure, created from Python's classes.
pub(crate) fn raised(py: Python<'_>, failure: &Failure) -> PyErr {
    if failure.code == Code::Interrupted {
        return PyKeyboardInterrupt::new_err(failure.sentence().to_owned());
    }
    let made = py
        .import("evenkeel._errors")
        .and_then(|module| module.getattr("of"))
        .and_then(|of| of.call1((failure.code as u8, failure.sentence(), failure.advice())));
    match made {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}

/// Raises the failure of a result.
pub(crate) trait OrRaise<T> {
    /// Returns the value, or the exception for its failure.
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> OrRaise<T> for Result<T, Failure> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|failure| raised(py, &failure))
    }
}
