//! The command inside of the Python package.

use crate::error::detached;
use pathweave_algorithms::Registry;
use pyo3::prelude::*;
use std::ffi::OsString;
use std::path::PathBuf;

/// Runs the command with these arguments and returns its exit code. `program` is the file of this module.
#[pyfunction]
pub(crate) fn command(py: Python<'_>, arguments: Vec<OsString>, program: PathBuf) -> PyResult<u8> {
    let all = std::iter::once(OsString::from("pathweave")).chain(arguments);
    detached(py, || pathweave::main_of(all, Some(program), Registry::builtin()))
}
