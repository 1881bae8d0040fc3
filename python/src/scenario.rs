//! Scenarios: files with overrides.

use crate::error::{raised, scenario_error};
use crate::scheduler::registered;
use pathweave_lab::scenario::{self, Data, Problem, SET, Value, Variant, schema};
use pathweave_runner::{Source, open};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::path::PathBuf;

/// A scenario file with overrides.
#[pyclass(module = "pathweave._native", from_py_object)]
#[derive(Clone)]
pub(crate) struct Document {
    pub(crate) source: Source,
}

#[pymethods]
impl Document {
    /// A built-in scenario or a file.
    #[staticmethod]
    fn open(py: Python<'_>, name: &str) -> PyResult<Self> {
        let source = py.detach(|| open(name)).map_err(|failure| raised(py, &failure))?;
        Ok(Document { source })
    }

    /// Reads a scenario from text. `folder` has its traces.
    #[staticmethod]
    #[pyo3(signature = (name, text, folder=None))]
    fn parse(py: Python<'_>, name: &str, text: &str, folder: Option<PathBuf>) -> PyResult<Self> {
        let document = scenario::Document::parse(name, text).map_err(|error| scenario_error(py, &error))?;
        Ok(Document { source: Source { argument: name.to_owned(), document, folder } })
    }

    fn copy(&self) -> Self {
        self.clone()
    }

    /// Overrides a setting, and says at once if the setting does not allow the value.
    fn set(&mut self, py: Python<'_>, key: &str, value: &str) -> PyResult<()> {
        let mut document = self.source.document.clone();
        document.set(key, value).map_err(|error| scenario_error(py, &error))?;
        let text = format!("{key}={value}");
        // What else is wrong may be put right before the scenario is run: a duration may need another `measure_from`.
        if let Err(error) = document.scenario(&registered(py)?, &Variant::AsWritten)
            && error.problem != Problem::Conflict
            && &*error.file == SET
            && *error.source == *text
        {
            return Err(scenario_error(py, &error));
        }
        self.source.document = document;
        Ok(())
    }

    /// Raises an exception if the scenario has a mistake.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        self.scenario(py).map(drop)
    }

    /// Sentences about overrides and settings that are allowed but hardly intended; none if the scenario has a mistake.
    fn warnings(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let document = &self.source.document;
        let Ok(scenario) = document.scenario(&registered(py)?, &Variant::AsWritten) else { return Ok(Vec::new()) };
        Ok(document.overrides_without_effect(&scenario).into_iter().chain(scenario.warnings()).collect())
    }

    /// The text of a scenario file with every setting, defaults and overrides included.
    fn to_toml(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.scenario(py)?.to_toml())
    }

    /// The scenario's name.
    fn name(&self) -> String {
        self.source.document.name().unwrap_or("").to_owned()
    }

    /// The name with which the scenario was opened.
    fn argument(&self) -> &str {
        &self.source.argument
    }

    /// The folder of its traces.
    fn folder(&self) -> Option<PathBuf> {
        self.source.folder.clone()
    }

    /// The overrides so far.
    fn overrides(&self) -> Vec<(String, String)> {
        self.source.document.overrides().to_vec()
    }

    /// The file with its overrides: tables are dictionaries, everything else is text.
    fn tree<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        python(py, self.source.document.root())
    }

    /// The settings that a table takes: `""` for the scenario itself, `path`, `connection`, `link`, `traffic`.
    #[staticmethod]
    fn settings(list: &str) -> Vec<String> {
        let schema = schema();
        let pointer =
            if list.is_empty() { "/properties".into() } else { format!("/properties/{list}/items/properties") };
        let keys = schema.as_value().pointer(&pointer).and_then(|found| found.as_object());
        keys.map(|found| found.keys().cloned().collect()).unwrap_or_default()
    }

    /// Name and text of every built-in scenario.
    #[staticmethod]
    fn builtin() -> Vec<(&'static str, &'static str)> {
        scenario::BUILTIN.to_vec()
    }
}

impl Document {
    fn scenario(&self, py: Python<'_>) -> PyResult<scenario::Scenario> {
        let made = self.source.document.scenario(&registered(py)?, &Variant::AsWritten);
        made.map_err(|error| scenario_error(py, &error))
    }
}

fn python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match &value.data {
        Data::Scalar(text) => text.into_pyobject(py)?.into_any(),
        Data::List(elements) => {
            let list = elements.iter().map(|element| python(py, element)).collect::<PyResult<Vec<_>>>()?;
            PyList::new(py, list)?.into_any()
        }
        Data::Table(entries) => {
            let table = PyDict::new(py);
            for entry in entries {
                table.set_item(&entry.key, python(py, &entry.value)?)?;
            }
            table.into_any()
        }
    })
}
