//! Plans of sweeps, their runs, and the verdicts on their claims.

use crate::error::{input, internal, raised};
use crate::run::{Watcher, watched};
use crate::scheduler::registry;
use crate::table::{Column, Table};
use pathweave_algorithms::Registry;
use pathweave_experiments::answer::Answer;
use pathweave_experiments::claim::{Judged, verdicts};
use pathweave_experiments::columns::{Cells, columns};
use pathweave_experiments::page::page;
use pathweave_experiments::record::{Record, program};
use pathweave_experiments::reproduction::{ClaimLine, text};
use pathweave_experiments::results::Results;
use pathweave_experiments::runs::Cell;
use pathweave_runner::{Bundle, Failure, ReadyPlan, Watch, simulate, spread};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::num::NonZero;
use std::path::PathBuf;

/// A plan that is ready to run.
#[pyclass(module = "pathweave._native", frozen)]
pub(crate) struct Plan {
    plan: ReadyPlan,
    registry: Registry,
}

#[pymethods]
impl Plan {
    /// A plan's file, with everything that it names.
    #[staticmethod]
    fn read(py: Python<'_>, path: PathBuf, quick: bool, own: Vec<Bound<'_, PyAny>>) -> PyResult<Self> {
        let registry = registry(&own)?;
        let plan = crate::error::detached(py, || ReadyPlan::read(&path, quick, &registry))?;
        Ok(Plan { plan: plan.map_err(|failure| raised(py, &failure))?, registry })
    }

    /// A plan's text; what it names is in `folder`.
    #[staticmethod]
    fn parse(
        py: Python<'_>,
        name: &str,
        text: &str,
        folder: Option<PathBuf>,
        quick: bool,
        own: Vec<Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let registry = registry(&own)?;
        let read = || ReadyPlan::parse(name, text, folder.as_deref(), quick, &registry);
        let plan = crate::error::detached(py, read)?;
        Ok(Plan { plan: plan.map_err(|failure| raised(py, &failure))?, registry })
    }

    /// A plan that another process packed.
    #[staticmethod]
    fn unpack(py: Python<'_>, packed: &str, own: Vec<Bound<'_, PyAny>>) -> PyResult<Self> {
        let registry = registry(&own)?;
        let bundle: Bundle = serde_json::from_str(packed).map_err(|e| input(py, &e.to_string()))?;
        let plan = crate::error::detached(py, || ReadyPlan::unpack(&bundle, &registry))?;
        Ok(Plan { plan: plan.map_err(|failure| raised(py, &failure))?, registry })
    }

    /// The plan in a form that another process can unpack.
    fn pack(&self, py: Python<'_>) -> PyResult<String> {
        serde_json::to_string(self.plan.bundle()).map_err(|e| internal(py, &e.to_string()))
    }

    /// The plan's name.
    #[getter]
    fn name(&self) -> &str {
        &self.plan.sweep.plan.name
    }

    /// Hash of everything that the runs depend on.
    #[getter]
    fn hash(&self) -> &str {
        &self.plan.hash
    }

    /// The names of the parameters' columns, without `at_`.
    #[getter]
    fn parameters(&self) -> Vec<String> {
        self.plan.sweep.plan.columns.iter().map(|column| column.name.clone()).collect()
    }

    /// The names of the parameters as the plan has them, in the order of `parameters`.
    #[getter]
    fn plan_parameters(&self) -> Vec<String> {
        self.plan.sweep.plan.parameters.iter().map(|parameter| parameter.name.clone()).collect()
    }

    /// The names of the variants that are plain TCP.
    #[getter]
    fn plain_tcp(&self) -> Vec<String> {
        let sweep = &self.plan.sweep;
        sweep.plain_tcp().map(|variant| sweep.variants[variant].name.clone()).collect()
    }

    /// Sentences about overrides that do not reach the measured data.
    fn warnings(&self) -> Vec<String> {
        self.plan.sweep.warnings()
    }

    /// The names of each scenario's paths, by the scenario's name.
    fn path_names(&self) -> BTreeMap<String, Vec<String>> {
        let sweep = &self.plan.sweep;
        let names = |cell: &Cell| -> Vec<String> { cell.data.paths.iter().map(|path| path.name.clone()).collect() };
        sweep.cells.iter().map(|cell| (sweep.scenario_name(cell.scenario).to_owned(), names(cell))).collect()
    }

    /// The number of seeds.
    #[getter]
    fn seeds(&self) -> u64 {
        self.plan.sweep.plan.seeds
    }

    fn __len__(&self) -> usize {
        self.plan.sweep.len()
    }

    /// The numbers of the runs of one shard, from 1.
    fn shard(&self, shard: usize, shards: usize) -> Vec<usize> {
        self.plan.sweep.shard(shard, shards)
    }

    /// Makes these runs. The answer is a row for each that is finished, and the exception that stopped the rest.
    fn run(
        &self,
        py: Python<'_>,
        numbers: Vec<usize>,
        jobs: Option<NonZero<usize>>,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<(Table, Option<PyErr>)> {
        if numbers.iter().any(|number| *number >= self.plan.sweep.len()) {
            return Err(input(py, "there is no run with this number"));
        }
        let (records, interrupted) = watched(py, progress.as_ref(), |watcher| self.make(&numbers, jobs, watcher))?;
        let records = records.map_err(|failure| raised(py, &failure))?;
        Ok((table(&self.plan.sweep.plan, &records)?, interrupted))
    }

    /// The claims with their verdicts, as lines of JSON, and in words. `records` are lines of JSON.
    fn judge(&self, py: Python<'_>, records: &str) -> PyResult<(Vec<String>, String)> {
        self.with_verdicts(py, records, |_, judged| {
            let plan = &self.plan.sweep.plan;
            let lines = judged.iter().map(|one| ClaimLine::new("", &plan.name, plan, one).line().trim_end().to_owned());
            (lines.collect(), text(&plan.name, plan, judged))
        })
    }

    /// The answer to whether several paths are worse than one anywhere, in sentences. `None` if the plan has no
    /// schedulers or no plain TCP.
    fn answer(&self, py: Python<'_>, records: &str) -> PyResult<Option<String>> {
        self.with_verdicts(py, records, |results, _| Some(Answer::of(&self.plan.sweep, results)?.text()))
    }

    /// The sweep's page.
    fn page(&self, py: Python<'_>, records: &str) -> PyResult<String> {
        self.with_verdicts(py, records, |results, judged| {
            page(&self.plan.sweep, results, judged, pathweave_runner::version())
        })
    }
}

impl Plan {
    fn make(&self, numbers: &[usize], jobs: Option<NonZero<usize>>, watcher: &Watcher) -> Result<Vec<Record>, Failure> {
        let one = |number: &usize| (!watcher.stop()).then(|| self.plan.run(*number, &self.registry, &simulate));
        Ok(spread(numbers, jobs, watcher, one)?.into_iter().flatten().collect())
    }

    fn with_verdicts<R: Send>(
        &self,
        py: Python<'_>,
        records: &str,
        work: impl FnOnce(&Results, &[Judged<'_>]) -> R + Send,
    ) -> PyResult<R> {
        let done = crate::error::detached(py, || {
            let lines = records.lines().map(serde_json::from_str);
            let records = lines.collect::<Result<Vec<Record>, _>>().map_err(|e| e.to_string())?;
            let results = Results::new(&self.plan.sweep, &records);
            let judged = verdicts(&self.plan.sweep, &results)?;
            Ok::<R, String>(work(&results, &judged))
        })?;
        done.map_err(|text| input(py, &text))
    }
}

/// The runs with the columns of every table of runs.
fn table(plan: &pathweave_experiments::plan::Plan, records: &[Record]) -> PyResult<Table> {
    let column = |cells: Cells| match cells {
        Cells::Seed(cells) => Column::Seed(cells),
        Cells::Whole(cells) => Column::Signed(cells),
        Cells::Number(cells) => Column::Number(cells),
        Cells::Truth(cells) => Column::Truth(cells),
        Cells::Word(cells) => Column::Word(cells),
        Cells::Text(cells) => Column::Text(cells),
    };
    Table::new(columns(plan, records).into_iter().map(|(name, cells)| (name, column(cells))).collect())
}

/// The version and the hash of a program's file.
#[pyfunction]
pub(crate) fn program_of(bytes: &[u8]) -> String {
    program(env!("CARGO_PKG_VERSION"), bytes)
}
