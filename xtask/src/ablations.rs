//! The worth of each rule of the scheduler `weave`: the arena with the whole rule, and with each of its parts left out.
//!
//! The program is built with `--cfg weave_ablations`, apart from all others. It runs a part of the points of the tuning
//! plans. Evaluation points are not used, because they count only until their results have been seen. The figures are
//! the arena's.

use crate::experiments::{entries, read};
use crate::run::{cargo, root, run, target};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Values of the parameter `without`, and the rules that they leave out.
const RULES: [(&str, &str); 11] = [
    ("ahead", "data ahead of the first unassigned byte"),
    ("cap", "the cap in flight"),
    ("start", "the limits of slow start and before the first loss"),
    ("after-start", "of these, those after slow start"),
    ("after-loss", "the limit of bursts after a loss"),
    ("debts", "leaving out paths that cost more than they bring"),
    ("choice", "the choice of paths, and bursts"),
    ("bursts", "bursts"),
    ("repeats", "repeats of the head"),
    ("rescue", "what an unused path holds again"),
    ("copies", "copies for estimates"),
];

/// Runs each `every`th point and prints the table. Continues an interrupted run.
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
        let text = if name.ends_with(".csv") { each(&text, every) } else { at_root(&text) };
        fs::write(to.join(&name), text).map_err(|e| format!("{name}: {e}"))?;
    }
    Ok(())
}

/// Whether a file is a tuning plan, its points, or a scenario that plans share. Plans that need recordings do not
/// count, because recordings are not part of the project.
fn is_for_tuning(name: &str) -> bool {
    name.starts_with('_') || name.contains("-tuning.") && !name.starts_with("recorded")
}

/// Rewrites a plan so that it finds the scenarios of the papers' experiments from any folder.
fn at_root(plan: &str) -> String {
    plan.replace("from = \"../", &format!("from = \"{}/", root().display()))
}

/// The first line, and each `every`th of the others.
fn each(points: &str, every: usize) -> String {
    let lines = points.lines().take(1).chain(points.lines().skip(1 + every / 3).step_by(every));
    lines.map(|line| format!("{line}\n")).collect()
}

/// The arena's figures: a line for each family, a column for each rule.
fn markdown(arena: &str) -> Result<String, String> {
    let (all, by_family) = (table(arena, "Beside each")?, table(arena, "Beside each, by family")?);
    let of = |rule: &str| format!("weave:without={rule}");
    let mut out = format!("| |{}", RULES.map(|(_, text)| format!(" {text} |")).concat());
    let _ = write!(out, "\n|---|{}\n| **all** |", "---|".repeat(RULES.len()));
    for (rule, _) in RULES {
        let all = |column| value(&all, &of(rule), column);
        let _ = write!(out, " {} % ({}): {}, {} |", all("Better by")?, all("Interval")?, all("Better")?, all("Worse")?);
    }
    let families: BTreeSet<&String> = by_family.keys().map(|(family, _)| family).collect();
    for family in families {
        let points = value(&by_family, family, "Points")?;
        let _ = write!(out, "\n| {} ({points}) |", family.replace("-tuning", ""));
        for (rule, _) in RULES {
            let _ = write!(out, " {} |", value(&by_family, family, &of(rule))?);
        }
    }
    Ok(out)
}

/// A table's cells by the names of their rows and columns.
type Table = BTreeMap<(String, String), String>;

/// Reads a table from the arena's text. Its columns are separated by two blanks.
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
        assert!(!names.iter().any(|name| name.contains("evaluation") || name.contains("recorded")), "{names:?}");
    }

    #[test]
    fn a_line_has_a_family_and_a_column_a_rule() {
        let rule = |(name, _): &(&str, &str)| format!("weave:without={name}  +1.0  -0.1 to +2.0  3  1\n");
        let head: String = RULES.iter().map(|(name, _)| format!("  weave:without={name}")).collect();
        let text = format!(
            "\nBeside each\nBy how many.\n\nOther  Better by  Interval  Better  Worse\n{}\nBeside each, by family\nIn brackets.\n\n\
             Family  Points{head}\nbulk-tuning bulk  40{}\n",
            RULES.iter().map(rule).collect::<String>(),
            "  +0.5 (2)".repeat(RULES.len())
        );
        let table = markdown(&text).expect("all is there");
        let lines: Vec<&str> = table.lines().collect();
        assert!(
            lines[0].starts_with("| | data ahead") && lines[2].starts_with("| **all** | +1.0 % (-0.1 to +2.0): 3, 1 |")
        );
        assert_eq!(lines[3], format!("| bulk bulk (40) |{}", " +0.5 (2) |".repeat(RULES.len())));
    }
}
