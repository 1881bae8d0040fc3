//! Turns names and files into a plan of runs, and finds every mistake before the first run.

use crate::failure::Failure;
use pathweave_algorithms::Registry;
use pathweave_lab::benefit::plain_tcp_path;
use pathweave_lab::scenario::{
    BUILTIN, Document, Files, Scenario, ScenarioError, SchedulerSpec, Variant, builtin, did_you_mean,
};
use pathweave_lab::sim::Simulation;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The scenario that is run if none is named.
pub const DEFAULT_SCENARIO: &str = "wifi-lte";

/// The schedulers that are run if none are named: Linux's own, the simple rules, one for each idea against blocked
/// receivers, and `weave`. Schedulers of the registry that are not built in are run too.
pub const TELLING: [&str; 10] =
    ["minrtt", "linux", "roundrobin", "redundant", "blest", "ecf", "cp", "dpsaf", "rems", "weave"];

/// An opened scenario.
#[derive(Clone, Debug)]
pub struct Source {
    /// The argument that named the scenario: a built-in scenario, or a file.
    pub argument: String,
    /// The scenario's text with all overrides.
    pub document: Document,
    /// The folder of the scenario's file; `None` for built-in scenarios.
    pub folder: Option<PathBuf>,
}

/// The runs to make on every scenario.
#[derive(Clone, Debug)]
pub struct Request {
    /// Schedulers, separated by commas, or `all`; by default [`TELLING`] and those that are not built in.
    pub schedulers: Option<String>,
    /// The row that the others are compared with; it is run even if `schedulers` does not name it.
    pub against: Option<String>,
    /// The scheduler whose time is explained; it is run even if `schedulers` does not name it.
    pub why: Option<String>,
    /// The seeds of each scheduler.
    pub seeds: Vec<u64>,
}

/// One scenario with all runs on it.
#[derive(Debug)]
pub struct RunPlan {
    /// The scenario's name.
    pub name: String,
    /// The argument that named the scenario: a built-in scenario, or a file.
    pub argument: String,
    /// The scenario's text with all overrides.
    pub document: Document,
    /// The trace files that the scenario names.
    pub traces: Traces,
    /// The variants, each a scheduler or plain TCP on a path, with the scenario for it.
    pub variants: Vec<(Variant, Scenario)>,
    /// The seeds of each variant.
    pub seeds: Vec<u64>,
}

impl RunPlan {
    /// The number of schedulers among the variants.
    pub fn schedulers(&self) -> usize {
        self.variants.iter().filter(|(variant, _)| matches!(variant, Variant::Scheduler(_))).count()
    }

    /// The files that the plan was read from: the scenario's own and its traces.
    pub fn files(&self) -> Vec<PathBuf> {
        own_file(&self.argument).into_iter().chain(self.traces.files()).collect()
    }
}

impl Source {
    /// The files that the scenario is read from: its own and its traces.
    pub fn files(&self, registry: &Registry) -> Vec<PathBuf> {
        let traces = Traces::new(self.folder.as_deref());
        let scenario = self.document.scenario(registry, &Variant::AsWritten);
        // Mistakes in the scenario are reported when it is run.
        let names = scenario.as_ref().map(Scenario::trace_files).unwrap_or_default();
        own_file(&self.argument).into_iter().chain(names.into_iter().map(|name| traces.place(name))).collect()
    }
}

/// The file that `argument` names; `None` for a built-in scenario.
fn own_file(argument: &str) -> Option<PathBuf> {
    builtin(argument).is_none().then(|| argument.into())
}

/// Checks everything and makes the plans, one for each scenario, in the given order. The variants of a plan are the
/// schedulers in the given order, then plain TCP on path 0, 1, ...
///
/// # Errors
/// At the first mistake in the request, in a scenario, or in a file that it names.
pub fn plans(
    request: &Request,
    sources: impl IntoIterator<Item = Result<Source, Failure>>,
    registry: &Registry,
) -> Result<Vec<RunPlan>, Failure> {
    let mut schedulers = match &request.schedulers {
        Some(list) => chosen(list, registry)?,
        None => telling(registry),
    };
    let named = [("--against", &request.against), ("--why", &request.why)];
    let named: Vec<(&str, &str)> =
        named.iter().filter_map(|(option, name)| Some((*option, name.as_deref()?))).collect();
    for (option, name) in &named {
        add_named(option, name, &mut schedulers, registry)?;
    }
    let mut plans: Vec<RunPlan> = Vec::new();
    for source in sources {
        let Source { argument, document, folder } = source?;
        let mut traces = Traces::new(folder.as_deref());
        let mut variants = Vec::new();
        for spec in &schedulers {
            let variant = Variant::Scheduler(spec.clone());
            variants.push((document.scenario(registry, &variant)?, variant));
        }
        let baselines = variants.first().map_or(0, |(scenario, _)| scenario.baselines());
        let last = baselines.saturating_sub(1);
        if let Some((option, name)) = named.iter().find(|(_, name)| plain_tcp_path(name).is_some_and(|p| p > last)) {
            let title = variants.first().map_or("", |(scenario, _)| &scenario.name);
            return Err(Failure::Input(format!(
                "{option} = {name}: {title} has no such path; the last is tcp-path{last}"
            )));
        }
        for variant in (0..baselines).map(Variant::PlainTcp) {
            variants.push((document.scenario(registry, &variant)?, variant));
        }
        for (scenario, _) in &variants {
            traces.load(scenario).map_err(|(name, reason)| document.trace_error(&name, &reason))?;
            check(scenario, &document, registry, &traces)?;
        }
        let Some(title) = variants.first().map(|(scenario, _)| scenario.name.clone()) else { continue };
        if plans.iter().any(|p| p.name == title) {
            return Err(Failure::Input(format!(
                "{argument}: there are two scenarios called {title}, and results go by that name; rename one"
            )));
        }
        plans.push(RunPlan {
            name: title,
            argument,
            document,
            traces,
            variants: variants.into_iter().map(|(scenario, variant)| (variant, scenario)).collect(),
            seeds: request.seeds.clone(),
        });
    }
    Ok(plans)
}

/// Builds the simulation once, so that mistakes in a trace are found before the first run.
///
/// # Errors
/// If the simulation cannot be built.
pub fn check(scenario: &Scenario, document: &Document, registry: &Registry, traces: &Traces) -> Result<(), Failure> {
    let Err(error) = Simulation::new(scenario, 1, registry, traces) else { return Ok(()) };
    let in_trace = |name: &&str| error.message.starts_with(&format!("{name}: "));
    match scenario.trace_files().into_iter().find(in_trace) {
        Some(name) => Err(document.trace_error(name, &error.message[name.len() + 2..]).into()),
        None => Err(Failure::Input(format!("{}: {error}", scenario.name))),
    }
}

/// Opens a built-in scenario or a file.
///
/// # Errors
/// If there is no such scenario or file, or if the file is not valid TOML.
pub fn open(name: &str) -> Result<Source, Failure> {
    let source = |document, folder: Option<&Path>| Source {
        argument: name.to_owned(),
        document,
        folder: folder.map(Path::to_owned),
    };
    if let Some(document) = builtin(name) {
        return Ok(source(document, None));
    }
    let path = Path::new(name);
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(source(Document::parse(name, &text)?, path.parent())),
        Err(error) => {
            let built_in: Vec<_> = BUILTIN.iter().map(|(name, _)| *name).collect();
            let hint = if name.contains('=') { "; put --set before a setting" } else { "" };
            let there_are = format!("a scenario is a file or one of {}{hint}", built_in.join(", "));
            let error = match error.kind() {
                std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
                _ => error.to_string(),
            };
            Err(Failure::Input(format!("{name}: {error}; {}", did_you_mean(name, built_in, &there_are))))
        }
    }
}

/// The schedulers that are run if none are named.
fn telling(registry: &Registry) -> Vec<SchedulerSpec> {
    let builtin = Registry::builtin();
    let wanted = |spec: &SchedulerSpec| TELLING.contains(&spec.name()) || builtin.scheduler(spec.name()).is_err();
    let (own, mut list): (Vec<_>, Vec<_>) = SchedulerSpec::all(registry)
        .into_iter()
        .filter(wanted)
        .partition(|spec| builtin.scheduler(spec.name()).is_err());
    list.sort_by_key(|spec| TELLING.iter().position(|name| *name == spec.name()));
    own.into_iter().chain(list).collect()
}

/// Adds the scheduler that `--against` or `--why` names, unless it is plain TCP.
fn add_named(
    option: &str,
    name: &str,
    schedulers: &mut Vec<SchedulerSpec>,
    registry: &Registry,
) -> Result<(), Failure> {
    if plain_tcp_path(name).is_some() || schedulers.iter().any(|s| s.text == name) {
        return Ok(());
    }
    let spec = SchedulerSpec::parse(name).and_then(|spec| spec.check(registry).map(|()| spec));
    schedulers.push(spec.map_err(|error| {
        let is_unknown = registry.scheduler(&error.value).is_err() && *error.key == *"scheduler";
        let plain_tcp = if is_unknown { ", tcp-path0, tcp-path1, ..." } else { "" };
        let allowed = format!("{}{plain_tcp}", error.allowed).into();
        ScenarioError { file: option.into(), allowed, ..error }
    })?);
    Ok(())
}

/// The schedulers that `--schedulers` names, each once.
///
/// # Errors
/// If an entry is wrong, or if there is none.
pub fn chosen(list: &str, registry: &Registry) -> Result<Vec<SchedulerSpec>, Failure> {
    let mut specs: Vec<SchedulerSpec> = Vec::new();
    for entry in list.split(',').map(str::trim).filter(|e| !e.is_empty()) {
        let new = if entry == "all" { SchedulerSpec::all(registry) } else { vec![SchedulerSpec::parse(entry)?] };
        for spec in new {
            spec.check(registry)?;
            if !specs.contains(&spec) {
                specs.push(spec);
            }
        }
    }
    if specs.is_empty() {
        let names: Vec<_> = registry.schedulers().iter().map(|factory| factory.name()).collect();
        return Err(Failure::Input(format!(
            "--schedulers names no scheduler; use all, or some of {}",
            names.join(", ")
        )));
    }
    Ok(specs)
}

/// Adds the schedulers of a list with commas to `names`, each once, as written; `all` stands for every one.
///
/// # Errors
/// If an entry is wrong. `option` is the name of the argument with the list.
pub(crate) fn add_names(
    list: &str,
    option: &str,
    names: &mut Vec<String>,
    registry: &Registry,
) -> Result<(), ScenarioError> {
    for entry in list.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
        let new = match entry {
            "all" => SchedulerSpec::all(registry).into_iter().map(|spec| spec.text).collect(),
            _ => {
                let checked = SchedulerSpec::parse(entry).and_then(|spec| spec.check(registry));
                checked.map_err(|error| ScenarioError { file: option.into(), ..error })?;
                vec![entry.to_owned()]
            }
        };
        for name in new {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    Ok(())
}

/// The trace files that one scenario names.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Traces {
    /// The folder of the scenario's file; `None` for built-in scenarios.
    folder: Option<PathBuf>,
    read: BTreeMap<String, String>,
}

impl Traces {
    /// An empty collection. Names are relative to the folder of the scenario's file; without such a file, to the
    /// current folder.
    pub fn new(folder: Option<&Path>) -> Self {
        Traces { folder: folder.map(Path::to_owned), read: BTreeMap::new() }
    }

    /// Reads the trace files that `scenario` names.
    ///
    /// # Errors
    /// If a file cannot be read; the error has its name and the reason.
    pub fn load(&mut self, scenario: &Scenario) -> Result<(), (String, String)> {
        for name in scenario.trace_files() {
            if !self.read.contains_key(name) {
                let text = self.find(name).map_err(|reason| (name.to_owned(), reason))?;
                self.read.insert(name.to_owned(), text);
            }
        }
        Ok(())
    }

    fn find(&self, name: &str) -> Result<String, String> {
        std::fs::read_to_string(self.place(name)).map_err(|e| e.to_string())
    }

    /// The path of the file called `name`.
    fn place(&self, name: &str) -> PathBuf {
        let beside = self.folder.as_ref().map(|folder| folder.join(name)).filter(|path| path.exists());
        beside.unwrap_or_else(|| name.into())
    }

    /// The files that were read.
    pub fn files(&self) -> impl Iterator<Item = PathBuf> {
        self.read.keys().map(|name| self.place(name))
    }
}

impl Files for Traces {
    fn read(&self, name: &str) -> Result<String, String> {
        self.read.get(name).cloned().ok_or_else(|| "this file could not be read before the runs began".into())
    }
}
