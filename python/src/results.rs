//! The results of runs, as tables, text and pages.

use crate::error::{detached, input, raised};
use crate::run::problems;
use crate::table::{Column, Table};
use pathweave_algorithms::Registry;
use pathweave_lab::results::{Delays, Metrics, PathMetrics, RunResult, Status, TimeSpent};
use pathweave_lab::scenario::did_you_mean;
use pathweave_report::{Comparison, Difference, Estimate, Standing, csv, ranked, verdict};
use pathweave_runner::{RunPlan, planned, stopped_line, write_pages};
use pyo3::prelude::*;
use serde_json::Value;
use std::path::PathBuf;

/// Metrics that come first in a table.
const FIRST: [&str; 3] = ["goodput_mbps", "aggregation_benefit", "completion_s"];

/// The exception for an argument that is none of these names.
fn unknown(py: Python<'_>, argument: &str, value: &str, names: Vec<&str>) -> PyErr {
    let allowed = format!("allowed: {}", names.join(", "));
    input(py, &format!("{argument} = {value}: {}", did_you_mean(value, names, &allowed)))
}

/// The results of `compare`.
#[pyclass(module = "pathweave._native", frozen)]
pub(crate) struct RunSet {
    results: Vec<RunResult>,
    planned: usize,
    plans: Vec<RunPlan>,
    registry: Registry,
    against: Option<String>,
    why: Option<String>,
}

impl RunSet {
    pub(crate) fn new(
        results: Vec<RunResult>,
        planned: usize,
        plans: Vec<RunPlan>,
        registry: Registry,
        against: Option<String>,
        why: Option<String>,
    ) -> Self {
        RunSet { results, planned, plans, registry, against, why }
    }

    fn comparisons(&self) -> Vec<Comparison> {
        Comparison::all(&self.results, &planned(&self.plans), self.against.as_deref())
    }
}

#[pymethods]
impl RunSet {
    fn __len__(&self) -> usize {
        self.results.len()
    }

    /// Number of planned runs.
    #[getter]
    fn planned(&self) -> usize {
        self.planned
    }

    /// The names of the scenarios.
    fn scenarios(&self) -> Vec<String> {
        self.plans.iter().map(|plan| plan.name.clone()).collect()
    }

    /// The names of a scenario's paths.
    fn path_names(&self, scenario: &str) -> Vec<String> {
        let plan = self.plans.iter().find(|plan| plan.name == scenario);
        let first = plan.and_then(|plan| plan.variants.first());
        first.map(|(_, scenario)| scenario.paths.iter().map(|path| path.name.clone()).collect()).unwrap_or_default()
    }

    /// The length of a step of the series of a scenario's runs, s; `None` if no run has a series.
    fn step_s(&self, scenario: &str) -> Option<f64> {
        let mut steps = self.results.iter().filter(|run| run.scenario == scenario).map(|run| run.series.step_s);
        steps.find(|step| *step > 0.0)
    }

    /// A row for each run, with every metric.
    fn runs(&self) -> PyResult<Table> {
        let text = |f: fn(&RunResult) -> Option<String>| self.results.iter().map(f).collect::<Vec<_>>();
        let mut columns = vec![
            ("scenario".to_owned(), Column::Word(text(|r| Some(r.scenario.clone())))),
            ("scheduler".to_owned(), Column::Word(text(|r| Some(r.scheduler.clone())))),
            ("congestion".to_owned(), Column::Word(text(|r| Some(r.congestion.clone())))),
            ("seed".to_owned(), Column::Seed(self.results.iter().map(|r| Some(r.seed)).collect())),
            ("status".to_owned(), Column::Word(text(|r| Some(r.status.word().into())))),
            ("reason".to_owned(), Column::Text(text(|r| r.reason.clone()))),
            ("digest".to_owned(), Column::Text(text(|r| Some(r.digest.clone())))),
            (
                "plain_tcp".to_owned(),
                Column::Word(text(|r| r.plain_tcp.and_then(|path| r.paths.get(path)).map(|path| path.name.clone()))),
            ),
        ];
        columns.extend(metrics(&self.results));
        Table::new(columns)
    }

    /// The numbers over time, a row for each run, quantity, place and step.
    #[pyo3(signature = (scheduler=None, seed=None))]
    fn series(&self, scheduler: Option<&str>, seed: Option<u64>) -> PyResult<Table> {
        let mut rows = SeriesRows::default();
        for (number, run) in self.results.iter().enumerate() {
            if scheduler.is_none_or(|name| name == run.scheduler) && seed.is_none_or(|number| number == run.seed) {
                rows.number = number as u64;
                rows.add(run);
            }
        }
        rows.table()
    }

    /// A row for each scheduler of each scenario, the best first.
    fn summary(&self) -> PyResult<Table> {
        let comparisons = self.comparisons();
        let rows: Vec<_> = comparisons.iter().flat_map(|c| c.summaries.iter().map(move |s| (c, s))).collect();
        type Row<'a> = (&'a Comparison, &'a pathweave_report::Summary);
        let words = |f: &dyn Fn(&Row<'_>) -> Option<String>| Column::Word(rows.iter().map(f).collect());
        let numbers = |f: &dyn Fn(&Row<'_>) -> Option<f64>| Column::Number(rows.iter().map(f).collect());
        let counts = |f: &dyn Fn(&Row<'_>) -> usize| Column::Whole(rows.iter().map(|r| Some(f(r) as u64)).collect());
        let low = |e: Option<Estimate>| e.and_then(|e| e.interval).map(|i| i.0);
        let high = |e: Option<Estimate>| e.and_then(|e| e.interval).map(|i| i.1);
        let reference = |c: &Comparison| c.reference.map(|r| c.summaries[r].scheduler.clone());
        let bound = |d: Option<Difference>| d.and_then(|d| d.bounds());
        let standing = |s: Standing| match s {
            Standing::Better => "better",
            Standing::Level => "level",
            Standing::Worse => "worse",
        };
        let mut columns = vec![
            ("scenario", words(&|(c, _)| Some(c.scenario.clone()))),
            ("scheduler", words(&|(_, s)| Some(s.scheduler.clone()))),
            ("same_packets_as", words(&|(_, s)| Some(s.same.join(", ")).filter(|same| !same.is_empty()))),
            ("plain_tcp", words(&|(c, s)| s.plain_tcp.map(|path| c.path_name(path)))),
            ("planned", counts(&|(_, s)| s.planned)),
            ("runs", counts(&|(_, s)| s.runs)),
            ("stalled", counts(&|(_, s)| s.stalled)),
            ("failed", counts(&|(_, s)| s.failed)),
            ("judged_by", words(&|(c, _)| Some(c.judged.column().to_owned()))),
            ("goodput_mbps", numbers(&|(_, s)| Some(s.goodput_mbps.mean))),
            ("goodput_low_mbps", numbers(&|(_, s)| low(Some(s.goodput_mbps)))),
            ("goodput_high_mbps", numbers(&|(_, s)| high(Some(s.goodput_mbps)))),
            ("completion_s", numbers(&|(_, s)| s.completion_s.map(|e| e.mean))),
            ("completion_low_s", numbers(&|(_, s)| low(s.completion_s))),
            ("completion_high_s", numbers(&|(_, s)| high(s.completion_s))),
            ("delay_p50_ms", numbers(&|(_, s)| s.delay_p50_ms())),
            ("delay_p99_ms", numbers(&|(_, s)| s.delay_p99_ms())),
            ("longest_gap_ms", numbers(&|(_, s)| s.longest_gap_ms())),
            ("aggregation_benefit", numbers(&|(_, s)| s.benefit.map(|e| e.mean))),
            ("reference", words(&|(c, _)| reference(c))),
            ("difference", numbers(&|(_, s)| s.against.map(|d| d.mean()))),
            ("difference_low", numbers(&|(_, s)| bound(s.against).map(|b| b.0))),
            ("difference_high", numbers(&|(_, s)| bound(s.against).map(|b| b.1))),
            (
                "significant",
                Column::Truth(rows.iter().map(|(_, s)| s.against.and_then(|d| d.is_significant())).collect()),
            ),
            ("against_plain_tcp", words(&|(_, s)| s.standing().map(|found| standing(found).into()))),
            ("share_by_path", Column::Numbers(rows.iter().map(|(_, s)| s.share.clone()).collect())),
        ];
        columns.extend([
            ("no_data_s", numbers(&|(_, s)| Some(s.time.no_data_s))),
            ("window_full_s", numbers(&|(_, s)| Some(s.time.window_full_s))),
            ("congestion_windows_full_s", numbers(&|(_, s)| Some(s.time.congestion_windows_full_s))),
            ("scheduler_waits_s", numbers(&|(_, s)| Some(s.time.scheduler_waits_s))),
            ("nagle_s", numbers(&|(_, s)| Some(s.time.nagle_s))),
            ("pacing_s", numbers(&|(_, s)| Some(s.time.pacing_s))),
            ("send_buffer_s", numbers(&|(_, s)| Some(s.time.send_buffer_s))),
            ("sending_s", numbers(&|(_, s)| Some(s.time.sending_s))),
        ]);
        Table::new(columns.into_iter().map(|(name, column)| (name.to_owned(), column)).collect())
    }

    /// A metric of each scheduler minus that of `against`, seed by seed.
    fn differences(&self, py: Python<'_>, against: &str, metric: &str) -> PyResult<Table> {
        let known = metrics(&self.results);
        let values: Vec<Option<f64>> = match known.iter().find(|(name, _)| name == metric) {
            Some((_, Column::Number(values))) => values.clone(),
            Some((_, Column::Whole(values))) => values.iter().map(|value| value.map(|x| x as f64)).collect(),
            _ => {
                let single = |(name, column): &(String, Column)| {
                    matches!(column, Column::Number(_) | Column::Whole(_)).then(|| name.clone())
                };
                let names: Vec<String> = known.iter().filter_map(single).collect();
                return Err(unknown(py, "metric", metric, names.iter().map(String::as_str).collect()));
            }
        };
        if !self.results.iter().any(|run| run.scheduler == against) {
            let mut names: Vec<&str> = self.results.iter().map(|run| run.scheduler.as_str()).collect();
            names.sort_unstable();
            names.dedup();
            return Err(unknown(py, "against", against, names));
        }
        let mut groups: Vec<(&str, &str)> = Vec::new();
        for run in &self.results {
            let key = (run.scenario.as_str(), run.scheduler.as_str());
            if run.scheduler != against && !groups.contains(&key) {
                groups.push(key);
            }
        }
        let of = |scenario: &str, scheduler: &str, seed: u64| {
            let same = |run: &RunResult| run.scenario == scenario && run.scheduler == scheduler && run.seed == seed;
            self.results.iter().position(|run| same(run) && run.status != Status::Failed).and_then(|i| values[i])
        };
        let found: Vec<(&str, &str, usize, Option<Difference>)> = groups
            .into_iter()
            .map(|(scenario, scheduler)| {
                let mine = self.results.iter().zip(&values);
                let mine = mine.filter(|(run, _)| run.scenario == scenario && run.scheduler == scheduler);
                let mine = mine.filter(|(run, _)| run.status != Status::Failed);
                let pairs = mine.filter_map(|(run, value)| Some(((*value)?, of(scenario, against, run.seed)?)));
                let pairs: Vec<(f64, f64)> = pairs.collect();
                (scenario, scheduler, pairs.len(), Difference::of(&pairs))
            })
            .collect();
        let word = |text: &str| Some(text.to_owned());
        let bounds = |d: &Option<Difference>| d.and_then(|d| d.bounds());
        Table::new(vec![
            ("scenario".into(), Column::Word(found.iter().map(|row| word(row.0)).collect())),
            ("scheduler".into(), Column::Word(found.iter().map(|row| word(row.1)).collect())),
            ("against".into(), Column::Word(found.iter().map(|_| word(against)).collect())),
            ("metric".into(), Column::Word(found.iter().map(|_| word(metric)).collect())),
            ("seeds".into(), Column::Whole(found.iter().map(|row| Some(row.2 as u64)).collect())),
            ("difference".into(), Column::Number(found.iter().map(|row| row.3.map(|d| d.mean())).collect())),
            ("low".into(), Column::Number(found.iter().map(|row| bounds(&row.3).map(|b| b.0)).collect())),
            ("high".into(), Column::Number(found.iter().map(|row| bounds(&row.3).map(|b| b.1)).collect())),
            (
                "significant".into(),
                Column::Truth(found.iter().map(|row| row.3.and_then(|d| d.is_significant())).collect()),
            ),
        ])
    }

    /// The answer for each scenario, in sentences.
    fn verdicts(&self) -> Vec<(String, Option<String>)> {
        self.comparisons().iter().map(|c| (c.scenario.clone(), verdict(c).map(|v| v.to_string()))).collect()
    }

    /// The ranked tables as the command shows them.
    fn text(&self, columns: usize) -> String {
        self.comparisons().iter().map(|comparison| ranked(comparison, self.why.as_deref(), columns)).collect()
    }

    /// A line for each run that did not complete, and for each warning.
    fn problems(&self) -> Vec<String> {
        problems(&self.results)
    }

    /// A run's line of JSON.
    fn json(&self, number: usize) -> PyResult<String> {
        let run = self.results.get(number);
        let run = run.ok_or_else(|| pyo3::exceptions::PyIndexError::new_err("there is no such run"))?;
        run.to_json().map_err(|e| pyo3::exceptions::PyRuntimeError::new_err(e.to_string()))
    }

    /// Writes a line of JSON for each run, and a last one if the comparison was stopped.
    fn write_jsonl(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let written = detached(py, || {
            let mut text = String::new();
            for run in &self.results {
                text += &run.to_json()?;
                text.push('\n');
            }
            text.extend(stopped_line(self.results.len(), self.planned).map(|line| line + "\n"));
            std::fs::write(&path, text)
        })?;
        written.map_err(PyErr::from)
    }

    /// The numbers of the table as comma-separated values.
    fn csv(&self) -> String {
        csv(&self.comparisons())
    }

    /// Writes the offline page, and pages of explanations beside it; the answer is the paths of those.
    fn write_page(&self, py: Python<'_>, path: PathBuf) -> PyResult<Vec<PathBuf>> {
        let options = (self.against.as_deref(), self.why.as_deref());
        let written = detached(py, || write_pages(&path, &self.results, &self.plans, options, &self.registry))?;
        written.map_err(|failure| raised(py, &failure))
    }
}

/// The names of all columns of metrics of a run.
#[pyfunction]
pub(crate) fn run_metrics() -> Vec<String> {
    metrics(&[]).into_iter().map(|(name, _)| name).collect()
}

/// Every metric as a column; a failed run has none. Names are those of `docs/results-format.md` with `_` in the place of dots; lists by path are lists.
pub(crate) fn metrics(results: &[RunResult]) -> Vec<(String, Column)> {
    // What every run could have says which columns there are, whatever these runs have.
    let template = Metrics {
        message_delay_ms: Some(Delays::default()),
        undelivered_messages: Some(0),
        per_path: vec![PathMetrics::default()],
        time: TimeSpent::default(),
        ..Metrics::default()
    };
    let template = serde_json::to_value(&template).unwrap_or_default();
    let mut paths = Vec::new();
    leaves(&template, &mut Vec::new(), &mut paths);
    // Failed runs are no measurements.
    let measured = |r: &RunResult| (r.status != Status::Failed).then(|| serde_json::to_value(&r.metrics).ok())?;
    let rows: Vec<Value> = results.iter().map(|r| measured(r).unwrap_or_default()).collect();
    let mut columns: Vec<(String, Column)> = Vec::new();
    for path in paths {
        let keys: Vec<&str> = path.keys.iter().map(String::as_str).collect();
        let found = |row: &Value| keys.iter().try_fold(row.clone(), |value, key| value.get(*key).cloned());
        let column = match path.kind {
            Leaf::Whole => Column::Whole(rows.iter().map(|row| found(row)?.as_u64()).collect()),
            Leaf::Number => Column::Number(rows.iter().map(|row| found(row)?.as_f64()).collect()),
            Leaf::List => Column::Numbers(rows.iter().map(|row| numbers(found(row), None)).collect()),
            Leaf::ListOf(ref field) => {
                Column::Numbers(rows.iter().map(|row| numbers(found(row), Some(field))).collect())
            }
        };
        columns.push((path.name(), column));
    }
    columns.sort_by_key(|(name, _)| FIRST.iter().position(|first| first == name).unwrap_or(FIRST.len()));
    columns
}

/// The kind of a metric.
enum Leaf {
    Whole,
    Number,
    List,
    /// A field of a list's tables.
    ListOf(String),
}

/// The position of a metric in a result.
struct Path {
    keys: Vec<String>,
    kind: Leaf,
}

impl Path {
    fn name(&self) -> String {
        match &self.kind {
            Leaf::ListOf(field) => format!("{}_{field}", self.keys.join("_")),
            _ => self.keys.join("_"),
        }
    }
}

fn leaves(value: &Value, keys: &mut Vec<String>, out: &mut Vec<Path>) {
    let kinds = match value {
        Value::Object(table) => {
            for (key, value) in table {
                keys.push(key.clone());
                leaves(value, keys, out);
                keys.pop();
            }
            return;
        }
        Value::Array(list) => match list.first() {
            Some(Value::Object(table)) => table.keys().map(|field| Leaf::ListOf(field.clone())).collect(),
            _ => vec![Leaf::List],
        },
        Value::Number(number) if number.is_u64() => vec![Leaf::Whole],
        // What may be missing is a number where it is not.
        _ => vec![Leaf::Number],
    };
    out.extend(kinds.into_iter().map(|kind| Path { keys: keys.clone(), kind }));
}

fn numbers(list: Option<Value>, field: Option<&str>) -> Vec<f64> {
    let list = list.and_then(|value| value.as_array().cloned()).unwrap_or_default();
    let number = |value: &Value| field.map_or(value.as_f64(), |field| value.get(field)?.as_f64());
    list.iter().filter_map(number).collect()
}

/// The series' columns under way.
#[derive(Default)]
struct SeriesRows {
    /// The number of the run that is being added.
    number: u64,
    run: Vec<Option<u64>>,
    scenario: Vec<Option<String>>,
    scheduler: Vec<Option<String>>,
    seed: Vec<Option<u64>>,
    time: Vec<Option<f64>>,
    quantity: Vec<Option<String>>,
    connection: Vec<Option<String>>,
    path: Vec<Option<String>>,
    link: Vec<Option<String>>,
    value: Vec<Option<f64>>,
}

/// The object of a series.
#[derive(Clone, Copy, Default)]
struct Of<'a> {
    connection: Option<&'a str>,
    path: Option<&'a str>,
    link: Option<&'a str>,
}

impl SeriesRows {
    fn add(&mut self, run: &RunResult) {
        let series = &run.series;
        let name = |path: usize| run.paths.get(path).map(|path| path.name.as_str());
        self.put(run, "goodput_mbps", Of::default(), series.goodput_mbps.iter().map(|x| Some(*x)));
        let waiting = series.out_of_order_bytes.iter().map(|x| Some(*x as f64));
        self.put(run, "out_of_order_bytes", Of::default(), waiting);
        for (path, values) in series.per_path_mbps.iter().enumerate() {
            let of = Of { path: name(path), ..Of::default() };
            self.put(run, "path_mbps", of, values.iter().map(|x| Some(*x)));
        }
        for subflow in &series.subflows {
            let of = Of { connection: Some(&subflow.connection), path: name(subflow.path), link: None };
            self.put(run, "cwnd_segments", of, subflow.cwnd_segments.iter().map(|x| Some(f64::from(*x))));
            self.put(run, "in_flight_segments", of, subflow.in_flight_segments.iter().map(|x| Some(f64::from(*x))));
            self.put(run, "srtt_ms", of, subflow.srtt_ms.iter().map(|x| Some(*x)));
        }
        for quantity in &series.scheduler {
            let of = Of { connection: Some(&quantity.connection), path: quantity.path.and_then(name), link: None };
            self.put(run, &quantity.name, of, quantity.values.iter().copied());
        }
        for link in &series.links {
            let of = Of { link: Some(&link.link), ..Of::default() };
            self.put(run, "queue_bytes", of, link.queue_bytes.iter().map(|x| Some(*x as f64)));
            self.put(run, "capacity_mbps", of, link.capacity_mbps.iter().map(|x| Some(*x)));
        }
    }

    fn put(&mut self, run: &RunResult, quantity: &str, of: Of<'_>, values: impl Iterator<Item = Option<f64>>) {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        for (step, value) in values.enumerate() {
            self.run.push(Some(self.number));
            self.scenario.push(Some(run.scenario.clone()));
            self.scheduler.push(Some(run.scheduler.clone()));
            self.seed.push(Some(run.seed));
            self.time.push(Some(step as f64 * run.series.step_s));
            self.quantity.push(Some(quantity.to_owned()));
            self.connection.push(owned(of.connection));
            self.path.push(owned(of.path));
            self.link.push(owned(of.link));
            self.value.push(value);
        }
    }

    fn table(self) -> PyResult<Table> {
        Table::new(vec![
            ("run".into(), Column::Whole(self.run)),
            ("scenario".into(), Column::Word(self.scenario)),
            ("scheduler".into(), Column::Word(self.scheduler)),
            ("seed".into(), Column::Seed(self.seed)),
            ("time_s".into(), Column::Number(self.time)),
            ("quantity".into(), Column::Word(self.quantity)),
            ("connection".into(), Column::Word(self.connection)),
            ("path".into(), Column::Word(self.path)),
            ("link".into(), Column::Word(self.link)),
            ("value".into(), Column::Number(self.value)),
        ])
    }
}
