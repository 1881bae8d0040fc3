//! The comparison of the finished runs, as `report` makes it.

use pathweave_algorithms::Registry;
use pathweave_lab::benefit::fill_aggregation_benefit;
use pathweave_lab::results::{RunResult, Status};
use pathweave_report::{Comparison, Tone, drawn, verdict};
use pathweave_runner::{RunPlan, again, planned};
use serde::Serialize;
use std::slice;

/// The answer to a request for a comparison.
#[derive(Serialize)]
pub(crate) struct Answer<D> {
    /// The sentences of the answer, what is missing first.
    sentences: Vec<String>,
    /// The verdict's tone: `good`, `open` or `bad`.
    tone: &'static str,
    /// How many seeds are counted.
    seeds: usize,
    /// The data that the report page's script draws.
    drawn: D,
    /// The 95 % interval of each row's value.
    intervals: Vec<Option<(f64, f64)>>,
    /// Runs that did not complete, in sentences.
    problems: Vec<String>,
    /// The scenario with every setting, and the command that makes the same runs from it.
    toml: String,
    command: String,
}

/// Compares `results`, the finished runs of `plan`.
pub(crate) fn answer(plan: &RunPlan, results: &mut [RunResult], registry: &Registry) -> Answer<impl Serialize + use<>> {
    fill_aggregation_benefit(results);
    let comparison = Comparison::all(results, &planned(slice::from_ref(plan)), None).remove(0);
    let said = verdict(&comparison);
    let tone = match said.as_ref().map(|verdict| verdict.tone) {
        Some(Tone::Good) => "good",
        Some(Tone::Bad) => "bad",
        Some(Tone::Open) | None => "open",
    };
    let again = again(plan, (None, None), registry).unwrap_or_default();
    Answer {
        sentences: said.map(|verdict| [verdict.missing, verdict.answer].concat()).unwrap_or_default(),
        tone,
        seeds: comparison.seeds.len(),
        drawn: drawn(&comparison, results),
        intervals: comparison.summaries.iter().map(|row| row.value.and_then(|value| value.interval)).collect(),
        problems: results.iter().filter_map(problem).collect(),
        toml: again.text,
        command: again.command,
    }
}

/// Says how a run ended, unless it completed.
fn problem(run: &RunResult) -> Option<String> {
    let reason = run.reason.as_deref().unwrap_or("no reason given");
    let told = || format!("{}, seed {}: {}: {reason}", run.scheduler, run.seed, run.status.word());
    (run.status != Status::Completed).then(told)
}
