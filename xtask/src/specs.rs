//! Writes the tables of the RFCs' requirements with the code that obeys them and its tests, and of the tests for each
//! kind of bad input.
//!
//! They are read from comments of this form above the code:
//!
//! ```text
//! //= RFC 8684 §3.1: "a short sentence of it,
//! //= over as many lines as it takes"
//! //= tests: module::name, module::other_name
//! ```
//!
//! and from `Bad-input row N` (`rows N and M`) in the documentation of tests. Requirements that nothing obeys, each with its
//! reason, are in `specs/not-implemented.txt`.

use crate::run::root;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Rows of the table of bad input.
const ROWS: [&str; 36] = [
    "option length 0, 1 or past the header",
    "unknown subtype",
    "malformed DSS followed by a valid one",
    "MP_CAPABLE and MP_JOIN in one SYN",
    "version 0, a higher version",
    "B set or H clear",
    "SYN/ACK without MP_CAPABLE",
    "third ACK or first data without Multipath TCP",
    "echoed key is not ours",
    "token collision",
    "join: SYN/ACK without MP_JOIN, unknown token, bad HMAC",
    "join over the limit, before establishment, despite C, to an unannounced port",
    "replayed join ACK",
    "flood of join SYNs, of MP_CAPABLE SYNs",
    "unmapped data on a joined subflow, on the first",
    "mapping after its data, conflicting mapping",
    "infinite mapping with several subflows",
    "data sequence number out of the window",
    "overlapping data with other bytes",
    "DATA_ACK beyond what was sent",
    "32-bit numbers that wrap, deltas near 2^31",
    "second DATA_FIN, DATA_FIN before a gap, FIN on one subflow",
    "bad checksum with several subflows, with one",
    "checksum against the negotiation",
    "unsolicited MP_FAIL with several subflows",
    "FASTCLOSE with a wrong key, with the right one",
    "ADD_ADDR with a bad HMAC, a flood, of useless addresses",
    "REMOVE_ADDR of an unknown identifier, of a path in use",
    "all subflows are backups",
    "options that do not fit 40 bytes",
    "lost window update",
    "reset in the middle of a scheduling round",
    "scheduler answers a dead or unknown subflow, or nothing",
    "blind RST, SYN, ACK",
    "1-byte segments with many gaps",
    "window shrunk to zero, both ends closed at once, half-close",
];

/// The labels of RFC 9293 (appendix B), and how many of each kind there are.
const LABELS: [(&str, usize); 4] = [("MUST", 69), ("SHLD", 31), ("REC", 1), ("MAY", 18)];

/// One requirement that some code obeys.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Requirement {
    rfc: u32,
    section: Section,
    /// The RFC's labels of it (`MUST-13`), if there are any.
    labels: String,
    quote: String,
    place: String,
    tests: Vec<String>,
}

/// The number of a section. Sections are ordered by their numbers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Section(Vec<u32>);

impl std::fmt::Display for Section {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let parts: Vec<String> = self.0.iter().map(u32::to_string).collect();
        f.write_str(&parts.join("."))
    }
}

/// Writes the tables.
///
/// # Errors
/// A comment that does not have the form, a test that does not exist, or a file that cannot be written.
pub(crate) fn write() -> Result<(), String> {
    for (name, text) in tables()? {
        fs::write(root().join("specs").join(name), text).map_err(|e| format!("specs/{name}: {e}"))?;
    }
    Ok(())
}

/// Checks that the tables are up to date with the code.
///
/// # Errors
/// If one is out of date, or if a row of bad input has no test.
pub(crate) fn check() -> Result<(), String> {
    for (name, text) in tables()? {
        let there = fs::read_to_string(root().join("specs").join(name)).unwrap_or_default();
        if there != text {
            return Err(format!("specs/{name} is stale: run `cargo xtask specs`"));
        }
    }
    Ok(())
}

fn tables() -> Result<[(&'static str, String); 2], String> {
    let mut files = Vec::new();
    for krate in ["proto", "scheduler", "algorithms", "wire", "lab"] {
        collect(&root().join("crates").join(krate), &mut files)?;
    }
    files.sort();
    let (mut requirements, mut tests, mut rows) = (Vec::new(), BTreeSet::new(), BTreeMap::new());
    for file in &files {
        let text = fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
        let short = file.strip_prefix(root()).unwrap_or(file).display().to_string();
        requirements.extend(read_requirements(&short, &text)?);
        read_tests(&short, &text, &mut tests, &mut rows);
    }
    for requirement in &requirements {
        if let Some(missing) = requirement.tests.iter().find(|t| !tests.contains(*t)) {
            return Err(format!("{}: there is no test {missing}", requirement.place));
        }
    }
    if let Some(row) = (1..=ROWS.len()).find(|row| !rows.contains_key(row)) {
        return Err(format!("no test names bad-input row {row}: {}", ROWS[row - 1]));
    }
    requirements.sort();
    Ok([("requirements.md", requirements_table(&requirements)?), ("bad-input.md", rows_table(&rows))])
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    for entry in entries {
        let path = entry.map_err(|e| e.to_string())?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

/// The name after `fn `, `const ` or `struct ` in a line of code.
fn item(line: &str) -> Option<&str> {
    let after =
        ["fn ", "const ", "struct "].iter().find_map(|word| line.split_once(word)).filter(|_| !line.contains("//"))?;
    let name = after.1.split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
    (!name.is_empty()).then_some(name)
}

fn read_requirements(file: &str, text: &str) -> Result<Vec<Requirement>, String> {
    let mut out = Vec::new();
    let mut enclosing = "";
    let mut lines = text.lines().map(str::trim).enumerate().peekable();
    while let Some((n, line)) = lines.next() {
        let Some(first) = line.strip_prefix("//= ") else {
            enclosing = item(line).unwrap_or(enclosing);
            continue;
        };
        let wrong = |what: &str| format!("{file}:{}: {what}", n + 1);
        let mut quote = first.to_owned();
        let mut tests = None;
        while let Some((_, more)) = lines.next_if(|(_, l)| l.starts_with("//= ") && tests.is_none()) {
            match more[4..].strip_prefix("tests: ") {
                Some(names) => tests = Some(names.split(", ").map(str::to_owned).collect()),
                None => quote = format!("{quote} {}", &more[4..]),
            }
        }
        let (place, quote) = quote.split_once(": ").ok_or_else(|| wrong("no colon after the section"))?;
        let (rfc, section, labels) = spec(place).ok_or_else(|| wrong("it does not start with `RFC n §n.n: `"))?;
        let quote = quote.strip_prefix('"').and_then(|q| q.strip_suffix('"'));
        let quote = quote.ok_or_else(|| wrong("the sentence is not in quotation marks"))?.to_owned();
        let tests = tests.ok_or_else(|| wrong("no `tests: ` at the end"))?;
        let next = following(text, n).unwrap_or(enclosing);
        out.push(Requirement { rfc, section, labels, quote, place: format!("{file} `{next}`"), tests });
    }
    Ok(out)
}

/// The item below the comment in this line, behind other comments and attributes.
fn following(text: &str, line: usize) -> Option<&str> {
    let mut after = text.lines().skip(line).map(str::trim);
    after.find(|l| !l.starts_with("//") && !l.starts_with("#[")).and_then(item)
}

/// `RFC 8684 §3.3.1`, or with labels: `RFC 9293 §3.6.1 (MUST-13)`.
fn spec(text: &str) -> Option<(u32, Section, String)> {
    let (rfc, section) = text.strip_prefix("RFC ")?.split_once(" §")?;
    let (section, labels) = section.split_once(" (").unwrap_or((section, ")"));
    let section: Option<Vec<u32>> = section.split('.').map(|part| part.parse().ok()).collect();
    Some((rfc.parse().ok()?, Section(section?), labels.strip_suffix(')')?.to_owned()))
}

/// The labels of RFC 9293 that no row has.
fn unnamed(named: &str) -> Vec<String> {
    let named: BTreeSet<&str> = named.split(", ").collect();
    let all = LABELS.iter().flat_map(|(kind, most)| (1..=*most).map(move |n| format!("{kind}-{n}")));
    all.filter(|label| !named.contains(label.as_str())).collect()
}

/// Reads the names of tests as `file::name`, and the rows of bad input that each covers.
fn read_tests(file: &str, text: &str, tests: &mut BTreeSet<String>, rows: &mut BTreeMap<usize, Vec<String>>) {
    let stem = Path::new(file).file_stem().and_then(|s| s.to_str()).unwrap_or("");
    let folder = Path::new(file).parent().and_then(Path::file_name).and_then(|s| s.to_str()).unwrap_or("");
    let module = if matches!(stem, "mod" | "tests") { folder } else { stem };
    let (mut wanted, mut marked): (Vec<usize>, bool) = (Vec::new(), false);
    for line in text.lines().map(str::trim) {
        if let Some(doc) = line.strip_prefix("/// ") {
            if let Some((_, after)) = doc.split_once("Bad-input row") {
                let named = after.split([':', '(', '.']).next().unwrap_or("");
                wanted.extend(named.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse::<usize>().ok()));
            }
        } else if line.starts_with("#[") {
            marked |= line == "#[test]";
        } else {
            if let (true, Some(name)) = (marked, item(line)) {
                let test = format!("{module}::{name}");
                for row in wanted.iter().filter(|row| (1..=ROWS.len()).contains(*row)) {
                    rows.entry(*row).or_default().push(test.clone());
                }
                tests.insert(test);
            }
            (wanted, marked) = (Vec::new(), false);
        }
    }
}

fn requirements_table(requirements: &[Requirement]) -> Result<String, String> {
    let mut out = String::from(
        "# Requirements, where they are obeyed, and what holds them\n\nWritten by `cargo xtask specs` from comments in the code; \
         see [README.md](README.md).\n",
    );
    let mut rfc = 0;
    for r in requirements {
        if r.rfc != rfc {
            rfc = r.rfc;
            let _ = write!(out, "\n## RFC {rfc}\n\n| section | requirement | place | tests |\n|---|---|---|---|\n");
        }
        let labels = if r.labels.is_empty() { String::new() } else { format!(" ({})", r.labels) };
        let _ = writeln!(out, "| {}{labels} | {} | {} | {} |", r.section, cell(&r.quote), r.place, r.tests.join(", "));
    }
    let mut labels: Vec<String> = requirements.iter().map(|r| r.labels.clone()).collect();
    let path = root().join("specs/not-implemented.txt");
    let missing = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    out.push_str("\n## Not implemented\n\n| where | requirement | reason |\n|---|---|---|\n");
    for entry in missing.split("\n\n").map(str::trim).filter(|e| !e.is_empty()) {
        let (requirement, reason) = entry.split_once('\n').ok_or_else(|| format!("no reason for: {entry}"))?;
        let (place, quote) = requirement.split_once(": ").ok_or_else(|| format!("no section: {requirement}"))?;
        labels.push(spec(place).ok_or_else(|| format!("no section: {requirement}"))?.2);
        let reason: Vec<&str> = reason.lines().map(str::trim).collect();
        let _ = writeln!(out, "| {place} | {} | {} |", cell(quote.trim_matches('"')), reason.join(" "));
    }
    match unnamed(&labels.join(", ")).as_slice() {
        [] => {}
        rest => return Err(format!("no row names these labels of RFC 9293: {}", rest.join(", "))),
    }
    Ok(out)
}

fn rows_table(rows: &BTreeMap<usize, Vec<String>>) -> String {
    let mut out = String::from(
        "# Bad input and its tests\n\nWritten by `cargo xtask specs` from the documentation of the tests.\n\n\
         | row | input | tests |\n|---|---|---|\n",
    );
    for (row, tests) in rows {
        let _ = writeln!(out, "| {row} | {} | {} |", ROWS[row - 1], tests.join(", "));
    }
    out
}

/// A sentence as text of a table: `<SYN>` in it would be a tag.
fn cell(sentence: &str) -> String {
    sentence.replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_requirement_is_read_with_its_place_and_its_tests() {
        let text = "impl X {\n    fn obeys() {\n        //= RFC 8684 §3.3.1: \"a long\n        //= sentence\"\n        //= tests: a::b, c::d\n        go();\n";
        let found = read_requirements("x.rs", text).expect("it is in the form");
        let section = Section(vec![3, 3, 1]);
        let tests = vec!["a::b".into(), "c::d".into()];
        let expected = Requirement {
            rfc: 8684,
            section,
            labels: String::new(),
            quote: "a long sentence".into(),
            place: "x.rs `obeys`".into(),
            tests,
        };
        assert_eq!(found, [expected]);
        for wrong in ["//= RFC 8684: \"x\"\n//= tests: a", "//= RFC 1 §2: x\n//= tests: a", "//= RFC 1 §2: \"x\""] {
            assert!(read_requirements("x.rs", wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_requirement_above_others_and_attributes_has_the_place_of_what_follows() {
        let row = "//= RFC 1 §2: \"x\"\n//= tests: a::b\n";
        let text = format!("fn before() {{}}\n{row}{row}/// What it does.\n#[cold]\nfn after() {{}}\n");
        let found = read_requirements("x.rs", &text).expect("it is in the form");
        assert!(found.iter().all(|r| r.place == "x.rs `after`"), "{found:?}");
    }

    #[test]
    fn rows_are_read_from_tests_only() {
        let text = "/// Bad-input rows 5 and 6, on a SYN/ACK.\n#[test]\nfn first() {}\n/// Bad-input row 9: 10.\nfn helper() {}\n";
        let (mut tests, mut rows) = (BTreeSet::new(), BTreeMap::new());
        read_tests("crates/x/tests/it/m.rs", text, &mut tests, &mut rows);
        assert_eq!(tests, BTreeSet::from(["m::first".into()]));
        assert_eq!(rows.keys().copied().collect::<Vec<_>>(), [5, 6]);
    }

    #[test]
    fn labels_follow_the_section() {
        let found = spec("RFC 9293 §3.4.1 (MUST-9, SHLD-1)").expect("it is in the form");
        assert_eq!(found, (9293, Section(vec![3, 4, 1]), "MUST-9, SHLD-1".to_owned()));
        assert_eq!(unnamed("MUST-9, SHLD-1").len(), 117);
        assert!(spec("RFC 9293 §3.4.1 (MUST-9").is_none());
    }

    #[test]
    fn sections_are_in_the_order_of_numbers() {
        assert!(Section(vec![3, 9]) < Section(vec![3, 10]));
        assert_eq!(Section(vec![3, 10, 7, 4]).to_string(), "3.10.7.4");
    }
}
