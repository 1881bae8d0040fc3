//! Makes a result from a run.

use pathweave_algorithms::Registry;
use pathweave_lab::results::{Manifest, RunResult, SCHEMA_VERSION, Status};
use pathweave_lab::run_watched;
use pathweave_lab::scenario::{Document, Files, Scenario, Variant};
use pathweave_lab::sim::Simulation;

/// One run that is to be made.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    /// The scenario's file with every override.
    pub document: &'a Document,
    /// The document as it is for this variant.
    pub scenario: &'a Scenario,
    /// A scheduler, or plain TCP on a path.
    pub variant: &'a Variant,
    /// The seed.
    pub seed: u64,
    /// Schedulers and controllers by name.
    pub registry: &'a Registry,
    /// The files that the scenario names.
    pub files: &'a (dyn Files + Sync),
    /// What is done with the simulation before it runs: a capture is asked for, say. Results do not depend on it.
    pub prepare: Option<&'a Prepare<'a>>,
    /// The run's number in the order of its plan.
    pub number: usize,
}

/// Prepares the simulation of the run with this number.
pub type Prepare<'a> = dyn Fn(usize, &mut Simulation) + Sync + 'a;

/// Makes runs.
pub type Engine = dyn Fn(&Run<'_>) -> RunResult + Sync;

/// Runs in the simulator. Mistakes in the input were found when the plan was made.
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
