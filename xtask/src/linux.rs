//! The schedulers of `linux/` in a real kernel, beside the simulator's.

#[cfg(test)]
mod document;
mod kernel;
mod points;
mod table;

use crate::results::pathweave;
use crate::run::{capture, program, run, target};
use kernel::Kernel;
use points::{PAIRS, Pair, Point};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use table::Run;

/// The kernel's runs that are asked for, and where their results go.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Arguments {
    /// Number of the arena's 48 points with small windows to run
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=48))]
    points: u32,
    /// Names of the kernel's schedulers, separated by commas; all if none is given. `default` is always run
    #[arg(long, value_delimiter = ',')]
    schedulers: Vec<String>,
    /// Seeds of the kernel's randomness for each point
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=100))]
    seeds: u64,
    /// File of results, a line of JSON for each run [default: results.jsonl in the work folder]
    #[arg(long)]
    out: Option<PathBuf>,
    /// Folder for the kernel and its runs, 2 GB [default: target/linux]
    #[arg(long)]
    work: Option<PathBuf>,
}

type Goodputs = BTreeMap<String, f64>;

/// Builds the kernel, makes the runs that are missing, and prints the table. The command must have been built.
///
/// # Errors
/// If a scheduler is unknown, if the kernel does not build, or if a run fails.
pub(crate) fn compare(arguments: &Arguments) -> Result<(), String> {
    let schedulers = chosen(&arguments.schedulers)?;
    let points = points::read(arguments.points as usize)?;
    let folder = arguments.work.clone().unwrap_or_else(|| target().join("linux"));
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let folder = folder.canonicalize().map_err(|e| format!("{}: {e}", folder.display()))?;
    let kernel = kernel::build(&folder)?;
    let measured = measure(&kernel, &points, &schedulers, arguments.seeds)?;
    let (goodputs, first_runs) = read(&measured, &points, &schedulers, arguments.seeds)?;
    let simulated = simulate(&folder, &first_runs, &schedulers)?;
    let runs = join(&points, &schedulers, arguments.seeds, &goodputs, &simulated)?;
    let lines: String = runs.iter().map(|run| format!("{}\n", line(run, &kernel.version))).collect();
    let out = arguments.out.clone().unwrap_or_else(|| folder.join("results.jsonl"));
    fs::write(&out, lines).map_err(|e| format!("{}: {e}", out.display()))?;
    println!("{} points, {} seeds; written: {}\n", points.len(), arguments.seeds, out.display());
    print!("{}", table::table(&runs));
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

/// Makes the runs of the kernel, apart from those that the file of its version has already. Returns the file.
fn measure(kernel: &Kernel, points: &[Point], schedulers: &[Pair], seeds: u64) -> Result<PathBuf, String> {
    let scenarios = kernel.folder.join("scenarios.jsonl");
    let lines: String = points.iter().map(|point| point.lines(schedulers, seeds)).collect();
    fs::write(&scenarios, lines).map_err(|e| format!("{}: {e}", scenarios.display()))?;
    let measured = kernel.folder.join(format!("measured-{}.jsonl", kernel.version));
    run(program("python3", "validation/measure.py").arg(&kernel.folder).arg(&scenarios).arg(&measured))?;
    Ok(measured)
}

fn key(id: &str, seed: u64) -> String {
    format!("{id}#{seed}")
}

/// The goodput of each run that is asked for, and the default scheduler's first run of each point.
fn read(file: &Path, points: &[Point], schedulers: &[Pair], seeds: u64) -> Result<(Goodputs, String), String> {
    let text = fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
    let wanted: String = points.iter().map(|point| point.lines(schedulers, seeds)).collect();
    let (mut goodputs, mut first_runs) = (Goodputs::new(), String::new());
    for line in text.lines() {
        let run: Value = serde_json::from_str(line).map_err(|e| format!("{}: {e}", file.display()))?;
        let (id, seed) = (run["id"].as_str().unwrap_or_default(), run["seed"].as_u64().unwrap_or_default());
        if seed > seeds || !wanted.contains(&format!("\"id\":\"{id}\"")) {
            continue;
        }
        let Some(goodput) = run["goodput_mbps"].as_f64().filter(|_| run["error"].is_null()) else {
            return Err(format!("{id}, seed {seed}: {}; remove the line to run it again", run["error"]));
        };
        goodputs.insert(key(id, seed), goodput);
        if seed == 1 && id.ends_with(&format!("-{}/mptcp", PAIRS[0].kernel)) {
            first_runs += &format!("{line}\n");
        }
    }
    Ok((goodputs, first_runs))
}

/// The simulator's goodput of each point and scheduler. The set-up of a point is that of `pathweave validate`. Without
/// random losses all seeds have the same result.
fn simulate(folder: &Path, first_runs: &str, schedulers: &[Pair]) -> Result<Goodputs, String> {
    let (references, scenarios) = (folder.join("references.jsonl"), folder.join("scenarios"));
    fs::write(&references, first_runs).map_err(|e| format!("{}: {e}", references.display()))?;
    let _ = fs::remove_dir_all(&scenarios);
    run(pathweave().arg("validate").arg(&references).arg("--scenarios").arg(&scenarios))?;
    let entries = fs::read_dir(&scenarios).map_err(|e| format!("{}: {e}", scenarios.display()))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    let names: Vec<&str> = schedulers.iter().map(|pair| pair.simulator).collect();
    let mut command = pathweave();
    command.arg("compare").args(&files).args(["--seeds", "1", "--jsonl", "-", "--schedulers", &names.join(",")]);
    let text = String::from_utf8(capture(&mut command)?).map_err(|e| e.to_string())?;
    let mut goodputs = Goodputs::new();
    for line in text.lines() {
        let run: Value = serde_json::from_str(line).map_err(|e| format!("pathweave compare: {e}"))?;
        if let (Some(scenario), Some(scheduler), Some(goodput)) =
            (run["scenario"].as_str(), run["scheduler"].as_str(), run["metrics"]["goodput_mbps"].as_f64())
        {
            goodputs.insert(format!("{scenario}/{scheduler}"), goodput);
        }
    }
    Ok(goodputs)
}

fn join(
    points: &[Point],
    schedulers: &[Pair],
    seeds: u64,
    goodputs: &Goodputs,
    simulated: &Goodputs,
) -> Result<Vec<Run>, String> {
    let measured = |id: String, seed| {
        let found = goodputs.get(&key(&id, seed)).copied();
        found.ok_or_else(|| format!("{id}, seed {seed}: no result"))
    };
    let mut runs = Vec::new();
    for scheduler in schedulers {
        for point in points {
            let name = &point.name;
            let simulator = format!("{name}-{}-mptcp/{}", PAIRS[0].kernel, scheduler.simulator);
            for seed in 1..=seeds {
                let plain = measured(format!("{name}-plain/tcp0"), seed)?;
                runs.push(Run {
                    point: name.clone(),
                    scheduler: scheduler.kernel,
                    seed,
                    kernel: measured(format!("{name}-{}/mptcp", scheduler.kernel), seed)?,
                    plain: plain.max(measured(format!("{name}-plain/tcp1"), seed)?),
                    default: measured(format!("{name}-{}/mptcp", PAIRS[0].kernel), seed)?,
                    simulator: *simulated.get(&simulator).ok_or_else(|| format!("{simulator}: not simulated"))?,
                });
            }
        }
    }
    Ok(runs)
}

fn line(run: &Run, version: &str) -> Value {
    json!({
        "patches": version, "point": run.point, "scheduler": run.scheduler, "seed": run.seed,
        "kernel_mbps": run.kernel, "plain_mbps": run.plain, "default_mbps": run.default,
        "simulator_mbps": run.simulator,
    })
}
