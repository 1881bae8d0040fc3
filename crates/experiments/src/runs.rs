//! Expands a plan into its runs, and numbers the runs.

use crate::plan::{Override, Plan, PlanScenario, PlanVariant, What};
use pathweave_algorithms::Registry;
use pathweave_lab::benefit::is_backup;
use pathweave_lab::scenario::{
    Document, Files, Problem, SCHEDULERS, SET, Scenario, ScenarioError, SchedulerSpec, Variant,
};
use std::collections::BTreeSet;
use xxhash_rust::xxh3::Xxh3;

/// A variant of a scenario at a point, which is run with each seed.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Index of the scenario in the plan.
    pub scenario: usize,
    /// Index of the point in the plan.
    pub point: usize,
    /// Index of the variant in the sweep.
    pub variant: usize,
    /// The scenario's file with every override.
    pub document: Document,
    /// The variant of the scenario that is run.
    pub run: Variant,
    /// The scenario that `document` gives for this variant.
    pub data: Scenario,
}

/// A plan that is ready to run.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// The plan.
    pub plan: Plan,
    /// The plan's variants, followed by the baselines that were added.
    pub variants: Vec<PlanVariant>,
    /// The cells, ordered by scenario, point and variant.
    pub cells: Vec<Cell>,
    /// The result of [`Sweep::scenario_name`] for each scenario.
    names: Vec<String>,
}

/// A source of scenarios.
pub trait Sources {
    /// The scenario that a plan calls `name`: a built-in one, or a file.
    ///
    /// # Errors
    /// A mistake in the scenario, or the reason why it cannot be read.
    fn open(&self, name: &str) -> Result<Document, OpenError>;
}

/// The reason why a scenario cannot be opened.
#[derive(Debug)]
pub enum OpenError {
    /// A mistake in the scenario.
    Scenario(Box<ScenarioError>),
    /// The scenario cannot be read; the text says what is allowed.
    Unreadable(String),
}

impl Sweep {
    /// Builds every scenario of the plan, so that all mistakes are found before the first run.
    ///
    /// # Errors
    /// At the first mistake. A mistake in an override is reported at the override's position in the plan.
    pub fn new(plan: Plan, registry: &Registry, sources: &impl Sources) -> Result<Self, Box<ScenarioError>> {
        let mut documents = Vec::new();
        for scenario in &plan.scenarios {
            documents.push(opened(&plan, scenario, sources)?);
        }
        let mut variants = plan.variants.clone();
        let mut cells = Vec::new();
        for (s, document) in documents.iter().enumerate() {
            for point in 0..plan.points.len() {
                let set = overrides(&plan, s, point);
                let mut v = 0;
                while v < variants.len() {
                    let (document, run, data) = cell(&plan, (document, point), &set, &variants[v], registry)?;
                    if cells.is_empty() && plan.baselines {
                        add_baselines(&mut variants, data.paths.len());
                    }
                    let path = match &run {
                        Variant::PlainTcp(path) => *path,
                        _ => 0,
                    };
                    let asked_for = variants[v].place;
                    let paths = data.paths.len();
                    if path < paths {
                        cells.push(Cell { scenario: s, point, variant: v, document, run, data });
                    } else if let Some(place) = asked_for {
                        let name = format!("tcp-path{path}");
                        let allowed = format!("tcp-path0 to tcp-path{}: {} has {paths} paths", paths - 1, data.name);
                        return Err(Box::new(plan.document.error(Problem::Value, place, "run", name, allowed)));
                    }
                    v += 1;
                }
            }
        }
        let names = names(&plan, &cells);
        Ok(Sweep { plan, variants, cells, names })
    }

    /// The sweep reduced to these cells: scenario, point and variant.
    #[must_use]
    pub fn only(mut self, needed: &BTreeSet<(usize, usize, usize)>) -> Self {
        self.cells.retain(|c| needed.contains(&(c.scenario, c.point, c.variant)));
        self
    }

    /// The variants that are plain TCP.
    pub fn plain_tcp(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.variants.len()).filter(|v| matches!(self.variants[*v].run, What::PlainTcp(_)))
    }

    /// Whether a variant at this scenario and point is plain TCP on a path that is a backup.
    pub(crate) fn is_on_backup(&self, place: (usize, usize, usize)) -> bool {
        let cell = self.cells.iter().find(|c| (c.scenario, c.point, c.variant) == place);
        self.backup_of(cell).is_some()
    }

    /// The name of the backup on which a cell runs plain TCP.
    fn backup_of<'a>(&self, cell: Option<&'a Cell>) -> Option<&'a str> {
        let cell = cell?;
        let What::PlainTcp(path) = self.variants[cell.variant].run else { return None };
        let name = cell.data.paths.get(path).map(|p| p.name.as_str());
        name.filter(|_| is_backup(&cell.data, &cell.run, path))
    }

    /// The names of the backups on which the sweep runs plain TCP.
    pub(crate) fn backups(&self) -> BTreeSet<&str> {
        self.cells.iter().filter_map(|cell| self.backup_of(Some(cell))).collect()
    }

    /// A scenario's name in results: the plan's if the plan gives one, else the `name` in the scenario's file, as in a
    /// comparison. If another scenario of the plan has that name too, it is what the plan writes: the file.
    pub fn scenario_name(&self, scenario: usize) -> &str {
        &self.names[scenario]
    }

    /// Sentences about overrides that do not reach the measured data, each once.
    pub fn warnings(&self) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        for cell in &self.cells {
            for warning in cell.document.overrides_without_effect(&cell.data) {
                let warning = format!("{}: {warning}", self.scenario_name(cell.scenario));
                if !all.contains(&warning) {
                    all.push(warning);
                }
            }
        }
        all
    }

    /// Number of runs. Runs are numbered by cell, then by seed.
    pub fn len(&self) -> usize {
        self.cells.len() * self.seeds()
    }

    /// Whether the sweep has no runs.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    fn seeds(&self) -> usize {
        usize::try_from(self.plan.seeds).unwrap_or(usize::MAX)
    }

    /// The cell and the seed of a run.
    pub fn run(&self, number: usize) -> (&Cell, u64) {
        (&self.cells[number / self.seeds()], 1 + (number % self.seeds()) as u64)
    }

    /// The runs of one shard, numbered from 1: every `shards`-th run, so that all shards take about the same time. Each
    /// run is in exactly one shard.
    pub fn shard(&self, shard: usize, shards: usize) -> Vec<usize> {
        (0..self.len()).filter(|number| number % shards == shard - 1).collect()
    }

    /// Hash of all inputs of the runs: each scenario as it is run, its scheduler, its files, and the seeds. 32
    /// hexadecimal digits. Titles, figures and claims do not count, so they can be changed after the runs. `files` has
    /// the files of each scenario of the plan.
    ///
    /// # Errors
    /// The name of a file that cannot be read, and the reason.
    pub fn hash<F: Files>(&self, files: &[F]) -> Result<String, (String, String)> {
        let mut hash = Xxh3::new();
        let mut add = |text: &str| {
            hash.update(&(text.len() as u64).to_le_bytes());
            hash.update(text.as_bytes());
        };
        add(&self.plan.seeds.to_string());
        for cell in &self.cells {
            let from = &self.plan.scenarios[cell.scenario];
            add(&from.name);
            self.plan.values(cell.point).iter().for_each(|value| add(value));
            add(&self.variants[cell.variant].name);
            add(&cell.run.label());
            add(&cell.data.hash(&files[cell.scenario])?);
        }
        Ok(format!("{:032x}", hash.digest128()))
    }
}

/// The name of each scenario in results.
fn names(plan: &Plan, cells: &[Cell]) -> Vec<String> {
    let own = |s: usize| cells.iter().find(|c| c.scenario == s).map(|c| c.data.name.as_str());
    let name = |(scenario, from): (usize, &PlanScenario)| {
        let is_taken = |name: &str| {
            let mut others = plan.scenarios.iter().enumerate().filter(|(s, _)| *s != scenario);
            others.any(|(s, other)| own(s) == Some(name) || other.name == name)
        };
        match own(scenario) {
            Some(name) if from.name == from.from && !is_taken(name) => name.to_owned(),
            _ => from.name.clone(),
        }
    };
    plan.scenarios.iter().enumerate().map(name).collect()
}

/// The document of a scenario of the plan.
fn opened(plan: &Plan, scenario: &PlanScenario, sources: &impl Sources) -> Result<Document, Box<ScenarioError>> {
    sources.open(&scenario.from).map_err(|error| match error {
        OpenError::Scenario(error) => error,
        OpenError::Unreadable(allowed) => {
            Box::new(plan.document.error(Problem::Value, scenario.place, "from", scenario.from.clone(), allowed))
        }
    })
}

/// The settings of a scenario at a point, which apply to all variants.
fn overrides(plan: &Plan, scenario: usize, point: usize) -> Vec<Override> {
    let mut set: Vec<Override> = plan.scenarios[scenario].set.clone();
    set.extend(plan.set.iter().cloned());
    for (value, parameter) in plan.values(point).iter().zip(&plan.parameters) {
        let with = |o: &Override| Override { value: o.value.replace("{}", value), ..o.clone() };
        set.extend(parameter.set.iter().map(with));
    }
    for o in &mut set {
        o.value = plan.filled(&o.value, point);
    }
    set.extend(plan.changed.iter().flat_map(|a| a.set.iter().cloned()));
    set
}

fn cell(
    plan: &Plan,
    (document, point): (&Document, usize),
    set: &[Override],
    variant: &PlanVariant,
    registry: &Registry,
) -> Result<(Document, Variant, Scenario), Box<ScenarioError>> {
    let mut document = document.clone();
    let own = variant.set.iter().map(|o| Override { value: plan.filled(&o.value, point), ..o.clone() });
    let all: Vec<Override> = set.iter().cloned().chain(own).collect();
    // A mistake in an override is one in the plan.
    let in_plan = |error: ScenarioError| {
        let by_key = |o: &&Override| *error.source == *format!("{}={}", o.key, o.value);
        let place = match &*error.file {
            SET => all.iter().rev().find(by_key).map(|o| o.place),
            SCHEDULERS => variant.place,
            _ => None,
        };
        Box::new(match place {
            Some(place) => {
                let (key, value, allowed) = (&error.key, error.value.to_string(), error.allowed.to_string());
                plan.document.error(error.problem, place, key, value, allowed)
            }
            None => error,
        })
    };
    for o in &all {
        document.set(&o.key, &o.value).map_err(in_plan)?;
    }
    let run = match &variant.run {
        What::Scheduler(text) => {
            let spec = SchedulerSpec::parse(&plan.filled(text, point)).map_err(in_plan)?;
            spec.check(registry).map_err(in_plan)?;
            Variant::Scheduler(spec)
        }
        What::PlainTcp(path) => Variant::PlainTcp(*path),
    };
    let data = document.scenario(registry, &run).map_err(in_plan)?;
    Ok((document, run, data))
}

/// Adds plain TCP on each path, if the plan does not have it.
fn add_baselines(variants: &mut Vec<PlanVariant>, paths: usize) {
    for path in 0..paths {
        let run = What::PlainTcp(path);
        if !variants.iter().any(|v| v.run == run) {
            variants.push(PlanVariant { name: format!("tcp-path{path}"), run, set: Vec::new(), place: None });
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::sweep;

    /// The names of the scenarios in the results of a plan with these lines.
    fn names(lines: &str) -> Vec<String> {
        let sweep = sweep(&format!("format = 1\nname = \"p\"\nschedulers = [\"minrtt\"]\nseeds = 1\n{lines}"));
        (0..sweep.plan.scenarios.len()).map(|s| sweep.scenario_name(s).to_owned()).collect()
    }

    #[test]
    fn a_scenario_is_called_by_its_own_name_unless_the_plan_names_it_or_another_has_the_name() {
        let own = "set = { name = \"home\" }\n";
        assert_eq!(names("scenarios = [\"wifi-lte\"]\n"), ["wifi-lte"]);
        assert_eq!(names(&format!("scenarios = [\"wifi-lte\"]\n{own}")), ["home"]);
        assert_eq!(names(&format!("scenarios = [\"wifi-lte\", \"wlan-3g\"]\n{own}")), ["wifi-lte", "wlan-3g"]);
        let given = format!("{own}[[scenario]]\nname = \"given\"\nfrom = \"wifi-lte\"\n");
        assert_eq!(names(&given), ["given"]);
        let taken = "[[scenario]]\nfrom = \"wifi-lte\"\nset = { name = \"home\" }\n[[scenario]]\nname = \"home\"\nfrom = \"wlan-3g\"\n";
        assert_eq!(names(taken), ["wifi-lte", "home"]);
    }
}
