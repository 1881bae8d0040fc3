//! What each rule of the scheduler `weave` is worth: the arena with the whole rule, and with each of its parts left out.
//!
//! The program is built with `--cfg weave_ablations`, apart from all others. It runs the plans for tuning alone, with a part of
//! their points: those for evaluation are no judges any more once somebody has looked at them. The figures are the arena's.

use crate::experiments::{entries, read};
use crate::run::{cargo, root, run, target};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Values of the parameter `without`, and what is left out.
const RULES: [(&str, &str); 9] = [
    ("ahead", "data ahead of the first unassigned byte"),
    ("cap", "the cap in flight"),
    ("start", "the limits of slow start and before the first loss"),
    ("after-start", "of these, those after slow start"),
    ("choice", "the choice of paths, and bursts"),
    ("bursts", "bursts"),
    ("repeats", "repeats of the head"),
    ("rescue", "what an unused path holds again"),
    ("copies", "copies for estimates"),
];
/// Families by plan and scenario, and their names in the table.
const FAMILIES: [(&str, &str); 14] = [
    ("small-window-tuning steady", "small windows"),
    ("small-window-tuning connect", "from the connect"),
    ("bulk-tuning bulk", "bulk"),
    ("sized-tuning sized", "sizes"),
    ("messages-tuning messages", "messages"),
    ("web-tuning web", "web"),
    ("loss-tuning loss", "losses"),
    ("changes-tuning step", "steps"),
    ("changes-tuning outage", "outages"),
    ("three-paths-tuning three", "three paths"),
    ("four-paths-tuning four", "four paths"),
    ("competing-tuning competing", "competing"),
    ("coupled-tuning coupled", "coupled"),
    ("metered-tuning metered", "metered"),
];

/// Runs each `every`th point and prints the table. Goes on where it was stopped.
///
/// # Errors
/// If a command fails or a file cannot be written.
pub(crate) fn measure(every: usize) -> Result<(), String> {
    let folder = target().join("ablations");
    let mut build = cargo("build --release --package pathweave --bins --target-dir");
    run(build.arg(&folder).env("RUSTFLAGS", "--cfg weave_ablations"))?;
    let (plans, out) = (folder.join(format!("plans-{every}")), folder.join(format!("runs-{every}")));
    thin(&plans, every)?;
    let without = RULES.map(|(name, _)| format!(",weave:without={name}")).concat();
    let mut arena = Command::new(folder.join("release/pathweave"));
    arena.args(["arena", &format!("weave{without}"), "--only", "tuning", "--seeds", "1", "--from"]).arg(&plans);
    let tables = out.join("arena.txt");
    let _ = fs::remove_file(&tables);
    let ended = run(arena.arg("--out").arg(&out).current_dir(root()));
    // Where a single run did not end, the arena says so, leaves it out and has tables all the same.
    if !tables.exists() {
        return ended;
    }
    println!("\n{}", markdown(&read(&tables)?)?);
    Ok(())
}

/// Copies the plans for tuning with each `every`th of their points.
fn thin(to: &Path, every: usize) -> Result<(), String> {
    let _ = fs::remove_dir_all(to);
    fs::create_dir_all(to).map_err(|e| format!("{}: {e}", to.display()))?;
    for file in entries(&root().join("arena"))? {
        let name = file.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        if !is_for_tuning(&name) {
            continue;
        }
        let text = read(&file)?;
        let text = if name.ends_with(".csv") { each(&text, every) } else { text };
        fs::write(to.join(&name), text).map_err(|e| format!("{name}: {e}"))?;
    }
    Ok(())
}

/// A plan for tuning, its points, or a scenario that plans share.
fn is_for_tuning(name: &str) -> bool {
    name.starts_with('_') || name.contains("-tuning.")
}

/// The first line, and each `every`th of the others.
fn each(points: &str, every: usize) -> String {
    let lines = points.lines().take(1).chain(points.lines().skip(1 + every / 3).step_by(every));
    lines.map(|line| format!("{line}\n")).collect()
}

/// The arena's figures: a line for each rule, a column for each family.
fn markdown(arena: &str) -> Result<String, String> {
    let (all, families) = (table(arena, "Beside each")?, table(arena, "Beside each, by family")?);
    let points = |family: &str| value(&families, family, "Points");
    let mut out = String::from("| without | all | better, worse |");
    for (family, name) in FAMILIES {
        let _ = write!(out, " {name} ({}) |", points(family)?);
    }
    let _ = write!(out, "\n|---|---|---|{}\n", "---|".repeat(FAMILIES.len()));
    for (name, text) in RULES {
        let of = format!("weave:without={name}");
        let all = |column| value(&all, &of, column);
        let (mean, interval) = (all("Better by")?, all("Interval")?);
        let _ = write!(out, "| {text} | {mean} % ({interval}) | {}, {} |", all("Better")?, all("Worse")?);
        for (family, _) in FAMILIES {
            let _ = write!(out, " {} |", value(&families, family, &of)?);
        }
        out.push('\n');
    }
    Ok(out)
}

/// A table's cells by the names of their rows and columns.
type Table = BTreeMap<(String, String), String>;

/// A table of the arena's text. There are two blanks between columns.
fn table(arena: &str, title: &str) -> Result<Table, String> {
    let missing = || format!("the arena has no table {title:?}");
    let (_, after) = arena.split_once(&format!("\n{title}\n")).ok_or_else(missing)?;
    let mut lines = after.split("\n\n").nth(1).ok_or_else(missing)?.lines();
    let cells = |line: &str| -> Vec<String> {
        line.split("  ").map(|cell| cell.trim().to_owned()).filter(|cell| !cell.is_empty()).collect()
    };
    let head = cells(lines.next().ok_or_else(missing)?);
    let mut table = Table::new();
    for row in lines.map(cells) {
        table.extend(
            head.iter().zip(&row).skip(1).map(|(column, cell)| ((row[0].clone(), column.clone()), cell.clone())),
        );
    }
    Ok(table)
}

fn value<'a>(table: &'a Table, row: &str, column: &str) -> Result<&'a str, String> {
    let cell = table.get(&(row.to_owned(), column.to_owned()));
    cell.map(String::as_str).ok_or_else(|| format!("the arena says nothing of {column} in {row}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_thinned_evenly() {
        assert_eq!(each("a,b\n1\n2\n3\n4\n5\n6\n7\n", 3), "a,b\n2\n5\n");
    }

    #[test]
    fn a_table_of_the_arena_is_read_by_its_names() {
        let text = "1 is best.\n\nBeside each\nBy how many.\n\nOther     Better by      Interval\nb:x=1          +1.0  -0.1 to +2.0\n\nNext\n";
        let table = table(text, "Beside each").expect("it is there");
        assert_eq!(value(&table, "b:x=1", "Better by"), Ok("+1.0"));
        assert_eq!(value(&table, "b:x=1", "Interval"), Ok("-0.1 to +2.0"));
        assert!(value(&table, "b:x=1", "Worse").is_err());
    }

    #[test]
    fn no_plan_for_evaluation_is_run() {
        let arena = entries(&root().join("arena")).expect("it is there");
        let names = arena.iter().filter_map(|p| p.file_name()?.to_str()).filter(|name| is_for_tuning(name));
        let names: Vec<&str> = names.collect();
        assert!(names.contains(&"bulk-tuning.csv") && names.contains(&"_two-paths.toml"), "{names:?}");
        assert!(!names.iter().any(|name| name.contains("evaluation")), "{names:?}");
    }
}
