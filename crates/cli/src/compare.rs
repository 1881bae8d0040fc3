//! `pathweave compare`.

use crate::args::CompareOptions;
use crate::pcap::Capture;
use crate::terminal;
use crate::terminal::Progress;
use pathweave_algorithms::Registry;
use pathweave_lab::results::{RunResult, Status};
use pathweave_lab::sim::Simulation;
use pathweave_report::{Comparison, csv, ranked};
use pathweave_runner::{
    DEFAULT_SCENARIO, Engine, Failure, Outcome, Plan, Request, execute, open, planned as asked_for, write_pages,
};
use pathweave_units::counted;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The page without any argument.
const DEFAULT_PAGE: &str = "pathweave-report.html";
/// The number of seeds without any argument.
const DEFAULT_SEEDS: u32 = 5;
/// Width of the tables if COLUMNS does not say more.
const COLUMNS: usize = 80;
/// The most lines about runs that did not complete.
const MOST_PROBLEMS: usize = 20;

/// Makes the runs that `options` ask for and writes tables, lines and page.
pub(crate) fn compare(options: &CompareOptions, registry: &Registry, engine: &Engine) -> Result<ExitCode, Failure> {
    let lines_on_stdout = options.jsonl.as_deref() == Some(Path::new("-"));
    let page_path = page_path(options);
    for path in
        options.jsonl.iter().filter(|_| !lines_on_stdout).chain(&options.csv).chain(&page_path).chain(&options.pcap)
    {
        check_folder(path)?;
    }
    let plans = plans(options, registry)?;
    let capture = options.pcap.as_deref().map(|path| Capture::create(path, &plans)).transpose()?;
    let mut lines: Option<Box<dyn Write + Send>> = match &options.jsonl {
        None => None,
        Some(_) if lines_on_stdout => Some(Box::new(io::stdout())),
        Some(path) => Some(Box::new(File::create(path).map_err(Failure::writing(path.display()))?)),
    };
    terminal::listen_for_interrupt();
    let out = lines.as_mut().map(|lines| lines.as_mut() as &mut (dyn Write + Send));
    let prepare = |run: usize, simulation: &mut Simulation| {
        if options.through_bytes {
            simulation.set_through_bytes();
        }
        // A capture is of the first run; the others are plain TCP's.
        if let Some(capture) = capture.clone().filter(|_| run == 0) {
            simulation.set_host_capture(Box::new(move |packet| capture.add(packet)));
        }
    };
    let progress = Progress::new(plans.iter().map(|p| p.variants.len() * p.seeds.len()).sum());
    let Outcome { results, planned } =
        execute(&plans, registry, engine, options.jobs.at_once, &progress, Some(&prepare), out)?;
    drop(progress);

    let comparisons = Comparison::all(&results, &asked_for(&plans), options.against.as_deref());
    // Results are saved before anything is shown.
    if let Some(capture) = &capture {
        capture.finish()?;
    }
    if let Some(path) = &options.csv {
        std::fs::write(path, csv(&comparisons)).map_err(Failure::writing(path.display()))?;
    }
    let pages = match &page_path {
        None => Vec::new(),
        Some(path) => {
            let explanations =
                write_pages(path, &results, &plans, (options.against.as_deref(), options.why.as_deref()), registry)?;
            [path.clone()].into_iter().chain(explanations).collect()
        }
    };
    let text = shown(&comparisons, options, &pages, columns());
    match lines_on_stdout {
        true => io::stderr().lock().write_all(text.as_bytes()).map_err(Failure::writing("standard error"))?,
        false => io::stdout().lock().write_all(text.as_bytes()).map_err(Failure::writing("standard output"))?,
    }
    let mut problems = problems(&results);
    if results.len() < planned {
        let runs = counted(planned, "run");
        problems.push_str(&format!("Stopped early: {} of {runs} are finished and counted.\n", results.len()));
    }
    io::stderr().lock().write_all(problems.as_bytes()).map_err(Failure::writing("standard error"))?;
    Ok(ExitCode::from(match () {
        () if results.len() < planned => terminal::INTERRUPTED,
        () if results.iter().any(is_bad) => 1,
        () => 0,
    }))
}

/// What the options ask to run, with every mistake found.
pub(crate) fn plans(options: &CompareOptions, registry: &Registry) -> Result<Vec<Plan>, Failure> {
    let request = Request {
        schedulers: options.schedulers.clone(),
        against: options.against.clone(),
        why: options.why.clone(),
        seeds: (1..=u64::from(options.seeds.map_or(DEFAULT_SEEDS, |n| n.get()))).collect(),
    };
    let default = [DEFAULT_SCENARIO.to_owned()];
    let names = if options.scenarios.is_empty() { &default[..] } else { &options.scenarios };
    let sources = names.iter().map(|name| {
        let mut source = open(name)?;
        for (key, value) in &options.settings {
            source.document.set(key, value)?;
        }
        Ok(source)
    });
    pathweave_runner::plans(&request, sources, registry)
}

/// Whether a run makes the command exit with code 1. Plain TCP may stall on a dead path, which is a result.
fn is_bad(run: &RunResult) -> bool {
    run.status == Status::Failed || (run.status == Status::Stalled && run.plain_tcp.is_none())
}

/// How wide the tables may be.
fn columns() -> usize {
    let said = std::env::var("COLUMNS").ok().and_then(|text| text.parse::<usize>().ok());
    said.map_or(COLUMNS, |columns| columns.clamp(COLUMNS, 200))
}

/// Where the page goes, if one is wanted.
fn page_path(options: &CompareOptions) -> Option<PathBuf> {
    let quick_look = options.scenarios.is_empty() && options.jsonl.is_none();
    options.report.clone().or_else(|| quick_look.then(|| DEFAULT_PAGE.into()))
}

/// Runs can take long, so a file that cannot be written is found before them.
pub(crate) fn check_folder(path: &Path) -> Result<(), Failure> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match (folder.is_dir(), path.is_dir()) {
        (true, false) => Ok(()),
        (true, true) => Err(Failure::Input(format!("{}: this is a folder; a file name is needed", path.display()))),
        (false, _) => Err(Failure::Input(format!("{}: there is no folder {}", path.display(), folder.display()))),
    }
}

fn shown(comparisons: &[Comparison], options: &CompareOptions, pages: &[PathBuf], columns: usize) -> String {
    let mut text = String::new();
    for comparison in comparisons {
        text.push_str(&ranked(comparison, options.why.as_deref(), columns));
    }
    match pages {
        [] => text.push_str("--report FILE.html writes all of this as a page, with everything over time.\n"),
        [page, explanations @ ..] => {
            text.push_str(&format!("The same as a page, with everything over time: {}\n", page.display()));
            for file in explanations {
                text.push_str(&format!("Each decision of that scheduler: {}\n", file.display()));
            }
        }
    }
    text
}

/// A line for each run that did not complete, and for each scheduler that a warning is about.
fn problems(results: &[RunResult]) -> String {
    let mut text = String::new();
    let mut warned: Vec<(&str, &str)> = Vec::new();
    for r in results.iter().filter(|r| r.scheduler != "single") {
        for warning in r.warnings.iter().filter(|_| !warned.contains(&(&r.scenario, &r.scheduler))) {
            text.push_str(&format!("Warning: {}, {}, seed {}: {warning}\n", r.scenario, r.scheduler, r.seed));
        }
        if !r.warnings.is_empty() {
            warned.push((&r.scenario, &r.scheduler));
        }
    }
    let bad: Vec<_> = results.iter().filter(|r| r.status != Status::Completed).collect();
    if bad.is_empty() {
        return text;
    }
    text.push_str(&format!("{} of {} did not complete:\n", bad.len(), counted(results.len(), "run")));
    for r in bad.iter().take(MOST_PROBLEMS) {
        let how = if r.status == Status::Stalled { "stalled" } else { "failed" };
        let reason = r.reason.as_deref().unwrap_or("no reason given");
        text.push_str(&format!("  {}, {}, seed {}: {how}: {reason}\n", r.scenario, r.scheduler, r.seed));
    }
    if bad.len() > MOST_PROBLEMS {
        text.push_str(&format!("  and {} more\n", bad.len() - MOST_PROBLEMS));
    }
    text
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
