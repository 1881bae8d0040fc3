//! `pathweave explain`.

use crate::args::ExplainOptions;
use crate::compare::check_folder;
use pathweave_algorithms::Registry;
use pathweave_lab::explain::{Explanation, explain as run};
use pathweave_lab::scenario::{Scenario, ScenarioError, SchedulerSpec, Variant};
use pathweave_proto::parameter::parse_time;
use pathweave_report::{explain_page, timeline};
use pathweave_runner::{Failure, Source, Traces, check, open};
use pathweave_units::{Duration, Instant};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

/// How much is shown if no end is given.
const DEFAULT_SPAN: Duration = Duration::from_millis(200);

/// Makes the run and writes its decisions.
pub(crate) fn explain(options: &ExplainOptions, registry: &Registry) -> Result<ExitCode, Failure> {
    let lines_on_stdout = options.jsonl.as_deref() == Some(Path::new("-"));
    for path in options.jsonl.iter().filter(|_| !lines_on_stdout).chain(&options.report) {
        check_folder(path)?;
    }
    let spec = SchedulerSpec::parse(&options.scheduler).and_then(|spec| spec.check(registry).map(|()| spec));
    let spec = spec.map_err(|error| ScenarioError { file: "--scheduler".into(), ..error })?;
    let variant = Variant::Scheduler(spec);
    let Source { mut document, folder, .. } = open(&options.scenario)?;
    for (key, value) in &options.settings {
        document.set(key, value)?;
    }
    let scenario = document.scenario(registry, &variant)?;
    let (from, to) = span(options, &scenario)?;
    let mut traces = Traces::new(folder.as_deref());
    traces.load(&scenario).map_err(|(name, reason)| document.trace_error(&name, &reason))?;
    check(&scenario, &document, registry, &traces)?;
    let explanation = run(&document, &variant, options.seed, (from, to), registry, &traces)
        .map_err(|e| Failure::Input(e.to_string()))?;
    if !explanation.entries.iter().any(|e| e.what.is_decision()) {
        return Err(Failure::Input(nothing(&explanation)));
    }
    write(&explanation, options, lines_on_stdout)?;
    Ok(ExitCode::SUCCESS)
}

/// The times that are asked for, checked.
fn span(options: &ExplainOptions, scenario: &Scenario) -> Result<(Instant, Instant), Failure> {
    let time = |name: &str, text: &Option<String>| match text {
        None => Ok(None),
        Some(text) => match parse_time(text) {
            Some(t) => Ok(Some(Instant::ZERO + t)),
            None => Err(Failure::Input(format!("--{name} = {text} is not a time; write 2s, 2.2s or 150ms"))),
        },
    };
    let duration = scenario.duration.as_secs_f64();
    let from = time("from", &options.from)?.unwrap_or(Instant::ZERO);
    let end = Instant::ZERO + scenario.duration;
    let to = time("to", &options.to)?;
    let shown = |t: Instant| format!("{} s", t.as_secs_f64());
    if from >= end {
        return Err(Failure::Input(format!(
            "--from = {} is too late: it must be less than {duration} s, the duration of {}",
            shown(from),
            scenario.name
        )));
    }
    match to {
        Some(to) if to < from => {
            let (from, to) = (shown(from), shown(to));
            Err(Failure::Input(format!("--from = {from} is later than --to = {to}")))
        }
        Some(to) if to == from => {
            Err(Failure::Input(format!("--from and --to are both {}; choose a span that is not empty", shown(to))))
        }
        Some(to) if to > end => Err(Failure::Input(format!(
            "--to = {} is too late: it may be at most {duration} s, the duration of {}",
            shown(to),
            scenario.name
        ))),
        Some(to) => Ok((from, to)),
        None => Ok((from, (from + DEFAULT_SPAN).min(end))),
    }
}

/// The message for a span without a decision.
fn nothing(explanation: &Explanation) -> String {
    let Explanation { scheduler, scenario, seed, from_s, to_s, before_s, after_s, .. } = explanation;
    let nearest = match (before_s, after_s) {
        (None, None) => "there are none in the whole run".into(),
        (Some(t), None) => format!("the last one is at {t} s"),
        (None, Some(t)) => format!("the first one is at {t} s"),
        (Some(a), Some(b)) => format!("the nearest ones are at {a} s and {b} s"),
    };
    format!("{scheduler} on {scenario}, seed {seed}: there is no decision between {from_s} s and {to_s} s; {nearest}")
}

fn write(explanation: &Explanation, options: &ExplainOptions, lines_on_stdout: bool) -> Result<(), Failure> {
    let mut written = Vec::new();
    if let Some(path) = &options.jsonl {
        match lines_on_stdout {
            true => lines(io::stdout().lock(), explanation).map_err(Failure::writing("standard output"))?,
            false => {
                let file = File::create(path).and_then(|file| lines(file, explanation));
                file.map_err(Failure::writing(path.display()))?;
                written.push(path);
            }
        }
    }
    if let Some(path) = &options.report {
        std::fs::write(path, explain_page(explanation)).map_err(Failure::writing(path.display()))?;
        written.push(path);
    }
    let text = match (&options.jsonl, &options.report) {
        (None, None) => timeline(explanation),
        _ => written.iter().map(|path| format!("Written: {}\n", path.display())).collect(),
    };
    match lines_on_stdout {
        true => io::stderr().lock().write_all(text.as_bytes()).map_err(Failure::writing("standard error")),
        false => io::stdout().lock().write_all(text.as_bytes()).map_err(Failure::writing("standard output")),
    }
}

/// A line for the run, then one for each thing that happened.
fn lines(out: impl Write, explanation: &Explanation) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    let mut run = serde_json::to_value(explanation)?;
    run["kind"] = "run".into();
    serde_json::to_writer(&mut out, &run)?;
    out.write_all(b"\n")?;
    for entry in &explanation.entries {
        serde_json::to_writer(&mut out, entry)?;
        out.write_all(b"\n")?;
    }
    out.flush()
}
