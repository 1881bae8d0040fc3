//! The variants of a scenario to run, with scheduler entries such as `minrtt`, `minrtt:pr=true` or
//! `cp:mode=conservative:receive_buffer=60KB`, as written and as the registry has them.

use super::data::{Algorithm, Connection, PathMode, default_connection};
use super::error::{Problem, SCHEDULERS, ScenarioError};
use super::kinds::SchedulerParser;
use super::setting::CONNECTION;
use crate::value_parser::ValueParser;
use pathweave_algorithms::Registry;
use pathweave_proto::config::ConnectionConfig;
use pathweave_proto::congestion::ChosenController;
use pathweave_proto::parameter::{Parameter, ParameterError, Values};
use std::collections::BTreeMap;

/// A scheduler of the registry with its parameters and the connection settings that it overrides. Both have the same
/// form. If a parameter and a setting have the same name, the parameter is meant.
/// A value that contains colons can only be written in a file's `[scheduler.NAME]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchedulerSpec {
    /// The text as written, which is the label of its results.
    pub text: String,
    /// The scheduler's name and all given parameters and settings.
    pub(crate) algorithm: Algorithm,
}

impl SchedulerSpec {
    /// Reads an entry of `--schedulers`.
    ///
    /// # Errors
    /// If the text is not a name followed by `key=value` after colons.
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        let text = text.trim();
        match SchedulerParser::read(text) {
            Ok(algorithm) => Ok(SchedulerSpec { text: text.to_owned(), algorithm }),
            Err(wrong) => {
                let (part, value) = wrong.part.unwrap_or_else(|| ("scheduler".into(), text.to_owned()));
                Err(error_in(text, part, value, wrong.allowed))
            }
        }
    }

    /// Every scheduler of the registry with its defaults.
    pub fn all(registry: &Registry) -> Vec<SchedulerSpec> {
        let spec = |name: &str| SchedulerSpec {
            text: name.into(),
            algorithm: Algorithm { name: name.into(), given: Vec::new() },
        };
        registry.schedulers().iter().map(|factory| spec(factory.name())).collect()
    }

    /// The scheduler's name.
    pub fn name(&self) -> &str {
        &self.algorithm.name
    }

    /// Checks names and values before any run.
    ///
    /// # Errors
    /// If the registry has no such scheduler, or a key is neither its parameter nor a setting, or a value is not
    /// allowed.
    pub fn check(&self, registry: &Registry) -> Result<(), ScenarioError> {
        let wrong = |error| self.error(error, registry);
        let split = split(&self.algorithm, registry).map_err(wrong)?;
        let mut scratch = default_connection();
        split.settings.iter().try_for_each(|(key, value)| apply(&mut scratch, key, value).map_err(wrong))
    }

    /// The names of the connection settings in the entry, without the scheduler's own parameters.
    ///
    /// # Errors
    /// If there is no such scheduler, or a name is neither a parameter nor a setting.
    pub fn connection_settings(&self, registry: &Registry) -> Result<Vec<String>, ScenarioError> {
        let split = split(&self.algorithm, registry).map_err(|e| self.error(e, registry))?;
        Ok(split.settings.into_iter().map(|(name, _)| name).collect())
    }

    /// Makes an error about this entry.
    pub(crate) fn error(&self, error: ParameterError, registry: &Registry) -> ScenarioError {
        let is_unknown = is_unknown(&self.algorithm, &error.name, registry);
        let problem = if is_unknown { Problem::UnknownKey } else { Problem::Value };
        let ParameterError { name, value, allowed } = error;
        ScenarioError { problem, ..error_in(&self.text, name, value, allowed) }
    }
}

/// A variant of a scenario to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Variant {
    /// Every connection has the scheduler that the file names.
    AsWritten,
    /// Every measured MPTCP connection has this scheduler.
    Scheduler(SchedulerSpec),
    /// Every measured connection is plain TCP on this one of its paths (on its last if it has fewer), with its own
    /// controller and buffers. This is the baseline `tcp-path0`, `tcp-path1`, ...
    PlainTcp(usize),
}

impl Variant {
    /// The variant's name in results.
    pub fn label(&self) -> String {
        match self {
            Variant::AsWritten => "as-written".into(),
            Variant::Scheduler(spec) => spec.text.clone(),
            Variant::PlainTcp(path) => format!("tcp-path{path}"),
        }
    }
}

impl Connection {
    /// The engine's settings, which both ends share.
    ///
    /// # Errors
    /// If the registry is not the one that the scenario was read with.
    pub fn config(&self, registry: &Registry) -> Result<ConnectionConfig, ParameterError> {
        let scheduler = registry.choose_scheduler(&self.engine.scheduler.name, &self.engine.scheduler.given)?;
        let congestion = controller(&self.engine.congestion, registry)?;
        let single_path = self.path_mode == PathMode::Single;
        Ok(ConnectionConfig {
            host: self.host.into(),
            single_path,
            ..self.engine.clone().with_algorithms(scheduler, congestion)
        })
    }

    /// Every parameter of the connection's scheduler with its value as written, defaults included.
    pub fn scheduler_parameters(&self, registry: &Registry) -> BTreeMap<String, String> {
        let factory = registry.scheduler(&self.engine.scheduler.name);
        let declared = factory.map(|factory| factory.parameters()).unwrap_or_default();
        let given = &self.engine.scheduler.given;
        let value = |p: &Parameter<'_>| match given.iter().find(|(key, _)| key == p.name) {
            Some((_, value)) => value.clone(),
            None => p.default.to_owned(),
        };
        declared.iter().map(|p| (p.name.to_owned(), value(p))).collect()
    }
}

fn error_in(text: &str, key: String, value: String, allowed: String) -> ScenarioError {
    let place = format!("{key}={value}");
    let start = text.find(&place).unwrap_or(0);
    let end = if text.contains(&place) { start + place.len() } else { text.len() };
    ScenarioError {
        problem: Problem::Value,
        file: SCHEDULERS.into(),
        source: text.into(),
        span: start..end,
        key: key.into(),
        value: value.into(),
        allowed: allowed.into(),
    }
}

/// Whether a scheduler's entry has this key, which is neither the scheduler's parameter nor a setting.
pub(super) fn is_unknown(scheduler: &Algorithm, key: &str, registry: &Registry) -> bool {
    let found = registry.scheduler(&scheduler.name);
    let is_declared = found.is_ok_and(|factory| factory.parameters().iter().any(|p| p.name == key));
    scheduler.has(key) && !is_declared && !can_override(key)
}

/// Whether a controller's text has this key, which is not the controller's parameter.
pub(super) fn is_unknown_of_controller(controller: &Algorithm, key: &str, registry: &Registry) -> bool {
    let found = registry.controller(&controller.name);
    controller.has(key) && found.is_ok_and(|factory| factory.parameters().iter().all(|p| p.name != key))
}

/// The parts of an algorithm's text.
pub(crate) struct Split {
    /// The algorithm's own parameters.
    pub(crate) parameters: Vec<(String, String)>,
    /// The connection's settings.
    pub(crate) settings: Vec<(String, String)>,
}

/// Whether a scheduler entry can override this setting of a connection.
pub(crate) fn can_override(key: &str) -> bool {
    key != "scheduler" && CONNECTION.iter().any(|s| s.key == key)
}

/// Separates a scheduler's parameters from the connection's settings, and checks the parameters.
pub(crate) fn split(algorithm: &Algorithm, registry: &Registry) -> Result<Split, ParameterError> {
    let factory = registry.scheduler(&algorithm.name)?;
    let declared = factory.parameters();
    let own = |key: &str| declared.iter().any(|p| p.name == key);
    let (settings, parameters): (Vec<_>, Vec<_>) =
        algorithm.given.iter().cloned().partition(|(key, _)| !own(key) && can_override(key));
    if let Some((name, value)) = parameters.iter().find(|(key, _)| !own(key)) {
        let mut allowed: Vec<&str> = declared.iter().map(|p| p.name).collect();
        allowed.extend(CONNECTION.iter().map(|s| s.key).filter(|key| can_override(key)));
        return Err(ParameterError { name: name.clone(), value: value.clone(), allowed: allowed.join(", ") });
    }
    Values::parse(&declared, &parameters).and_then(|values| factory.build(&values).map(drop))?;
    Ok(Split { parameters, settings })
}

/// The chosen controller, with its parameters checked.
pub(crate) fn controller(algorithm: &Algorithm, registry: &Registry) -> Result<ChosenController, ParameterError> {
    let chosen = registry.choose_controller(&algorithm.name, &algorithm.given)?;
    chosen.build()?;
    Ok(chosen)
}

/// Sets a setting of a connection.
pub(crate) fn apply(connection: &mut Connection, key: &str, value: &str) -> Result<(), ParameterError> {
    let setting = CONNECTION.iter().find(|s| s.key == key);
    let wrong = |allowed| ParameterError { name: key.to_owned(), value: value.to_owned(), allowed };
    let Some(setting) = setting else { return Err(wrong("a setting of a connection".into())) };
    (setting.set)(connection, value).map_err(|error| match error.part {
        Some((part, value)) => ParameterError { name: format!("{key}.{part}"), value, allowed: error.allowed },
        None => wrong(error.allowed),
    })
}
