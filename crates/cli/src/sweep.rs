//! `pathweave sweep`.

use crate::args::SweepOptions;
use crate::output;
use crate::shard::{Existing, Ready, file_name};
use crate::terminal;
use pathweave_algorithms::Registry;
use pathweave_experiments::answer::Answer;
use pathweave_experiments::claim::{Judged, verdicts};
use pathweave_experiments::page::page;
use pathweave_experiments::reproduction::text as claims;
use pathweave_experiments::results::Results;
use pathweave_runner::{Engine, Failure, version};
use pathweave_units::counted;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

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
    ready.plan.sweep.warnings().iter().for_each(|warning| eprintln!("{}: {warning}", terminal::warning()));
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
