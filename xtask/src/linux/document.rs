//! The tables of `docs/linux.md` and of the series' cover letter: what the runs of `validation/schedulers-6.12.jsonl` say.
//! A test compares them.

use super::points::PAIRS;
use super::table::{Run, table};
use crate::run::root;
use serde_json::Value;
use std::fs;

/// The runs of the kernel with the patches, a line of JSON for each.
const RUNS: &str = "validation/schedulers-6.12.jsonl";
/// The documents with the table: file, the line before it, and the line after it.
const DOCUMENT: [&str; 3] = [
    "docs/linux.md",
    "<!-- schedulers: PATHWEAVE_BLESS=1 cargo test -p xtask writes them -->\n\n",
    "\n<!-- end of schedulers -->",
];
const LETTER: [&str; 3] =
    ["linux/cover-letter.txt", "  scheduler          of default     of plain  below 5 %    least\n", "\nAs there is"];

/// Reads the runs of a file as `cargo xtask linux --out` writes it.
///
/// # Errors
/// If a line is no JSON, lacks a value, or has a scheduler that the kernel does not have.
fn runs(text: &str) -> Result<Vec<Run>, String> {
    text.lines().enumerate().map(|(i, line)| run(line).ok_or_else(|| format!("{RUNS}:{}: {line}", i + 1))).collect()
}

fn run(line: &str) -> Option<Run> {
    let fields: Value = serde_json::from_str(line).ok()?;
    let number = |name: &str| fields[name].as_f64();
    Some(Run {
        point: fields["point"].as_str()?.to_owned(),
        scheduler: PAIRS.iter().find(|pair| fields["scheduler"] == pair.kernel)?.kernel,
        seed: fields["seed"].as_u64()?,
        kernel: number("kernel_mbps")?,
        plain: number("plain_mbps")?,
        default: number("default_mbps")?,
        simulator: number("simulator_mbps")?,
    })
}

/// The table's first columns as plain text: the form of the kernel's mailing list.
fn plain(table: &str) -> String {
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, scheduler, runs, of_default, of_plain, below, least, ..] = cells[..] else {
            panic!("a row of the table: {line}")
        };
        let below = format!("{below}/{runs}");
        format!("  {scheduler:<18}{of_default:>11}{of_plain:>13}{below:>11}{least:>9}\n")
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

#[test]
fn the_documents_have_the_table_of_all_runs() {
    let table = table(&runs(&read(RUNS)).expect("runs of the kernel's schedulers"));
    holds(DOCUMENT, &table);
    holds(LETTER, &plain(&table));
}

#[test]
fn a_run_is_in_the_file_once_and_each_scheduler_has_all_points() {
    let text = read(RUNS);
    let mut found: Vec<(String, String, u64)> =
        runs(&text).expect("runs").into_iter().map(|r| (r.scheduler.to_owned(), r.point, r.seed)).collect();
    let all = found.len();
    found.sort();
    found.dedup();
    assert_eq!(found.len(), all, "a run twice");
    for pair in PAIRS {
        let points = found.iter().filter(|(scheduler, _, seed)| scheduler == pair.kernel && *seed == 1).count();
        assert_eq!(points, 48, "points of {}", pair.kernel);
    }
}
