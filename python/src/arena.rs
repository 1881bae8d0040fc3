//! The arena: plans on which schedulers compete, run in memory.

use crate::error::{input, raised};
use crate::run::watched;
use crate::scheduler::registry;
use crate::table::{Column, Table};
use pathweave_experiments::arena::{Scores, Who, add, answer, html_page, text};
use pathweave_experiments::record::Record;
use pathweave_experiments::results::Results;
use pathweave_runner::{Competition, Failure, Points, ReadyPlan, Watch, simulate, spread, version};
use pyo3::prelude::*;
use std::num::NonZero;
use std::path::PathBuf;

/// The arguments' names in messages.
const FROM: &str = "source";
const POINTS: &str = "points";

/// The scores of schedulers over points of the arena.
#[pyclass(module = "pathweave._native", frozen)]
pub(crate) struct Arena {
    scores: Vec<Scores>,
    seeds: u64,
    failures: Vec<String>,
    schedulers: Vec<String>,
}

#[pymethods]
impl Arena {
    /// The first scheduler against the second one, in a sentence; empty with one scheduler.
    fn answer(&self) -> String {
        answer(&self.scores).unwrap_or_default()
    }

    /// The answer and all tables, as the command prints them.
    fn text(&self) -> String {
        text(&self.scores, self.seeds)
    }

    /// The page.
    fn page(&self) -> String {
        let command =
            format!("pathweave arena {}", self.schedulers.iter().take(2).cloned().collect::<Vec<_>>().join(","));
        html_page(&self.scores, self.seeds, &command, version())
    }

    /// The runs that did not complete.
    fn problems(&self) -> Vec<String> {
        self.failures.clone()
    }

    /// A row for each scheduler and point.
    fn points(&self) -> PyResult<Table> {
        let rows = || {
            let schedulers = self.scores.iter().filter(|s| s.who == Who::Scheduler);
            schedulers.flat_map(|s| s.points.iter().map(move |point| (s.scheduler.as_str(), point)))
        };
        let words = |of: &dyn Fn(&str, &pathweave_experiments::arena::Point) -> String| {
            Column::Word(rows().map(|(scheduler, point)| Some(of(scheduler, point))).collect())
        };
        Table::new(vec![
            ("scheduler".into(), words(&|scheduler, _| scheduler.to_owned())),
            ("plan".into(), words(&|_, point| point.plan.clone())),
            ("scenario".into(), words(&|_, point| point.scenario.clone())),
            ("point".into(), Column::Whole(rows().map(|(_, point)| Some(point.number as u64)).collect())),
            ("score".into(), Column::Number(rows().map(|(_, point)| point.score).collect())),
            ("bound_share".into(), Column::Number(rows().map(|(_, point)| point.bound_share).collect())),
            ("settings".into(), Column::Text(rows().map(|(_, point)| Some(point.settings.clone())).collect())),
        ])
    }
}

/// Makes the runs of the points (all points, if there are none), and scores the schedulers.
#[pyfunction]
#[pyo3(signature = (schedulers, against, *, points, only, folder, seeds, quick, jobs, own, progress))]
#[expect(clippy::too_many_arguments, reason = "Python's side names each of them")]
pub(crate) fn arena(
    py: Python<'_>,
    schedulers: &str,
    against: &str,
    points: Vec<String>,
    only: Option<String>,
    folder: Option<PathBuf>,
    seeds: Option<NonZero<u32>>,
    quick: bool,
    jobs: Option<NonZero<usize>>,
    own: Vec<Bound<'_, PyAny>>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<(Arena, Option<PyErr>)> {
    let registry = registry(&own)?;
    let read = || {
        let asked = Competition::new(Some(schedulers), Some(against), &registry)?;
        let competition = Competition { seeds, quick, ..asked };
        let points: Option<Vec<Points>> = points.iter().map(|text| Points::parse(text)).collect();
        let allowed = || {
            Failure::Input(format!("{POINTS}: allowed: FAMILY, FAMILY/N and FAMILY/N-M, such as bulk-evaluation/1-3"))
        };
        let points = points.ok_or_else(allowed)?;
        let mut plans = pathweave_runner::Arena::open(folder.as_deref(), FROM)?;
        if let Some(only) = &only {
            plans.only(only, "--only")?;
        }
        plans.with_points(&points, POINTS)?;
        plans.leave_out_recorded(FROM)?;
        let ready = |name: &String| plans.read_points(name, &points, &competition, (POINTS, &registry));
        let ready = plans.plans().iter().map(ready).collect::<Result<Vec<ReadyPlan>, Failure>>()?;
        Ok::<_, Failure>((ready, competition.schedulers))
    };
    let read = crate::error::detached(py, read)?;
    let (plans, schedulers) = read.map_err(|failure| raised(py, &failure))?;
    let runs: Vec<(usize, usize)> =
        plans.iter().enumerate().flat_map(|(plan, ready)| (0..ready.sweep.len()).map(move |run| (plan, run))).collect();
    if runs.is_empty() {
        return Err(input(py, "there are no runs at these points"));
    }
    if let Some(progress) = &progress {
        progress.setattr("total", runs.len())?;
    }
    let (records, interrupted) = watched(py, progress.as_ref(), |watcher| {
        let one = |(plan, run): &(usize, usize)| {
            (!watcher.stop()).then(|| (*plan, plans[*plan].run(*run, &registry, &simulate)))
        };
        spread(&runs, jobs, watcher, one)
    })?;
    let records: Vec<(usize, Record)> =
        records.map_err(|failure| raised(py, &failure))?.into_iter().flatten().collect();
    let scored = crate::error::detached(py, || scored(&plans, records, schedulers))?;
    Ok((scored, interrupted))
}

/// The scores from the runs of the plans.
fn scored(plans: &[ReadyPlan], records: Vec<(usize, Record)>, schedulers: Vec<String>) -> Arena {
    let mut by_plan: Vec<Vec<Record>> = plans.iter().map(|_| Vec::new()).collect();
    for (plan, record) in records {
        by_plan[plan].push(record);
    }
    let (mut scores, mut failures, mut seeds) = (Vec::new(), Vec::new(), 0);
    for (ready, records) in plans.iter().zip(&by_plan) {
        let sweep = &ready.sweep;
        let references = sweep.variants.len() - schedulers.len() - sweep.plain_tcp().count();
        let results = Results::new(sweep, records);
        failures.extend(results.problems.iter().cloned());
        seeds = sweep.plan.seeds.max(seeds);
        add(&mut scores, sweep, &results, references);
    }
    Arena { scores, seeds, failures, schedulers }
}
