//! Runs, made without the interpreter's lock.

use crate::error::raised;
use crate::results::RunSet;
use crate::scenario::Document;
use crate::scheduler::registry;
use pathweave_algorithms::Registry;
use pathweave_lab::results::RunResult;
use pathweave_runner::{
    Failure, Request, RunOutcome, RunPlan, Source, TELLING, Watch, caught, execute, plans, simulate,
};
use pathweave_scheduler::parameter::Described;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Time between two checks for signals, at which progress is shown too.
const LOOK: Duration = Duration::from_millis(100);

/// Progress of the runs, and whether to stop them.
#[derive(Debug, Default)]
pub(crate) struct Watcher {
    stop: AtomicBool,
    finished: AtomicUsize,
}

impl Watch for Watcher {
    fn stop(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    fn finished_one(&self) {
        self.finished.fetch_add(1, Ordering::SeqCst);
    }
}

/// Does `work` on another thread. This one shows its progress, and asks it to stop when a signal's handler raises: the answer is then that
/// exception beside what is finished.
pub(crate) fn watched<R: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Watcher) -> R + Send,
) -> PyResult<(R, Option<PyErr>)> {
    let watcher = Watcher::default();
    let (done, rang) = (Mutex::new(None), Condvar::new());
    let mut interrupted = None;
    let result = std::thread::scope(|scope| {
        scope.spawn(|| {
            let result = caught("", || work(&watcher));
            *done.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
            rang.notify_all();
        });
        let mut shown = 0;
        loop {
            let result = py.detach(|| {
                let waiting = done.lock().unwrap_or_else(PoisonError::into_inner);
                let wait = rang.wait_timeout_while(waiting, LOOK, |done| done.is_none());
                wait.unwrap_or_else(PoisonError::into_inner).0.take()
            });
            if interrupted.is_none() {
                let finished = watcher.finished.load(Ordering::SeqCst);
                let show = || progress.map_or(Ok(()), |progress| progress.call1((finished - shown,)).map(drop));
                if let Err(error) = py.check_signals().and_then(|()| show()) {
                    watcher.stop.store(true, Ordering::SeqCst);
                    interrupted = Some(error);
                }
                shown = finished;
            }
            if let Some(result) = result {
                return result;
            }
        }
    });
    Ok((result.map_err(|fault| crate::error::internal(py, &fault))?, interrupted))
}

/// Makes all runs. Returns the finished ones, and the exception that stopped the others.
#[pyfunction]
#[pyo3(signature = (documents, *, schedulers, against, why, seeds, jobs, own, progress))]
#[expect(clippy::too_many_arguments, reason = "Python's side names each of them")]
pub(crate) fn compare(
    py: Python<'_>,
    documents: Vec<Document>,
    schedulers: Option<String>,
    against: Option<String>,
    why: Option<String>,
    seeds: Vec<u64>,
    jobs: Option<NonZero<usize>>,
    own: Vec<Bound<'_, PyAny>>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<(RunSet, Option<PyErr>)> {
    let registry = registry(&own)?;
    let request = Request { schedulers, against, why, seeds };
    let sources = documents.into_iter().map(|document| Ok::<_, Failure>(document.source)).collect::<Vec<_>>();
    let planned = crate::error::detached(py, || plans(&request, sources, &registry))?;
    let plans = planned.map_err(|failure| raised(py, &failure))?;
    let runs: usize = plans.iter().map(|plan| plan.variants.len() * plan.seeds.len()).sum();
    if let Some(progress) = &progress {
        progress.setattr("total", runs)?;
    }
    let (outcome, interrupted) =
        watched(py, progress.as_ref(), |watcher| execute(&plans, &registry, &simulate, jobs, watcher, None, None))?;
    let RunOutcome { results, planned } = outcome.map_err(|failure| raised(py, &failure))?;
    let Request { against, why, .. } = request;
    Ok((RunSet::new(results, planned, plans, registry, against, why), interrupted))
}

/// A plan of this scheduler.
pub(crate) fn one_scheduler(source: Source, scheduler: &str, registry: &Registry) -> Result<RunPlan, Failure> {
    let request = Request { schedulers: Some(scheduler.to_owned()), against: None, why: None, seeds: Vec::new() };
    let mut plans = plans(&request, [Ok(source)], registry)?;
    plans.pop().ok_or_else(|| Failure::Input("there is no scenario".into()))
}

/// A number with what it counts, as in "1 run" and "3 runs".
#[pyfunction]
pub(crate) fn counted(number: u64, one: &str) -> String {
    pathweave_units::counted(number, one)
}

/// The schedulers that are compared if none are named.
#[pyfunction]
pub(crate) fn default_schedulers() -> Vec<&'static str> {
    TELLING.to_vec()
}

/// Schedulers or controllers: name, source, summary and parameters of each.
#[pyfunction]
pub(crate) fn listing<'py>(py: Python<'py>, what: &str) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let registry = Registry::builtin();
    let entry = |algorithm: &dyn Described| {
        let dictionary = PyDict::new(py);
        dictionary.set_item("name", algorithm.name())?;
        dictionary.set_item("source", algorithm.source())?;
        dictionary.set_item("summary", algorithm.summary())?;
        let parameters = algorithm.parameters().into_iter().map(|p| {
            let dictionary = PyDict::new(py);
            dictionary.set_item("name", p.name)?;
            dictionary.set_item("takes", p.kind.to_string())?;
            dictionary.set_item("unit", p.unit)?;
            dictionary.set_item("default", p.default)?;
            dictionary.set_item("description", p.description)?;
            Ok(dictionary)
        });
        dictionary.set_item("parameters", parameters.collect::<PyResult<Vec<_>>>()?)?;
        Ok(dictionary)
    };
    match what {
        "schedulers" => registry.schedulers().iter().map(|factory| entry(factory.as_ref())).collect(),
        _ => registry.controllers().iter().map(|factory| entry(factory.as_ref())).collect(),
    }
}

/// Whether the runs need an answer in words: they stalled, failed or were warned about.
pub(crate) fn problems(results: &[RunResult]) -> Vec<String> {
    let mut all = Vec::new();
    for run in results {
        let place = format!("{}, {}, seed {}", run.scenario, run.scheduler, run.seed);
        if run.status != pathweave_lab::results::Status::Completed {
            all.push(format!("{place}: {}", run.reason.as_deref().unwrap_or("no reason given")));
        }
        if run.plain_tcp.is_none() {
            all.extend(run.warnings.iter().map(|warning| format!("{place}: warning: {warning}")));
        }
    }
    all
}
