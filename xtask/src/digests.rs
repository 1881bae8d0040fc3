//! Compares the digests of fixed runs with the committed ones. Moving code leaves all of them unchanged.
//!
//! A change of the engine's behaviour changes digests. They are then blessed, and the difference of the file shows which
//! schedulers, controllers, scenarios and host models the change reaches.

use crate::run::{capture, root, target};
use std::collections::BTreeMap;
use std::process::Command;

const FILE: &str = "tools/digests/digests.txt";
/// Most changed runs that are listed; the others are only counted.
const SHOWN: usize = 10;

/// Computes the digests and compares them with the committed ones. The program must have been built.
///
/// # Errors
/// The runs that changed.
pub(crate) fn check() -> Result<(), String> {
    judge(&compute()?)
}

/// Compares these digests with the committed ones.
///
/// # Errors
/// The runs that changed.
pub(crate) fn judge(now: &str) -> Result<(), String> {
    let committed = std::fs::read_to_string(root().join(FILE)).map_err(|e| format!("{FILE}: {e}"))?;
    let count = compare(&committed, now)?;
    println!("{count} runs have the digests of {FILE}");
    Ok(())
}

/// Updates the committed digests. The program must have been built.
///
/// # Errors
/// If a run or the file fails.
pub(crate) fn bless() -> Result<(), String> {
    let now = compute()?;
    let committed = std::fs::read_to_string(root().join(FILE)).unwrap_or_default();
    if let Err(changed) = compare(&committed, &now) {
        println!("{changed}");
    }
    crate::results::put(FILE, now.as_bytes())
}

fn compute() -> Result<String, String> {
    let lines = capture(&mut Command::new(target().join("release/digests")))?;
    String::from_utf8(lines).map_err(|e| e.to_string())
}

/// Status and digest of each run, by the run's name.
fn by_run(text: &str) -> BTreeMap<&str, &str> {
    text.lines().filter_map(|line| line.match_indices(' ').nth_back(1).map(|(i, _)| line.split_at(i))).collect()
}

/// The number of runs if all digests are equal, otherwise a list of the changes.
fn compare(committed: &str, now: &str) -> Result<usize, String> {
    let (before, after) = (by_run(committed), by_run(now));
    let mut changed = Vec::new();
    for (run, digest) in &after {
        match before.get(run) {
            None => changed.push(format!("{run}: is not in the file")),
            Some(old) if old != digest => changed.push(format!("{run}: was{old}, is{digest}")),
            Some(_) => {}
        }
    }
    changed.extend(before.keys().filter(|run| !after.contains_key(*run)).map(|run| format!("{run}: is not run")));
    if changed.is_empty() {
        return Ok(after.len());
    }
    let more = changed.len().saturating_sub(SHOWN);
    let rest = if more > 0 { format!("\n... and {more} more") } else { String::new() };
    Err(format!(
        "{} of {} runs differ from {FILE}:\n{}{rest}\nif the change is intended: cargo xtask digests --bless",
        changed.len(),
        after.len(),
        changed[..changed.len() - more].join("\n"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "wlan cp 1 Completed aa\nwlan cp linux-host 1 Completed bb\n";

    #[test]
    fn what_is_alike_is_counted() {
        assert_eq!(compare(BEFORE, BEFORE), Ok(2));
    }

    #[test]
    fn what_changed_is_named() {
        let after = "wlan cp 1 Completed aa\nwlan cp linux-host 1 Stalled bb\nwlan new 1 Completed cc\n";
        let message = compare(BEFORE, after).expect_err("one changed and one is new");
        assert!(message.starts_with("2 of 3 runs"), "{message}");
        assert!(
            message.contains("wlan cp linux-host 1: was Completed bb, is Stalled bb\nwlan new 1: is not in"),
            "{message}"
        );
        let message = compare(after, BEFORE).expect_err("one is gone");
        assert!(message.contains("wlan new 1: is not run"), "{message}");
    }

    #[test]
    fn of_many_changes_the_first_are_named() {
        let lines = |digest: &str| (0..15).map(|i| format!("s{i:02} cp 1 Completed {digest}\n")).collect::<String>();
        let message = compare(&lines("aa"), &lines("bb")).expect_err("all changed");
        assert!(message.contains("\ns09 cp 1: was Completed aa, is Completed bb\n... and 5 more\n"), "{message}");
    }
}
