//! Output and input during a command: the bar of completed runs, and Ctrl-C.
//!
//! The first Ctrl-C ends the command after the current runs, with the results so far. The second one ends it at once.

use console::{Term, colors_enabled, colors_enabled_stderr, style};
use indicatif::{ProgressBar, ProgressStyle};
use pathweave_lab::scenario::{Document, Scenario};
use pathweave_runner::Watch;
use pathweave_units::counted;
use std::fmt::Display;
use std::sync::atomic::{AtomicBool, Ordering};

/// A progress bar on standard error, if that is a terminal. Dropping it removes the bar. Ctrl-C stops the runs.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// A bar for this many runs.
    pub(crate) fn new(runs: usize) -> Self {
        let style = ProgressStyle::with_template("{bar:40} {pos}/{len} runs, {eta} left");
        let bar = ProgressBar::new(runs as u64);
        Progress(bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar())))
    }
}

impl Watch for Progress {
    fn stop(&self) -> bool {
        is_interrupted()
    }

    fn finished_one(&self) {
        self.0.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// Warns about settings of a scenario that are allowed but hardly intended, and about overrides without an effect.
pub(crate) fn warn(document: &Document, scenario: &Scenario) {
    for warning in document.overrides_without_effect(scenario).into_iter().chain(scenario.warnings()) {
        eprintln!("{}: {}: {warning}", self::warning(), scenario.name);
    }
}

/// Most lines about runs that did not complete.
const MOST_PROBLEMS: usize = 20;

/// The text about runs that did not complete: how many of all `runs`, and the first of `problems`, a line for each run.
pub(crate) fn incomplete(problems: &[String], runs: usize) -> String {
    if problems.is_empty() {
        return String::new();
    }
    let mut text = format!("{} of {} did not complete:\n", problems.len(), counted(runs, "run"));
    for problem in problems.iter().take(MOST_PROBLEMS) {
        text.push_str(&format!("  {problem}\n"));
    }
    if problems.len() > MOST_PROBLEMS {
        text.push_str(&format!("  and {} more\n", problems.len() - MOST_PROBLEMS));
    }
    text
}

/// The word that begins a warning on standard error, yellow on a terminal. Like all colours, it is plain with NO_COLOR.
pub(crate) fn warning() -> impl Display {
    style("warning").yellow().for_stderr()
}

/// The word that begins an error on standard error, red on a terminal.
pub(crate) fn error() -> impl Display {
    style("error").red().bold().for_stderr()
}

/// Width of the tables if standard output is no terminal, and their least width.
const COLUMNS: usize = 80;
/// Greatest width of the tables.
const MOST_COLUMNS: usize = 200;
/// Greatest width of errors, whose sentences are hard to read in longer lines.
const MOST_ERROR_COLUMNS: usize = 100;

/// Largest width of the tables on standard output: COLUMNS if that is set, else the width of the terminal.
pub(crate) fn columns() -> usize {
    let said = std::env::var("COLUMNS").ok().and_then(|text| text.parse::<usize>().ok());
    said.or_else(|| width(&Term::stdout())).map_or(COLUMNS, |columns| columns.clamp(COLUMNS, MOST_COLUMNS))
}

/// Largest width of an error on standard error.
pub(crate) fn error_columns() -> usize {
    width(&Term::stderr()).map_or(MOST_ERROR_COLUMNS, |columns| columns.min(MOST_ERROR_COLUMNS))
}

/// Whether errors have colours.
pub(crate) fn error_has_colours() -> bool {
    colors_enabled_stderr()
}

/// The width of a terminal; `None` if the stream is none.
fn width(term: &Term) -> Option<usize> {
    term.size_checked().map(|(_, columns)| usize::from(columns))
}

/// The text of a ranked table with its best row in green, if standard output is a terminal.
pub(crate) fn with_best_row(text: &str) -> String {
    if !colors_enabled() {
        return text.to_owned();
    }
    let green = |line: &str| match line.strip_suffix('\n').filter(|line| line.starts_with(BEST)) {
        Some(row) => format!("{}\n", style(row).green().bold()),
        None => line.to_owned(),
    };
    text.split_inclusive('\n').map(green).collect()
}

/// The beginning of a ranked table's best row.
const BEST: &str = " 1  ";

static ASKED: AtomicBool = AtomicBool::new(false);

/// Exit code of a process that Ctrl-C ended.
pub(crate) const INTERRUPTED: u8 = 130;

/// Starts to listen for Ctrl-C. If that is not possible, Ctrl-C ends the process as usual.
pub(crate) fn listen_for_interrupt() {
    listen_and_answer("\nStopping after the runs under way; Ctrl-C again stops at once.");
}

/// Like [`listen_for_interrupt`], with a message of the caller's as the answer to Ctrl-C.
pub(crate) fn listen_and_answer(answer: &'static str) {
    let _ = ctrlc::set_handler(move || {
        if ASKED.swap(true, Ordering::SeqCst) {
            std::process::exit(INTERRUPTED.into());
        }
        eprintln!("{answer}");
    });
}

/// Whether Ctrl-C was pressed.
pub(crate) fn is_interrupted() -> bool {
    ASKED.load(Ordering::SeqCst)
}
