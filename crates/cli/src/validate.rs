//! `pathweave validate`.

use crate::args::ValidateOptions;
use crate::output;
use crate::terminal::Progress;
use pathweave_algorithms::Registry;
use pathweave_lab::scenario::{SchedulerSpec, Variant};
use pathweave_lab::validation::{
    self, Alternatives, Comparison, Reference, Summary, best_path_table, comparison_table, gain_table, ranges_table,
    summary_table,
};
use pathweave_runner::{Failure, chosen, reference_runs, references};
use std::path::{Path, PathBuf};

/// Runs the reference scenarios that `options` ask for and shows how close the results are to Linux.
pub(crate) fn validate(options: &ValidateOptions, registry: &Registry) -> Result<u8, Failure> {
    output::check(&options.jsonl, std::slice::from_ref(&options.file))?;
    let references = references(&options.file, options.only.as_deref())?;
    if let Some(folder) = &options.scenarios {
        return write_scenarios(&references, folder, std::slice::from_ref(&options.file));
    }
    let others = options.schedulers.as_deref().map(|list| chosen(list, registry)).transpose()?;
    let comparisons = compare(&references, options, registry)?;
    let summary = Summary::new(&comparisons);
    if let Some(output) = &options.jsonl {
        let lines: String = comparisons.iter().map(|c| format!("{}\n", c.json())).collect();
        output.write(&lines)?;
    }
    if let Some(folder) = &options.svg {
        write_pictures(&comparisons, folder)?;
    }
    let (table, ranges) = (comparison_table(&comparisons), ranges_table(&comparisons));
    let mut text = format!("{table}\n{}{ranges}", summary_table(&summary));
    if let Some(others) = &others {
        let alternatives = alternatives(&comparisons, others, options, registry)?;
        for table in [gain_table(&alternatives), best_path_table(&alternatives, &comparisons)] {
            if !table.is_empty() {
                text.push_str(&format!("\n{table}"));
            }
        }
    }
    output::show(&text, output::on_stdout(&options.jsonl))?;
    let broken = options.check && !summary.holds();
    Ok(u8::from(broken))
}

/// Makes all runs of all scenarios.
fn compare(
    references: &[Reference],
    options: &ValidateOptions,
    registry: &Registry,
) -> Result<Vec<Comparison>, Failure> {
    let as_written = [Variant::AsWritten];
    let mut runs = reference_runs(
        &references.iter().collect::<Vec<_>>(),
        &as_written,
        options.jobs.at_once,
        &Progress::new,
        registry,
    )?
    .into_iter();
    let of = |r: &Reference| Comparison::new(r, runs.next().unwrap_or_default());
    Ok(references.iter().map(of).collect())
}

/// Makes the runs of other schedulers on the MPTCP scenarios.
fn alternatives<'a>(
    comparisons: &'a [Comparison],
    specs: &[SchedulerSpec],
    options: &ValidateOptions,
    registry: &Registry,
) -> Result<Vec<Alternatives<'a>>, Failure> {
    let mptcp: Vec<&Comparison> = comparisons.iter().filter(|c| c.class.mptcp).collect();
    let variants: Vec<Variant> = specs.iter().cloned().map(Variant::Scheduler).collect();
    let mut runs = reference_runs(
        &mptcp.iter().map(|c| &c.reference).collect::<Vec<_>>(),
        &variants,
        options.jobs.at_once,
        &Progress::new,
        registry,
    )?
    .into_iter();
    let of = |c| {
        let one = |spec: &SchedulerSpec| (spec.text.clone(), runs.next().unwrap_or_default());
        Alternatives::new(c, specs.iter().map(one).collect())
    };
    Ok(mptcp.into_iter().map(of).collect())
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

/// Writes a file for each scenario.
fn write_scenarios(references: &[Reference], folder: &Path, input: &[PathBuf]) -> Result<u8, Failure> {
    std::fs::create_dir_all(folder).map_err(Failure::writing(folder.display()))?;
    for reference in references {
        let path = folder.join(format!("{}.toml", reference.id.replace('/', "-")));
        output::spare([&path], input)?;
        let text = validation::scenario_text(reference, 1);
        std::fs::write(&path, text).map_err(Failure::writing(path.display()))?;
    }
    Ok(0)
}
