//! `pathweave explain`.

use crate::args::ExplainOptions;
use crate::compare::check_folder;
use pathweave_algorithms::Registry;
use pathweave_lab::explain::Explanation;
use pathweave_report::{explain_page, timeline};
use pathweave_runner::{Explained, Failure, explanation, open};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

/// Makes the run and writes its decisions.
pub(crate) fn explain(options: &ExplainOptions, registry: &Registry) -> Result<ExitCode, Failure> {
    let lines_on_stdout = options.jsonl.as_deref() == Some(Path::new("-"));
    for path in options.jsonl.iter().filter(|_| !lines_on_stdout).chain(&options.report) {
        check_folder(path)?;
    }
    let what = Explained {
        scheduler: &options.scheduler,
        seed: options.seed,
        from: options.from.as_deref(),
        to: options.to.as_deref(),
    };
    let mut source = open(&options.scenario)?;
    for (key, value) in &options.settings {
        source.document.set(key, value)?;
    }
    let explanation = explanation(&source, &what, registry)?;
    write(&explanation, options, lines_on_stdout)?;
    Ok(ExitCode::SUCCESS)
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
