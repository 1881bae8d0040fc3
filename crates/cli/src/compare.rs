//! `pathweave compare`.

use crate::args::CompareOptions;
use crate::engine::Engine;
use crate::execute::execute;
use crate::failure::Failure;
use crate::pcap::Capture;
use crate::plan::{Plan, plans};
use pathweave_lab::benefit::fill_aggregation_benefit;
use pathweave_lab::results::{RunResult, Status};
use pathweave_proto::Registry;
use pathweave_report::{About, Comparison, page, table, verdict};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The page without any argument.
const DEFAULT_PAGE: &str = "pathweave-report.html";
/// Width of the tables.
const COLUMNS: u16 = 100;
/// Most lines about runs that did not complete.
const MOST_PROBLEMS: usize = 20;

/// Makes the runs that `options` ask for and writes tables, lines and page.
pub(crate) fn compare(options: &CompareOptions, registry: &Registry, engine: &Engine) -> Result<ExitCode, Failure> {
    let lines_on_stdout = options.jsonl.as_deref() == Some(Path::new("-"));
    let page_path = page_path(options);
    for path in options.jsonl.iter().filter(|_| !lines_on_stdout).chain(&page_path).chain(&options.pcap) {
        check_folder(path)?;
    }
    let plans = plans(options, registry)?;
    let capture = options.pcap.as_deref().map(|path| Capture::create(path, &plans)).transpose()?;
    let mut results = execute(&plans, registry, engine, options, capture.as_ref())?;
    fill_aggregation_benefit(&mut results);

    // What was computed is saved before anything is shown.
    if let Some(capture) = &capture {
        capture.finish()?;
    }
    if let Some(path) = &options.jsonl {
        match lines_on_stdout {
            true => write_lines(io::stdout().lock(), &results).map_err(Failure::writing("standard output"))?,
            false => File::create(path)
                .and_then(|file| write_lines(file, &results))
                .map_err(Failure::writing(path.display()))?,
        }
    }
    if let Some(path) = &page_path {
        std::fs::write(path, page(&results, &about(&plans))).map_err(Failure::writing(path.display()))?;
    }
    let text = shown(&results, page_path.as_deref());
    match lines_on_stdout {
        true => io::stderr().lock().write_all(text.as_bytes()).map_err(Failure::writing("standard error"))?,
        false => io::stdout().lock().write_all(text.as_bytes()).map_err(Failure::writing("standard output"))?,
    }
    let problems = problems(&results);
    io::stderr().lock().write_all(problems.as_bytes()).map_err(Failure::writing("standard error"))?;
    let failed = results.iter().any(|r| r.status == Status::Failed);
    Ok(if failed { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

/// Where the page goes, if one is wanted.
fn page_path(options: &CompareOptions) -> Option<PathBuf> {
    let quick_look = options.scenarios.is_empty() && options.jsonl.is_none();
    options.report.clone().or_else(|| quick_look.then(|| DEFAULT_PAGE.into()))
}

/// Runs can take long: a place that cannot be written is found before.
pub(crate) fn check_folder(path: &Path) -> Result<(), Failure> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match (folder.is_dir(), path.is_dir()) {
        (true, false) => Ok(()),
        (true, true) => Err(Failure::Input(format!("{}: a file is needed, not a folder", path.display()))),
        (false, _) => Err(Failure::Input(format!("{}: there is no folder {}", path.display(), folder.display()))),
    }
}

fn write_lines(out: impl Write, results: &[RunResult]) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    for result in results {
        serde_json::to_writer(&mut out, result)?;
        out.write_all(b"\n")?;
    }
    out.flush()
}

fn about(plans: &[Plan]) -> Vec<About> {
    let of = |plan: &Plan| {
        let (_, scenario) = plan.variants.first()?;
        Some(About {
            scenario: plan.name.clone(),
            description: scenario.description.clone(),
            source: scenario.source.clone(),
        })
    };
    plans.iter().filter_map(of).collect()
}

fn shown(results: &[RunResult], page: Option<&Path>) -> String {
    let mut text = String::new();
    for comparison in Comparison::all(results) {
        text.push_str(&format!("{}\n\n{}\n", comparison.scenario, table(&comparison, COLUMNS)));
        if let Some(sentence) = verdict(&comparison) {
            text.push_str(&format!("{}\n\n", wrapped(&sentence, COLUMNS.into())));
        }
    }
    match page {
        Some(path) => text.push_str(&format!("The page: {}\n", path.display())),
        None => text.push_str("With --report FILE.html: a page with all of it over time.\n"),
    }
    text
}

/// In lines of at most `columns` characters, where the words are not longer.
fn wrapped(text: &str, columns: usize) -> String {
    let mut out = String::new();
    let mut used = 0;
    for word in text.split(' ') {
        let length = word.chars().count();
        if used > 0 {
            let fits = used + 1 + length <= columns;
            out.push(if fits { ' ' } else { '\n' });
            used = if fits { used + 1 } else { 0 };
        }
        out.push_str(word);
        used += length;
    }
    out
}

/// A line for each run that did not complete.
fn problems(results: &[RunResult]) -> String {
    let bad: Vec<_> = results.iter().filter(|r| r.status != Status::Completed).collect();
    if bad.is_empty() {
        return String::new();
    }
    let mut text = format!("{} of {} runs did not complete:\n", bad.len(), results.len());
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
