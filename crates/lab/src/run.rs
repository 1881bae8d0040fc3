//! Makes one run: a pure function of a scenario file, a variant, a seed and the files that the scenario names.

use crate::benefit::is_backup;
use crate::results::{Manifest, PathInfo, RunResult, SCHEMA_VERSION, Series, Status};
use crate::scenario::{Document, Files, Scenario, ScenarioError, Variant};
use crate::sim::{BuildError, Simulation};
use pathweave_algorithms::Registry;

/// The reason why a run could not start.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum RunError {
    /// The scenario has a mistake.
    Scenario(Box<ScenarioError>),
    /// A file that the scenario names is missing or wrong.
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
/// If the scenario or a file that it names is wrong. A run that starts always gives a result.
pub fn run(
    document: &Document,
    variant: &Variant,
    seed: u64,
    registry: &Registry,
    files: &dyn Files,
) -> Result<RunResult, RunError> {
    run_watched(document, variant, seed, registry, files, |_| {})
}

/// Like [`run`], but first gives the simulation to `watch`, for example to take a capture. The result does not depend
/// on `watch`.
///
/// # Errors
/// As for [`run`].
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
    let connection = measured_connection(&scenario);
    let backup = |path| is_backup(&scenario, variant, path);
    let paths = (0..scenario.paths.len()).map(|i| PathInfo { name: scenario.paths[i].name.clone(), backup: backup(i) });
    Ok(RunResult {
        schema_version: SCHEMA_VERSION,
        scenario: scenario.name.clone(),
        scheduler: variant.label(),
        congestion: connection.map(|c| c.engine.congestion.to_string()).unwrap_or_default(),
        host: connection.map(|c| c.host).unwrap_or_default(),
        seed,
        status: measured.status,
        reason: measured.reason,
        digest: measured.digest,
        paths: paths.collect(),
        plain_tcp: match variant {
            Variant::PlainTcp(_) => connection.and_then(|c| c.paths.first().copied()),
            _ => None,
        },
        warnings: measured.warnings,
        metrics: measured.metrics,
        connections: measured.connections,
        traffic: measured.traffic,
        // After the failure nothing is measured.
        series: if measured.status == Status::Failed { Series::default() } else { measured.series },
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
    let parameters = measured_connection(scenario).map(|c| c.scheduler_parameters(registry));
    let scenario_hash =
        scenario.hash(files).map_err(|(place, message)| RunError::Build(BuildError { place, message }))?;
    Ok(Manifest {
        version: env!("CARGO_PKG_VERSION").into(),
        commit: None,
        scenario_hash,
        overrides: document.overrides().iter().cloned().collect(),
        scheduler_parameters: parameters.unwrap_or_default(),
        scenario: scenario.to_toml(),
    })
}
