//! A part of the measurements of Linux, small enough to be compared with at every change.
//!
//! A rule chooses the part, without looking at the results: from all scenarios, in the order of the files, it takes every
//! fifth or seventh of each kind ([`EVERY`]). The part must keep within the limits of `pathweave validate`, and the difference
//! of each scenario to Linux must be the committed one, to a tenth of a per cent. The diff of that file shows what a change
//! does, and the check says which scenarios have become worse.

use crate::results::{pathweave, put, text};
use crate::run::{root, target};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

/// All measurements; the order is part of the rule.
const ALL: [&str; 4] = ["linux-6.12.jsonl", "more-6.12.jsonl", "fresh-6.12.jsonl", "probe-6.12.jsonl"];
const PART: &str = "validation/guard-6.12.jsonl";
const DIFFERENCES: &str = "validation/guard.txt";
/// From each kind of group, the first is taken and then every n-th. Runs with random loss take 300 seeds instead of 10.
const EVERY: [(Kind, usize); 4] =
    [(Kind::GrowingWindow, 5), (Kind::FixedWindow, 5), (Kind::Sized, 5), (Kind::RandomLoss, 7)];
/// Defaults for what the lines of [`ALL`] leave out, as in `validation/README.md`: the maximum and the initial receive buffer.
const RMEM: u64 = 6_291_456;
const INITIAL_RMEM: u64 = 131_072;

/// What a group of scenarios on the same paths is about: Multipath TCP and plain TCP on each path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    GrowingWindow,
    FixedWindow,
    Sized,
    RandomLoss,
}

/// Compares with the part, and the part with the rule. The command must have been built.
///
/// # Errors
/// The limits that do not hold, and the scenarios that are not as committed.
pub(crate) fn check() -> Result<(), String> {
    if read(PART)? != choose(&all()?)? {
        return Err(format!("{PART} is not what the rule chooses: cargo xtask validation --choose"));
    }
    let (table, results) = validate()?;
    print!("{table}");
    let mut wrong: Vec<String> = table.lines().filter(|line| line.starts_with("FAILS")).map(str::to_owned).collect();
    wrong.extend(compare(&read(DIFFERENCES)?, &results)?);
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(format!("{}\nif the change is intended: cargo xtask validation --bless", wrong.join("\n"))),
    }
}

/// Updates the differences. The command must have been built.
///
/// # Errors
/// If a run or the file fails.
pub(crate) fn bless() -> Result<(), String> {
    let (table, results) = validate()?;
    print!("{table}");
    for line in compare(&fs::read_to_string(root().join(DIFFERENCES)).unwrap_or_default(), &results)? {
        println!("{line}");
    }
    put(DIFFERENCES, differences(&results)?.as_bytes())
}

/// Chooses the part again from all measurements.
///
/// # Errors
/// If a file fails.
pub(crate) fn write_part() -> Result<(), String> {
    put(PART, choose(&all()?)?.as_bytes())
}

fn read(name: &str) -> Result<String, String> {
    fs::read_to_string(root().join(name)).map_err(|e| format!("{name}: {e}"))
}

fn all() -> Result<String, String> {
    ALL.into_iter().map(|name| read(&format!("validation/{name}"))).collect()
}

/// The table, and a result for each scenario.
fn validate() -> Result<(String, Vec<Value>), String> {
    let lines = target().join("validation.jsonl");
    let table = text(pathweave().args(["validate", PART, "--jsonl"]).arg(&lines).current_dir(root()))?;
    let lines = fs::read_to_string(&lines).map_err(|e| format!("{}: {e}", lines.display()))?;
    Ok((table, lines.lines().map(json).collect::<Result<_, _>>()?))
}

fn json(line: &str) -> Result<Value, String> {
    serde_json::from_str(line).map_err(|e| format!("{e}: {line}"))
}

/// The lines of the part: groups in the order of the files, with all runs of their scenarios.
fn choose(all: &str) -> Result<String, String> {
    let mut groups: Vec<(String, Kind, String)> = Vec::new();
    for line in all.lines() {
        let run = json(line)?;
        let id = run["id"].as_str().ok_or_else(|| format!("no id: {line}"))?;
        let group = id.rsplit_once('/').map_or(id, |(group, _)| group);
        match groups.iter_mut().find(|(name, ..)| name == group) {
            Some((.., lines)) => lines.extend([line, "\n"]),
            None => groups.push((group.to_owned(), kind(&run["scenario"]), format!("{line}\n"))),
        }
    }
    let rule = EVERY.map(|(kind, every)| format!("{kind:?} {every}")).join(", ");
    let mut out = format!(
        "# Of {}: the first group of each kind and then every so many-th ({rule}). Written by `cargo xtask validation --choose`.\n",
        ALL.join(", ")
    );
    for (kind, every) in EVERY {
        let of_kind = groups.iter().filter(|(_, k, _)| *k == kind);
        out.extend(of_kind.step_by(every).map(|(.., lines)| lines.as_str()));
    }
    Ok(out)
}

/// The kind of a group, from any of its scenarios.
fn kind(scenario: &Value) -> Kind {
    let number = |key: &str, default: u64| scenario[key].as_u64().unwrap_or(default);
    let is_lossy = |path: &Value| path["loss_pct"].as_f64().is_some_and(|loss| loss > 0.0);
    match scenario["paths"].as_array() {
        Some(paths) if paths.iter().any(is_lossy) => Kind::RandomLoss,
        _ if !scenario["bytes"].is_null() => Kind::Sized,
        _ if number("rmem0", INITIAL_RMEM) >= number("rmem", RMEM) => Kind::FixedWindow,
        _ => Kind::GrowingWindow,
    }
}

/// A scenario's id, and its difference to Linux in tenths of a per cent.
fn tenths(result: &Value) -> Result<(&str, i64), String> {
    let (id, difference) = (result["id"].as_str(), result["difference"].as_f64());
    let (Some(id), Some(difference)) = (id, difference) else { return Err(format!("no difference: {result}")) };
    Ok((id, (1000.0 * difference).round() as i64))
}

fn percent(tenths: i64) -> String {
    format!("{:+.1} %", tenths as f64 / 10.0)
}

/// The text of the committed differences.
fn differences(results: &[Value]) -> Result<String, String> {
    let mut out = String::from(
        "# How much more than Linux: goodput, or of sized transfers completion time. Written by `cargo xtask validation --bless`.\n",
    );
    for result in results {
        let (id, difference) = tenths(result)?;
        let _ = writeln!(out, "{id:<40} {:>9}", percent(difference));
    }
    Ok(out)
}

/// What differs from the committed differences: worse, better, new or gone.
fn compare(committed: &str, results: &[Value]) -> Result<Vec<String>, String> {
    let mut before = BTreeMap::new();
    for line in committed.lines().filter(|line| !line.starts_with('#')) {
        let entry = line.split_once(' ').and_then(|(id, percent)| {
            let percent: f64 = percent.trim().strip_suffix(" %")?.parse().ok()?;
            Some((id, (10.0 * percent).round() as i64))
        });
        let (id, tenths) = entry.ok_or_else(|| format!("{DIFFERENCES}: what is {line:?}?"))?;
        before.insert(id, tenths);
    }
    let mut wrong = Vec::new();
    for result in results {
        let (id, now) = tenths(result)?;
        let limit = match before.remove(id) {
            Some(same) if same == now => continue,
            Some(limit) if now.abs() > limit.abs() => format!("worse than the limit of {}", percent(limit)),
            Some(other) => format!("changed from {}", percent(other)),
            None => "not committed yet".into(),
        };
        let value = |key: &str| result[key].as_f64().unwrap_or(f64::NAN);
        let (ours, linux, unit) = (value("ours_median"), value("linux_median"), result["unit"].as_str().unwrap_or(""));
        wrong.push(format!("{id}: ours {ours:.4} {unit}, Linux' {linux:.4} {unit}: {}, {limit}", percent(now)));
    }
    wrong.extend(before.keys().map(|id| format!("{id}: committed, and not in {PART}")));
    Ok(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn result(id: &str, difference: f64) -> Value {
        json!({
            "id": id, "linux_median": 2.0, "ours_median": 2.0 * (1.0 + difference), "unit": "Mbit/s", "difference": difference,
        })
    }

    #[test]
    fn what_is_as_committed_to_a_tenth_of_a_per_cent_is_right() {
        let committed =
            differences(&[result("a/tcp0", -0.0004), result("b/mptcp", 0.0712)]).expect("it is well-formed");
        assert!(committed.contains("\na/tcp0 ") && committed.contains(" +0.0 %\nb/mptcp "), "{committed}");
        assert_eq!(compare(&committed, &[result("a/tcp0", 0.0003), result("b/mptcp", 0.0708)]), Ok(vec![]));
    }

    #[test]
    fn what_is_not_as_committed_is_told_with_both_values_and_the_limit() {
        let committed = differences(&[result("a/tcp0", 0.02), result("b/mptcp", -0.07), result("c/mptcp", 0.0)]);
        let wrong = compare(
            &committed.expect("it is well-formed"),
            &[result("a/tcp0", -0.03), result("b/mptcp", 0.01), result("d/mptcp", 0.0)],
        );
        assert_eq!(
            wrong.expect("it is well-formed"),
            [
                "a/tcp0: ours 1.9400 Mbit/s, Linux' 2.0000 Mbit/s: -3.0 %, worse than the limit of +2.0 %",
                "b/mptcp: ours 2.0200 Mbit/s, Linux' 2.0000 Mbit/s: +1.0 %, changed from -7.0 %",
                "d/mptcp: ours 2.0000 Mbit/s, Linux' 2.0000 Mbit/s: +0.0 %, not committed yet",
                "c/mptcp: committed, and not in validation/guard-6.12.jsonl",
            ]
        );
        assert!(compare("a/tcp0 much\n", &[]).is_err());
    }

    #[test]
    fn every_so_many_th_group_of_each_kind_is_taken_with_all_its_runs() {
        let run = |id: &str, more: &str| format!("{{\"id\":\"{id}\",\"scenario\":{{\"paths\":[{{}}]{more}}}}}\n");
        let fixed = ",\"rmem\":65536";
        let mut all: String = (0..6).map(|i| run(&format!("g{i}/tcp0"), "")).collect();
        all += &(0..6).map(|i| run(&format!("f{i}/mptcp"), fixed)).collect::<String>();
        all += &(run("s/tcp0", ",\"bytes\":9") + &run("g5/mptcp", "") + &run("g1/mptcp", ""));
        all += &run("l/tcp1", "").replace("[{}]", "[{\"loss_pct\":0},{\"loss_pct\":1}]");
        let part = choose(&all).expect("it is well-formed");
        let ids: Vec<_> =
            part.lines().skip(1).map(|l| json(l).expect("JSON")["id"].as_str().map(str::to_owned)).collect();
        let expected = ["g0/tcp0", "g5/tcp0", "g5/mptcp", "f0/mptcp", "f5/mptcp", "s/tcp0", "l/tcp1"];
        assert_eq!(ids, expected.map(|id| Some(id.to_owned())));
        assert!(part.starts_with('#'), "{part}");
    }
}
