//! Makes a result from a run.

use crate::pcap::Capture;
use pathweave_algorithms::Registry;
use pathweave_lab::results::{Manifest, RunResult, SCHEMA_VERSION, Status};
use pathweave_lab::run_watched;
use pathweave_lab::scenario::{Document, Files, Scenario, Variant};

/// One run that is to be made.
pub(crate) struct Run<'a> {
    pub(crate) document: &'a Document,
    /// The document as it is for this variant.
    pub(crate) scenario: &'a Scenario,
    pub(crate) variant: &'a Variant,
    pub(crate) seed: u64,
    pub(crate) registry: &'a Registry,
    pub(crate) files: &'a (dyn Files + Sync),
    /// Its capture goes here.
    pub(crate) capture: Option<Capture>,
    /// Every segment becomes bytes on its way.
    pub(crate) through_bytes: bool,
}

/// Makes runs.
pub(crate) type Engine = dyn Fn(&Run<'_>) -> RunResult + Sync;

/// Runs in the simulator. Mistakes in the input were found when the plan was made.
pub(crate) fn simulate(run: &Run<'_>) -> RunResult {
    let result = run_watched(run.document, run.variant, run.seed, run.registry, run.files, |simulation| {
        if let Some(capture) = run.capture.clone() {
            simulation.set_host_capture(Box::new(move |packet| capture.add(packet)));
        }
        if run.through_bytes {
            simulation.set_through_bytes();
        }
    });
    result.unwrap_or_else(|error| failed(run, &error.to_string()))
}

/// The result of a run that could not be made.
pub(crate) fn failed(run: &Run<'_>, reason: &str) -> RunResult {
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
