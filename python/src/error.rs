//! Errors as exceptions of `pathweave._errors`.

use pathweave_lab::scenario::{Problem, ScenarioError};
use pathweave_runner::{Failure, caught};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Makes an exception of `pathweave._errors`.
fn exception(py: Python<'_>, class: &str, text: &str, details: Option<&Bound<'_, PyDict>>) -> PyErr {
    let made =
        || -> PyResult<Bound<'_, PyAny>> { py.import("pathweave._errors")?.getattr(class)?.call((text,), details) };
    made().map_or_else(|error| error, PyErr::from_value)
}

/// The text of an error with the names of arguments in place of the command's options.
fn in_python(py: Python<'_>, text: &str) -> PyResult<String> {
    py.import("pathweave._errors")?.getattr("in_python")?.call1((text,))?.extract()
}

/// The exception for an input that the engine refuses.
fn refused(py: Python<'_>, class: &str, text: &str, details: Option<&Bound<'_, PyDict>>) -> PyErr {
    in_python(py, text).map_or_else(|error| error, |text| exception(py, class, &text, details))
}

/// The exception for a mistake in a scenario, with its position.
pub(crate) fn scenario_error(py: Python<'_>, error: &ScenarioError) -> PyErr {
    let details = || -> PyResult<Bound<'_, PyDict>> {
        let details = PyDict::new(py);
        let problem = match error.problem {
            Problem::Syntax => "syntax",
            Problem::UnknownKey => "unknown-key",
            Problem::Missing => "missing",
            Problem::Value => "value",
            Problem::Conflict => "conflict",
        };
        // Words of the caller's are no file.
        let in_file = !error.file.starts_with("--");
        details.set_item("problem", problem)?;
        details.set_item("file", in_file.then_some(&*error.file))?;
        details.set_item("line", in_file.then(|| error.line()))?;
        details.set_item("columns", (error.columns().start, error.columns().end))?;
        details.set_item("key", &*error.key)?;
        details.set_item("value", &*error.value)?;
        details.set_item("allowed", &*error.allowed)?;
        Ok(details)
    };
    match details() {
        Ok(details) => refused(py, "ScenarioError", &error.to_string(), Some(&details)),
        Err(error) => error,
    }
}

/// The exception for a reason to end early.
pub(crate) fn raised(py: Python<'_>, failure: &Failure) -> PyErr {
    match failure {
        Failure::Scenario(error) => scenario_error(py, error),
        Failure::Input(text) => refused(py, "InputError", text, None),
        Failure::Output(text) => exception(py, "OutputError", text, None),
        Failure::Closed => exception(py, "OutputError", "the reader is gone", None),
    }
}

/// An input that is wrong for a reason that only Python's side knows.
pub(crate) fn input(py: Python<'_>, text: &str) -> PyErr {
    exception(py, "InputError", text, None)
}

/// Does `work` without the interpreter's lock. A panic becomes an exception of its own.
pub(crate) fn detached<R: Send>(py: Python<'_>, work: impl FnOnce() -> R + Send) -> PyResult<R> {
    with_scheduler(py, "", work)
}

/// Like `detached`, for work that runs this scheduler.
pub(crate) fn with_scheduler<R: Send>(py: Python<'_>, name: &str, work: impl FnOnce() -> R + Send) -> PyResult<R> {
    py.detach(|| caught(name, work)).map_err(|fault| self::fault(py, &fault))
}

/// A scheduler's fault, or one in Pathweave itself.
pub(crate) fn fault(py: Python<'_>, fault: &str) -> PyErr {
    let class = if fault.starts_with("the scheduler ") { "SchedulerError" } else { "InternalError" };
    exception(py, class, fault, None)
}

/// A fault in Pathweave itself.
pub(crate) fn internal(py: Python<'_>, fault: &str) -> PyErr {
    exception(py, "InternalError", fault, None)
}
