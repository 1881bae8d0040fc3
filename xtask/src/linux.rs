//! The schedulers of `linux/` in a real kernel, beside the simulator's.

#[cfg(test)]
mod document;
mod kernel;
mod points;
mod record;
mod table;

use crate::results::{self, pathweave};
use crate::run::{capture, program, run, target};
use kernel::Kernel;
use points::{FAMILIES, Family, PAIRS, Pair, Point};
use record::{Records, Run};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The kernel's runs that are asked for, and where their results go.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Arguments {
    /// Points of the arena: `small-window` (48), `three-paths` (20) or `four-paths` (16)
    #[arg(long, default_value = "small-window", value_parser = family)]
    family: Family,
    /// Number of these points to run, spread over all
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=48))]
    points: u32,
    /// Names of the kernel's schedulers, separated by commas; all if none is given. `default` is always run
    #[arg(long, value_delimiter = ',')]
    schedulers: Vec<String>,
    /// Seeds of the kernel's randomness for each point
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=100))]
    seeds: u64,
    /// Runs at the same time [default: one for each processor]
    #[arg(long)]
    jobs: Option<u32>,
    /// File of results, a line of JSON for each run. Runs that it has of the same patches are kept and not made again
    /// [default: results.jsonl in the work folder]
    #[arg(long)]
    out: Option<PathBuf>,
    /// Folder for the kernel and its runs, 2 GB [default: target/linux]
    #[arg(long)]
    work: Option<PathBuf>,
}

fn family(name: &str) -> Result<Family, String> {
    let names = FAMILIES.map(|family| family.name).join(", ");
    FAMILIES.into_iter().find(|family| family.name == name).ok_or_else(|| format!("allowed: {names}"))
}

/// Goodput of the kernel's runs, by scenario and seed.
type Measured = BTreeMap<(String, u64), f64>;
/// Goodput of the simulator's runs, by scenario and scheduler.
type Simulated = BTreeMap<String, f64>;

/// Seeds of the simulator where packets are lost at random. Without such losses all seeds have the same result.
const SIMULATED_SEEDS: u32 = 3;

/// Builds the kernel, makes the runs that are missing, and prints the table.
///
/// # Errors
/// If a scheduler is unknown, if the kernel does not build, or if a run fails.
pub(crate) fn compare(arguments: &Arguments) -> Result<(), String> {
    let schedulers = chosen(&arguments.schedulers)?;
    let points = points::read(arguments.family, arguments.points as usize)?;
    let folder = arguments.work.clone().unwrap_or_else(|| target().join("linux"));
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let folder = folder.canonicalize().map_err(|e| format!("{}: {e}", folder.display()))?;
    let out = arguments.out.clone().unwrap_or_else(|| folder.join("results.jsonl"));
    let kernel = kernel::build(&folder)?;
    let mut records = Records::read(&out, &kernel.version)?;
    let mut missing: Vec<(Pair, &Point, u64)> = Vec::new();
    for pair in &schedulers {
        let wanted = points.iter().flat_map(|point| (1..=arguments.seeds).map(move |seed| (*pair, point, seed)));
        missing.extend(wanted.filter(|(_, point, seed)| records.run(pair.kernel, &point.name, *seed).is_none()));
    }
    let lines = lines(&records, &missing);
    let file = measure(&kernel, &lines, arguments.jobs)?;
    let (measured, first_runs) = read(&file, &lines)?;
    let simulated = simulate(&folder, &first_runs, &schedulers, arguments.family)?;
    for (pair, point, seed) in &missing {
        let run = join(&records, *pair, point, *seed, &measured, &simulated)?;
        records.add(run);
    }
    records.write(&out)?;
    println!("{} runs were missing; written: {}\n", missing.len(), out.display());
    print!("{}", table::tables(records.runs(), arguments.family));
    Ok(())
}

fn chosen(names: &[String]) -> Result<Vec<Pair>, String> {
    if let Some(unknown) = names.iter().find(|name| PAIRS.iter().all(|pair| pair.kernel != **name)) {
        let known: Vec<&str> = PAIRS.iter().map(|pair| pair.kernel).collect();
        return Err(format!("unknown scheduler `{unknown}`; allowed: {}", known.join(", ")));
    }
    let wanted = |(i, pair): &(usize, Pair)| *i == 0 || names.is_empty() || names.iter().any(|n| n == pair.kernel);
    Ok(PAIRS.into_iter().enumerate().filter(wanted).map(|(_, pair)| pair).collect())
}

/// The seed with which plain TCP runs at a point: without random losses seeds hardly differ (`validation/README.md`).
fn plain_seed(point: &Point, seed: u64) -> u64 {
    if point.has_losses() { seed } else { 1 }
}

/// The kernel's runs that are missing, a line for each, and those of plain TCP beside them.
fn lines(records: &Records, missing: &[(Pair, &Point, u64)]) -> BTreeSet<String> {
    let mut lines = BTreeSet::new();
    for (pair, point, seed) in missing {
        lines.insert(point.scheduler_line(pair.kernel, *seed));
        let seed = plain_seed(point, *seed);
        if records.plain(&point.name, seed).is_none() {
            lines.extend(point.plain_modes().map(|mode| point.plain_line(&mode, seed)));
        }
    }
    lines
}

/// Makes the runs of the kernel, apart from those that the file of its version has already. Returns the file.
fn measure(kernel: &Kernel, lines: &BTreeSet<String>, jobs: Option<u32>) -> Result<PathBuf, String> {
    let scenarios = kernel.folder.join("scenarios.jsonl");
    let text: String = lines.iter().map(String::as_str).collect();
    fs::write(&scenarios, text).map_err(|e| format!("{}: {e}", scenarios.display()))?;
    let measured = kernel.folder.join(format!("measured-{}.jsonl", kernel.version));
    let mut command = program("python3", "validation/measure.py");
    command.arg(&kernel.folder).arg(&scenarios).arg(&measured);
    if let Some(jobs) = jobs {
        command.args(["--jobs", &jobs.to_string()]);
    }
    run(&mut command)?;
    Ok(measured)
}

/// The goodput of each run that is asked for, and the default scheduler's first run of each point.
fn read(file: &Path, lines: &BTreeSet<String>) -> Result<(Measured, String), String> {
    let parse = |line: &str| serde_json::from_str::<Value>(line).map_err(|e| format!("{}: {e}", file.display()));
    let key =
        |run: &Value| (run["id"].as_str().unwrap_or_default().to_owned(), run["seed"].as_u64().unwrap_or_default());
    let wanted = lines.iter().map(|line| parse(line).map(|run| key(&run))).collect::<Result<BTreeSet<_>, _>>()?;
    let text = fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
    let (mut measured, mut first_runs) = (Measured::new(), String::new());
    for line in text.lines() {
        let run = parse(line)?;
        let (id, seed) = key(&run);
        if !wanted.contains(&(id.clone(), seed)) {
            continue;
        }
        let Some(goodput) = run["goodput_mbps"].as_f64().filter(|_| run["error"].is_null()) else {
            return Err(format!("{id}, seed {seed}: {}; remove the line to run it again", run["error"]));
        };
        if seed == 1 && id.ends_with(&format!("-{}/mptcp", PAIRS[0].kernel)) {
            first_runs += &format!("{line}\n");
        }
        measured.insert((id, seed), goodput);
    }
    Ok((measured, first_runs))
}

/// The simulator's goodput of each point and scheduler, the mean of its seeds. The set-up of a point is that of `pathweave
/// validate`.
fn simulate(folder: &Path, first_runs: &str, schedulers: &[Pair], family: Family) -> Result<Simulated, String> {
    if first_runs.is_empty() {
        return Ok(Simulated::new());
    }
    results::build()?;
    let (references, scenarios) = (folder.join("references.jsonl"), folder.join("scenarios"));
    fs::write(&references, first_runs).map_err(|e| format!("{}: {e}", references.display()))?;
    let _ = fs::remove_dir_all(&scenarios);
    run(pathweave().arg("validate").arg(&references).arg("--scenarios").arg(&scenarios))?;
    let entries = fs::read_dir(&scenarios).map_err(|e| format!("{}: {e}", scenarios.display()))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    let names: Vec<&str> = schedulers.iter().map(|pair| pair.simulator).collect();
    let seeds = if family.losses { SIMULATED_SEEDS } else { 1 };
    let mut command = pathweave();
    command.arg("compare").args(&files);
    command.args(["--seeds", &seeds.to_string(), "--jsonl", "-", "--schedulers", &names.join(",")]);
    let text = String::from_utf8(capture(&mut command)?).map_err(|e| e.to_string())?;
    let mut simulated = Simulated::new();
    for line in text.lines() {
        let run: Value = serde_json::from_str(line).map_err(|e| format!("pathweave compare: {e}"))?;
        if let (Some(scenario), Some(scheduler), Some(goodput)) =
            (run["scenario"].as_str(), run["scheduler"].as_str(), run["metrics"]["goodput_mbps"].as_f64())
        {
            *simulated.entry(format!("{scenario}/{scheduler}")).or_default() += goodput / f64::from(seeds);
        }
    }
    Ok(simulated)
}

/// A run with what it is compared with: of the records, or new.
fn join(
    records: &Records,
    pair: Pair,
    point: &Point,
    seed: u64,
    measured: &Measured,
    simulated: &Simulated,
) -> Result<Run, String> {
    let name = &point.name;
    let goodput = |id: String, seed: u64| {
        let found = measured.get(&(id.clone(), seed)).copied();
        found.ok_or_else(|| format!("{id}, seed {seed}: no result"))
    };
    let plain_seed = plain_seed(point, seed);
    let plain = records.plain(name, plain_seed).map_or_else(
        || {
            let modes = point.plain_modes().map(|mode| goodput(format!("{name}-plain/{mode}"), plain_seed));
            modes.collect::<Result<Vec<f64>, _>>().map(|all| all.into_iter().fold(0.0, f64::max))
        },
        Ok,
    )?;
    let default = records.run(PAIRS[0].kernel, name, seed).map(|run| run.kernel);
    let scenario = format!("{name}-{}-mptcp/{}", PAIRS[0].kernel, pair.simulator);
    let simulator = records.run(pair.kernel, name, 1).map(|run| run.simulator);
    let simulator = simulator.or_else(|| simulated.get(&scenario).copied());
    Ok(Run {
        point: name.clone(),
        scheduler: pair.kernel,
        seed,
        kernel: goodput(format!("{name}-{}/mptcp", pair.kernel), seed)?,
        plain,
        default: default.map_or_else(|| goodput(format!("{name}-{}/mptcp", PAIRS[0].kernel), seed), Ok)?,
        simulator: simulator.ok_or_else(|| format!("{scenario}: not simulated"))?,
    })
}
