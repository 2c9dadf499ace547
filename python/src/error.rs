//! The exceptions. Their messages are those of the command.

use pagewalk::error::Failure;
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

create_exception!(pagewalk, PagewalkError, PyException, "A run failed. The message is that of the command.");
create_exception!(
    pagewalk,
    UsageError,
    PagewalkError,
    "What was asked for cannot be. The message is that of the command."
);

/// The exception that a failure is.
pub(crate) fn exception(failure: &Failure) -> PyErr {
    let line = failure.line();
    if failure.is_usage() { UsageError::new_err(line) } else { PagewalkError::new_err(line) }
}
