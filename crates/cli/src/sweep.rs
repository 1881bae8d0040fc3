//! `pathweave sweep`.

use crate::args::SweepOptions;
use crate::interrupt;
use crate::shard::{Existing, Ready};
use pathweave_algorithms::Registry;
use pathweave_experiments::claim::verdicts;
use pathweave_experiments::page::page;
use pathweave_experiments::reproduction::text as claims;
use pathweave_experiments::results::Results;
use pathweave_runner::{Engine, Failure};
use std::io::{self, Write};
use std::process::ExitCode;

/// The most lines about runs that did not complete.
const MOST_PROBLEMS: usize = 20;

/// Makes the runs of a plan, or of one shard of it, and shows what came out when all are there.
pub(crate) fn sweep(options: &SweepOptions, registry: &Registry, engine: &Engine) -> Result<ExitCode, Failure> {
    let ready = Ready::read(&options.plan, options.quick, registry)?;
    let (shard, shards) = options.shard.unwrap_or((1, 1));
    interrupt::listen();
    let existing = if options.resume { Existing::Resume } else { Existing::Refuse };
    let complete = ready.run(&options.out, (shard, shards), existing, options.jobs, registry, engine)?;
    if !complete {
        let text = "Stopped early; --resume goes on with what is missing.\n";
        io::stderr().lock().write_all(text.as_bytes()).map_err(Failure::writing("standard error"))?;
        return Ok(ExitCode::from(interrupt::CODE));
    }
    let Some(records) = ready.all_records(&options.out, shards)? else {
        let text = format!("Shard {shard} of {shards} is complete; others are not there yet.\n");
        io::stdout().lock().write_all(text.as_bytes()).map_err(Failure::writing("standard output"))?;
        return Ok(ExitCode::SUCCESS);
    };
    let lines: String = records.iter().map(|r| r.line()).collect();
    let path = options.out.join("runs.jsonl");
    std::fs::write(&path, lines).map_err(Failure::writing(path.display()))?;
    #[cfg(feature = "parquet")]
    if options.parquet {
        crate::parquet_file::write(&options.out.join("runs.parquet"), &records)?;
    }
    let results = Results::new(&ready.plan.sweep, &records);
    let judged = verdicts(&ready.plan.sweep, &results).map_err(Failure::Input)?;
    let page_path = options.out.join("page.html");
    let page = page(&ready.plan.sweep, &results, &judged, env!("CARGO_PKG_VERSION"));
    std::fs::write(&page_path, page).map_err(Failure::writing(page_path.display()))?;
    let mut text = if judged.is_empty() {
        String::new()
    } else {
        claims(&ready.plan.sweep.plan.name, &ready.plan.sweep.plan, &judged)
    };
    text.push_str(&format!("{} runs: {}\nAs a page: {}\n", results.runs, path.display(), page_path.display()));
    io::stdout().lock().write_all(text.as_bytes()).map_err(Failure::writing("standard output"))?;
    let problems = problems(&results);
    io::stderr().lock().write_all(problems.as_bytes()).map_err(Failure::writing("standard error"))?;
    Ok(ExitCode::from(u8::from(results.failures > 0)))
}

/// A line for each run that did not complete.
pub(crate) fn problems(results: &Results) -> String {
    if results.problems.is_empty() {
        return String::new();
    }
    let mut text = format!("{} of {} runs did not complete:\n", results.problems.len(), results.runs);
    for problem in results.problems.iter().take(MOST_PROBLEMS) {
        text.push_str(&format!("  {problem}\n"));
    }
    if results.problems.len() > MOST_PROBLEMS {
        text.push_str(&format!("  and {} more\n", results.problems.len() - MOST_PROBLEMS));
    }
    text
}
