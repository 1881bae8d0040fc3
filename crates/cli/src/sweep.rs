//! `pathweave sweep` and `pathweave arena`.

use crate::args::{ArenaOptions, SweepOptions};
use crate::output;
use crate::shard::{Existing, Ready, file_name};
use crate::terminal;
use pathweave_algorithms::Registry;
use pathweave_experiments::answer::Answer;
use pathweave_experiments::arena;
use pathweave_experiments::claim::{Judged, verdicts};
use pathweave_experiments::page::page;
use pathweave_experiments::reproduction::text as claims;
use pathweave_experiments::results::Results;
use pathweave_lab::scenario::{SchedulerSpec, did_you_mean};
use pathweave_runner::{Engine, Failure, version};
use pathweave_units::counted;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Name of the file with a sweep's runs.
const RUNS: &str = "runs.jsonl";
const PARQUET: &str = "runs.parquet";
const PAGE: &str = "page.html";

/// Makes the runs of a plan, or of one shard of it, and shows the results when all are done.
pub(crate) fn sweep(options: &SweepOptions, registry: &Registry, engine: &Engine) -> Result<u8, Failure> {
    let ready = Ready::read(&options.plan, options.quick, registry)?;
    let (shard, shards) = options.shard.unwrap_or((1, 1));
    let written = [RUNS, PARQUET, PAGE].map(|name| options.out.join(name));
    output::spare(written.into_iter().chain([options.out.join(file_name(shard, shards))]), &ready.plan.files())?;
    terminal::listen_for_interrupt();
    let existing = if options.resume { Existing::Resume } else { Existing::Refuse };
    let complete = ready.run(&options.out, (shard, shards), existing, options.jobs.at_once, registry, engine)?;
    if !complete {
        // Other shards may be at work, so only a sweep in one piece has a page before its end.
        if shards == 1 {
            let records = ready.records(&options.out, shards)?;
            write_page(&ready, &Results::new(&ready.plan.sweep, &records), &[], &options.out)?;
        }
        let text = "Stopped early; --resume goes on with what is missing.\n";
        io::stderr().lock().write_all(text.as_bytes()).map_err(Failure::writing("standard error"))?;
        return Ok(terminal::INTERRUPTED);
    }
    let Some(records) = ready.all_records(&options.out, shards)? else {
        let text = format!("Shard {shard} of {shards} is complete; others are not there yet.\n");
        io::stdout().lock().write_all(text.as_bytes()).map_err(Failure::writing("standard output"))?;
        return Ok(0);
    };
    let lines: String = records.iter().map(|r| r.line()).collect();
    let path = options.out.join(RUNS);
    std::fs::write(&path, lines).map_err(Failure::writing(path.display()))?;
    #[cfg(feature = "parquet")]
    if options.parquet {
        crate::parquet_file::write(&options.out.join(PARQUET), &ready.plan.sweep.plan, &records)?;
    }
    let results = Results::new(&ready.plan.sweep, &records);
    let judged = verdicts(&ready.plan.sweep, &results).map_err(Failure::Input)?;
    let text = format!("{}: {}\n", counted(results.runs, "run"), path.display());
    io::stdout().lock().write_all(text.as_bytes()).map_err(Failure::writing("standard output"))?;
    write_page(&ready, &results, &judged, &options.out)?;
    let problems = problems(&results);
    io::stderr().lock().write_all(problems.as_bytes()).map_err(Failure::writing("standard error"))?;
    Ok(u8::from(results.failures > 0))
}

/// Writes the page of the existing results, and its answers to standard output.
fn write_page(ready: &Ready, results: &Results, judged: &[Judged<'_>], folder: &Path) -> Result<(), Failure> {
    let sweep = &ready.plan.sweep;
    let path = folder.join(PAGE);
    fs::write(&path, page(sweep, results, judged, version())).map_err(Failure::writing(path.display()))?;
    let mut text = Answer::of(sweep, results).map_or_else(String::new, |answer| answer.text());
    if !judged.is_empty() {
        text.push_str(&claims(&sweep.plan.name, &sweep.plan, judged));
    }
    text.push_str(&format!("As a page: {}\n", path.display()));
    io::stdout().lock().write_all(text.as_bytes()).map_err(Failure::writing("standard output"))
}

/// A line for each run that did not complete.
pub(crate) fn problems(results: &Results) -> String {
    terminal::incomplete(&results.problems, results.runs)
}

/// Schedulers that compete by default; the first is compared with each other one.
const DEFAULT: &str = "weave,minrtt,linux,redundant,blest,blest-kernel,ecf,cp,dpsaf,edpf,otias,rems";

/// Makes the arena's plans with the schedulers that `options` names, and says which scheduler wins on which points.
pub(crate) fn arena(options: &ArenaOptions, registry: &Registry, engine: &Engine) -> Result<u8, Failure> {
    let names = names_of(options, registry)?;
    let plans = with_recordings(plans(options)?, &options.from)?;
    terminal::listen_for_interrupt();
    let (mut scores, mut failures, mut seeds) = (Vec::new(), 0, 0);
    for (name, file) in plans {
        let ready = Ready::parse(&file, &plan_text(&file, &names, options)?, options.quick, registry)?;
        let sweep = &ready.plan.sweep;
        let references = sweep.variants.len() - names.len() - sweep.plain_tcp().count();
        let folder = options.out.join(&name);
        if !ready.run(&folder, (1, 1), Existing::ResumeOrReplace, options.jobs.at_once, registry, engine)? {
            eprintln!("Stopped early; the same command goes on with what is missing.");
            return Ok(terminal::INTERRUPTED);
        }
        let Some(records) = ready.all_records(&folder, 1)? else {
            return Err(Failure::Output(format!("{}: runs are missing", folder.display())));
        };
        let results = Results::new(sweep, &records);
        eprint!("{}", problems(&results));
        failures += results.failures;
        seeds = sweep.plan.seeds.max(seeds);
        arena::add(&mut scores, sweep, &results, references);
    }
    let page = arena::text(&scores, seeds);
    let path = options.out.join("arena.txt");
    fs::write(&path, &page).map_err(Failure::writing(path.display()))?;
    let path = options.out.join("arena.html");
    let html = arena::html_page(&scores, seeds, &command(options, &names), version());
    fs::write(&path, html).map_err(Failure::writing(path.display()))?;
    io::stdout().lock().write_all(page.as_bytes()).map_err(Failure::writing("standard output"))?;
    Ok(u8::from(failures > 0))
}

/// The names in a list with commas.
fn listed(list: &str) -> impl Iterator<Item = &str> + Clone {
    list.split(',').map(str::trim).filter(|name| !name.is_empty())
}

/// The schedulers that compete, each once, after checks.
pub(crate) fn names_of(options: &ArenaOptions, registry: &Registry) -> Result<Vec<String>, Failure> {
    let mut names: Vec<String> = Vec::new();
    let asked_for = listed(options.schedulers.as_deref().unwrap_or(DEFAULT));
    // The first of --against comes second, so that it is the one to part from.
    let first = asked_for.clone().take(1);
    for name in first.chain(listed(options.against.as_deref().unwrap_or(""))).chain(asked_for.skip(1)) {
        SchedulerSpec::parse(name).and_then(|spec| spec.check(registry))?;
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    if names.is_empty() {
        return Err(Failure::Input("there is no scheduler in the list; name one, such as weave".into()));
    }
    Ok(names)
}

/// The command that opens a point with the first two schedulers, without the point.
fn command(options: &ArenaOptions, names: &[String]) -> String {
    let mut words = vec![format!("pathweave arena {}", names.iter().take(2).cloned().collect::<Vec<_>>().join(","))];
    words.extend(options.quick.then(|| "--quick".to_owned()));
    words.extend(options.seeds.map(|seeds| format!("--seeds {seeds}")));
    let other = |option: &str, folder: &Path, usual: &str| {
        (folder != Path::new(usual)).then(|| format!("{option} {}", folder.display()))
    };
    words.extend(other("--from", &options.from, "arena"));
    words.extend(other("--out", &options.out, "pathweave-arena"));
    words.join(" ")
}

/// The text of the plan in `file` with these schedulers and the seeds that `options` asks for.
pub(crate) fn plan_text(file: &Path, names: &[String], options: &ArenaOptions) -> Result<String, Failure> {
    let text = fs::read_to_string(file).map_err(|e| Failure::Input(format!("{}: {e}", file.display())))?;
    Ok(with(&text, names, options))
}

/// A plan's text with these schedulers added to the line of its references, and with the seeds that `options` asks for.
fn with(text: &str, names: &[String], options: &ArenaOptions) -> String {
    let mut changed = String::new();
    for line in text.lines() {
        if let Some(references) = line.strip_prefix("schedulers = [").and_then(|l| l.strip_suffix(']')) {
            let names: String = names.iter().map(|name| format!(", \"{name}\"")).collect();
            changed.push_str(&format!("schedulers = [{references}{names}]\n"));
        } else if let Some(seeds) = options.seeds.filter(|_| line.starts_with("seeds = ")) {
            changed.push_str(&format!("seeds = {seeds}\n"));
        } else {
            changed.push_str(&format!("{line}\n"));
        }
    }
    changed
}

/// The arena's folder for recordings of cellular links, which are not part of the project, and the prefix of the plans
/// that need them.
const RECORDINGS: &str = "recordings";
const RECORDED: &str = "recorded";

/// Leaves out plans whose recordings are missing, and says so.
fn with_recordings(mut plans: Vec<(String, PathBuf)>, folder: &Path) -> Result<Vec<(String, PathBuf)>, Failure> {
    let mut files = fs::read_dir(folder.join(RECORDINGS)).into_iter().flatten().flatten();
    if files.any(|file| file.path().extension().is_none_or(|e| e != "md")) {
        return Ok(plans);
    }
    let all = plans.len();
    plans.retain(|(name, _)| !name.starts_with(RECORDED));
    let text = format!("there are no recordings of cellular links in {}", folder.join(RECORDINGS).display());
    if plans.is_empty() {
        return Err(Failure::Input(format!("{text}; README.md there says how to get them")));
    }
    if plans.len() < all {
        eprintln!("Left out: plans that begin with {RECORDED}; {text}, and README.md there says how to get them.");
    }
    Ok(plans)
}

/// The folder's plans that `--only` selects, sorted by name.
pub(crate) fn plans(options: &ArenaOptions) -> Result<Vec<(String, PathBuf)>, Failure> {
    let folder = &options.from;
    let wrong =
        |e: io::Error| Failure::Input(format!("{}: {e}; --from names the folder with the arena", folder.display()));
    let mut plans = Vec::new();
    for file in fs::read_dir(folder).map_err(wrong)? {
        let file = file.map_err(wrong)?.path();
        let Some(name) = file.file_stem().and_then(|s| s.to_str()).map(str::to_owned) else { continue };
        if file.extension().is_some_and(|e| e == "toml") && !name.starts_with('_') {
            plans.push((name, file));
        }
    }
    plans.sort();
    if plans.is_empty() {
        return Err(Failure::Input(format!("{}: this folder has no plan", folder.display())));
    }
    if let Some(only) = &options.only {
        let (asked, others): (Vec<_>, Vec<_>) = plans.into_iter().partition(|(name, _)| name.contains(only.as_str()));
        if asked.is_empty() {
            let names = others.iter().map(|(name, _)| name.as_str());
            let first = format!("the first is {}", names.clone().next().unwrap_or_default());
            let hint = did_you_mean(only, names, &first);
            let folder = folder.display();
            return Err(Failure::Input(format!("--only = {only}: no plan of {folder} has this in its name; {hint}")));
        }
        return Ok(asked);
    }
    Ok(plans)
}
