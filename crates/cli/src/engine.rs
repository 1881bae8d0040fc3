//! What makes a result of a run.

use pathweave_lab::results::{Manifest, Metrics, RunResult, SCHEMA_VERSION, Series, Status};
use pathweave_lab::scenario::{Files, Scenario, Variant};
use pathweave_proto::Registry;

/// One run that is to be made.
pub(crate) struct Run<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) variant: &'a Variant,
    pub(crate) seed: u64,
    pub(crate) overrides: &'a [(String, String)],
    pub(crate) registry: &'a Registry,
    pub(crate) files: &'a (dyn Files + Sync),
}

/// Makes runs.
pub(crate) type Engine = dyn Fn(&Run<'_>) -> RunResult + Sync;

/// In the simulator.
pub(crate) fn simulate(run: &Run<'_>) -> RunResult {
    let _ = (run.registry, run.files);
    failed(run, "there is no simulator yet")
}

/// The result of a run that could not be made.
pub(crate) fn failed(run: &Run<'_>, reason: &str) -> RunResult {
    let measured = run.scenario.connections.iter().find(|c| c.measured);
    RunResult {
        schema_version: SCHEMA_VERSION,
        scenario: run.scenario.name.clone(),
        scheduler: run.variant.label(),
        congestion: measured.map_or(String::new(), |c| c.congestion.to_string()),
        seed: run.seed,
        status: Status::Failed,
        reason: Some(reason.into()),
        digest: String::new(),
        metrics: Metrics::default(),
        series: Series::default(),
        manifest: Manifest {
            version: env!("CARGO_PKG_VERSION").into(),
            overrides: run.overrides.iter().cloned().collect(),
            ..Manifest::default()
        },
    }
}
