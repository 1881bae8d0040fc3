//! `pathweave validate`.

use crate::args::ValidateOptions;
use crate::execute::{caught, spread};
use crate::failure::Failure;
use pathweave_lab::validation::{self, Comparison, OurRun, Reference, Summary, comparison_table, summary_table};
use pathweave_proto::Registry;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

/// Runs the reference scenarios that `options` ask for and shows how close they come.
pub(crate) fn validate(options: &ValidateOptions, registry: &Registry) -> Result<ExitCode, Failure> {
    let references = references(options)?;
    if let Some(folder) = &options.scenarios {
        return write_scenarios(&references, folder);
    }
    let comparisons = compare(&references, options, registry)?;
    let summary = Summary::new(&comparisons);
    if let Some(path) = &options.jsonl {
        let lines: String = comparisons.iter().map(|c| format!("{}\n", c.json())).collect();
        std::fs::write(path, lines).map_err(Failure::writing(path.display()))?;
    }
    let text = format!("{}\n{}", comparison_table(&comparisons), summary_table(&summary));
    io::stdout().lock().write_all(text.as_bytes()).map_err(Failure::writing("standard output"))?;
    let broken = options.check && !summary.holds();
    Ok(if broken { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

/// What the file holds, as far as it is wanted.
fn references(options: &ValidateOptions) -> Result<Vec<Reference>, Failure> {
    let file = options.file.display().to_string();
    let text = std::fs::read_to_string(&options.file).map_err(|e| Failure::Input(format!("{file}: {e}")))?;
    let mut references = Reference::read(&file, &text).map_err(|e| Failure::Input(e.to_string()))?;
    if let Some(only) = &options.only {
        let first = references.first().map(|r| r.id.clone()).unwrap_or_default();
        references.retain(|r| r.id.contains(only));
        if references.is_empty() {
            return Err(Failure::Input(format!(
                "--only = {only}: allowed: a part of an id of {file}, such as {first}"
            )));
        }
    }
    Ok(references)
}

/// All runs of all scenarios.
fn compare(
    references: &[Reference],
    options: &ValidateOptions,
    registry: &Registry,
) -> Result<Vec<Comparison>, Failure> {
    let runs: Vec<(&Reference, u64)> = references.iter().flat_map(|r| r.seeds().map(move |seed| (r, seed))).collect();
    let done = spread(&runs, options.jobs, |(reference, seed)| {
        match caught(|| validation::run(reference, *seed, registry)) {
            Ok(result) => result.map_err(|e| Failure::Input(format!("{}: {e}", reference.id))),
            Err(fault) => Ok(OurRun::failed(reference, *seed, fault)),
        }
    })?;
    let mut done = done.into_iter();
    let of = |r: &Reference| {
        let runs = done.by_ref().take(r.seeds().count()).collect::<Result<_, _>>()?;
        Ok(Comparison::new(r, runs))
    };
    references.iter().map(of).collect()
}

/// One scenario file for each scenario.
fn write_scenarios(references: &[Reference], folder: &Path) -> Result<ExitCode, Failure> {
    std::fs::create_dir_all(folder).map_err(Failure::writing(folder.display()))?;
    for reference in references {
        let path = folder.join(format!("{}.toml", reference.id.replace('/', "-")));
        let text = validation::scenario_text(reference, 1);
        std::fs::write(&path, text).map_err(Failure::writing(path.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}
