//! Writes a page for each scheduler and one table "which scheduler for which network", in docs/schedulers/.
//!
//! A scheduler's description, formula, source and deviations are sections of its module's documentation. Its parameters
//! are the registry's. Its strengths come from the committed results (docs/results/). Nothing is written by hand, so a
//! line in the registry makes a page. The check only compares.

mod documentation;
mod measured;

use crate::results::{build, pathweave};
use crate::run::{capture, root};
use documentation::{Doc, SECTIONS, SOURCES, linked, linked_modules, module_doc};
use measured::{Place, Results, measured, results};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

const FOLDER: &str = "docs/schedulers";
/// Short names of papers, with their full references.
const PAPERS: [(&str, &str); 5] = [
    (
        "CP",
        "Oh and Lee, \"Constraint-based proactive scheduling for MPTCP in wireless networks\", Computer Networks 2015",
    ),
    (
        "BLEST",
        "Ferlin et al., \"BLEST: blocking estimation-based MPTCP scheduler for heterogeneous networks\", IFIP Networking 2016",
    ),
    (
        "DPSAF",
        "Xue et al., \"DPSAF: forward prediction based dynamic packet scheduling and adjusting with feedback for multipath TCP in lossy heterogeneous networks\", IEEE Transactions on Vehicular Technology 2018",
    ),
    (
        "REMS",
        "Thakur and Kunte, \"Efficient architecture with a general optimized redundant error based MPTCP scheduler\"",
    ),
    ("EVAL", "Dong et al., \"Performance evaluation of multipath TCP scheduling algorithms\", IEEE Access 2019"),
];

/// Writes all pages again.
///
/// # Errors
/// If a source or a result is missing.
pub(crate) fn write() -> Result<(), String> {
    let folder = root().join(FOLDER);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(|e| format!("{FOLDER}: {e}"))?;
    for (name, text) in pages()? {
        fs::write(folder.join(&name), text).map_err(|e| format!("{FOLDER}/{name}: {e}"))?;
        println!("wrote {FOLDER}/{name}");
    }
    Ok(())
}

/// Checks that all pages are up to date.
///
/// # Errors
/// The pages that are not.
pub(crate) fn check() -> Result<(), String> {
    let pages = pages()?;
    let there = |name: &str| fs::read_to_string(root().join(FOLDER).join(name)).ok();
    let mut stale: Vec<String> =
        pages.iter().filter(|(n, t)| there(n).as_ref() != Some(t)).map(|(n, _)| n.clone()).collect();
    let files = fs::read_dir(root().join(FOLDER)).map_err(|e| format!("{FOLDER}: {e}"))?;
    let files = files.flatten().map(|f| f.file_name().to_string_lossy().into_owned());
    stale.extend(files.filter(|f| !pages.contains_key(f)));
    match stale.is_empty() {
        true => Ok(()),
        false => {
            Err(format!("{FOLDER}: {} are not as they would be written: cargo xtask schedulers", stale.join(", ")))
        }
    }
}

fn listed(what: &str) -> Result<Vec<Value>, String> {
    let text = capture(pathweave().args(["list", what, "--json"]))?;
    serde_json::from_slice(&text).map_err(|e| format!("list {what}: {e}"))
}

/// All pages by file name.
fn pages() -> Result<BTreeMap<String, String>, String> {
    build()?;
    let schedulers = listed("schedulers")?;
    let results: Vec<Results> = listed("scenarios")?.iter().filter_map(results).collect();
    let mut pages = BTreeMap::from([("README.md".to_owned(), overview(&schedulers, &results))]);
    for scheduler in &schedulers {
        let name = word(scheduler, "name");
        pages.insert(format!("{name}.md"), page(scheduler, &schedulers, &module_doc(name)?, &results)?);
    }
    Ok(pages)
}

fn word<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or("")
}

fn page(scheduler: &Value, schedulers: &[Value], doc: &Doc, results: &[Results]) -> Result<String, String> {
    doc.judge()?;
    let name = word(scheduler, "name");
    let section = |heading| linked(doc.section(heading), schedulers);
    let mut out = format!("# {name}\n\n{}\n", section(""));
    for heading in &SECTIONS[..2] {
        let _ = write!(out, "\n## {heading}\n\n{}\n", section(heading));
    }
    parameters(&mut out, scheduler);
    source(&mut out, doc, schedulers);
    let _ = write!(out, "\n## Deviations\n\n{}\n", section("Deviations"));
    shared_deviations(&mut out, doc, schedulers)?;
    measured(&mut out, name, results);
    out.push_str("\nThis page is generated: `cargo xtask schedulers`.\n");
    Ok(out)
}

fn source(out: &mut String, doc: &Doc, schedulers: &[Value]) {
    let text = linked(doc.section("Source"), schedulers);
    let _ = write!(out, "\n## Source\n\n{text}\n");
    let named = |short: &str| text.split(|c: char| !c.is_alphanumeric()).any(|word| word == short);
    let papers: Vec<_> = PAPERS.iter().filter(|(short, _)| named(short)).collect();
    out.push_str(if papers.is_empty() { "" } else { "\n" });
    for (short, paper) in papers {
        let _ = writeln!(out, "* {short}: {paper}.");
    }
    let _ = writeln!(out, "\nCode: [`{0}`](../../{0}).", doc.file);
}

/// Adds the deviations that several schedulers share, if a scheduler's own refer to them.
fn shared_deviations(out: &mut String, doc: &Doc, schedulers: &[Value]) -> Result<(), String> {
    for module in linked_modules(doc.section("Deviations")) {
        let file = format!("{SOURCES}/{module}.rs");
        let source = fs::read_to_string(root().join(&file)).map_err(|e| format!("{file}: {e}"))?;
        if schedulers.iter().any(|s| word(s, "name") == module.replace('_', "-")) {
            continue;
        }
        let text = linked(Doc::new(file.clone(), &source).section("Deviations"), schedulers);
        if text.is_empty() {
            return Err(format!("{file}: no section Deviations, which {} refers to", doc.file));
        }
        let _ = write!(out, "\nThe deviations of [`{module}`](../../{file}):\n\n{text}\n");
    }
    Ok(())
}

fn parameters(out: &mut String, scheduler: &Value) {
    out.push_str("\n## Parameters\n\n");
    let list = scheduler["parameters"].as_array().map(Vec::as_slice).unwrap_or_default();
    if list.is_empty() {
        out.push_str("None.\n");
        return;
    }
    out.push_str("| name | meaning | type, unit | default | allowed | default from |\n|---|---|---|---|---|---|\n");
    for p in list {
        let (kind, unit) = (word(p, "type"), word(p, "unit"));
        let kind = if unit.is_empty() || unit == kind { kind.to_owned() } else { format!("{kind}, {unit}") };
        let _ = writeln!(
            out,
            "| `{}` | {} | {kind} | `{}` | {} | {} |",
            word(p, "name"),
            cell(word(p, "description")),
            word(p, "default"),
            cell(word(p, "allowed")),
            cell(word(p, "source"))
        );
    }
    let (name, p) = (word(scheduler, "name"), &list[0]);
    let _ = writeln!(out, "\nSet as in `--schedulers {name}:{}={}`.", word(p, "name"), word(p, "default"));
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn overview(schedulers: &[Value], results: &[Results]) -> String {
    let mut out = String::from(
        "# Schedulers\n\n## Which scheduler for which network\n\nFrom [the results](../results/), by goodput in Mbit/s. \
         Level with the best: all whose 95 % interval reaches the first one's, or that are within 1 % of it. To avoid: \
         those of the others that deliver less than plain TCP on the best path, or 5 % less than the median scheduler; \
         [the results](../results/) say which differences are significant.\n\n| network | best path alone | median | \
         the best | to avoid |\n|---|---|---|---|---|\n",
    );
    for r in results {
        let Some((best, avoid)) = r.advice() else { continue };
        let about = cell(&r.about);
        let _ = writeln!(
            out,
            "| **{}**: {about} | {:.2} | {:.2} | {best} | {avoid} |",
            r.scenario,
            r.best_path(),
            r.median()
        );
    }
    out.push_str("\n## All\n\n| name | what it does | shines on | fails on | from |\n|---|---|---|---|---|\n");
    for s in schedulers {
        let (name, summary, source) = (word(s, "name"), cell(word(s, "summary")), cell(word(s, "source")));
        let on = |what: fn(&Place<'_>) -> bool| {
            let there: Vec<&str> = results
                .iter()
                .filter(|r| r.place(name).is_some_and(|place| what(&place)))
                .map(|r| r.scenario.as_str())
                .collect();
            if there.is_empty() { "–".into() } else { there.join(", ") }
        };
        let (shines, fails) = (on(|p| p.shines()), on(|p| p.fails()));
        let _ = writeln!(out, "| [{name}]({name}.md) | {summary} | {shines} | {fails} | {source} |");
    }
    out.push_str(
        "\nShining is at least 5 % above the median scheduler; failing is 5 % below it, or less than plain TCP on the \
         best path. In all networks but wifi-lte, `linux` has a Linux host and every other scheduler an RFC host, so \
         that its place there is of both. What a decision of each costs: [decisions](../decisions.txt). These pages \
         are generated: `cargo xtask schedulers`.\n",
    );
    out
}
