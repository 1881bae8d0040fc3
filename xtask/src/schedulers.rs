//! A page for each scheduler and one table "which scheduler for which network", in docs/schedulers/.
//!
//! What a scheduler does, its formula, its source and its deviations are sections of its module's own documentation, its parameters
//! are the registry's, and what it is good for comes from the committed results (docs/results/): nothing is written by hand, so a
//! line in the registry makes a page. The check writes nothing and compares.

use crate::results::{build, pathweave};
use crate::run::{capture, root};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

const FOLDER: &str = "docs/schedulers";
const SOURCES: &str = "crates/algorithms/src/schedulers";
/// This far above or below the median scheduler it shines or fails.
const MARGIN: f64 = 0.05;
/// Goodputs that differ by less than this are level, whatever their intervals.
const LEVEL: f64 = 0.01;
/// The sections that each scheduler's module documentation has, in this order.
const SECTIONS: [&str; 4] = ["What it does", "Formula", "Source", "Deviations"];
/// The most letters of "What it does": about five lines.
const LONGEST: usize = 600;
/// Short names of papers, and what they stand for.
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

/// One line of a table of results.
#[derive(Clone, Debug, PartialEq)]
struct Line {
    name: String,
    goodput: f64,
    /// The same as the table has it, with its own number of digits.
    shown: String,
    /// Half of the 95 % interval.
    margin: f64,
    /// CP eq. 9.
    benefit: f64,
    /// Data that waits at the receiver, KB, as the table has it.
    out_of_order: String,
}

/// What is measured on one scenario, the best first.
struct Results {
    scenario: String,
    about: String,
    lines: Vec<Line>,
}

/// Writes all pages anew.
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

/// Whether all pages are as they would be written.
///
/// # Errors
/// Which are not.
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

/// What is committed of a scenario; nothing for one that is not in docs/results/.
fn results(scenario: &Value) -> Option<Results> {
    let name = word(scenario, "name");
    let text = fs::read_to_string(root().join(format!("docs/results/{name}.csv"))).ok()?;
    let mut lines = text.lines();
    let heading: Vec<&str> = lines.next()?.split(',').collect();
    let lines = lines.filter_map(|l| line(&heading, l)).collect();
    Some(Results { scenario: name.into(), about: word(scenario, "summary").into(), lines })
}

/// A line such as `wlan-3g,cp,,,20,0,0,6.61,0.06,...` under its heading.
fn line(heading: &[&str], text: &str) -> Option<Line> {
    let fields: Vec<&str> = text.split(',').collect();
    let field = |name: &str| heading.iter().position(|h| *h == name).and_then(|i| fields.get(i)).copied();
    let number = |name: &str| field(name)?.parse::<f64>().ok();
    let goodput = number("goodput_mbps")?;
    Some(Line {
        name: field("scheduler")?.to_owned(),
        goodput,
        shown: if goodput < 9.995 { format!("{goodput:.2}") } else { format!("{goodput:.1}") },
        margin: number("goodput_ci95_mbps").unwrap_or(0.0),
        benefit: number("aggregation_benefit")?,
        out_of_order: format!("{:.0}", number("out_of_order_mean_kb")?),
    })
}

impl Results {
    fn multipath(&self) -> impl Iterator<Item = &Line> + Clone {
        self.lines.iter().filter(|l| !l.name.starts_with("tcp-path") && l.name != "single")
    }

    fn median(&self) -> f64 {
        let mut all: Vec<f64> = self.multipath().map(|l| l.goodput).collect();
        all.sort_by(f64::total_cmp);
        all.get(all.len() / 2).copied().unwrap_or(0.0)
    }

    fn median_out_of_order(&self) -> String {
        let mut all: Vec<&str> = self.multipath().map(|l| l.out_of_order.as_str()).collect();
        let size = |text: &str| text.parse().unwrap_or(f64::INFINITY);
        all.sort_by(|a, b| size(a).total_cmp(&size(b)));
        all.get(all.len() / 2).map_or_else(String::new, |text| (*text).to_owned())
    }

    fn best_path(&self) -> f64 {
        self.lines.iter().filter(|l| l.name.starts_with("tcp-path")).map(|l| l.goodput).fold(0.0, f64::max)
    }
}

/// What a module's documentation says, by heading; what comes before the first one has none.
#[derive(Debug, PartialEq)]
struct Doc {
    /// From the repository's root.
    file: String,
    sections: Vec<(String, String)>,
}

impl Doc {
    fn new(file: String, source: &str) -> Doc {
        let mut sections = vec![(String::new(), String::new())];
        let mut in_code = false;
        for line in source.lines().take_while(|l| l.starts_with("//!")) {
            let line = line.trim_start_matches("//!");
            let line = line.strip_prefix(' ').unwrap_or(line);
            in_code ^= line.starts_with("```");
            match line.strip_prefix("# ").filter(|_| !in_code) {
                Some(heading) => sections.push((heading.to_owned(), String::new())),
                None => {
                    let text = sections.last_mut().map(|(_, text)| text);
                    text.into_iter().for_each(|t| t.extend([line, "\n"]));
                }
            }
        }
        sections.iter_mut().for_each(|(_, text)| *text = text.trim().to_owned());
        Doc { file, sections }
    }

    fn section(&self, heading: &str) -> &str {
        self.sections.iter().find(|(h, _)| h == heading).map_or("", |(_, text)| text)
    }

    /// What is missing or too long, if anything is.
    fn judge(&self) -> Result<(), String> {
        let headings: Vec<&str> = self.sections.iter().skip(1).map(|(h, _)| h.as_str()).collect();
        if headings != SECTIONS {
            return Err(format!("{}: the sections are {headings:?}; wanted are {SECTIONS:?}", self.file));
        }
        if let Some((heading, _)) = self.sections.iter().find(|(_, text)| text.is_empty()) {
            return Err(format!("{}: nothing under {heading:?}", self.file));
        }
        match plain(self.section("What it does")).chars().count() {
            n if n > LONGEST => Err(format!("{}: {n} letters on what it does; at most {LONGEST}", self.file)),
            _ if !self.section("Formula").contains("```text") => Err(format!("{}: no formula", self.file)),
            _ => Ok(()),
        }
    }
}

/// The documentation of the file that declares a scheduler.
fn module_doc(name: &str) -> Result<Doc, String> {
    let folder = root().join(SOURCES);
    let mut files: Vec<PathBuf> =
        fs::read_dir(&folder).map_err(|e| format!("{SOURCES}: {e}"))?.flatten().map(|f| f.path()).collect();
    files.sort();
    // The one called like it first: several may share a declaration.
    let stem = name.replace('-', "_");
    files.sort_by_key(|f| f.file_stem().is_none_or(|s| *s != *stem));
    let declares = format!("\"{name}\"");
    for file in files.into_iter().filter(|f| f.extension().is_some_and(|e| e == "rs")) {
        let text = fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        let own_file = file.file_stem().is_some_and(|s| *s == *stem);
        if text.starts_with("//!") && text.contains("SchedulerEntry") && (own_file || text.contains(&declares)) {
            return Ok(Doc::new(file.strip_prefix(root()).unwrap_or(&file).display().to_string(), &text));
        }
    }
    Err(format!("{SOURCES}: no file declares {name}"))
}

/// A link into the code: what is before it, its path, what is after it.
fn first_link(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once("[`")?;
    let (path, mut after) = rest.split_once("`]")?;
    // [`otias`](super::otias)
    if let Some((_, behind)) = after.strip_prefix('(').and_then(|link| link.split_once(')')) {
        after = behind;
    }
    Some((before, path, after))
}

/// The modules beside this one that a text links to.
fn linked_modules(mut text: &str) -> Vec<&str> {
    let mut modules = Vec::new();
    while let Some((_, path, after)) = first_link(text) {
        modules.extend(path.strip_prefix("super::").filter(|name| !name.contains("::")));
        text = after;
    }
    modules
}

/// A text with its links into the code as `shown` has them, by the last part of their paths.
fn with_links(mut text: &str, shown: impl Fn(&str) -> String) -> String {
    let mut out = String::new();
    while let Some((before, path, after)) = first_link(text) {
        out.push_str(before);
        out.push_str(&shown(path.rsplit("::").next().unwrap_or(path)));
        text = after;
    }
    out + text
}

/// A text without links.
fn plain(text: &str) -> String {
    with_links(text, |name| format!("`{name}`"))
}

/// A text with links to the pages of the schedulers that it names.
fn linked(text: &str, schedulers: &[Value]) -> String {
    with_links(text, |name| {
        let page = name.replace('_', "-");
        let has_page = schedulers.iter().any(|s| word(s, "name") == page);
        if has_page { format!("[{page}]({page}.md)") } else { format!("`{name}`") }
    })
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

/// The deviations of what several schedulers share, where a scheduler's own refer to them.
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
        let _ = write!(out, "\nThose of [`{module}`](../../{file}):\n\n{text}\n");
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

/// How a scheduler did on a scenario.
struct Place<'a> {
    line: &'a Line,
    /// Among the schedulers for several paths; `single` has none.
    rank: Option<usize>,
    /// Against the median scheduler, a part of it.
    against: f64,
}

impl Place<'_> {
    fn fails(&self) -> bool {
        self.line.benefit < 0.0 || self.against <= -MARGIN
    }

    fn shines(&self) -> bool {
        !self.fails() && self.against >= MARGIN
    }
}

impl Results {
    fn place(&self, name: &str) -> Option<Place<'_>> {
        let line = self.lines.iter().find(|l| l.name == name)?;
        let median = self.median();
        let against = if median > 0.0 { line.goodput / median - 1.0 } else { 0.0 };
        Some(Place { line, rank: self.multipath().position(|l| l.name == name), against })
    }
}

fn measured(out: &mut String, name: &str, results: &[Results]) {
    let mut table = String::new();
    let (mut shines, mut fails) = (Vec::new(), Vec::new());
    for r in results {
        let Some(place) = r.place(name) else { continue };
        let (l, against) = (place.line, signed(place.against * 100.0, 0));
        let rank = place.rank.map_or("–".into(), |rank| format!("{} of {}", rank + 1, r.multipath().count()));
        let _ = writeln!(
            table,
            "| [{0}](../results/{0}.txt) | {1} ± {2:.2} | {rank} | {against} % | {3} | {4} | {5} |",
            r.scenario,
            l.shown,
            l.margin,
            signed(l.benefit, 2),
            l.out_of_order,
            r.median_out_of_order()
        );
        let told = format!(
            "* **{}** ({}): {} Mbit/s, {against} % against the median scheduler's {:.2}",
            r.scenario,
            r.about,
            l.shown,
            r.median()
        );
        if l.benefit < 0.0 {
            fails.push(format!("{told}; less than plain TCP on the best path, which has {:.2}", r.best_path()));
        } else if place.fails() {
            fails.push(told);
        } else if place.shines() {
            shines.push(told);
        }
    }
    for (heading, places) in [("When it shines", &shines), ("When it fails", &fails)] {
        let list = if table.is_empty() {
            "Not measured yet: it is in none of the tables of [the results](../results/).".into()
        } else if places.is_empty() {
            "On none of the built-in scenarios.".into()
        } else {
            places.join("\n")
        };
        let _ = write!(out, "\n## {heading}\n\n{list}\n");
    }
    if table.is_empty() {
        return;
    }
    out.push_str(
        "\n## Measured\n\n| scenario | goodput, Mbit/s | rank | against the median | benefit (CP eq. 9) | out of order, KB | median of \
         that |\n|---|---|---|---|---|---|---|\n",
    );
    out.push_str(&table);
    out.push_str(
        "\nMeans over the seeds with their 95 % interval. Benefit: 0 is plain TCP on the best path, 1 the sum of all paths. Out of order: \
         data that waits at the receiver for earlier data, on average over time. At least 5 % above the median of all schedulers is shining, \
         5 % below or less than one path is failing.\n",
    );
}

fn signed(x: f64, places: usize) -> String {
    let text = format!("{:.places$}", x.abs());
    let sign = if text.trim_matches(['0', '.']).is_empty() {
        "±"
    } else if x < 0.0 {
        "−"
    } else {
        "+"
    };
    format!("{sign}{text}")
}

fn overview(schedulers: &[Value], results: &[Results]) -> String {
    let mut out = String::from(
        "# Schedulers\n\n## Which scheduler for which network\n\nFrom [the results](../results/), by goodput in Mbit/s. Level with the \
         best: all whose 95 % interval reaches the first one's, or that are within 1 % of it. To avoid: those that deliver less than plain TCP on the best path, or 5 % \
         less than the median scheduler.\n\n| network | best path alone | median | the best | to avoid |\n|---|---|---|---|---|\n",
    );
    for r in results {
        let Some(first) = r.multipath().next() else { continue };
        let reach = (first.goodput - first.margin).min(first.goodput * (1.0 - LEVEL));
        let best = r.multipath().filter(|l| l.goodput + l.margin >= reach);
        let fails = |l: &&Line| r.place(&l.name).is_some_and(|p| p.fails());
        let _ = writeln!(
            out,
            "| **{}**: {} | {:.2} | {:.2} | {} | {} |",
            r.scenario,
            cell(&r.about),
            r.best_path(),
            r.median(),
            best_names(best, r.multipath().count()),
            names(r.multipath().filter(fails))
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
        "\nShining is at least 5 % above the median scheduler. What a decision of each costs: [decisions](../decisions.txt). These pages are \
         generated: `cargo xtask schedulers`.\n",
    );
    out
}

/// Each with its goodput.
fn names<'a>(lines: impl Iterator<Item = &'a Line> + Clone) -> String {
    let all: Vec<String> = lines.map(|l| format!("[{0}]({0}.md) {1}", l.name, l.shown)).collect();
    if all.is_empty() { "–".into() } else { all.join(", ") }
}

/// The best of `count`; where most of them are level there is no choice to make.
fn best_names<'a>(lines: impl Iterator<Item = &'a Line> + Clone, count: usize) -> String {
    let level = lines.clone().count();
    if 2 * level > count { format!("{level} of {count} are level, as {}", names(lines.take(2))) } else { names(lines) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_results() {
        let cp = Line {
            name: "cp".into(),
            goodput: 6.61,
            shown: "6.61".into(),
            margin: 0.06,
            benefit: 1.14,
            out_of_order: "1658".into(),
        };
        let heading = [
            "scenario",
            "scheduler",
            "goodput_mbps",
            "goodput_ci95_mbps",
            "aggregation_benefit",
            "out_of_order_mean_kb",
        ];
        assert_eq!(line(&heading, "wlan-3g,cp,6.61,0.06,1.14,1657.9"), Some(cp));
        assert_eq!(
            line(&heading, "wlan-3g,tcp-path0,2.68,,-0.25,2.6").map(|l| (l.margin, l.benefit)),
            Some((0.0, -0.25))
        );
        assert_eq!(line(&heading, "wlan-3g,cp,,,,"), None);
    }

    #[test]
    fn links_into_the_code_are_names_or_pages() {
        let text = "[`super::otias_kernel`] with [`b`](c::b) and [`Event::Lost`].";
        let schedulers = [serde_json::json!({ "name": "otias-kernel" })];
        assert_eq!(linked(text, &schedulers), "[otias-kernel](otias-kernel.md) with `b` and `Lost`.");
        assert_eq!(linked_modules(text), ["otias_kernel"]);
    }

    fn doc(what_it_does: &str) -> Doc {
        let source = format!(
            "//! `a`: b.\n//!\n//! # What it does\n//!\n//! {what_it_does}\n//! # Formula\n//! ```text\n//! # x = y\n//! ```\n\
             //!\n//! # Source\n//! BLEST §V\n//!\n//! # Deviations\n//! * None.\n\nuse x;\n"
        );
        Doc::new("a.rs".into(), &source)
    }

    #[test]
    fn a_modules_headings_are_sections() {
        let doc = doc("It waits.");
        assert_eq!(doc.section(""), "`a`: b.");
        assert_eq!(doc.section("What it does"), "It waits.");
        assert_eq!(doc.section("Formula"), "```text\n# x = y\n```");
        assert_eq!(doc.section("Deviations"), "* None.");
        assert_eq!(doc.judge(), Ok(()));
    }

    #[test]
    fn what_is_missing_or_too_long_is_told() {
        assert!(doc(&"a".repeat(LONGEST + 1)).judge().is_err_and(|e| e.contains("601 letters")));
        assert!(doc("").judge().is_err_and(|e| e.contains("nothing under")));
        let mut without = doc("It waits.");
        without.sections.retain(|(h, _)| h != "Source");
        assert!(without.judge().is_err());
    }

    /// Each scheduler of the registry has its sections.
    #[test]
    fn every_scheduler_says_what_it_does() {
        let registry = fs::read_to_string(root().join("crates/algorithms/src/registry.rs")).unwrap();
        let modules = registry.lines().filter_map(|l| l.trim().strip_prefix("schedulers::")?.strip_suffix("::ENTRY,"));
        let wrong: Vec<String> =
            modules.clone().filter_map(|name| module_doc(name).and_then(|d| d.judge()).err()).collect();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        assert!(modules.count() > 20);
    }
}
