//! Changes the engine's checks one by one, to find changes that no test notices.
//!
//! `.cargo/mutants.toml` names the functions, and cargo-mutants lists what to change in them. All changes are built into one program,
//! and a variable chooses one for each run of the tests, so that the engine is compiled a few times and not some hundred times.

mod build;
mod list;
mod rewrite;
mod trial;

use crate::run::in_parallel;
use crate::steps::now;
use indicatif::{ProgressBar, ProgressStyle};
use list::{Change, EQUIVALENT};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::sync::Mutex;
use std::time::Duration;
use trial::{Outcome, Trials};

/// Time after which the command stops. The next one continues.
const LIMIT: Duration = Duration::from_secs(90 * 60);

/// Tries all changes that have not been tried with these sources and tests, and prints which were noticed.
///
/// # Errors
/// If a change that is not listed as making no difference is not noticed, if that list is out of date, or if not all
/// changes could be tried.
pub(crate) fn check() -> Result<(), String> {
    let start = now();
    let changes = list::changes()?;
    let equivalent = list::equivalent()?;
    let built = build::build(&changes)?;
    println!("{:.0} s until it builds", start.elapsed().as_secs_f64());
    let outcomes = Outcomes::open(&built.hash)?;
    let known = outcomes.known.len();
    let trials = Trials::new(&built)?;
    for change in &changes {
        if let Some(Outcome::Noticed(_, test)) = outcomes.known.get(&change.name) {
            trials.remember(&place(change), test);
        }
    }
    let numbered: Vec<(u32, &Change)> = (1..).zip(&changes).collect();
    let left: Vec<(u32, &Change)> = numbered
        .into_iter()
        .filter(|(_, c)| !built.unbuildable.contains(&c.name) && !built.untried.contains(&c.name))
        .filter(|(_, c)| !outcomes.known.contains_key(&c.name))
        .collect();
    println!("{} changes; {known} have been tried before, {} are left", changes.len(), left.len());
    let style = ProgressStyle::with_template("{pos}/{len} {wide_msg}").map_err(|e| e.to_string())?;
    let bar = ProgressBar::new(left.len() as u64).with_style(style);
    let tried = in_parallel(&left, |(number, change)| {
        if start.elapsed() > LIMIT {
            return Ok(None);
        }
        bar.set_message(change.name.clone());
        let outcome = trials.outcome(*number, &place(change))?;
        outcomes.add(&change.name, &outcome)?;
        bar.inc(1);
        Ok(Some((change.name.clone(), outcome)))
    });
    bar.finish_and_clear();
    let tried: Vec<Option<(String, Outcome)>> = tried.into_iter().collect::<Result<_, String>>()?;
    let skipped = tried.iter().filter(|one| one.is_none()).count();
    if skipped > 0 {
        let minutes = LIMIT.as_secs() / 60;
        return Err(format!(
            "{skipped} changes have not been tried after {minutes} minutes; the next run takes up there"
        ));
    }
    let mut all = outcomes.known;
    all.extend(tried.into_iter().flatten());
    let in_seconds = start.elapsed().as_secs();
    println!("{known} tried before and {} in {} min {} s\n", left.len(), in_seconds / 60, in_seconds % 60);
    report(&changes, &built, &equivalent, &all)
}

/// File and function of a change, by which neighbours are found.
fn place(change: &Change) -> String {
    format!("{} {:?}", change.file, change.function)
}

/// The outcomes so far, in a file to which each outcome is appended.
struct Outcomes {
    hash: String,
    known: BTreeMap<String, Outcome>,
    file: Mutex<fs::File>,
}

impl Outcomes {
    /// Reads the outcomes with these sources and tests. Those of others are dropped.
    fn open(hash: &str) -> Result<Self, String> {
        let path = build::folder().join("outcomes.tsv");
        let error = |e| format!("{}: {e}", path.display());
        let text = fs::read_to_string(&path).unwrap_or_default();
        let known: BTreeMap<String, Outcome> = text.lines().filter_map(|line| parse(line, hash)).collect();
        let lines: String = known.iter().map(|(name, outcome)| line(hash, name, outcome)).collect();
        fs::write(&path, lines).map_err(error)?;
        let file = OpenOptions::new().append(true).open(&path).map_err(error)?;
        Ok(Outcomes { hash: hash.into(), known, file: Mutex::new(file) })
    }

    fn add(&self, name: &str, outcome: &Outcome) -> Result<(), String> {
        let mut file = self.file.lock().map_err(|e| e.to_string())?;
        file.write_all(line(&self.hash, name, outcome).as_bytes()).map_err(|e| format!("outcomes.tsv: {e}"))
    }
}

fn line(hash: &str, name: &str, outcome: &Outcome) -> String {
    match outcome {
        Outcome::Noticed(how, test) => format!("{hash}\t{name}\t{how}\t{test}\n"),
        Outcome::NotNoticed => format!("{hash}\t{name}\tnot noticed\t\n"),
    }
}

/// The outcome on a line, if it is of these sources. A line that was cut off has none.
fn parse(line: &str, hash: &str) -> Option<(String, Outcome)> {
    let [of, name, how, test] = line.split('\t').collect::<Vec<_>>()[..] else { return None };
    let outcome = match how {
        "not noticed" => Outcome::NotNoticed,
        "failed" => Outcome::Noticed("failed", test.into()),
        "aborted" => Outcome::Noticed("aborted", test.into()),
        "took too long" => Outcome::Noticed("took too long", test.into()),
        _ => return None,
    };
    (of == hash).then(|| (name.into(), outcome))
}

/// Prints the table and the faults.
fn report(
    changes: &[Change],
    built: &build::Built,
    equivalent: &BTreeSet<String>,
    outcomes: &BTreeMap<String, Outcome>,
) -> Result<(), String> {
    let mut rows: BTreeMap<&str, [usize; 6]> = BTreeMap::new();
    let (mut missed, mut noticed) = (Vec::new(), BTreeSet::new());
    for change in changes {
        let column = match outcomes.get(&change.name) {
            _ if built.unbuildable.contains(&change.name) => 1,
            _ if built.untried.contains(&change.name) => 2,
            Some(Outcome::Noticed(..)) => {
                noticed.insert(&change.name);
                3
            }
            _ if equivalent.contains(&change.name) => 4,
            _ => {
                missed.push(change.name.as_str());
                5
            }
        };
        let file = change.file.trim_start_matches("crates/proto/src/");
        for row in [file, "all"] {
            let row = rows.entry(row).or_default();
            row[0] += 1;
            row[column] += 1;
        }
    }
    println!("| file | changes | do not build | not tried | noticed | equivalent | not noticed |");
    println!("|---|---|---|---|---|---|---|");
    let all = rows.remove("all").unwrap_or_default();
    for (file, row) in rows.iter().map(|(file, row)| (format!("`{file}`"), row)).chain([("all".into(), &all)]) {
        println!("| {file} | {} |", row.map(|n| n.to_string()).join(" | "));
    }
    for name in &built.untried {
        println!("not tried, as a const fn cannot ask which change is chosen: {name}");
    }
    for name in &missed {
        println!("not noticed: {name}");
    }
    let stale: Vec<&String> = equivalent.iter().filter(|name| is_stale(name, changes, &noticed)).collect();
    for name in &stale {
        println!("in {EQUIVALENT}, but there is no such change, or it is noticed: {name}");
    }
    match (missed.len(), stale.len()) {
        (0, 0) => Ok(()),
        (missed, stale) => {
            Err(format!("{missed} changes are not noticed, {stale} lines of {EQUIVALENT} are out of date"))
        }
    }
}

fn is_stale(name: &String, changes: &[Change], noticed: &BTreeSet<&String>) -> bool {
    noticed.contains(name) || !changes.iter().any(|change| change.name == *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_are_read_as_they_were_written() {
        for outcome in [Outcome::NotNoticed, Outcome::Noticed("took too long", "it a::b".into())] {
            let text = line("1a", "f.rs: replace | with & in f", &outcome);
            let read = parse(text.trim_end_matches('\n'), "1a");
            assert_eq!(read, Some(("f.rs: replace | with & in f".into(), outcome)));
            assert_eq!(parse(text.trim_end_matches('\n'), "2b"), None);
        }
        assert_eq!(parse("1a\tf.rs: replace | wi", "1a"), None);
    }
}
