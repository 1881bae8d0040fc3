//! Checks that built-in scenarios show a steady state: which of two schedulers is better after 20 s of measured time must not
//! be reversed after 110 s.
//!
//! For each pair of rows, the difference in goodput is taken seed by seed. A pair is reported if the difference is significant
//! after both times, with opposite signs. At 99 % each, this happens by chance with one of 20,000 pairs that do not differ.

use crate::results::{SCENARIOS, build, pathweave, put, text};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The scenarios, the number of seeds, the schedulers, and the 0.995 quantile of Student's distribution for that many
/// seeds.
struct Extent {
    scenarios: &'static [&'static str],
    seeds: usize,
    schedulers: &'static str,
    student_t: f64,
}

const FULL: Extent = Extent { scenarios: &SCENARIOS, seeds: 10, schedulers: "all", student_t: 3.250 };
const QUICK: Extent =
    Extent { scenarios: &["wlan-3g"], seeds: 5, schedulers: "minrtt,linux,blest,cp,otias", student_t: 4.604 };

const SHORT: &str = "--set duration=30s --set measure_from=10s";
const LONG: &str = "--set duration=120s --set measure_from=10s";

/// Goodput in Mbit/s of each row, seed by seed.
type Goodput = BTreeMap<String, Vec<f64>>;

/// A pair of rows that changes places, with the mean differences of the first to the second after the short and the
/// long time, Mbit/s.
#[derive(Debug, PartialEq)]
struct Turn {
    rows: [String; 2],
    short: f64,
    long: f64,
}

/// Checks a few schedulers on one built-in scenario.
///
/// # Errors
/// If a significant difference changes its sign.
pub(crate) fn check() -> Result<(), String> {
    let found = report(&QUICK)?;
    if found.1 == 0 { Ok(()) } else { Err(format!("{} pairs of schedulers change places:\n{}", found.1, found.0)) }
}

/// Checks all schedulers and writes the result.
///
/// # Errors
/// If a run or the file fails.
pub(crate) fn write() -> Result<(), String> {
    put("docs/results/transients.txt", report(&FULL)?.0.as_bytes())
}

/// A line for each scenario, lines for the pairs that change places, and the number of these pairs.
fn report(extent: &Extent) -> Result<(String, usize), String> {
    build()?;
    let mut out = format!(
        "Pairs of rows whose goodput differs significantly (99 %, paired over {} seeds) after 20 s and after 110 s of\n\
         measured time, both after a discarded start of 10 s, and those of them that change their sign. Mbit/s.\n\n",
        extent.seeds
    );
    let mut turned = 0;
    for scenario in extent.scenarios {
        let [short, long] = [goodput(scenario, SHORT, extent)?, goodput(scenario, LONG, extent)?];
        let (significant, turns) = turns(&short, &long, extent.student_t);
        let _ = writeln!(out, "{scenario:<15}{significant:>5} pairs, {} change their sign", turns.len());
        for Turn { rows: [a, b], short, long } in &turns {
            let _ = writeln!(out, "    {a} - {b}: {short:+.3}, then {long:+.3}");
        }
        turned += turns.len();
    }
    print!("{out}");
    Ok((out, turned))
}

fn goodput(scenario: &str, settings: &str, extent: &Extent) -> Result<Goodput, String> {
    let Extent { seeds, schedulers, .. } = extent;
    let arguments = format!("compare {scenario} --schedulers {schedulers} --seeds {seeds} {settings} --jsonl -");
    let mut rows = Goodput::new();
    for line in text(pathweave().args(arguments.split(' ')))?.lines() {
        let run: serde_json::Value = serde_json::from_str(line).map_err(|e| format!("{e}: {line}"))?;
        let (name, goodput) = (run["scheduler"].as_str(), run["metrics"]["goodput_mbps"].as_f64());
        let (Some(name), Some(goodput)) = (name, goodput) else { return Err(format!("no goodput: {line}")) };
        rows.entry(name.to_owned()).or_default().push(goodput);
    }
    Ok(rows)
}

/// The number of pairs that differ significantly at both durations, and the pairs that change their sign.
fn turns(short: &Goodput, long: &Goodput, student_t: f64) -> (usize, Vec<Turn>) {
    let (mut significant, mut turns) = (0, Vec::new());
    for (i, a) in short.keys().enumerate() {
        for b in short.keys().skip(i + 1) {
            let difference = |of: &Goodput| significant_difference(&of[a], &of[b], student_t);
            let (Some(before), Some(after)) = (difference(short), difference(long)) else { continue };
            significant += 1;
            if before * after < 0.0 {
                turns.push(Turn { rows: [a.clone(), b.clone()], short: before, long: after });
            }
        }
    }
    (significant, turns)
}

/// The mean of the paired differences, if its interval excludes zero.
fn significant_difference(a: &[f64], b: &[f64], student_t: f64) -> Option<f64> {
    let n = a.len().min(b.len()) as f64;
    let differences = || a.iter().zip(b).map(|(a, b)| a - b);
    let mean = differences().sum::<f64>() / n;
    let squares: f64 = differences().map(|d| (d - mean) * (d - mean)).sum();
    let half = student_t * (squares / (n - 1.0) / n).sqrt();
    (mean.abs() > half).then_some(mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(a: &[f64], b: &[f64]) -> Goodput {
        [("a".to_owned(), a.to_vec()), ("b".to_owned(), b.to_vec())].into()
    }

    #[test]
    fn a_pair_that_changes_places_is_found() {
        let short = rows(&[5.0, 5.1, 4.9], &[4.0, 4.1, 3.9]);
        let long = rows(&[3.0, 3.1, 3.0], &[4.0, 4.0, 4.1]);
        let (significant, found) = turns(&short, &long, 9.925);
        assert_eq!((significant, found.len()), (1, 1));
        assert_eq!(found[0].rows, ["a", "b"]);
        assert!((found[0].short - 1.0).abs() < 1e-9 && found[0].long < -0.9, "{found:?}");
        assert_eq!(turns(&short, &short, 9.925), (1, vec![]));
    }

    #[test]
    fn what_differs_from_seed_to_seed_is_not_significant() {
        let short = rows(&[5.0, 3.0, 4.5], &[4.0, 4.1, 3.9]);
        let long = rows(&[3.0, 3.1, 3.0], &[4.0, 4.0, 4.1]);
        assert_eq!(turns(&short, &long, 9.925), (0, vec![]));
    }
}
