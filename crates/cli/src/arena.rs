//! `pathweave arena`.

use crate::args::ArenaOptions;
use crate::interrupt;
use crate::shard::{Existing, Ready};
use crate::sweep::problems;
use pathweave_algorithms::Registry;
use pathweave_experiments::arena;
use pathweave_experiments::results::Results;
use pathweave_lab::scenario::SchedulerSpec;
use pathweave_runner::{Engine, Failure};
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// The schedulers without any argument; the first is compared with each other one.
const DEFAULT: &str = "weave,minrtt,linux,redundant,blest,blest-kernel,ecf,cp,dpsaf,edpf,otias,rems";

/// Makes the arena's plans with the schedulers that `options` names, and says who wins where.
pub(crate) fn arena(options: &ArenaOptions, registry: &Registry, engine: &Engine) -> Result<ExitCode, Failure> {
    let list = options.schedulers.as_deref().unwrap_or(DEFAULT);
    let names: Vec<&str> = list.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    for name in &names {
        SchedulerSpec::parse(name).and_then(|spec| spec.check(registry))?;
    }
    let plans = plans(options)?;
    interrupt::listen();
    let (mut scores, mut failures, mut seeds) = (Vec::new(), 0, 0);
    for (name, file) in plans {
        let text = fs::read_to_string(&file).map_err(|e| Failure::Input(format!("{}: {e}", file.display())))?;
        let ready = Ready::parse(&file, &with(&text, &names, options), options.quick, registry)?;
        let sweep = &ready.plan.sweep;
        let references = sweep.variants.len() - names.len();
        let folder = options.out.join(&name);
        if !ready.run(&folder, (1, 1), Existing::ResumeOrReplace, options.jobs, registry, engine)? {
            eprintln!("Stopped early; the same command goes on with what is missing.");
            return Ok(ExitCode::from(interrupt::CODE));
        }
        let Some(records) = ready.all_records(&folder, 1)? else {
            return Err(Failure::Output(format!("{}: runs are missing", folder.display())));
        };
        let results = Results::new(sweep, &records);
        eprint!("{}", problems(&results));
        failures += results.failures;
        seeds = sweep.plan.seeds;
        arena::add(&mut scores, sweep, &results, references);
    }
    let page = arena::page(&scores, seeds);
    let path = options.out.join("arena.txt");
    fs::write(&path, &page).map_err(Failure::writing(path.display()))?;
    io::stdout().lock().write_all(page.as_bytes()).map_err(Failure::writing("standard output"))?;
    Ok(ExitCode::from(u8::from(failures > 0)))
}

/// A plan's text with these schedulers after its references, which stand in one line, and with the seeds that are asked for.
fn with(text: &str, names: &[&str], options: &ArenaOptions) -> String {
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

/// The plans of the folder that are asked for, by name.
fn plans(options: &ArenaOptions) -> Result<Vec<(String, PathBuf)>, Failure> {
    let folder = &options.from;
    let wrong =
        |e: io::Error| Failure::Input(format!("{}: {e}; --from names the folder with the arena", folder.display()));
    let mut plans = Vec::new();
    for file in fs::read_dir(folder).map_err(wrong)? {
        let file = file.map_err(wrong)?.path();
        let Some(name) = file.file_stem().and_then(|s| s.to_str()).map(str::to_owned) else { continue };
        let asked = options.only.as_ref().is_none_or(|only| name.contains(only.as_str()));
        if file.extension().is_some_and(|e| e == "toml") && !name.starts_with('_') && asked {
            plans.push((name, file));
        }
    }
    plans.sort();
    if plans.is_empty() {
        return Err(Failure::Input(format!("{}: there is no plan that is asked for", folder.display())));
    }
    Ok(plans)
}
