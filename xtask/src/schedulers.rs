//! A page for each scheduler and one table "which scheduler for which network", in docs/schedulers/.
//!
//! What a scheduler does is its module's own documentation, its parameters are the registry's, and what it is good for comes from the
//! committed results (docs/results/): nothing is written by hand, so a line in the registry makes a page. The check writes nothing
//! and compares.

use crate::run::{capture, cargo, root};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

const FOLDER: &str = "docs/schedulers";
const SOURCES: &str = "crates/proto/src/scheduler";
/// This far above or below the median scheduler it shines or fails.
const MARGIN: f64 = 0.05;

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
/// Where a source or a result is missing.
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
    let text = capture(&mut cargo(&format!("run --quiet --package pathweave -- list {what} --json")))?;
    serde_json::from_slice(&text).map_err(|e| format!("list {what}: {e}"))
}

/// All pages by file name.
fn pages() -> Result<BTreeMap<String, String>, String> {
    let schedulers = listed("schedulers")?;
    let results: Vec<Results> = listed("scenarios")?.iter().filter_map(results).collect();
    let mut pages = BTreeMap::from([("README.md".to_owned(), overview(&schedulers, &results))]);
    for scheduler in &schedulers {
        let name = word(scheduler, "name");
        let (file, doc) = module_doc(name)?;
        pages.insert(format!("{name}.md"), page(scheduler, &file, &doc, &results));
    }
    Ok(pages)
}

fn word<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or("")
}

/// What is committed of a scenario; nothing for one that is not in docs/results/.
fn results(scenario: &Value) -> Option<Results> {
    let name = word(scenario, "name");
    let text = fs::read_to_string(root().join(format!("docs/results/{name}.txt"))).ok()?;
    let lines = text.lines().filter_map(line).collect();
    Some(Results { scenario: name.into(), about: word(scenario, "summary").into(), lines })
}

/// A line such as ` 1  cp   6.61 ±0.06  +1.14  30/70 ...`.
fn line(text: &str) -> Option<Line> {
    let mut words = text.split_whitespace();
    words.next()?.parse::<u32>().ok()?;
    let name = words.next()?.to_owned();
    let number = |word: &str| word.trim_start_matches('±').replace('−', "-").parse::<f64>().ok();
    let shown = words.next()?.to_owned();
    Some(Line {
        name,
        goodput: number(&shown)?,
        shown,
        margin: number(words.next()?)?,
        benefit: number(words.next()?)?,
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

    fn best_path(&self) -> f64 {
        self.lines.iter().filter(|l| l.name.starts_with("tcp-path")).map(|l| l.goodput).fold(0.0, f64::max)
    }
}

/// The file that declares a scheduler, and its module documentation as Markdown.
fn module_doc(name: &str) -> Result<(String, String), String> {
    let folder = root().join(SOURCES);
    let mut files: Vec<PathBuf> =
        fs::read_dir(&folder).map_err(|e| format!("{SOURCES}: {e}"))?.flatten().map(|f| f.path()).collect();
    // A module may be a folder.
    for sub in files.clone().into_iter().filter(|f| f.is_dir()) {
        files.extend(fs::read_dir(&sub).into_iter().flatten().flatten().map(|f| f.path()));
    }
    files.sort();
    // The one called like it first: several may share a declaration.
    let stem = name.replace('-', "_");
    files.sort_by_key(|f| f.file_stem().is_none_or(|s| *s != *stem));
    let declares = format!("\"{name}\"");
    for file in files.into_iter().filter(|f| f.extension().is_some_and(|e| e == "rs")) {
        let text = fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        let own_file = file.file_stem().is_some_and(|s| *s == *stem);
        if text.starts_with("//!") && text.contains("SchedulerEntry") && (own_file || text.contains(&declares)) {
            let path = file.strip_prefix(root()).unwrap_or(&file).display().to_string();
            return Ok((path, markdown(&text)));
        }
    }
    Err(format!("{SOURCES}: no file declares {name}"))
}

/// The `//!` lines at the start, with links into the code as plain names.
fn markdown(source: &str) -> String {
    let lines = source.lines().take_while(|l| l.starts_with("//!"));
    let text: Vec<&str> = lines.map(|l| l.trim_start_matches("//!").strip_prefix(' ').unwrap_or("")).collect();
    let mut out = String::new();
    let mut rest = text.join("\n");
    // [`super::otias`] and [`otias`](super::otias) become `otias`.
    while let Some(start) = rest.find("[`") {
        let Some(length) = rest[start..].find("`]") else { break };
        let path = &rest[start + 2..start + length];
        let (name, mut end) = (path.rsplit("::").next().unwrap_or(path).to_owned(), start + length + 2);
        if rest[end..].starts_with('(') {
            end += rest[end..].find(')').map_or(0, |n| n + 1);
        }
        let _ = write!(out, "{}`{name}`", &rest[..start]);
        rest = rest[end..].to_owned();
    }
    out + &rest
}

fn page(scheduler: &Value, file: &str, doc: &str, results: &[Results]) -> String {
    let name = word(scheduler, "name");
    let mut out =
        format!("# {name}\n\n{doc}\n\nSource: {}. Code: [`{file}`](../../{file}).\n", word(scheduler, "source"));
    parameters(&mut out, scheduler);
    measured(&mut out, name, results);
    out.push_str("\nThis page is generated: `cargo xtask schedulers`.\n");
    out
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

fn measured(out: &mut String, name: &str, results: &[Results]) {
    out.push_str("\n## Measured\n\n");
    let mut table = String::new();
    let (mut shines, mut fails) = (Vec::new(), Vec::new());
    for r in results {
        let Some(rank) = r.multipath().position(|l| l.name == name) else { continue };
        let Some(l) = r.multipath().nth(rank) else { continue };
        let (count, median) = (r.multipath().count(), r.median());
        let against = if median > 0.0 { l.goodput / median - 1.0 } else { 0.0 };
        let _ = writeln!(
            table,
            "| [{0}](../results/{0}.txt) | {1} ± {2:.2} | {3} of {count} | {4} % | {5} |",
            r.scenario,
            l.shown,
            l.margin,
            rank + 1,
            signed(against * 100.0, 0),
            signed(l.benefit, 2)
        );
        let place =
            format!("{} ({}: {} % against the median scheduler)", r.scenario, r.about, signed(against * 100.0, 0));
        if l.benefit < 0.0 {
            fails.push(format!("{place}, less than plain TCP on the best path, which has {:.2} Mbit/s", r.best_path()));
        } else if against >= MARGIN {
            shines.push(place);
        } else if against <= -MARGIN {
            fails.push(place);
        }
    }
    if table.is_empty() {
        out.push_str("Not measured yet: it is in none of the tables of [the results](../results/).\n");
        return;
    }
    for (word, places) in [("Shines", &shines), ("Fails", &fails)] {
        let list = if places.is_empty() { "on none of the built-in scenarios".into() } else { places.join("; ") };
        let _ = writeln!(out, "**{word}:** {list}.\n");
    }
    out.push_str(
        "| scenario | goodput, Mbit/s | rank | against the median | benefit (CP eq. 9) |\n|---|---|---|---|---|\n",
    );
    out.push_str(&table);
    out.push_str(
        "\nMeans over the seeds with their 95 % interval. Benefit: 0 is plain TCP on the best path, 1 the sum of all paths. At least 5 % \
         above the median of all schedulers is shining, 5 % below or less than one path is failing.\n",
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
        "# Schedulers\n\n## Which scheduler for which network\n\nFrom [the results](../results/), by goodput. The best: all whose 95 % interval \
         reaches the first one's. To avoid: those that deliver less than plain TCP \
         on the best path, or 5 % less than the median scheduler.\n\n| network | best path alone | the best | median | to avoid |\n|---|---|---|---|---|\n",
    );
    for r in results {
        let Some(first) = r.multipath().next() else { continue };
        let best = r.multipath().filter(|l| l.goodput + l.margin >= first.goodput - first.margin);
        let avoid = r.multipath().filter(|l| l.benefit < 0.0 || l.goodput < r.median() * (1.0 - MARGIN));
        let _ = writeln!(
            out,
            "| **{}**: {} | {:.2} | {} | {:.2} | {} |",
            r.scenario,
            cell(&r.about),
            r.best_path(),
            names(best),
            r.median(),
            names(avoid)
        );
    }
    out.push_str("\nGoodput in Mbit/s.\n\n## All\n\n| name | what it does | from |\n|---|---|---|\n");
    for s in schedulers {
        let (name, summary, source) = (word(s, "name"), cell(word(s, "summary")), cell(word(s, "source")));
        let _ = writeln!(out, "| [{name}]({name}.md) | {summary} | {source} |");
    }
    out.push_str("\nWhat a decision of each costs: [decisions](../decisions.txt). These pages are generated: `cargo xtask schedulers`.\n");
    out
}

/// At most six, each with its goodput.
fn names<'a>(lines: impl Iterator<Item = &'a Line> + Clone) -> String {
    let count = lines.clone().count();
    let some: Vec<String> = lines.take(6).map(|l| format!("[{0}]({0}.md) {1}", l.name, l.shown)).collect();
    let more = if count > 6 { format!(" and {} more", count - 6) } else { String::new() };
    if count == 0 { "–".into() } else { some.join(", ") + &more }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_results() {
        let cp = Line { name: "cp".into(), goodput: 6.61, shown: "6.61".into(), margin: 0.06, benefit: 1.14 };
        assert_eq!(line(" 2  cp                   6.61 ±0.06  +1.14  30/70  1658"), Some(cp));
        assert_eq!(line("21  tcp-path0            2.68 ±0.09  −0.25  100/0").map(|l| l.benefit), Some(-0.25));
        assert_eq!(line("    scheduler               goodput  bene-"), None);
        assert_eq!(line("20 seeds, ± 95 % interval of the mean"), None);
    }

    #[test]
    fn links_into_the_code_are_names() {
        let source = "//! `a`: [`super::otias`] with [`b`](c::b).\n//!\n//! Second.\n\nuse x;\n";
        assert_eq!(markdown(source), "`a`: `otias` with `b`.\n\nSecond.");
    }
}
