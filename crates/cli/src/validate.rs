//! `pathweave validate`.

use crate::args::ValidateOptions;
use crate::progress::Progress;
use pathweave_algorithms::Registry;
use pathweave_lab::scenario::{SchedulerSpec, Variant};
use pathweave_lab::validation::{
    self, Alternatives, Comparison, OurRun, Reference, Summary, comparison_table, gain_table, summary_table,
};
use pathweave_runner::{Failure, caught, chosen, spread};
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

/// Runs the reference scenarios that `options` ask for and shows how close they are to Linux.
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
    if let Some(folder) = &options.svg {
        write_pictures(&comparisons, folder)?;
    }
    let mut text = format!("{}\n{}", comparison_table(&comparisons), summary_table(&summary));
    if let Some(list) = &options.schedulers {
        let alternatives = alternatives(&comparisons, &chosen(list, registry)?, options, registry)?;
        text.push_str(&format!("\n{}", gain_table(&alternatives)));
    }
    io::stdout().lock().write_all(text.as_bytes()).map_err(Failure::writing("standard output"))?;
    let broken = options.check && !summary.holds();
    Ok(if broken { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

/// The references in the file that were asked for.
fn references(options: &ValidateOptions) -> Result<Vec<Reference>, Failure> {
    let file = options.file.display().to_string();
    let text = std::fs::read_to_string(&options.file).map_err(|e| Failure::Input(format!("{file}: {e}")))?;
    let mut references = Reference::read(&file, &text).map_err(|e| Failure::Input(e.to_string()))?;
    if let Some(only) = &options.only {
        let first = references.first().map(|r| r.id.clone()).unwrap_or_default();
        references.retain(|r| r.id.contains(only));
        if references.is_empty() {
            return Err(Failure::Input(format!(
                "--only = {only}: no scenario of {file} has this in its id; the first is {first}"
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
    let as_written = [Variant::AsWritten];
    let mut runs = runs(references.iter().collect(), &as_written, options, registry)?.into_iter();
    let of = |r: &Reference| Comparison::new(r, runs.next().unwrap_or_default());
    Ok(references.iter().map(of).collect())
}

/// Other schedulers on the MPTCP scenarios.
fn alternatives<'a>(
    comparisons: &'a [Comparison],
    specs: &[SchedulerSpec],
    options: &ValidateOptions,
    registry: &Registry,
) -> Result<Vec<Alternatives<'a>>, Failure> {
    let mptcp: Vec<&Comparison> = comparisons.iter().filter(|c| c.class.mptcp).collect();
    let variants: Vec<Variant> = specs.iter().cloned().map(Variant::Scheduler).collect();
    let mut runs = runs(mptcp.iter().map(|c| &c.reference).collect(), &variants, options, registry)?.into_iter();
    let of = |c| {
        let one = |spec: &SchedulerSpec| (spec.text.clone(), runs.next().unwrap_or_default());
        Alternatives::new(c, specs.iter().map(one).collect())
    };
    Ok(mptcp.into_iter().map(of).collect())
}

/// The runs of each variant of each reference: by reference, then by variant.
fn runs(
    references: Vec<&Reference>,
    variants: &[Variant],
    options: &ValidateOptions,
    registry: &Registry,
) -> Result<Vec<Vec<OurRun>>, Failure> {
    let sets: Vec<(&Reference, &Variant)> =
        references.iter().flat_map(|r| variants.iter().map(move |variant| (*r, variant))).collect();
    let all: Vec<_> = sets.iter().flat_map(|set| set.0.seeds().map(move |seed| (set.0, set.1, seed))).collect();
    let done = spread(&all, options.jobs, &Progress::new(all.len()), |(reference, variant, seed)| {
        match caught(&variant.label(), || validation::run_variant(reference, variant, *seed, registry)) {
            Ok(result) => result.map_err(|e| Failure::Input(format!("{}: {e}", reference.id))),
            Err(fault) => Ok(OurRun::failed(reference, *seed, fault)),
        }
    })?;
    let mut done = done.into_iter();
    sets.iter().map(|(reference, _)| done.by_ref().take(reference.seeds().count()).collect()).collect()
}

fn write_pictures(comparisons: &[Comparison], folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(Failure::writing(folder.display()))?;
    for (name, svg) in [
        ("agreement.svg", pathweave_report::agreement_svg(comparisons)),
        ("differences.svg", pathweave_report::differences_svg(comparisons)),
    ] {
        let path = folder.join(name);
        std::fs::write(&path, svg).map_err(Failure::writing(path.display()))?;
    }
    Ok(())
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
