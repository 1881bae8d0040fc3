//! One run after the other of one scheduler, without the runs of plain TCP that comparisons have beside them.

use crate::error::{detached, input, internal, raised, with_scheduler};
use crate::run::one_scheduler;
use crate::scenario::Document;
use crate::scheduler::registry;
use pathweave_algorithms::Registry;
use pathweave_lab::scenario::{Connection, Scenario, Workload};
use pathweave_runner::{Run, RunPlan, simulate};
use pyo3::prelude::*;

/// A scenario with a scheduler for its one connection, ready to run.
#[pyclass(module = "pathweave._native", frozen)]
pub(crate) struct Single {
    plan: RunPlan,
    registry: Registry,
}

#[pymethods]
impl Single {
    /// All mistakes in the scenario are found here.
    #[new]
    fn new(py: Python<'_>, document: Document, scheduler: &str, own: Vec<Bound<'_, PyAny>>) -> PyResult<Self> {
        let registry = registry(&own)?;
        let planned = detached(py, || one_scheduler(document.source, scheduler, &registry))?;
        let plan = planned.map_err(|failure| raised(py, &failure))?;
        let single = Single { plan, registry };
        match single.connection() {
            Some(connection) if !matches!(connection.workload, Workload::Web { .. }) => Ok(single),
            _ => {
                let name = &single.plan.name;
                Err(input(py, &format!("{name}: allowed: one measured connection, whose data goes one way")))
            }
        }
    }

    /// The names of the connection's paths.
    #[getter]
    fn paths(&self) -> Vec<String> {
        let scenario = self.scenario();
        let numbers = self.connection().map(|c| c.paths.as_slice()).unwrap_or_default();
        numbers.iter().map(|path| scenario.paths[*path].name.clone()).collect()
    }

    /// Latest end of a run, s.
    #[getter]
    fn duration_s(&self) -> f64 {
        self.scenario().duration.as_secs_f64()
    }

    /// Makes the run with this seed, on the caller's thread, and gives its line of JSON.
    fn run(&self, py: Python<'_>, seed: u64) -> PyResult<String> {
        let (variant, scenario) = &self.plan.variants[0];
        let run = Run {
            document: &self.plan.document,
            scenario,
            variant,
            seed,
            registry: &self.registry,
            files: &self.plan.traces,
            prepare: None,
            number: 0,
        };
        let result = with_scheduler(py, &variant.label(), || simulate(&run))?;
        result.to_json().map_err(|e| internal(py, &e.to_string()))
    }
}

impl Single {
    fn scenario(&self) -> &Scenario {
        &self.plan.variants[0].1
    }

    /// The measured connection, if there is one and no more.
    fn connection(&self) -> Option<&Connection> {
        let mut measured = self.scenario().connections.iter().filter(|c| c.measured && c.engine.mptcp);
        measured.next().filter(|_| measured.next().is_none())
    }
}
