//! The list of changes, from cargo-mutants, and the committed list of those that make no difference.

use crate::run::{capture, cargo, program, root, run, works};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The version of cargo-mutants: another one makes other changes, and names them differently.
const VERSION: &str = "27.1.0";

/// Changes without an effect that a test could require.
pub(super) const EQUIVALENT: &str = ".cargo/mutants-equivalent.txt";

/// A position in a file: line and column, both from one, in letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position {
    pub(super) line: usize,
    pub(super) column: usize,
}

/// A range from one position to just before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Span {
    pub(super) start: Position,
    pub(super) end: Position,
}

/// One change of one function.
#[derive(Clone, Debug)]
pub(super) struct Change {
    /// The file and the change, without the line, so that the name survives changes in other places. If a function has
    /// several places for the same change, the second one ends with `[2]`.
    pub(super) name: String,
    /// Path of the file from the repository's root.
    pub(super) file: String,
    /// The function without its documentation and attributes.
    pub(super) function: Span,
    /// The replaced part of the file.
    pub(super) span: Span,
    pub(super) replacement: String,
}

/// Installs cargo-mutants where it is missing, and asks it for the changes that `.cargo/mutants.toml` names.
///
/// # Errors
/// If it cannot be installed, or answers with something else.
pub(super) fn changes() -> Result<Vec<Change>, String> {
    let installed = cargo("mutants --version").output().map_err(|e| format!("cargo mutants: {e}"))?;
    if String::from_utf8_lossy(&installed.stdout).trim() != format!("cargo-mutants {VERSION}") {
        run(&mut cargo(&format!("install cargo-mutants --version {VERSION} --locked")))?;
    }
    for tool in ["setpriv", "prlimit"] {
        if !works(&mut program(tool, "--version")) {
            return Err(format!("{tool} is missing: install the package util-linux"));
        }
    }
    let list = "mutants --package pathweave-proto --all-features --no-shuffle --list --json";
    parse(&capture(&mut cargo(list))?)
}

fn parse(json: &[u8]) -> Result<Vec<Change>, String> {
    let list: Vec<Value> = serde_json::from_slice(json).map_err(|e| format!("the list of cargo-mutants: {e}"))?;
    let mut times = BTreeMap::new();
    list.iter()
        .map(|entry| {
            let mut change =
                change(entry).ok_or_else(|| format!("cargo-mutants lists what this program does not know: {entry}"))?;
            let count = times.entry(change.name.clone()).or_insert(0);
            *count += 1;
            if *count > 1 {
                change.name += &format!(" [{count}]");
            }
            Ok(change)
        })
        .collect()
}

fn change(entry: &Value) -> Option<Change> {
    let file = entry["file"].as_str()?;
    // `file:line:column: what`
    let what = entry["name"].as_str()?.strip_prefix(file)?.split_once(": ")?.1;
    Some(Change {
        name: format!("{file}: {what}"),
        file: file.into(),
        function: span(&entry["function"]["span"])?,
        span: span(&entry["span"])?,
        replacement: entry["replacement"].as_str()?.into(),
    })
}

fn span(value: &Value) -> Option<Span> {
    let position = |value: &Value| {
        let number = |key: &str| value[key].as_u64().and_then(|n| usize::try_from(n).ok());
        Some(Position { line: number("line")?, column: number("column")? })
    };
    Some(Span { start: position(&value["start"])?, end: position(&value["end"])? })
}

/// The names in the list of changes that make no difference.
///
/// # Errors
/// If a line has no reason.
pub(super) fn equivalent() -> Result<BTreeSet<String>, String> {
    let text = std::fs::read_to_string(root().join(EQUIVALENT)).map_err(|e| format!("{EQUIVALENT}: {e}"))?;
    with_reasons(&text)
}

fn with_reasons(text: &str) -> Result<BTreeSet<String>, String> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| match line.split_once(" # ") {
            Some((name, reason)) if !reason.trim().is_empty() => Ok(name.into()),
            _ => Err(format!("{EQUIVALENT}: no reason after ` # `: {line}")),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_no_lines_and_count_what_comes_again() -> Result<(), String> {
        let one = |line: u32| {
            serde_json::json!({
                "file": "a.rs",
                "name": format!("a.rs:{line}:9: replace :: with || in f"),
                "function": { "span": { "start": { "line": 1, "column": 5 }, "end": { "line": 30, "column": 6 } } },
                "span": { "start": { "line": line, "column": 9 }, "end": { "line": line, "column": 11 } },
                "replacement": "||",
            })
        };
        let list = parse(serde_json::json!([one(7), one(8)]).to_string().as_bytes())?;
        let names: Vec<&str> = list.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(names, ["a.rs: replace :: with || in f", "a.rs: replace :: with || in f [2]"]);
        assert_eq!(list[1].span.start, Position { line: 8, column: 9 });
        assert!(parse(br#"[{"file": "a.rs"}]"#).is_err());
        Ok(())
    }

    /// Without this test, the pattern of a renamed function would match nothing, and its changes would not be tried.
    #[test]
    fn each_function_of_the_configuration_exists() -> Result<(), Box<dyn std::error::Error>> {
        let configuration = std::fs::read_to_string(root().join(".cargo/mutants.toml"))?;
        let patterns = configuration.lines().filter_map(|line| line.trim().split_once(r"\.rs.*\b"));
        let mut names_seen = 0;
        for (file, names) in patterns {
            let file = format!("crates/proto/src/{}.rs", file.trim_start_matches('\''));
            let source = std::fs::read_to_string(root().join(&file)).map_err(|e| format!("{file}: {e}"))?;
            let names = names.split_once(r"\b").map_or(names, |(names, _)| names);
            for name in names.trim_matches(['(', ')']).split('|') {
                assert!(source.contains(&format!("fn {name}(")), "{file} has no function {name}");
                names_seen += 1;
            }
        }
        assert!(names_seen > 50, "the file has other patterns than this test reads: {names_seen} names");
        Ok(())
    }

    #[test]
    fn a_change_that_makes_no_difference_needs_a_reason() {
        let names = with_reasons("# Why.\n\na.rs: delete ! in f # it is tidied later\n");
        assert_eq!(names, Ok(BTreeSet::from(["a.rs: delete ! in f".into()])));
        assert!(with_reasons("a.rs: delete ! in f\n").is_err());
        assert!(with_reasons("a.rs: delete ! in f # \n").is_err());
    }
}
