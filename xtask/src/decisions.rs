//! The cost of a decision of each scheduler: instructions, counted by Callgrind and limited, and microseconds, measured
//! by criterion.
//!
//! Only the scheduler is counted. Callgrind collects inside the two functions of `crates/algorithms/benches/world` that
//! ask it for a decision and report events to it. The mean is over both. The maximum is of decisions alone. The numbers
//! are the same in every run of one build.

use crate::run::{benchmark, capture, cargo, in_parallel, root, run, target};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// The most instructions of any decision on two subflows.
const LIMIT: u64 = 8000;
/// Decisions that are counted for the table, and for a check against the limit.
const DECISIONS: &str = "3000";
const CHECKED_DECISIONS: &str = "1000";
/// As in `crates/algorithms/benches/decision_times.rs`.
const DECISIONS_A_MEASUREMENT: f64 = 2000.0;
const TABLE: &str = "docs/decisions.txt";

/// The connections of `crates/algorithms/benches/world`, and their names in the table.
const CONNECTIONS: [(&str, &str); 3] = [("2", "2 subflows"), ("2-apart", "2, RTT 1:100"), ("8", "8 subflows")];

/// Instructions of a decision: the mean, including the events since the last decision, and the maximum, without events.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cost {
    mean: f64,
    most: u64,
}

/// The cost of a decision by connection, for each scheduler in the registry's order.
type Counts = Vec<(String, BTreeMap<String, Cost>)>;

/// Counts, and checks two subflows against the limit and the names against the table.
///
/// # Errors
/// If a scheduler is over the limit or not in the table, or if counting does not work.
pub(crate) fn check() -> Result<(), String> {
    let counts = count(CHECKED_DECISIONS)?;
    print!("{}", table(&counts, &BTreeMap::new()));
    let text = std::fs::read_to_string(root().join(TABLE)).map_err(|e| format!("{TABLE}: {e}"))?;
    judge(&counts, &text)
}

fn judge(counts: &Counts, table: &str) -> Result<(), String> {
    let mut wrong = Vec::new();
    for (name, by_connection) in counts {
        for (connection, cost) in by_connection.iter().filter(|(c, cost)| c.starts_with('2') && cost.most > LIMIT) {
            wrong.push(format!(
                "{name}: a decision of {} instructions on {connection} subflows; at most {LIMIT}",
                cost.most
            ));
        }
        if !table.lines().any(|line| line.split_whitespace().next() == Some(name)) {
            wrong.push(format!("{name} is not in {TABLE}: cargo xtask decisions --write"));
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

/// Counts, measures, and updates the table.
///
/// # Errors
/// If counting or measuring does not work, or a scheduler is over the limit.
pub(crate) fn write() -> Result<(), String> {
    let counts = count(DECISIONS)?;
    run(&mut cargo("bench --quiet --package pathweave-algorithms --bench decision_times"))?;
    let text = table(&counts, &times(&counts));
    print!("{text}");
    std::fs::write(root().join(TABLE), &text).map_err(|e| format!("{TABLE}: {e}"))?;
    judge(&counts, &text)
}

fn count(decisions: &str) -> Result<Counts, String> {
    let program = benchmark("decisions")?;
    let names = capture(&mut Command::new(&program))?;
    let names = String::from_utf8_lossy(&names);
    let works: Vec<(&str, &str)> = names.lines().filter_map(|line| line.split_once(' ')).collect();
    let costs = in_parallel(&works, |(name, connection)| cost(&program, [name, connection, decisions]));
    let mut counts = Counts::new();
    for ((name, connection), cost) in works.into_iter().zip(costs) {
        let cost = cost?;
        if counts.last().is_none_or(|(last, _)| last != name) {
            counts.push((name.to_owned(), BTreeMap::new()));
        }
        if let Some((_, by_connection)) = counts.last_mut() {
            by_connection.insert(connection.to_owned(), cost);
        }
    }
    Ok(counts)
}

/// Of a scheduler's name, a connection of [`CONNECTIONS`] and a number of decisions.
fn cost(program: &Path, work: [&str; 3]) -> Result<Cost, String> {
    // Whole names: of two patterns Callgrind heeds the first.
    let both = ["--toggle-collect=decisions::world::decide", "--toggle-collect=decisions::world::tell"];
    let (all, decisions) = callgrind(program, work, &both)?;
    // A pattern and a whole name: of two options for one name Callgrind heeds the last.
    let each = ["--toggle-collect=*world*decide*", "--dump-after=decisions::world::decide", "--combine-dumps=yes"];
    let (parts, _) = callgrind(program, work, &each)?;
    let most = parts.iter().max().copied().unwrap_or(0);
    let sum = all.iter().sum::<u64>();
    // There is a part for each decision, and one for what came after the last.
    if decisions == 0 || (parts.len() as u64) < decisions || most == 0 || sum <= parts.iter().sum() {
        return Err(format!("{}: of {decisions} decisions {} were counted, {sum} in all", work.join(" "), parts.len()));
    }
    Ok(Cost { mean: sum as f64 / decisions as f64, most })
}

/// The instructions between dumps, and the number of decisions.
fn callgrind(program: &Path, work: [&str; 3], options: &[&str]) -> Result<(Vec<u64>, u64), String> {
    let profile = target().join(format!("decisions-{}-{}.callgrind", work[0], work[1]));
    let _ = std::fs::remove_file(&profile);
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--collect-atstart=no", "--dump-line=no"]).args(options);
    command.arg(format!("--callgrind-out-file={}", profile.display())).arg(program).args(work);
    let output = command.output().map_err(|e| format!("valgrind: {e}"))?;
    let errors = || String::from_utf8_lossy(&output.stderr).into_owned();
    let text = std::fs::read(&profile).map_err(|e| format!("{}: {e}\n{}", profile.display(), errors()))?;
    let _ = std::fs::remove_file(&profile);
    let text = String::from_utf8_lossy(&text);
    let parts = text.lines().filter_map(|l| l.strip_prefix("summary: ")?.trim().parse().ok()).collect();
    Ok((parts, String::from_utf8_lossy(&output.stdout).trim().parse().map_err(|e| format!("{e}: {}", errors()))?))
}

/// Microseconds of a decision by scheduler and connection, as criterion left them.
fn times(counts: &Counts) -> BTreeMap<(String, String), f64> {
    let read = |name: &str, connection: &str| {
        let file = target().join(format!("criterion/decisions/{name}/{connection}/new/estimates.json"));
        let estimates: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(file).ok()?).ok()?;
        Some(estimates["median"]["point_estimate"].as_f64()? / DECISIONS_A_MEASUREMENT / 1e3)
    };
    let all = counts.iter().flat_map(|(name, by_connection)| by_connection.keys().map(move |n| (name, n)));
    all.filter_map(|(name, n)| Some(((name.clone(), n.clone()), read(name, n)?))).collect()
}

fn table(counts: &Counts, times: &BTreeMap<(String, String), f64>) -> String {
    let mut out = String::from("$ cargo xtask decisions --write\n\n");
    out.push_str("A decision on a long transfer: instructions of the scheduler (Callgrind), on average with what it is told since the one\n");
    out.push_str("before, and the costliest by itself; microseconds with the benchmark's own part (criterion; they depend on the machine).\n");
    out.push_str("RTT 20 and 40 ms; 20 and 2000 ms with 5 % of loss; 20 to 160 ms. ");
    let _ = writeln!(out, "At most {LIMIT} instructions on two subflows.\n");
    let _ = write!(out, "{:20}", "instructions, µs");
    for (_, title) in CONNECTIONS {
        let _ = write!(out, " {title:>24}");
    }
    let _ = write!(out, "\n{:20}", "");
    for _ in CONNECTIONS {
        let _ = write!(out, " {:>9} {:>7} {:>6}", "mean", "most", "µs");
    }
    for (name, by_connection) in counts {
        let _ = write!(out, "\n{name:20}");
        for (connection, _) in CONNECTIONS {
            let _ = match by_connection.get(connection) {
                Some(cost) => write!(out, " {:>9.0} {:>7}", cost.mean, cost.most),
                None => write!(out, " {:>9} {:>7}", "–", "–"),
            };
            let _ = match times.get(&(name.clone(), connection.to_owned())) {
                Some(x) => write!(out, " {x:>6.2}"),
                None => write!(out, " {:>6}", "–"),
            };
        }
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_over_the_limit_or_new_is_told() {
        let one = |name: &str, most| {
            let cost = |most| Cost { mean: 10.0, most };
            (name.to_owned(), BTreeMap::from([("2-apart".into(), cost(most)), ("8".into(), cost(10 * most))]))
        };
        let table = "head\nfine 1 2\nslow 3 4\n";
        assert_eq!(judge(&vec![one("fine", 8000)], table), Ok(()));
        assert!(judge(&vec![one("slow", 8001)], table).is_err_and(|e| e.starts_with("slow: a decision of 8001")));
        assert!(judge(&vec![one("new", 1)], table).is_err_and(|e| e.starts_with("new is not in ")));
    }
}
