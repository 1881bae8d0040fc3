//! The tables of `docs/linux.md` and of the series' cover letter: what the runs of `validation/schedulers-6.12.jsonl` say.
//! A test compares them.

use super::points::{FAMILIES, Family, PAIRS};
use super::record::{self, Run};
use super::table;
use crate::run::root;
use std::fs;

/// The runs of the kernel with the patches, a line of JSON for each.
const RUNS: &str = "validation/schedulers-6.12.jsonl";
const DOCUMENT: &str = "docs/linux.md";
const LETTER: [&str; 3] = [
    "linux/cover-letter.txt",
    "  scheduler        seeds  of default     of plain  below 5 %    least\n",
    "\nThe seeds of",
];
const LETTER_PAIRS: [&str; 3] =
    ["linux/cover-letter.txt", "  scheduler  over      ratio and its 95 % interval\n", "\nSome points"];

fn runs() -> Vec<Run> {
    record::runs(&read(RUNS)).expect("runs of the kernel's schedulers").into_iter().map(|(_, run)| run).collect()
}

/// The table's first columns as plain text: the form of the kernel's mailing list.
fn plain(table: &str) -> String {
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('|').map(|cell| cell.split('(').next().unwrap_or_default().trim()).collect();
        let [_, scheduler, points, seeds, of_default, of_plain, below, least, ..] = cells[..] else {
            panic!("a row of the table: {line}")
        };
        let below = format!("{below}/{points}");
        format!("  {scheduler:<16}{seeds:>6}{of_default:>12}{of_plain:>13}{below:>11}{least:>9}\n")
    };
    table.lines().skip(2).map(row).collect()
}

/// The pairs' first columns as plain text.
fn plain_pairs(table: &str) -> String {
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, scheduler, over, _, ratio, ..] = cells[..] else { panic!("a row of the table: {line}") };
        format!("  {scheduler:<11}{over:<10}{ratio}\n")
    };
    table.lines().skip(2).map(row).collect()
}

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

fn holds([name, before, after]: [&str; 3], wanted: &str) {
    let text = read(name);
    let from = text.find(before).unwrap_or_else(|| panic!("{name} has no line {before}")) + before.len();
    let to = from + text[from..].find(after).unwrap_or_else(|| panic!("{name} has no line {after}"));
    if std::env::var_os("PATHWEAVE_BLESS").is_some() {
        let whole = format!("{}{wanted}{}", &text[..from], &text[to..]);
        fs::write(root().join(name), whole).unwrap_or_else(|e| panic!("{name}: {e}"));
        return;
    }
    assert_eq!(&text[from..to], wanted, "PATHWEAVE_BLESS=1 cargo test -p xtask writes {name} anew");
}

/// Compares the document's part between a family's two comments.
fn document_holds(family: Family, wanted: &str) {
    let before = format!("<!-- {}: PATHWEAVE_BLESS=1 cargo test -p xtask writes this -->\n\n", family.name);
    holds([DOCUMENT, &before, &format!("\n<!-- end of {} -->", family.name)], wanted);
}

#[test]
fn the_documents_have_the_tables_of_all_runs() {
    let runs = runs();
    for family in FAMILIES {
        if runs.iter().any(|run| run.is_of(family.name)) {
            document_holds(family, &table::tables(&runs, family));
        }
    }
    holds(LETTER, &plain(&table::schedulers(&runs, FAMILIES[0])));
    holds(LETTER_PAIRS, &plain_pairs(&table::pairs(&runs, FAMILIES[0])));
}

#[test]
fn a_run_is_in_the_file_once_and_each_scheduler_has_all_points_with_small_windows() {
    let mut found: Vec<(&str, String, u64)> = runs().into_iter().map(|r| (r.scheduler, r.point, r.seed)).collect();
    let all = found.len();
    found.sort();
    found.dedup();
    assert_eq!(found.len(), all, "a run twice");
    for pair in PAIRS {
        let of = |run: &&(&str, String, u64)| run.0 == pair.kernel && run.1.starts_with(FAMILIES[0].name) && run.2 == 1;
        assert_eq!(found.iter().filter(of).count(), 48, "points of {}", pair.kernel);
    }
}

#[test]
fn the_check_of_the_kernels_log_finds_each_kind_of_report() {
    crate::run::run(&mut crate::run::program("python3", "-B linux/tests/reports.py")).expect("all reports found");
}
