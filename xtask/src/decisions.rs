//! What a decision of each scheduler costs: instructions counted by Callgrind, held under a limit, and microseconds by criterion.
//!
//! Only the scheduler is counted: Callgrind collects inside the two functions of `crates/proto/benches/world` that call it, to
//! decide and to be told of what happened. The numbers are the same on every run of one build.

use crate::run::{capture, cargo, root, run, target};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The most instructions of a decision on two subflows.
const LIMIT: f64 = 8000.0;
/// Decisions that are counted.
const DECISIONS: &str = "3000";
/// As in `crates/proto/benches/decision_times.rs`.
const DECISIONS_A_MEASUREMENT: f64 = 2000.0;
const TABLE: &str = "docs/decisions.txt";

/// By scheduler, in the registry's order: instructions of a decision by number of subflows.
type Counts = Vec<(String, BTreeMap<u32, f64>)>;

/// Counts, and holds two subflows against the limit and the names against the table.
///
/// # Errors
/// Where a scheduler is over the limit or not in the table, and where counting does not work.
pub(crate) fn check() -> Result<(), String> {
    let counts = count()?;
    print!("{}", table(&counts, &BTreeMap::new()));
    let text = std::fs::read_to_string(root().join(TABLE)).map_err(|e| format!("{TABLE}: {e}"))?;
    judge(&counts, &text)
}

fn judge(counts: &Counts, table: &str) -> Result<(), String> {
    let mut wrong = Vec::new();
    for (name, by_subflows) in counts {
        if let Some(two) = by_subflows.get(&2).filter(|n| **n > LIMIT) {
            wrong.push(format!("{name}: {two:.0} instructions a decision on two subflows; at most {LIMIT:.0}"));
        }
        if !table.lines().any(|line| line.split_whitespace().next() == Some(name)) {
            wrong.push(format!("{name} is not in {TABLE}: cargo xtask decisions --write"));
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

/// Counts, measures, and writes the table anew.
///
/// # Errors
/// Where counting or measuring does not work, or a scheduler is over the limit.
pub(crate) fn write() -> Result<(), String> {
    let counts = count()?;
    run(&mut cargo("bench --quiet --package pathweave-proto --bench decision_times"))?;
    let text = table(&counts, &times(&counts));
    print!("{text}");
    std::fs::write(root().join(TABLE), &text).map_err(|e| format!("{TABLE}: {e}"))?;
    judge(&counts, &text)
}

fn count() -> Result<Counts, String> {
    let program = program()?;
    let names = capture(&mut Command::new(&program))?;
    let mut counts = Counts::new();
    for line in String::from_utf8_lossy(&names).lines() {
        let (name, subflows) = line.split_once(' ').ok_or_else(|| format!("what is {line:?}?"))?;
        let instructions = callgrind(&program, name, subflows)?;
        if counts.last().is_none_or(|(last, _)| last != name) {
            counts.push((name.to_owned(), BTreeMap::new()));
        }
        if let Some((_, by_subflows)) = counts.last_mut() {
            by_subflows.insert(subflows.parse().map_err(|e| format!("{line}: {e}"))?, instructions);
        }
    }
    Ok(counts)
}

/// Builds the counted program; where it is.
fn program() -> Result<PathBuf, String> {
    let build = "bench --quiet --package pathweave-proto --bench decisions --no-run --message-format=json";
    let messages = capture(&mut cargo(build))?;
    let messages = String::from_utf8_lossy(&messages);
    let mut found = messages.lines().filter_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        let ours = message["target"]["name"] == "decisions";
        message["executable"].as_str().filter(|_| ours).map(PathBuf::from)
    });
    found.next().ok_or_else(|| "Cargo names no program for the benchmark decisions".into())
}

/// Instructions of a decision, on average.
fn callgrind(program: &Path, name: &str, subflows: &str) -> Result<f64, String> {
    let log = target().join("decisions.log");
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "--collect-atstart=no"]);
    command.args(["--toggle-collect=*world*decide*", "--toggle-collect=*world*tell*"]);
    command.arg(format!("--log-file={}", log.display())).arg(program).args([name, subflows, DECISIONS]);
    let output = command.output().map_err(|e| format!("valgrind: {e}"))?;
    let text = std::fs::read_to_string(&log).map_err(|e| format!("{}: {e}", log.display()))?;
    let collected = text.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse::<f64>().ok());
    let times = String::from_utf8_lossy(&output.stdout).trim().parse::<f64>().ok();
    match (collected, times) {
        (Some(collected), Some(times)) if collected > 0.0 && times > 0.0 => Ok(collected / times),
        _ => Err(format!("{name}, {subflows} subflows: nothing was counted:\n{text}")),
    }
}

/// Microseconds of a decision by scheduler and subflows, as criterion left them.
fn times(counts: &Counts) -> BTreeMap<(String, u32), f64> {
    let read = |name: &str, subflows: u32| {
        let file = target().join(format!("criterion/decisions/{name}/{subflows}/new/estimates.json"));
        let estimates: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(file).ok()?).ok()?;
        Some(estimates["median"]["point_estimate"].as_f64()? / DECISIONS_A_MEASUREMENT / 1e3)
    };
    let all = counts.iter().flat_map(|(name, by_subflows)| by_subflows.keys().map(move |n| (name, *n)));
    all.filter_map(|(name, n)| Some(((name.clone(), n), read(name, n)?))).collect()
}

fn table(counts: &Counts, times: &BTreeMap<(String, u32), f64>) -> String {
    let mut out = String::from("$ cargo xtask decisions --write\n\n");
    out.push_str("A decision on a long transfer: instructions of the scheduler (Callgrind), microseconds with the benchmark's own\n");
    out.push_str(&format!(
        "part (criterion; they depend on the machine). At most {LIMIT:.0} instructions on two subflows.\n\n"
    ));
    let _ = writeln!(out, "{:20} {:>14} {:>14} {:>10} {:>10}", "", "2 subflows", "8 subflows", "2, µs", "8, µs");
    for (name, by_subflows) in counts {
        let _ = write!(out, "{name:20}");
        [2, 8].iter().for_each(|n| match by_subflows.get(n) {
            Some(x) => drop(write!(out, " {x:>14.0}")),
            None => drop(write!(out, " {:>14}", "–")),
        });
        [2, 8].iter().for_each(|n| match times.get(&(name.clone(), *n)) {
            Some(x) => drop(write!(out, " {x:>10.2}")),
            None => drop(write!(out, " {:>10}", "–")),
        });
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_over_the_limit_or_new_is_told() {
        let one = |name: &str, n: f64| (name.to_owned(), BTreeMap::from([(2, n), (8, 10.0 * n)]));
        let table = "head\nfine 1 2\nslow 3 4\n";
        assert_eq!(judge(&vec![one("fine", 8000.0)], table), Ok(()));
        assert!(judge(&vec![one("slow", 8001.0)], table).is_err_and(|e| e.starts_with("slow: 8001")));
        assert!(judge(&vec![one("new", 1.0)], table).is_err_and(|e| e.starts_with("new is not in ")));
    }
}
