//! The decisions of one run, and comparisons with measurements of Linux.

use crate::error::{internal, raised, with_scheduler};
use crate::run::watched;
use crate::scenario::Document;
use crate::scheduler::registry;
use pathweave_algorithms::Registry;
use pathweave_lab::explain;
use pathweave_lab::scenario::Variant;
use pathweave_lab::validation::{Comparison, Summary, comparison_table, summary_table};
use pathweave_report::{explain_page, timeline};
use pathweave_runner::{Explained, NoWatch, explanation, reference_runs, references};
use pyo3::prelude::*;
use std::num::NonZero;
use std::path::PathBuf;

/// The decisions of one run between two times.
#[pyclass(module = "pathweave._native", frozen)]
pub(crate) struct Explanation(explain::Explanation);

#[pymethods]
impl Explanation {
    /// Facts about the run, as JSON.
    fn json(&self, py: Python<'_>) -> PyResult<String> {
        serde_json::to_string(&self.0).map_err(|e| internal(py, &e.to_string()))
    }

    /// A line of JSON for each thing that happened.
    fn entries(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let lines = self.0.entries.iter().map(serde_json::to_string);
        lines.collect::<Result<_, _>>().map_err(|e| internal(py, &e.to_string()))
    }

    /// For a terminal.
    fn text(&self) -> String {
        timeline(&self.0)
    }

    /// The offline page.
    fn page(&self) -> String {
        explain_page(&self.0)
    }
}

/// Makes a run and keeps its decisions.
#[pyfunction(name = "explain")]
pub(crate) fn explain_run(
    py: Python<'_>,
    document: Document,
    scheduler: &str,
    seed: u64,
    start: Option<&str>,
    end: Option<&str>,
    own: Vec<Bound<'_, PyAny>>,
) -> PyResult<Explanation> {
    let registry = registry(&own)?;
    let what = Explained { scheduler, seed, from: start, to: end, connection: None };
    let made = with_scheduler(py, scheduler, || explanation(&document.source, &what, &registry))?;
    made.map(Explanation).map_err(|failure| raised(py, &failure))
}

/// Runs the scenarios that were measured with Linux. Returns a line of JSON for each scenario, the tables, whether the
/// limits hold, and the exception that stopped the runs.
#[pyfunction]
pub(crate) fn validate(
    py: Python<'_>,
    path: PathBuf,
    only: Option<&str>,
    jobs: Option<NonZero<usize>>,
) -> PyResult<(Vec<String>, String, bool)> {
    let registry = Registry::builtin();
    let known = references(&path, only).map_err(|failure| raised(py, &failure))?;
    let all: Vec<_> = known.iter().collect();
    let (made, interrupted) =
        watched(py, None, |_| reference_runs(&all, &[Variant::AsWritten], jobs, &|_| NoWatch, &registry))?;
    if let Some(error) = interrupted {
        return Err(error);
    }
    let runs = made.map_err(|failure| raised(py, &failure))?;
    let comparisons: Vec<Comparison> = known.iter().zip(runs).map(|(one, runs)| Comparison::new(one, runs)).collect();
    let summary = Summary::new(&comparisons);
    let text = format!("{}\n{}", comparison_table(&comparisons), summary_table(&summary));
    Ok((comparisons.iter().map(|c| c.json().to_string()).collect(), text, summary.holds()))
}
