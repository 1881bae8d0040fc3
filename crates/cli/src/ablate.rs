//! `pathweave reproduce --ablate`: finds the change, or the two changes, that make a claim hold that does not hold everywhere.

use crate::args::ReproduceOptions;
use crate::experiment::Experiment;
use crate::shard::{Existing, Ready};
use pathweave_algorithms::Registry;
use pathweave_experiments::ablation::{Trial, Tried, list};
use pathweave_experiments::claim::{Found, Judged, judge};
use pathweave_experiments::plan::{Ablation, Claim};
use pathweave_experiments::results::Results;

use pathweave_runner::{Engine, Failure};
use std::fs;
use std::path::Path;

/// File with the settings to try for every plan, beside the papers' folders.
const COMMON: &str = "ablations.toml";
/// File with the settings that were tried, beside the tables or in the folder for results.
const FILE: &str = "ablations.jsonl";

/// The settings to try for every plan; empty if the file is missing.
pub(crate) fn common(options: &ReproduceOptions) -> Result<Vec<Ablation>, Failure> {
    let path = options.from.join(COMMON);
    match fs::read_to_string(&path) {
        Ok(text) if options.ablate => Ok(list(&path.display().to_string(), &text)?),
        _ => Ok(Vec::new()),
    }
}

/// The settings that an earlier run tried, read from the folder with the tables.
pub(crate) fn kept(options: &ReproduceOptions) -> Result<Vec<Tried>, Failure> {
    let Some(path) = options.from_tables.as_ref().map(|folder| folder.join(FILE)) else { return Ok(Vec::new()) };
    let Ok(text) = fs::read_to_string(&path) else { return Ok(Vec::new()) };
    let lines = text.lines().map(serde_json::from_str).collect::<Result<_, _>>();
    lines.map_err(|e| Failure::Input(format!("{}: {e}", path.display())))
}

/// Writes the settings that were tried.
pub(crate) fn keep(folder: &Path, all: &[Tried]) -> Result<(), Failure> {
    let path = folder.join(FILE);
    let mut text = String::new();
    for tried in all {
        let line = serde_json::to_string(tried).map_err(|e| Failure::Output(format!("{}: {e}", path.display())))?;
        text.push_str(&line);
        text.push('\n');
    }
    fs::write(&path, text).map_err(Failure::writing(path.display()))
}

/// Tries changes for each claim that wants ablations, with the plan's small runs: first one by one, and then two together.
/// `None` after Ctrl-C.
pub(crate) fn ablate(
    options: &ReproduceOptions,
    experiment: &Experiment,
    judged: &[Judged<'_>],
    (common, out): (&[Ablation], &Path),
    registry: &Registry,
    engine: &Engine,
) -> Result<Option<Vec<Tried>>, Failure> {
    let wanted: Vec<&str> = judged.iter().filter(|j| j.wants_ablation()).map(|j| j.claim.id.as_str()).collect();
    if wanted.is_empty() {
        return Ok(Some(Vec::new()));
    }
    let small = Ready::read(&experiment.file, true, registry)?;
    let claims: Vec<&Claim> = small.plan.sweep.plan.claims.iter().filter(|c| wanted.contains(&&*c.id)).collect();
    let tried = |claim: &&Claim| Tried {
        paper: experiment.paper.clone(),
        id: experiment.id.clone(),
        claim_id: claim.id.clone(),
        trials: Vec::new(),
    };
    let mut all: Vec<Tried> = claims.iter().map(tried).collect();
    let mut trials = Trials { options, experiment, small: &small, out, registry, engine, number: 0 };
    let singles: Vec<&Ablation> = small.plan.sweep.plan.ablations.iter().chain(common).collect();
    for change in [None].into_iter().chain(singles.iter().copied().map(Some)) {
        let open: Vec<&Claim> = claims.iter().copied().filter(|claim| !holds(&all, claim)).collect();
        if !trials.make(change, &open, &mut all)? {
            return Ok(None);
        }
    }
    for claim in claims.iter().filter(|claim| !holds(&all, claim)).copied().collect::<Vec<_>>() {
        let pairs = all.iter().find(|t| t.claim_id == claim.id).map(Tried::pairs).unwrap_or_default();
        let named = |name: &str| singles.iter().find(|a| a.name == name);
        for (one, other) in pairs {
            let both = named(&one).zip(named(&other)).and_then(|(one, other)| one.and(other));
            let Some(both) = both.filter(|_| !holds(&all, claim)) else { continue };
            if !trials.make(Some(&both), &[claim], &mut all)? {
                return Ok(None);
            }
        }
    }
    Ok(Some(all))
}

fn holds(all: &[Tried], claim: &Claim) -> bool {
    all.iter().any(|t| t.claim_id == claim.id && t.holds())
}

/// The parts that all trials of an experiment share.
struct Trials<'a> {
    options: &'a ReproduceOptions,
    experiment: &'a Experiment,
    small: &'a Ready,
    out: &'a Path,
    registry: &'a Registry,
    engine: &'a Engine,
    /// Number of the next trial, which is the name of its folder.
    number: usize,
}

impl Trials<'_> {
    /// Makes the runs that the claims need with this change, and notes what became of each claim. Returns false after
    /// Ctrl-C. Nothing is noted if the change does not apply or changes nothing.
    fn make(&mut self, change: Option<&Ablation>, claims: &[&Claim], all: &mut [Tried]) -> Result<bool, Failure> {
        let number = self.number;
        self.number += 1;
        if claims.is_empty() {
            return Ok(true);
        }
        let Some(ready) = self.small.changed(change, claims, self.registry)? else { return Ok(true) };
        let as_it_is = self.small.changed(None, claims, self.registry)?;
        if change.is_some() && as_it_is.is_some_and(|r| r.is_same_as(&ready)) {
            return Ok(true);
        }
        let Experiment { paper, id, .. } = self.experiment;
        let folder = self.out.join("ablations").join(paper).join(id).join(number.to_string());
        let jobs = self.options.jobs.at_once;
        if !ready.run(&folder, (1, 1), Existing::ResumeOrReplace, jobs, self.registry, self.engine)? {
            return Ok(false);
        }
        let Some(records) = ready.all_records(&folder, 1)? else { return Ok(true) };
        let results = Results::new(&ready.plan.sweep, &records);
        let name = change.map_or("", |c| c.name.as_str());
        for claim in claims {
            let Some(own) = ready.plan.sweep.plan.claims.iter().find(|c| c.id == claim.id) else { continue };
            let judged = judge(&ready.plan.sweep, &results, own).map_err(Failure::Input)?;
            let trial = Trial::new(name, judged.verdict, judged.count(Found::Supported), judged.atoms.len());
            eprintln!("{paper}/{id} {}: {} with {name:?}", claim.id, trial.verdict);
            if let Some(tried) = all.iter_mut().find(|t| t.claim_id == claim.id) {
                tried.trials.push(trial);
            }
        }
        Ok(true)
    }
}
