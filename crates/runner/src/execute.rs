//! Makes the runs of a plan in the simulator, spread over threads, and writes their lines of JSON as early as possible.

use crate::failure::{Failure, caught};
use crate::made_by::COMMIT;
use crate::plan::RunPlan;
use pathweave_algorithms::Registry;
use pathweave_lab::benefit::benefit_of;
use pathweave_lab::results::{Manifest, RunResult, SCHEMA_VERSION, Status};
use pathweave_lab::run_watched;
use pathweave_lab::scenario::{Document, Files, Scenario, Variant};
use pathweave_lab::sim::Simulation;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// An observer of the progress, called from any of the threads that make runs.
pub trait Watch: Sync {
    /// Whether to stop before the next run.
    fn stop(&self) -> bool {
        false
    }

    /// Called after each finished run.
    fn finished_one(&self) {}
}

/// An observer that does nothing.
#[derive(Clone, Copy, Debug)]
pub struct NoWatch;

impl Watch for NoWatch {}

/// The results of the runs.
#[derive(Debug)]
pub struct RunOutcome {
    /// The results in the order of plans, variants and seeds, whatever the number of threads.
    pub results: Vec<RunResult>,
    /// The number of planned runs. It exceeds the number of results if [`Watch::stop`] ended the runs early.
    pub planned: usize,
}

/// The last line of JSON of a comparison that was stopped, without the line's end; `None` if all runs are finished.
pub fn stopped_line(finished: usize, planned: usize) -> Option<String> {
    (finished < planned).then(|| format!("{{\"stopped\":{{\"finished\":{finished},\"planned\":{planned}}}}}"))
}

/// Makes all runs and writes a line of JSON for each to `lines`, in the order of the plan, as soon as the line is
/// known. After an early stop, a last line says so ([`stopped_line`]). A run that panics is a failed run. `prepare` is
/// called with each simulation before it runs.
///
/// # Errors
/// If a line cannot be written.
pub fn execute(
    plans: &[RunPlan],
    registry: &Registry,
    engine: &Engine,
    jobs: Option<NonZero<usize>>,
    watch: &dyn Watch,
    prepare: Option<&Prepare<'_>>,
    lines: Option<&mut (dyn Write + Send)>,
) -> Result<RunOutcome, Failure> {
    let mut runs = Vec::new();
    let mut baselines_of = Vec::new();
    let mut plan_of = Vec::new();
    for (number, plan) in plans.iter().enumerate() {
        let start = runs.len();
        for (variant, scenario) in &plan.variants {
            for seed in &plan.seeds {
                let (document, files) = (&plan.document, &plan.traces);
                let number = runs.len();
                runs.push(Run { document, scenario, variant, seed: *seed, registry, files, prepare, number });
            }
        }
        plan_of.resize(runs.len(), number);
        let mut baselines: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (i, run) in runs.iter().enumerate().skip(start) {
            if matches!(run.variant, Variant::PlainTcp(_)) {
                baselines.entry(run.seed).or_default().push(i);
            }
        }
        baselines_of.extend(runs[start..].iter().map(|run| baselines.get(&run.seed).cloned().unwrap_or_default()));
    }
    // The order is seed by seed, so that the finished runs can be compared after a stop. For each seed plain TCP runs
    // first, so that a line's aggregation benefit is known when its run is done.
    let is_baseline = |i: usize| matches!(runs[i].variant, Variant::PlainTcp(_));
    let mut order: Vec<usize> = (0..runs.len()).collect();
    order.sort_by_key(|i| (plan_of[*i], runs[*i].seed, !is_baseline(*i)));

    let lines = Lines { baselines_of, results: runs.iter().map(|_| None).collect(), next: 0, out: lines, error: None };
    let lines = Mutex::new(lines);
    let at = AtomicUsize::new(0);
    let work = || {
        while !watch.stop()
            && let Some(&i) = order.get(at.fetch_add(1, Ordering::SeqCst))
        {
            let run = &runs[i];
            let label = run.variant.label();
            let result = caught(&label, || engine(run)).unwrap_or_else(|fault| failed(run, &fault));
            lines.lock().unwrap_or_else(|e| e.into_inner()).add(i, result);
            watch.finished_one();
        }
    };
    let processors = || std::thread::available_parallelism().map_or(1, NonZero::get);
    let threads = jobs.map_or_else(processors, NonZero::get).min(runs.len().max(1));
    std::thread::scope(|scope| {
        (1..threads).for_each(|_| drop(scope.spawn(work)));
        work();
    });
    let planned = runs.len();
    let results = lines.into_inner().unwrap_or_else(|e| e.into_inner()).finish()?;
    Ok(RunOutcome { results, planned })
}

/// Accepts results in any order, and writes lines in the order of the plan.
struct Lines<'a> {
    /// The plain TCP runs of each run's scenario and seed.
    baselines_of: Vec<Vec<usize>>,
    results: Vec<Option<RunResult>>,
    /// Index of the first result that is not written yet.
    next: usize,
    out: Option<&'a mut (dyn Write + Send)>,
    error: Option<io::Error>,
}

impl Lines<'_> {
    fn add(&mut self, i: usize, result: RunResult) {
        self.results[i] = Some(result);
        let ready = |lines: &Self, i: usize| {
            lines.results[i].is_some() && lines.baselines_of[i].iter().all(|b| lines.results[*b].is_some())
        };
        while self.next < self.results.len() && ready(self, self.next) {
            self.write(self.next);
            self.next += 1;
        }
    }

    /// Completes a result and writes its line.
    fn write(&mut self, i: usize) {
        let baselines = self.baselines_of[i].iter().filter_map(|b| self.results[*b].as_ref());
        let goodput = |r: &RunResult| (r.status != Status::Failed).then_some(r.metrics.goodput_mbps);
        // Without the goodput of one path there is no benefit.
        let singles: Option<Vec<f64>> = baselines.filter(|r| !r.is_on_backup()).map(goodput).collect();
        let Some(result) = &mut self.results[i] else { return };
        result.metrics.aggregation_benefit = benefit_of(result, &singles.unwrap_or_default());
        result.manifest.commit = COMMIT.map(str::to_owned);
        if self.out.is_some() {
            let line = result.to_json().map_err(io::Error::from);
            self.put(line);
        }
    }

    /// Writes a line. After an error, nothing more is written.
    fn put(&mut self, line: io::Result<String>) {
        let (Some(out), None) = (&mut self.out, &self.error) else { return };
        let written = line.and_then(|line| {
            out.write_all((line + "\n").as_bytes())?;
            out.flush()
        });
        self.error = written.err();
    }

    /// Writes the remaining lines, and returns all results. After an early stop, some are missing.
    fn finish(mut self) -> Result<Vec<RunResult>, Failure> {
        for i in self.next..self.results.len() {
            self.write(i);
        }
        if let Some(line) = stopped_line(self.results.iter().flatten().count(), self.results.len()) {
            self.put(Ok(line));
        }
        match self.error {
            Some(error) => Err(Failure::writing("the lines of JSON")(error)),
            None => Ok(self.results.into_iter().flatten().collect()),
        }
    }
}

/// Calls `one` with every item on `jobs` threads, in any order. The results are in the order of the items.
///
/// # Errors
/// If threads cannot be made.
pub fn spread<T: Sync, R: Send>(
    items: &[T],
    jobs: Option<NonZero<usize>>,
    watch: &dyn Watch,
    one: impl Fn(&T) -> R + Sync,
) -> Result<Vec<R>, Failure> {
    use rayon::prelude::*;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs.map_or(0, NonZero::get)).build();
    let pool = pool.map_err(|e| Failure::Output(format!("threads: {e}")))?;
    let counted = |item: &T| {
        let result = one(item);
        watch.finished_one();
        result
    };
    Ok(pool.install(|| items.par_iter().with_max_len(1).map(counted).collect()))
}

/// One run to be made.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    /// The scenario's file with every override.
    pub document: &'a Document,
    /// The document's scenario for this variant.
    pub scenario: &'a Scenario,
    /// The variant: a scheduler, or plain TCP on a path.
    pub variant: &'a Variant,
    /// The seed.
    pub seed: u64,
    /// Schedulers and controllers by name.
    pub registry: &'a Registry,
    /// The files that the scenario names.
    pub files: &'a (dyn Files + Sync),
    /// Called with the simulation before it runs, for example to record a capture. Results do not depend on it.
    pub prepare: Option<&'a Prepare<'a>>,
    /// The run's number in the order of its plan.
    pub number: usize,
}

/// A function that prepares the simulation of the run with this number.
pub type Prepare<'a> = dyn Fn(usize, &mut Simulation) + Sync + 'a;

/// A function that makes a run.
pub type Engine = dyn Fn(&Run<'_>) -> RunResult + Sync;

/// Makes a run in the simulator. Mistakes in the input were found when the plan was made.
pub fn simulate(run: &Run<'_>) -> RunResult {
    let result = run_watched(run.document, run.variant, run.seed, run.registry, run.files, |simulation| {
        if let Some(prepare) = run.prepare {
            prepare(run.number, simulation);
        }
    });
    result.unwrap_or_else(|error| failed(run, &error.to_string()))
}

/// The result of a run that could not be made.
pub fn failed(run: &Run<'_>, reason: &str) -> RunResult {
    let measured = run.scenario.connections.iter().find(|c| c.measured);
    RunResult {
        schema_version: SCHEMA_VERSION,
        scenario: run.scenario.name.clone(),
        scheduler: run.variant.label(),
        congestion: measured.map_or(String::new(), |c| c.engine.congestion.to_string()),
        host: measured.map(|c| c.host).unwrap_or_default(),
        seed: run.seed,
        status: Status::Failed,
        reason: Some(reason.into()),
        plain_tcp: match run.variant {
            Variant::PlainTcp(_) => measured.and_then(|c| c.paths.first().copied()),
            _ => None,
        },
        manifest: Manifest {
            version: env!("CARGO_PKG_VERSION").into(),
            overrides: run.document.overrides().iter().cloned().collect(),
            ..Manifest::default()
        },
        ..RunResult::default()
    }
}
