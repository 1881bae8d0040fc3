//! `pathweave explain`.

use crate::args::ExplainOptions;
use crate::output::{self, Output};
use crate::terminal;
use pathweave_algorithms::Registry;
use pathweave_lab::explain::Explanation;
use pathweave_lab::scenario::Variant;
use pathweave_report::{explain_page, timeline};
use pathweave_runner::{Explained, Failure, explanation, open};
use std::io::{self, BufWriter, Write};

/// Makes the run and writes its decisions.
pub(crate) fn explain(options: &ExplainOptions, registry: &Registry) -> Result<u8, Failure> {
    let what = Explained {
        scheduler: &options.scheduler,
        seed: options.seed,
        from: options.from.as_deref(),
        to: options.to.as_deref(),
        connection: options.connection.as_deref(),
    };
    let mut source = open(&options.scenario)?;
    for (key, value) in &options.settings {
        source.document.set(key, value)?;
    }
    let outputs: Vec<&Output> = options.jsonl.iter().chain(&options.report).collect();
    output::check(outputs.iter().copied(), &source.files(registry))?;
    let explanation = explanation(&source, &what, registry)?;
    // The scenario has no mistake, because it has been run.
    let scenario = source.document.scenario(registry, &Variant::AsWritten);
    scenario.iter().for_each(|scenario| terminal::warn(&source.document, scenario));
    if let Some(output) = &options.jsonl {
        lines(output.create()?, &explanation).map_err(Failure::writing(output))?;
    }
    if let Some(output) = &options.report {
        output.write(&explain_page(&explanation))?;
    }
    let text = match outputs[..] {
        [] => format!("{}{}", timeline(&explanation), others(&explanation)),
        _ => outputs.iter().filter_map(|o| o.file()).map(|path| format!("Written: {}\n", path.display())).collect(),
    };
    output::show(&text, output::on_stdout(outputs.iter().copied()))?;
    Ok(0)
}

/// How to see connections that the timeline leaves out.
fn others(explanation: &Explanation) -> &'static str {
    match explanation.alike.iter().any(|names| names.len() > 1) {
        true => "\n--connection NAME shows another connection.\n",
        false => "",
    }
}

/// Writes a line for the run, then one for each event.
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
