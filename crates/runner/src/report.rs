//! The page of a comparison, and the explanation page beside it.

use crate::failure::Failure;
use crate::made_by::version;
use crate::plan::RunPlan;
use pathweave_algorithms::Registry;
use pathweave_lab::explain::explain;
use pathweave_lab::results::{RunResult, Status};
use pathweave_lab::scenario::{Scenario, Variant};
use pathweave_report::{About, Again, Comparison, ExplanationLink, Planned, explain_page_of_report, explained, page};
use pathweave_units::{Duration, Instant};
use std::path::{Path, PathBuf};

/// The time that an explanation page shows, from the start of the measured time.
const EXPLAINED: Duration = Duration::from_secs(1);

/// The runs that the plans ask for. A comparison needs them, because runs may be missing after a stop.
pub fn planned(plans: &[RunPlan]) -> Vec<Planned> {
    let of = |plan: &RunPlan| Planned {
        scenario: plan.name.clone(),
        schedulers: plan.variants.iter().map(|(variant, _)| variant.label()).collect(),
        seeds: plan.seeds.len(),
        paths: (plan.variants.first().into_iter())
            .flat_map(|(_, scenario)| scenario.paths.iter().map(|path| path.name.clone()))
            .collect(),
    };
    plans.iter().map(of).collect()
}

/// Writes the page and, beside it, a page with the decisions of each scheduler whose time is explained below the table.
/// Returns the paths of the explanation pages.
///
/// # Errors
/// If a file cannot be written.
pub fn write_pages(
    path: &Path,
    results: &[RunResult],
    plans: &[RunPlan],
    (against, why): (Option<&str>, Option<&str>),
    registry: &Registry,
) -> Result<Vec<PathBuf>, Failure> {
    let comparisons = Comparison::all(results, &planned(plans), against);
    let (mut about, mut written) = (Vec::new(), Vec::new());
    for plan in plans {
        let Some((_, scenario)) = plan.variants.first() else { continue };
        let mut known = About::of(scenario);
        known.command = command(plan, scenario);
        known.again = again(plan, (against, why), registry);
        let comparison = comparisons.iter().find(|c| c.scenario == plan.name);
        let section = comparisons.iter().position(|c| c.scenario == plan.name).unwrap_or(0);
        let scheduler = comparison.and_then(|c| explained(c, why)).map(|row| row.scheduler.as_str());
        if let Some((file, link, text)) =
            scheduler.and_then(|name| explanation((path, section), plan, name, results, registry))
        {
            std::fs::write(&file, text).map_err(Failure::writing(file.display()))?;
            known.explanation = Some(link);
            written.push(file);
        }
        about.push(known);
    }
    let text = page(&comparisons, results, &about, why);
    std::fs::write(path, text).map_err(Failure::writing(path.display()))?;
    Ok(written)
}

/// How `pathweave explain` is called for the start of the measured time of a scenario, without the scheduler and the
/// seed.
fn command(plan: &RunPlan, scenario: &Scenario) -> String {
    let mut words = vec!["pathweave explain".to_owned(), quoted(&plan.argument)];
    words.extend(
        plan.document.overrides().iter().map(|(key, value)| format!("--set {}", quoted(&format!("{key}={value}")))),
    );
    if !scenario.measure_from.is_zero() {
        words.push(format!("--from {}s", scenario.measure_from.as_secs_f64()));
    }
    words.join(" ")
}

/// The scenario as it was run, and a command that repeats the plan's runs from it. The command is empty if none can do
/// that. `against` and `why` are those of the comparison.
pub fn again(plan: &RunPlan, (against, why): (Option<&str>, Option<&str>), registry: &Registry) -> Option<Again> {
    let scenario = plan.document.scenario(registry, &Variant::AsWritten).ok()?;
    let file = format!("{}.toml", clean(&plan.name));
    let traces = scenario.trace_files().into_iter().map(str::to_owned).collect();
    let text = scenario.to_toml();
    let (mut list, mut can_be_named) = (Vec::new(), true);
    for (variant, _) in &plan.variants {
        if let Variant::Scheduler(spec) = variant {
            can_be_named &= spec.check(&Registry::builtin()).is_ok();
            list.push(variant.label());
        }
    }
    // The command makes the seeds 1 to N, and knows no schedulers but the built-in ones.
    let count = plan.seeds.len() as u64;
    if !can_be_named || plan.seeds.iter().copied().ne(1..=count) {
        return Some(Again { command: String::new(), file, text, traces });
    }
    let mut words = vec![format!("pathweave compare {file} --schedulers {} --seeds {count}", quoted(&list.join(",")))];
    words.extend(against.map(|name| format!("--against {}", quoted(name))));
    words.extend(why.map(|name| format!("--why {}", quoted(name))));
    words.push("--report again.html".into());
    Some(Again { command: words.join(" "), file, text, traces })
}

/// Text as a part of a file's name: never empty, and never an option of a command or a hidden file.
fn clean(text: &str) -> String {
    let kept = text.replace(|c: char| !c.is_ascii_alphanumeric() && !"-_.".contains(c), "-");
    match kept.trim_start_matches(['-', '.']) {
        "" => "unnamed".into(),
        name => name.into(),
    }
}

/// Quotes a word for a shell, if a character in it could mean something to the shell.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,%+".contains(c);
    if !text.is_empty() && text.chars().all(plain) { text.into() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

/// The explanation page of one scheduler: its file, the link to it, and its text, which links back to this section of
/// the page. There is none for plain TCP, for a
/// run that failed, or if the scheduler decides nothing in the period.
fn explanation(
    (page, section): (&Path, usize),
    plan: &RunPlan,
    scheduler: &str,
    results: &[RunResult],
    registry: &Registry,
) -> Option<(PathBuf, ExplanationLink, String)> {
    let seed = *plan.seeds.first()?;
    let (variant, scenario) = plan.variants.iter().find(|(variant, _)| variant.label() == scheduler)?;
    let run = results.iter().find(|r| r.scenario == plan.name && r.scheduler == scheduler && r.seed == seed)?;
    if run.status == Status::Failed || matches!(variant, Variant::PlainTcp(_)) {
        return None;
    }
    let from = Instant::ZERO + scenario.measure_from;
    let to = (from + EXPLAINED).min(Instant::ZERO + scenario.duration);
    let mut explanation = explain(&plan.document, variant, seed, (from, to), None, registry, &plan.traces).ok()?;
    explanation.version = version().into();
    if !explanation.entries.iter().any(|e| e.what.is_decision()) {
        return None;
    }
    let stem = page.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let name = format!("{stem}-{}-{}.html", clean(&plan.name), clean(scheduler));
    let link = ExplanationLink {
        scheduler: scheduler.into(),
        href: address(&name),
        shows: format!("seed {seed}, from {} s to {} s", from.as_secs_f64(), to.as_secs_f64()),
    };
    let back = page.file_name().map(|name| format!("{}#s{section}", address(&name.to_string_lossy())))?;
    Some((page.with_file_name(name), link, explain_page_of_report(&explanation, &back)))
}

/// The relative address of a file with this name.
fn address(name: &str) -> String {
    let safe = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let encoded = |byte: u8| if safe(byte) { char::from(byte).into() } else { format!("%{byte:02X}") };
    format!("./{}", name.bytes().map(encoded).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_back_what_was_quoted() {
        assert_eq!(quoted("path.0.loss=0.5%"), "path.0.loss=0.5%");
        assert_eq!(quoted("my scenario.toml"), "'my scenario.toml'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }

    #[test]
    fn a_kept_name_is_no_option_of_a_command() {
        let kept = ["wlan-3g", "ünïcödé ☃", "☃", "", "--help", "../up", "cp:a=1"].map(clean);
        assert_eq!(kept, ["wlan-3g", "n-c-d---", "unnamed", "unnamed", "help", "up", "cp-a-1"]);
    }

    #[test]
    fn addresses_have_no_character_with_a_meaning() {
        assert_eq!(address("a b#c?-blest.html"), "./a%20b%23c%3F-blest.html");
    }
}
