//! One run: a pure function of a scenario file, a variant, a seed and the files it names.

use crate::results::{Manifest, RunResult, SCHEMA_VERSION};
use crate::scenario::{Document, Files, Scenario, ScenarioError, Variant};
use crate::sim::{BuildError, Simulation};
use pathweave_proto::Registry;

/// Why a run could not start.
#[derive(Clone, Debug)]
pub enum RunError {
    /// The scenario is wrong.
    Scenario(Box<ScenarioError>),
    /// A file that it names is missing or wrong.
    Build(BuildError),
}

impl core::fmt::Display for RunError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            RunError::Scenario(e) => e.fmt(f),
            RunError::Build(e) => e.fmt(f),
        }
    }
}

impl core::error::Error for RunError {}

/// Runs one variant of a scenario with one seed.
///
/// # Errors
/// Where the scenario or a file that it names is wrong. A run that starts always gives a result.
pub fn run(
    document: &Document,
    variant: &Variant,
    seed: u64,
    registry: &Registry,
    files: &dyn Files,
) -> Result<RunResult, RunError> {
    run_watched(document, variant, seed, registry, files, |_| {})
}

/// Does as [`run`], after `watch` has been given the simulation to look at: to take a capture, say. The result does not
/// depend on it.
///
/// # Errors
/// As [`run`].
pub fn run_watched(
    document: &Document,
    variant: &Variant,
    seed: u64,
    registry: &Registry,
    files: &dyn Files,
    watch: impl FnOnce(&mut Simulation),
) -> Result<RunResult, RunError> {
    let scenario = document.scenario(registry, variant).map_err(|e| RunError::Scenario(Box::new(e)))?;
    let mut simulation = Simulation::new(&scenario, seed, registry, files).map_err(RunError::Build)?;
    watch(&mut simulation);
    let measured = simulation.run();
    Ok(RunResult {
        schema_version: SCHEMA_VERSION,
        scenario: scenario.name.clone(),
        scheduler: variant.label(),
        congestion: measured_connection(&scenario).map(|c| c.congestion.to_string()).unwrap_or_default(),
        seed,
        status: measured.status,
        reason: measured.reason,
        digest: measured.digest,
        metrics: measured.metrics,
        series: measured.series,
        manifest: manifest(document, &scenario, registry, files)?,
    })
}

fn measured_connection(scenario: &Scenario) -> Option<&crate::scenario::Connection> {
    scenario.connections.iter().find(|c| c.measured)
}

fn manifest(
    document: &Document,
    scenario: &Scenario,
    registry: &Registry,
    files: &dyn Files,
) -> Result<Manifest, RunError> {
    let chosen = measured_connection(scenario).map(|c| &c.scheduler);
    let entry = chosen.and_then(|a| registry.scheduler(&a.name));
    let parameters = entry.map(|e| e.parameters).unwrap_or_default();
    let given = chosen.map(|a| a.given.as_slice()).unwrap_or_default();
    let value = |name: &str, default: &str| {
        given.iter().find(|(k, _)| k == name).map_or_else(|| default.to_owned(), |(_, v)| v.clone())
    };
    let scenario_hash =
        scenario.hash(files).map_err(|(place, message)| RunError::Build(BuildError { place, message }))?;
    Ok(Manifest {
        version: env!("CARGO_PKG_VERSION").into(),
        scenario_hash,
        overrides: document.overrides().iter().cloned().collect(),
        scheduler_parameters: parameters.iter().map(|p| (p.name.to_owned(), value(p.name, p.default))).collect(),
    })
}
