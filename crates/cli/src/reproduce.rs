//! `pathweave reproduce`.

use crate::ablate::{self, ablate};
use crate::args::ReproduceOptions;
use crate::experiment::{Experiment, chosen};
use crate::output::{self, Output};
use crate::shard::{Existing, Ready};
use crate::sweep::problems;
use crate::terminal;
use pathweave_algorithms::Registry;
use pathweave_experiments::ablation::Tried;
use pathweave_experiments::calibration;
use pathweave_experiments::claim::{Judged, Verdict, verdicts};
use pathweave_experiments::plot;
use pathweave_experiments::promises::Promises;
use pathweave_experiments::record::Record;
use pathweave_experiments::reproduction::{ClaimLine, markdown, text};
use pathweave_experiments::results::Results;
use pathweave_experiments::table;
use pathweave_runner::{Engine, Failure};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Default folder for results.
const OUT: &str = "pathweave-reproduction";
/// The document with all verdicts.
const DOCUMENT: &str = "reproduction.md";
/// File with the experiments that are not reproduced and the reasons, beside the papers' folders.
const MISSING: &str = "missing.md";

/// Fraction by which a run may exceed the bound before it counts as an error. The bound is proved for long runs
/// (docs/notes/the-bound.md).
const BOUND_TOLERANCE: f64 = 0.01;

/// Makes the experiments that `options` name, and says for each claim whether it holds.
pub(crate) fn reproduce(options: &ReproduceOptions, registry: &Registry, engine: &Engine) -> Result<u8, Failure> {
    let chosen = chosen(options)?;
    let out = options.out.clone().unwrap_or_else(|| OUT.into());
    // All plans are read first: a mistake in the last one is found at once.
    let mut ready = Vec::new();
    for experiment in chosen {
        let whole = Ready::read(&experiment.file, options.quick, registry)?;
        let kept = if options.promises { whole.promised(registry)? } else { Some(whole) };
        ready.extend(kept.map(|kept| (kept, experiment)));
    }
    let inputs: Vec<PathBuf> = ready.iter().flat_map(|(ready, _)| ready.plan.files()).chain(tables(options)).collect();
    output::check(&options.jsonl, &inputs)?;
    let written = ready.iter().flat_map(|(_, e)| options.tables.as_ref().map(|folder| folder.join(table_name(e))));
    output::spare(written.chain([out.join(DOCUMENT)]), &inputs)?;
    fs::create_dir_all(&out).map_err(Failure::writing(out.display()))?;
    let mut lines = options.jsonl.as_ref().map(Output::create).transpose()?;
    let lines_on_stdout = output::on_stdout(&options.jsonl);
    terminal::listen_for_interrupt();
    let mut promises = Promises::default();
    let mut counts = [0; 4];
    let mut ours = 0;
    let (mut document, mut failures, mut paper) = (String::new(), 0, String::new());
    let (common, mut tried) = (ablate::common(options)?, ablate::kept(options)?);
    for (ready, experiment) in &ready {
        let quick = if options.quick { "-quick" } else { "" };
        let Some(records) = records(options, ready, experiment, &out, registry, engine)? else {
            eprintln!("Stopped early; the same command goes on with what is missing.");
            return Ok(terminal::INTERRUPTED);
        };
        let results = Results::new(&ready.plan.sweep, &records);
        let over = results.over_bound(&ready.plan.sweep, BOUND_TOLERANCE);
        over.iter().for_each(|run| eprintln!("Above the bound: {run}"));
        failures += results.failures + over.len();
        let judged = verdicts(&ready.plan.sweep, &results).map_err(Failure::Input)?;
        let name = format!("{}/{}", experiment.paper, experiment.id);
        let shown = text(&name, &ready.plan.sweep.plan, &judged) + "\n";
        output::show(&shown, lines_on_stdout)?;
        eprint!("{}", problems(&results));
        if let Some(lines) = &mut lines {
            write_lines(lines, experiment, ready, &judged).map_err(Failure::writing("the lines of JSON"))?;
        }
        if options.ablate {
            let Some(new) = ablate(options, experiment, &judged, (&common, &out), registry, engine)? else {
                eprintln!("Stopped early; the same command goes on with what is missing.");
                return Ok(terminal::INTERRUPTED);
            };
            tried.retain(|t| t.paper != experiment.paper || t.id != experiment.id);
            tried.extend(new);
            ablate::keep(&out, &tried)?;
        }
        if paper != experiment.paper {
            paper = experiment.paper.clone();
            document.push_str(&format!("## {}\n\n", paper.to_uppercase()));
        }
        let own: Vec<&Tried> = tried.iter().filter(|t| t.paper == experiment.paper && t.id == experiment.id).collect();
        let pictures = pictures(&out, experiment, quick, ready, &results)?;
        promises.add(&experiment.paper, &experiment.id, &judged, &own);
        let calibrations = calibration::sentences(&ready.plan.sweep, &results);
        document.push_str(&(markdown(&name, &ready.plan.sweep.plan, &judged, &calibrations, &pictures, &own) + "\n"));
        over.iter().for_each(|run| document.push_str(&format!("Above the bound: {run}.\n\n")));
        ours += judged.iter().filter(|j| j.claim.ours).count();
        judged.iter().filter(|j| !j.claim.ours).for_each(|j| counts[j.verdict as usize] += 1);
    }
    let missing = options.from.join(MISSING);
    let missing = fs::read_to_string(&missing).ok().map(|text| (missing, text));
    document.insert_str(0, &promises.markdown());
    document.push_str(missing.as_ref().map_or("", |(_, text)| text.as_str()));
    let path = out.join(DOCUMENT);
    fs::write(&path, document).map_err(Failure::writing(path.display()))?;
    let counted = Verdict::ALL.map(|verdict| format!("{} {}", verdict.word(), counts[verdict as usize])).join(", ");
    let more = if ours > 0 { format!("; {ours} more are ours") } else { String::new() };
    let mut summary = format!("Verdicts on the papers' claims: {counted}{more}. With figures: {}\n", path.display());
    if let Some((file, _)) = missing {
        summary += &format!("Not reproduced, with reasons: {}\n", file.display());
    }
    output::show(&summary, lines_on_stdout)?;
    Ok(u8::from(failures > 0))
}

/// Name of the file with an experiment's values.
fn table_name(of: &Experiment) -> String {
    format!("{}-{}.csv", of.paper, of.id)
}

/// The files of values to read.
fn tables(options: &ReproduceOptions) -> Vec<PathBuf> {
    let files = options.from_tables.iter().flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten());
    files.map(|file| file.path()).collect()
}

/// The runs of an experiment, simulated or read from files; `None` after Ctrl-C.
fn records(
    options: &ReproduceOptions,
    ready: &Ready,
    experiment: &Experiment,
    out: &Path,
    registry: &Registry,
    engine: &Engine,
) -> Result<Option<Vec<Record>>, Failure> {
    let file = table_name(experiment);
    if let Some(folder) = &options.from_tables {
        let path = folder.join(file);
        let wrong = |e: &dyn std::fmt::Display| Failure::Input(format!("{}: {e}", path.display()));
        let text = fs::read_to_string(&path).map_err(|e| wrong(&e))?;
        return table::read(&ready.plan.sweep, &text).map(Some).map_err(|e| wrong(&e));
    }
    let quick = if options.quick { "-quick" } else { "" };
    let folder = out.join(&experiment.paper).join(format!("{}{quick}", experiment.id));
    if !ready.run(&folder, (1, 1), Existing::ResumeOrReplace, options.jobs.at_once, registry, engine)? {
        return Ok(None);
    }
    let Some(records) = ready.all_records(&folder, 1)? else {
        return Err(Failure::Output(format!("{}: runs are missing", folder.display())));
    };
    let Some(folder) = &options.tables else { return Ok(Some(records)) };
    let path = folder.join(file);
    let text = table::write(&ready.plan.sweep, &ready.header(1, 1), &records);
    fs::create_dir_all(folder).and_then(|()| fs::write(&path, &text)).map_err(Failure::writing(path.display()))?;
    // The verdicts are based on the table.
    let read = table::read(&ready.plan.sweep, &text);
    read.map(Some).map_err(|e| Failure::Output(format!("{}: {e}", path.display())))
}

fn write_lines(out: &mut dyn Write, of: &Experiment, ready: &Ready, judged: &[Judged<'_>]) -> io::Result<()> {
    for one in judged {
        out.write_all(ClaimLine::new(&of.paper, &of.id, &ready.plan.sweep.plan, one).line().as_bytes())?;
    }
    out.flush()
}

/// Writes the figures, and returns their titles and the names of their files in `out`.
fn pictures(
    out: &Path,
    experiment: &Experiment,
    quick: &str,
    ready: &Ready,
    results: &Results,
) -> Result<Vec<(String, String)>, Failure> {
    let mut files = Vec::new();
    for (i, figure) in ready.plan.sweep.plan.figures.iter().enumerate() {
        let drawn = plot::draw(&ready.plan.sweep, results, figure);
        let Some(svg) = plot::svg(&drawn) else { continue };
        let file = format!("{}-{}{quick}-{}.svg", experiment.paper, experiment.id, i + 1);
        let path = out.join(&file);
        fs::write(&path, svg).map_err(Failure::writing(path.display()))?;
        files.push((drawn.title, file));
    }
    Ok(files)
}
