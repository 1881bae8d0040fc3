//! The arena's plans: those that the program carries, or those of a folder. They become ready to run with the schedulers
//! that compete.

use crate::failure::Failure;
use crate::plan::{Source, add_names};
use crate::sweep::{Bundle, ReadyPlan};
use pathweave_algorithms::Registry;
use pathweave_experiments::runs::Cell;
use pathweave_lab::scenario::{SCHEDULERS, did_you_mean};
use pathweave_units::counted;
use std::fs;
use std::io;
use std::num::NonZero;
use std::path::{Path, PathBuf};

/// Schedulers that compete by default; the first is compared with each other one.
pub const COMPETING: &str = "weave,minrtt,linux,redundant,blest,blest-kernel,ecf,cp,dpsaf,edpf,otias,rems";
/// The arena's folder for recordings of cellular links, which are not part of the project, and the prefix of the plans
/// that need them.
const RECORDINGS: &str = "recordings";
const RECORDED: &str = "recorded";

/// How the arena's plans are run.
#[derive(Clone, Debug)]
pub struct Competition {
    /// The schedulers that compete, each once, with parameters after colons.
    pub schedulers: Vec<String>,
    /// The number of seeds, if not that of the plans.
    pub seeds: Option<NonZero<u32>>,
    /// Whether each plan is reduced as its table `[quick]` says.
    pub quick: bool,
}

impl Competition {
    /// The first of the `asked` schedulers, then those of `against`, then the others, each once. Lists have commas
    /// between names, and `all` is every scheduler; without `asked`, [`COMPETING`] compete.
    ///
    /// # Errors
    /// If a scheduler's entry is wrong, or if there is none.
    pub fn new(asked: Option<&str>, against: Option<&str>, registry: &Registry) -> Result<Self, Failure> {
        let asked = asked.unwrap_or(COMPETING);
        // The first of `against` comes second, so that it is the one to part from.
        let first = asked.split(',').next().unwrap_or_default();
        let mut schedulers = Vec::new();
        for (list, option) in [(first, SCHEDULERS), (against.unwrap_or(""), "--against"), (asked, SCHEDULERS)] {
            add_names(list, option, &mut schedulers, registry)?;
        }
        if schedulers.is_empty() {
            return Err(Failure::Input("there is no scheduler in the list; name one, such as weave".into()));
        }
        Ok(Competition { schedulers, seeds: None, quick: false })
    }

    /// A plan's text with these schedulers added to the line of its references, and with these seeds.
    fn with(&self, text: &str) -> String {
        let mut changed = String::new();
        for line in text.lines() {
            if let Some(references) = line.strip_prefix("schedulers = [").and_then(|l| l.strip_suffix(']')) {
                let names: String = self.schedulers.iter().map(|name| format!(", \"{name}\"")).collect();
                changed.push_str(&format!("schedulers = [{references}{names}]\n"));
            } else if let Some(seeds) = self.seeds.filter(|_| line.starts_with("seeds = ")) {
                changed.push_str(&format!("seeds = {seeds}\n"));
            } else {
                changed.push_str(&format!("{line}\n"));
            }
        }
        changed
    }
}

/// The arena's plans, sorted by name.
#[derive(Clone, Debug)]
pub struct Arena {
    /// The folder; `None` for the plans that the program carries.
    folder: Option<PathBuf>,
    plans: Vec<String>,
}

/// Points of one plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Points {
    /// The plan's name.
    pub plan: String,
    /// The scenario's name in the plan; `None` for all of them.
    pub scenario: Option<String>,
    /// The first and the last point, from 1 on; `None` for all of them.
    pub numbers: Option<(usize, usize)>,
}

impl Points {
    /// Reads `FAMILY`, `FAMILY/N` or `FAMILY/N-M`. A family is a plan, or `PLAN/SCENARIO`.
    pub fn parse(text: &str) -> Option<Self> {
        let mut words: Vec<&str> = text.split('/').collect();
        let number = |text: &str| text.parse::<usize>().ok().filter(|n| *n > 0);
        let range = |text: &str| {
            let (first, last) = text.split_once('-').unwrap_or((text, text));
            Some((number(first)?, number(last)?)).filter(|(first, last)| first <= last)
        };
        let numbers = words.last().and_then(|last| range(last));
        match numbers {
            Some(_) => drop(words.pop()),
            // A number that is none of a point: 0, or a range from the larger to the smaller one.
            None if words.last().is_some_and(|last| last.starts_with(|c: char| c.is_ascii_digit())) => return None,
            None => {}
        }
        let (plan, scenario) = match words[..] {
            [plan] => (plan, None),
            [plan, scenario] => (plan, Some(scenario.to_owned())),
            _ => return None,
        };
        (!plan.is_empty()).then(|| Points { plan: plan.to_owned(), scenario, numbers })
    }

    /// The only point; `None` if several are meant.
    pub fn single(&self) -> Option<usize> {
        self.numbers.filter(|(first, last)| first == last).map(|(first, _)| first)
    }

    fn has(&self, point: usize) -> bool {
        self.numbers.is_none_or(|(first, last)| (first..=last).contains(&(point + 1)))
    }
}

impl Arena {
    /// The plans of a folder, or without one those that the program carries.
    ///
    /// # Errors
    /// If the folder cannot be read, or has no plan. `option` is the name of the argument with the folder.
    pub fn open(folder: Option<&Path>, option: &str) -> Result<Self, Failure> {
        let Some(folder) = folder else {
            return Ok(Arena { folder: None, plans: pathweave_arena::plans().map(str::to_owned).collect() });
        };
        let wrong = |e: io::Error| {
            Failure::Input(format!("{}: {e}; {option} names the folder with the arena", folder.display()))
        };
        let mut plans = Vec::new();
        for file in fs::read_dir(folder).map_err(wrong)? {
            let file = file.map_err(wrong)?.path();
            let Some(name) = file.file_stem().and_then(|s| s.to_str()).map(str::to_owned) else { continue };
            // The arena's folder is a crate too.
            if file.extension().is_some_and(|e| e == "toml") && !name.starts_with('_') && name != "Cargo" {
                plans.push(name);
            }
        }
        plans.sort();
        if plans.is_empty() {
            return Err(Failure::Input(format!("{}: this folder has no plan", folder.display())));
        }
        Ok(Arena { folder: Some(folder.to_owned()), plans })
    }

    /// The plans' names.
    pub fn plans(&self) -> &[String] {
        &self.plans
    }

    /// The place of the plans, for people.
    fn place(&self) -> String {
        self.folder.as_ref().map_or_else(|| "the arena".into(), |folder| folder.display().to_string())
    }

    /// Keeps the plans with this text in their names.
    ///
    /// # Errors
    /// If there is none. `option` is the name of the argument with the text.
    pub fn only(&mut self, text: &str, option: &str) -> Result<(), Failure> {
        if !self.plans.iter().any(|name| name.contains(text)) {
            let first = format!("the first is {}", self.plans.first().map_or("", String::as_str));
            let hint = did_you_mean(text, with_parts(self.plans.iter().map(String::as_str)), &first);
            let place = self.place();
            return Err(Failure::Input(format!("{option} = {text}: no plan of {place} has this in its name; {hint}")));
        }
        self.plans.retain(|name| name.contains(text));
        Ok(())
    }

    /// Leaves out plans whose recordings are missing. Returns the reason, if there are such plans.
    ///
    /// # Errors
    /// If no plan is left.
    pub fn leave_out_recorded(&mut self, option: &str) -> Result<Option<String>, Failure> {
        let there = self.folder.as_ref().map(|folder| folder.join(RECORDINGS));
        let mut files = there.iter().flat_map(|there| fs::read_dir(there).into_iter().flatten().flatten());
        let all = self.plans.len();
        if files.any(|file| file.path().extension().is_none_or(|e| e != "md")) {
            return Ok(None);
        }
        self.plans.retain(|name| !name.starts_with(RECORDED));
        let reason = match there {
            Some(there) => format!(
                "there are no recordings of cellular links in {}, and README.md there says how to get them",
                there.display()
            ),
            None => format!(
                "the plans need recordings of cellular links, which the program does not carry; {option} names a folder with the plans \
                 and its {RECORDINGS}"
            ),
        };
        if self.plans.is_empty() {
            return Err(Failure::Input(reason));
        }
        Ok((self.plans.len() < all).then(|| format!("plans that begin with {RECORDED}; {reason}")))
    }

    /// Keeps the plans that have some of these points; all of them if the list is empty.
    ///
    /// # Errors
    /// If a plan does not exist. `option` is the name of the argument with the points.
    pub fn with_points(&mut self, points: &[Points], option: &str) -> Result<(), Failure> {
        for one in points {
            if !self.plans.contains(&one.plan) {
                let names = || self.plans.iter().map(String::as_str);
                let there_are = format!("the plans are {}", names().collect::<Vec<_>>().join(", "));
                let hint = did_you_mean(&one.plan, names(), &there_are);
                return Err(Failure::Input(format!("{option}: unknown plan `{}`; {hint}", one.plan)));
            }
        }
        self.plans.retain(|name| points.is_empty() || points.iter().any(|one| one.plan == *name));
        Ok(())
    }

    /// A plan with the schedulers that compete.
    ///
    /// # Errors
    /// At the first mistake in the plan, or if it has no such name.
    pub fn read(&self, plan: &str, competition: &Competition, registry: &Registry) -> Result<ReadyPlan, Failure> {
        let name = format!("{plan}.toml");
        let Some(folder) = &self.folder else {
            let text = pathweave_arena::text(&name)
                .ok_or_else(|| Failure::Input(format!("{plan}: the arena has no such plan")))?;
            let carried = pathweave_arena::FILES.iter().map(|(name, text)| (*name, *text));
            let bundle = Bundle::of(&format!("arena/{name}"), &competition.with(text), competition.quick, carried);
            return ReadyPlan::unpack(&bundle, registry);
        };
        let file = folder.join(name);
        let text = fs::read_to_string(&file).map_err(Failure::reading(&file, "a plan of the arena"))?;
        let text = competition.with(&text);
        ReadyPlan::parse(&file.display().to_string(), &text, Some(folder), competition.quick, registry)
    }

    /// A plan with the schedulers that compete, reduced to those of the points that are its own. An empty list has all
    /// points.
    ///
    /// # Errors
    /// As [`Arena::read`], and if the plan lacks a point. `option` is the name of the argument with the points.
    pub fn read_points(
        &self,
        plan: &str,
        points: &[Points],
        competition: &Competition,
        (option, registry): (&str, &Registry),
    ) -> Result<ReadyPlan, Failure> {
        let ready = self.read(plan, competition, registry)?;
        let own: Vec<&Points> = points.iter().filter(|one| one.plan == plan).collect();
        for one in &own {
            missing(&ready, one, option)?;
        }
        if own.is_empty() {
            return Ok(ready);
        }
        let scenarios: Vec<String> = ready.sweep.plan.scenarios.iter().map(|s| s.name.clone()).collect();
        let is_in = |one: &Points, cell: &Cell| {
            one.has(cell.point) && one.scenario.as_ref().is_none_or(|name| *name == scenarios[cell.scenario])
        };
        ready.only(|cell| own.iter().any(|one| is_in(one, cell)))
    }

    /// The scenario of a point of a plan with its settings, to be run by itself. If the program carries the plan, the
    /// scenario's file is written into `beside`.
    ///
    /// # Errors
    /// If the first scheduler does not run there, or the file cannot be written.
    pub fn source(
        &self,
        ready: &ReadyPlan,
        (scenario, point): (usize, usize),
        competition: &Competition,
        beside: &Path,
    ) -> Result<Source, Failure> {
        let sweep = &ready.sweep;
        let name = competition.schedulers.first().map_or("", String::as_str);
        let first = sweep.variants.iter().position(|v| v.name == name).unwrap_or(0);
        let here = sweep.cells.iter().find(|c| (c.scenario, c.point, c.variant) == (scenario, point, first));
        let Some(cell) = here else { return Err(Failure::Input(format!("{name} does not run there"))) };
        let from = &sweep.plan.scenarios[scenario].from;
        let file = match (&self.folder, pathweave_arena::text(from)) {
            (Some(folder), _) => Some(folder.join(from)).filter(|path| path.exists()),
            (None, Some(text)) => {
                let file = beside.join(from.trim_start_matches("../experiments/").replace('/', "-"));
                fs::write(&file, text).map_err(Failure::writing(file.display()))?;
                Some(file)
            }
            (None, None) => None,
        };
        Ok(Source {
            argument: file.as_ref().map_or_else(|| from.clone(), |path| path.display().to_string()),
            document: cell.document.clone(),
            folder: file.as_deref().and_then(Path::parent).map(Path::to_path_buf),
        })
    }
}

/// Names, and their parts between hyphens and slashes, each once: what a text that names must contain may be.
pub(crate) fn with_parts<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut all: Vec<&str> = Vec::new();
    for name in names.flat_map(|name| std::iter::once(name).chain(name.split(['-', '/']))) {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    all
}

/// An error if the plan lacks the scenario or one of the points.
fn missing(ready: &ReadyPlan, points: &Points, option: &str) -> Result<(), Failure> {
    let plan = &ready.sweep.plan;
    if let Some(name) = points.scenario.as_ref().filter(|name| !plan.scenarios.iter().any(|s| s.name == **name)) {
        let list = plan.scenarios.iter().map(|s| s.name.as_str()).collect::<Vec<_>>();
        let text = format!("the plan's scenarios are {}", list.join(", "));
        let hint = did_you_mean(name, list.iter().copied(), &text);
        return Err(Failure::Input(format!("{option}: {} has no scenario `{name}`; {hint}", points.plan)));
    }
    match points.numbers {
        Some((_, last)) if last > plan.points.len() => {
            let there = counted(plan.points.len(), "point");
            Err(Failure::Input(format!("{option}: {} has no point {last}; the plan has {there}", points.plan)))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::{Arena, Competition, Points};
    use pathweave_algorithms::Registry;

    fn points(plan: &str, scenario: Option<&str>, numbers: Option<(usize, usize)>) -> Option<Points> {
        Some(Points { plan: plan.into(), scenario: scenario.map(str::to_owned), numbers })
    }

    #[test]
    fn points_are_a_family_with_one_number_a_range_or_none() {
        assert_eq!(Points::parse("bulk-tuning"), points("bulk-tuning", None, None));
        assert_eq!(Points::parse("bulk-tuning/3"), points("bulk-tuning", None, Some((3, 3))));
        assert_eq!(Points::parse("web-tuning/six/2-5"), points("web-tuning", Some("six"), Some((2, 5))));
        assert_eq!(Points::parse("web-tuning/six"), points("web-tuning", Some("six"), None));
        assert_eq!(["", "/3", "a/b/c/1", "a/0", "a/3-2"].map(Points::parse), [None, None, None, None, None]);
        assert_eq!(Points::parse("a/3").and_then(|p| p.single()), Some(3));
        assert_eq!(Points::parse("a/3-4").and_then(|p| p.single()), None);
    }

    #[test]
    fn a_wrong_scheduler_or_part_of_a_name_is_told_with_its_option() {
        let registry = Registry::builtin();
        let text = |asked, against| match Competition::new(asked, against, &registry) {
            Ok(competition) => competition.schedulers.join(","),
            Err(failure) => failure.to_string(),
        };
        let unknown = "unknown scheduler `minrt`; did you mean `minrtt`? Allowed: ";
        assert!(text(Some("weave"), Some("minrt")).starts_with(&format!("--against: {unknown}")));
        assert!(text(Some("weave,minrt"), None).starts_with(&format!("--schedulers: {unknown}")));
        assert!(
            text(Some("all"), Some("weave")).starts_with("minrtt,roundrobin,"),
            "all is every scheduler, each once"
        );
        let mut arena = Arena::open(None, "--from").expect("the program carries plans");
        let wrong = arena.only("evalution", "--only").expect_err("no plan has this in its name").to_string();
        assert!(wrong.contains("did you mean `evaluation`?"), "{wrong}");
    }

    #[test]
    fn every_plan_that_the_program_carries_can_be_read_and_has_the_points_that_were_chosen() {
        let registry = Registry::builtin();
        let mut competition = Competition::new(Some("minrtt"), Some("weave"), &registry).expect("both are known");
        assert_eq!(competition.schedulers, ["minrtt", "weave"]);
        competition.quick = true;
        let mut arena = Arena::open(None, "--from").expect("the program carries plans");
        assert!(arena.leave_out_recorded("--from").is_ok_and(|text| text.is_some()));
        for plan in arena.plans() {
            assert!(arena.read(plan, &competition, &registry).is_ok_and(|ready| !ready.sweep.is_empty()), "{plan}");
        }
        let chosen = [Points::parse("bulk-tuning/2-3")].map(|points| points.expect("it is a family with a range"));
        let ready =
            arena.read_points("bulk-tuning", &chosen, &competition, ("--points", &registry)).expect("they exist");
        assert!(ready.sweep.cells.iter().all(|cell| [1, 2].contains(&cell.point)));
        assert_eq!(ready.sweep.plan.points.len(), 4, "points keep their numbers");
        for (text, message) in [
            ("bulk-tuning/4-5", "--points: bulk-tuning has no point 5; the plan has 4 points"),
            ("bulk-tuning/bolk", "--points: bulk-tuning has no scenario `bolk`; did you mean `bulk`?"),
        ] {
            let chosen = [Points::parse(text)].map(|points| points.expect("it has the form"));
            let error = arena.read_points("bulk-tuning", &chosen, &competition, ("--points", &registry)).err();
            assert!(error.is_some_and(|e| e.to_string().starts_with(message)), "{text}");
        }
    }
}
