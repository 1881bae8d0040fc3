//! The provenance of the tables: `provenance.csv` beside them, with a line for each table.

use super::TABLES;
use crate::experiments::read;
use crate::results::put;
use crate::run::{capture, program, root};
use std::time::Duration;

/// The file's name.
const FILE: &str = "provenance.csv";
/// The file's columns. `processor_s` is empty if it was not measured.
const COLUMNS: &str = "table,program,commit,seeds,runs,processor_s";
/// Between two programs and two commits, if a table has runs of both.
const AND: &str = " and ";

/// The provenance of a table.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    /// The table's name without its ending: `cp-fig5`.
    pub(super) table: String,
    /// Version and hash of the program that made the runs.
    pub(super) program: String,
    /// The commit that was checked out, with `+` behind it if files differed from it.
    pub(super) commit: String,
    pub(super) seeds: u64,
    pub(super) runs: usize,
    /// Processor time of the runs in seconds, without ablations.
    pub(super) processor_s: Option<f64>,
}

impl Row {
    /// From a table's text.
    fn of(table: &str, text: &str, commit: &str, processor_s: Option<f64>) -> Result<Self, String> {
        let wrong = |what: &str| format!("{table}.csv: {what}");
        let mut lines = text.lines();
        let first = lines.next().unwrap_or_default();
        let program = first.split(", runs of ").nth(1).and_then(|rest| rest.split(',').next());
        let program = program.ok_or_else(|| wrong("the first line does not name the program"))?.to_owned();
        let columns: Vec<&str> = lines.next().unwrap_or_default().rsplit(',').collect();
        // From the last field on: those before the metrics may have commas within quotes.
        let seed = columns.iter().position(|c| *c == "seed").ok_or_else(|| wrong("there is no column seed"))?;
        let seeds = lines.clone().filter_map(|line| line.rsplit(',').nth(seed)?.parse().ok()).max().unwrap_or(0);
        Ok(Row { table: table.into(), program, commit: commit.into(), seeds, runs: lines.count(), processor_s })
    }

    fn parse(line: &str) -> Option<Self> {
        let fields: Vec<&str> = line.split(',').collect();
        let [table, program, commit, seeds, runs, processor_s] = fields[..] else { return None };
        Some(Row {
            table: table.into(),
            program: program.into(),
            commit: commit.into(),
            seeds: seeds.parse().ok()?,
            runs: runs.parse().ok()?,
            processor_s: processor_s.parse().ok(),
        })
    }

    fn line(&self) -> String {
        let Row { table, program, commit, seeds, runs, processor_s } = self;
        let seconds = processor_s.map_or(String::new(), |s| format!("{s:.1}"));
        format!("{table},{program},{commit},{seeds},{runs},{seconds}\n")
    }
}

/// The rows of all tables.
///
/// # Errors
/// If the file cannot be read, or the first line that is no row.
pub(super) fn rows() -> Result<Vec<Row>, String> {
    let file = root().join(TABLES).join(FILE);
    let text = read(&file)?;
    let row = |line: &str| Row::parse(line).ok_or_else(|| format!("{}: {line}", file.display()));
    text.lines().skip(1).map(row).collect()
}

/// Notes who made a plan's table. `spent` is the processor time of this time's runs.
///
/// # Errors
/// If a file cannot be read or written.
pub(super) fn note(table: &str, spent: Option<Duration>) -> Result<(), String> {
    let text = read(&root().join(TABLES).join(format!("{table}.csv")))?;
    let new = Row::of(table, &text, &commit()?, spent.map(|s| s.as_secs_f64()))?;
    let lines: String = with(rows().unwrap_or_default(), new).iter().map(Row::line).collect();
    put(&format!("{TABLES}/{FILE}"), format!("{COLUMNS}\n{lines}").as_bytes())
}

/// The rows with a new one in its place. If the same program has gone on with runs that were stopped, its times are added up.
fn with(mut rows: Vec<Row>, mut new: Row) -> Vec<Row> {
    if let Some(at) = rows.iter().position(|r| r.table == new.table) {
        let old = rows.remove(at);
        if (&old.program, old.runs) == (&new.program, new.runs) {
            new.processor_s = old.processor_s.zip(new.processor_s).map(|(a, b)| a + b).or(old.processor_s);
            new.commit = old.commit;
        }
    }
    rows.push(new);
    rows.sort_by(|a, b| a.table.cmp(&b.table));
    rows
}

/// The commit that is checked out, with `+` behind it if files differ from it.
pub(super) fn commit() -> Result<String, String> {
    let text =
        |arguments| capture(&mut program("git", arguments)).map(|out| String::from_utf8_lossy(&out).trim().to_owned());
    let changed = !text("status --porcelain --untracked-files=no -- crates experiments Cargo.lock")?.is_empty();
    Ok(text("rev-parse --short=8 HEAD")? + if changed { "+" } else { "" })
}

/// A sentence about all tables.
pub(super) fn sentence(rows: &[Row]) -> String {
    let mut commits: Vec<&str> = rows.iter().flat_map(|r| r.commit.split(AND)).collect();
    commits.sort_unstable();
    commits.dedup();
    let commits = commits.iter().map(|c| format!("`{c}`")).collect::<Vec<_>>().join(", ");
    let runs: usize = rows.iter().map(|r| r.runs).sum();
    let measured: Vec<f64> = rows.iter().filter_map(|r| r.processor_s).collect();
    let others: Vec<&str> = rows.iter().filter(|r| r.processor_s.is_none()).map(|r| r.table.as_str()).collect();
    let others = match others.is_empty() {
        true => String::new(),
        false => format!(" That of {} others was not measured: {}.", others.len(), others.join(", ")),
    };
    format!(
        "The {} tables have {runs} runs. [provenance.csv](reproduction/tables/provenance.csv) names the program, the commit, the seeds \
         and the processor time of each; the commits are {commits}. The processor time of {} tables was measured: {:.0} s.{others}\n",
        rows.len(),
        measured.len(),
        measured.iter().sum::<f64>()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "# cp-fig5, runs of 0.1.0 8f7f, plan 953a\nscenario,window,variant,seed,status,goodput_mbps\n\
                         a,1MiB,\"blest, δ = 0\",1,,7.5\na,1MiB,\"blest, δ = 0\",2,,7.6\n";

    fn row(processor_s: Option<f64>) -> Row {
        Row::of("cp-fig5", TABLE, "c1dc8169", processor_s).expect("the table is whole")
    }

    #[test]
    fn a_row_says_what_made_a_table() {
        let line = row(Some(1.25)).line();
        assert_eq!(line, "cp-fig5,0.1.0 8f7f,c1dc8169,2,2,1.2\n");
        assert_eq!(Row::parse(line.trim_end()), Some(Row { processor_s: Some(1.2), ..row(None) }));
        assert_eq!(Row::parse(row(None).line().trim_end()), Some(row(None)));
    }

    #[test]
    fn the_sentence_names_the_tables_whose_time_was_not_measured() {
        let unmeasured = Row { table: "cp-fig7".into(), ..row(None) };
        let both = sentence(&[row(Some(2.0)), unmeasured]);
        assert!(
            both.ends_with("of 1 tables was measured: 2 s. That of 1 others was not measured: cp-fig7.\n"),
            "{both}"
        );
        assert!(sentence(&[row(Some(2.0))]).ends_with("was measured: 2 s.\n"));
    }

    #[test]
    fn times_add_up_while_the_program_is_the_same() {
        let both = with(vec![row(Some(2.0))], Row { commit: "other".into(), ..row(Some(3.0)) });
        assert_eq!(both, [row(Some(5.0))]);
        let another = Row { program: "0.1.0 34a5".into(), ..row(Some(3.0)) };
        assert_eq!(with(vec![row(Some(2.0))], another.clone()), [another]);
    }
}
