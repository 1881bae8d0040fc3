//! `pathweave compare`.

use crate::args::CompareOptions;
use crate::output::{self, Output};
use crate::pcap::Capture;
use crate::terminal;
use crate::terminal::Progress;
use pathweave_algorithms::Registry;
use pathweave_lab::results::{RunResult, Status};
use pathweave_lab::sim::Simulation;
use pathweave_report::{Comparison, csv, ranked, unused_rates};
use pathweave_runner::{
    DEFAULT_SCENARIO, Engine, Failure, Request, RunOutcome, RunPlan, execute, open, planned as asked_for, write_pages,
};
use pathweave_units::counted;
use std::io::{self, Write};
use std::path::PathBuf;

/// Default page if the command has no arguments.
const DEFAULT_PAGE: &str = "pathweave-report.html";
/// Default number of seeds.
const DEFAULT_SEEDS: u32 = 5;

/// Makes the runs that `options` ask for and writes tables, lines of JSON and the page.
pub(crate) fn compare(options: &CompareOptions, registry: &Registry, engine: &Engine) -> Result<u8, Failure> {
    let page = page_output(options);
    let page_path = page.as_ref().map(|page| page.named_file("--report", "pages are written beside it")).transpose()?;
    let outputs = || options.jsonl.iter().chain(&options.csv).chain(&page).chain(&options.pcap);
    let plans = plans(options, registry)?;
    let inputs: Vec<PathBuf> = plans.iter().flat_map(RunPlan::files).collect();
    output::check(outputs(), &inputs)?;
    let capture = options.pcap.as_ref().map(|output| Capture::create(output, &plans)).transpose()?;
    let mut lines = options.jsonl.as_ref().map(Output::create).transpose()?;
    for plan in &plans {
        plan.variants.iter().take(1).for_each(|(_, scenario)| terminal::warn(&plan.document, scenario));
    }
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
    let RunOutcome { results, planned } =
        execute(&plans, registry, engine, options.jobs.at_once, &progress, Some(&prepare), out)?;
    drop(progress);

    let comparisons = Comparison::all(&results, &asked_for(&plans), options.against.as_deref());
    // Results are saved before anything is shown.
    if let Some(capture) = &capture {
        capture.finish()?;
    }
    if let Some(output) = &options.csv {
        output.write(&csv(&comparisons))?;
    }
    let pages = match page_path {
        None => Vec::new(),
        Some(path) => {
            let explanations =
                write_pages(path, &results, &plans, (options.against.as_deref(), options.why.as_deref()), registry)?;
            [path.to_owned()].into_iter().chain(explanations).collect()
        }
    };
    let text = shown(&comparisons, options, &pages, terminal::columns());
    output::show(&text, output::on_stdout(outputs()))?;
    let mut problems = problems(&results);
    unused_rates(&results).iter().for_each(|sentence| problems.push_str(&format!("note: {sentence}\n")));
    if results.len() < planned {
        let runs = counted(planned, "run");
        problems.push_str(&format!("Stopped early: {} of {runs} are finished and counted.\n", results.len()));
    }
    io::stderr().lock().write_all(problems.as_bytes()).map_err(Failure::writing("standard error"))?;
    Ok(match () {
        () if results.len() < planned => terminal::INTERRUPTED,
        () if results.iter().any(is_bad) => 1,
        () => 0,
    })
}

/// The plans of the runs that `options` ask for. The error lists every mistake.
pub(crate) fn plans(options: &CompareOptions, registry: &Registry) -> Result<Vec<RunPlan>, Failure> {
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

/// Whether a run makes the command exit with code 1. A stall of plain TCP on a dead path is a result, and does not.
fn is_bad(run: &RunResult) -> bool {
    run.status == Status::Failed || (run.status == Status::Stalled && run.plain_tcp.is_none())
}

/// The output for the page, if one is wanted.
fn page_output(options: &CompareOptions) -> Option<Output> {
    let quick_look = options.scenarios.is_empty() && options.jsonl.is_none();
    options.report.clone().or_else(|| quick_look.then(|| DEFAULT_PAGE.into()))
}

fn shown(comparisons: &[Comparison], options: &CompareOptions, pages: &[PathBuf], columns: usize) -> String {
    let mut text = String::new();
    for comparison in comparisons {
        text.push_str(&terminal::with_best_row(&ranked(comparison, options.why.as_deref(), columns)));
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

/// A line for each run that did not complete, and for each scheduler with a warning.
fn problems(results: &[RunResult]) -> String {
    let mut text = String::new();
    let mut warned: Vec<(&str, &str)> = Vec::new();
    for r in results.iter().filter(|r| r.scheduler != "single") {
        for warning in r.warnings.iter().filter(|_| !warned.contains(&(&r.scenario, &r.scheduler))) {
            let word = terminal::warning();
            text.push_str(&format!("{word}: {}, {}, seed {}: {warning}\n", r.scenario, r.scheduler, r.seed));
        }
        if !r.warnings.is_empty() {
            warned.push((&r.scenario, &r.scheduler));
        }
    }
    let told = |r: &RunResult| {
        let reason = r.reason.as_deref().unwrap_or("no reason given");
        format!("{}, {}, seed {}: {}: {reason}", r.scenario, r.scheduler, r.seed, r.status.word())
    };
    let bad: Vec<String> = results.iter().filter(|r| r.status != Status::Completed).map(told).collect();
    text + &terminal::incomplete(&bad, results.len())
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
