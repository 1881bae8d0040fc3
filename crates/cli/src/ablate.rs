//! `pathweave reproduce --ablate`: finds the single setting that makes a claim hold that does not hold everywhere.

use crate::args::ReproduceOptions;
use crate::experiment::Experiment;
use crate::shard::{Existing, Ready};
use pathweave_algorithms::Registry;
use pathweave_experiments::ablation::{Trial, Tried, list};
use pathweave_experiments::claim::{Found, Judged, Verdict, judge};
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

/// Tries settings one by one for each claim that does not hold everywhere, with the plan's small runs. `None` after
/// Ctrl-C.
pub(crate) fn ablate(
    options: &ReproduceOptions,
    experiment: &Experiment,
    judged: &[Judged<'_>],
    (common, out): (&[Ablation], &Path),
    registry: &Registry,
    engine: &Engine,
) -> Result<Option<Vec<Tried>>, Failure> {
    let wanted: Vec<&str> = judged.iter().filter(|j| j.verdict.wants_ablation()).map(|j| j.claim.id.as_str()).collect();
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
    let mut open = claims;
    let changes = [None].into_iter().chain(small.plan.sweep.plan.ablations.iter().chain(common).map(Some));
    for (number, change) in changes.enumerate() {
        if open.is_empty() {
            break;
        }
        let Some(ready) = small.changed(change, &open, registry)? else { continue };
        let as_it_is = small.changed(None, &open, registry)?;
        if change.is_some() && as_it_is.is_some_and(|r| r.is_same_as(&ready)) {
            continue;
        }
        let folder = out.join("ablations").join(&experiment.paper).join(&experiment.id).join(number.to_string());
        if !ready.run(&folder, (1, 1), Existing::ResumeOrReplace, options.jobs.at_once, registry, engine)? {
            return Ok(None);
        }
        let Some(records) = ready.all_records(&folder, 1)? else { continue };
        let results = Results::new(&ready.plan.sweep, &records);
        let name = change.map_or("", |c| c.name.as_str());
        let mut still = Vec::new();
        for claim in open {
            let Some(own) = ready.plan.sweep.plan.claims.iter().find(|c| c.id == claim.id) else { continue };
            let judged = judge(&ready.plan.sweep, &results, own).map_err(Failure::Input)?;
            let hold = judged.count(Found::Supported);
            let trial = Trial::new(name, judged.verdict, hold, judged.atoms.len());
            eprintln!("{}/{} {}: {} with {name:?}", experiment.paper, experiment.id, claim.id, trial.verdict);
            if let Some(tried) = all.iter_mut().find(|t| t.claim_id == claim.id) {
                tried.trials.push(trial);
            }
            if judged.verdict != Verdict::Holds {
                still.push(claim);
            }
        }
        open = still;
    }
    Ok(Some(all))
}
