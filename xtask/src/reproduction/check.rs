//! Whether the tables are what today's program makes: some plans are drawn and run again.

use super::provenance::{self, Row};
use super::{TABLES, plans, table};
use crate::experiments::read;
use crate::results::{self, pathweave};
use crate::run::{root, run, target};
use std::fs;

/// Runs drawn plans again and compares their tables with the committed ones. Another commit draws other plans.
///
/// # Errors
/// The first line of each table that differs.
pub(crate) fn check(seconds: f64) -> Result<(), String> {
    let rows = provenance::rows()?;
    let known: Vec<String> = plans()?.iter().map(|plan| table(plan)).collect();
    if let Some(old) = rows.iter().find(|r| !known.contains(&r.table)) {
        return Err(format!("provenance.csv has {}, which no plan makes", old.table));
    }
    let drawn = drawn(&rows, &provenance::commit()?, seconds);
    if drawn.is_empty() {
        return Err(format!("no plan is known to take at most {seconds} s"));
    }
    results::build()?;
    let out = target().join("reproduction/check");
    let _ = fs::remove_dir_all(&out);
    let tables = out.join("tables");
    let names: Vec<String> = plans()?.into_iter().filter(|plan| drawn.contains(&table(plan).as_str())).collect();
    let mut command = pathweave();
    command.arg("reproduce").args(&names).arg("--out").arg(&out).arg("--tables").arg(&tables);
    run(command.current_dir(root()))?;
    let mut different = Vec::new();
    for name in &names {
        let file = format!("{}.csv", table(name));
        let (committed, today) = (read(&root().join(TABLES).join(&file))?, read(&tables.join(&file))?);
        different.extend(difference(&committed, &today).map(|what| format!("{TABLES}/{file} is not today's: {what}")));
    }
    println!("{} of {} tables were made again; {} differ", names.len(), rows.len(), different.len());
    if different.is_empty() { Ok(()) } else { Err(different.join("\n")) }
}

/// The tables to make again. The commit decides their order; a table is left out if it does not fit into the rest of `seconds`.
fn drawn<'a>(rows: &'a [Row], commit: &str, seconds: f64) -> Vec<&'a str> {
    let mut order: Vec<(u64, &Row)> = rows.iter().map(|r| (hash(&format!("{commit} {}", r.table)), r)).collect();
    order.sort_by_key(|(hash, _)| *hash);
    let mut left = seconds;
    let mut drawn = Vec::new();
    for (_, row) in order {
        let Some(needed) = row.processor_s.filter(|s| *s <= left) else { continue };
        left -= needed;
        drawn.push(row.table.as_str());
    }
    drawn
}

/// FNV-1a.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// The first line that differs. Comment lines, which name the program, are not compared.
fn difference(committed: &str, today: &str) -> Option<String> {
    let lines = |text: &str| text.lines().filter(|l| !l.starts_with('#')).map(str::to_owned).collect::<Vec<_>>();
    let (committed, today) = (lines(committed), lines(today));
    if committed.len() != today.len() {
        return Some(format!("it has {} lines, and today's has {}", committed.len(), today.len()));
    }
    let at = (0..today.len()).find(|i| committed[*i] != today[*i])?;
    Some(format!("\"{}\" is \"{}\" today", committed[at], today[at]))
}

#[cfg(test)]
mod tests {
    use super::{Row, difference, drawn};

    fn row(table: &str, processor_s: Option<f64>) -> Row {
        Row { table: table.into(), program: "p".into(), commit: "c".into(), seeds: 3, runs: 9, processor_s }
    }

    #[test]
    fn plans_are_drawn_until_the_time_is_spent() {
        let mut rows: Vec<Row> = (0..20).map(|i| row(&format!("cp-fig{i}"), Some(6.0))).collect();
        rows.push(row("cp-long", Some(100.0)));
        rows.push(row("cp-unknown", None));
        let first = drawn(&rows, "1234", 20.0);
        assert_eq!(first.len(), 3, "three of 6 s fit into 20 s");
        assert!(!first.contains(&"cp-long") && !first.contains(&"cp-unknown"));
        assert_eq!(first, drawn(&rows, "1234", 20.0), "the commit decides");
        let others = (0..9).map(|commit| drawn(&rows, &commit.to_string(), 20.0));
        assert!(others.into_iter().any(|other| other != first), "another commit draws others");
    }

    #[test]
    fn the_program_may_be_another_and_the_values_may_not() {
        let table = |program: &str, value: f64| format!("# t, runs of {program}\nseed,goodput_mbps\n1,{value}\n");
        assert_eq!(difference(&table("a", 7.5), &table("b", 7.5)), None);
        assert_eq!(difference(&table("a", 7.5), &table("a", 7.4)).as_deref(), Some("\"1,7.5\" is \"1,7.4\" today"));
        let shorter = "seed,goodput_mbps\n";
        assert_eq!(difference(&table("a", 7.5), shorter).as_deref(), Some("it has 2 lines, and today's has 1"));
    }
}
