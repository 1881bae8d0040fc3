//! The public interface of each library as text, so that every change shows as a difference in `docs/api/`.
//!
//! It is the output of `cargo public-api`: one line for each public item, without the traits that the compiler derives.

use crate::run::{cargo, root, run, target};
use public_api::Builder;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The libraries that others build on, from the bottom up.
const LIBRARIES: [&str; 14] = [
    "pathweave-units",
    "pathweave-wire",
    "pathweave-scheduler",
    "pathweave-proto",
    "pathweave-algorithms",
    "pathweave-driver",
    "pathweave-netsim",
    "pathweave-lab",
    "pathweave-report",
    "pathweave-experiments",
    "pathweave-arena",
    "pathweave-runner",
    "pathweave-tun",
    "pathweave",
];
/// Most changed lines of a library that are shown.
const SHOWN: usize = 20;

/// Compares the interfaces with the committed ones.
///
/// # Errors
/// The lines that are new and those that are gone.
pub(crate) fn check() -> Result<(), String> {
    document()?;
    let mut changed = String::new();
    for library in LIBRARIES {
        let committed = std::fs::read_to_string(root().join(file(library))).unwrap_or_default();
        changed += &difference(library, &committed, &interface(library)?);
    }
    match changed.is_empty() {
        true => Ok(()),
        false => Err(format!("the public interface has changed:\n{changed}if that is meant: cargo xtask api --bless")),
    }
}

/// Writes the committed interfaces anew.
///
/// # Errors
/// If rustdoc or a file fails.
pub(crate) fn bless() -> Result<(), String> {
    document()?;
    LIBRARIES.iter().try_for_each(|library| crate::results::put(&file(library), interface(library)?.as_bytes()))
}

fn file(library: &str) -> String {
    format!("docs/api/{library}.txt")
}

/// Writes the documentation of all libraries as JSON.
fn document() -> Result<(), String> {
    let packages = LIBRARIES.map(|library| format!("--package {library} ")).concat();
    run(cargo(&format!("doc --quiet {packages} --lib --no-deps --all-features"))
        .env("RUSTDOC", root().join("xtask/rustdoc-unstable.sh"))
        .env("RUSTDOCFLAGS", "-Z unstable-options --output-format json --cap-lints allow"))
}

/// The public items, a line each, from what [`document`] has written.
fn interface(library: &str) -> Result<String, String> {
    let json = target().join(format!("doc/{}.json", library.replace('-', "_")));
    let items = Builder::from_rustdoc_json(json)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .build()
        .map_err(|e| format!("{library}: {e}"))?;
    let mut text = String::new();
    for item in items.items() {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{item}");
    }
    Ok(text)
}

/// Added and removed lines, at most [`SHOWN`].
fn difference(library: &str, committed: &str, now: &str) -> String {
    let (before, after): (BTreeSet<_>, BTreeSet<_>) = (committed.lines().collect(), now.lines().collect());
    let gone = before.difference(&after).map(|line| format!("  - {line}\n"));
    let new = after.difference(&before).map(|line| format!("  + {line}\n"));
    let lines: Vec<String> = gone.chain(new).collect();
    if lines.is_empty() {
        return String::new();
    }
    let more = lines.len().saturating_sub(SHOWN);
    let rest = if more > 0 { format!("  ... and {more} more\n") } else { String::new() };
    format!("{}:\n{}{rest}", file(library), lines[..lines.len() - more].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_interfaces_do_not_differ() {
        assert_eq!(difference("x", "pub fn a\npub fn b\n", "pub fn a\npub fn b\n"), "");
    }

    #[test]
    fn what_is_gone_and_what_is_new_is_shown() {
        assert_eq!(
            difference("x", "pub fn a\npub fn b\n", "pub fn b\npub fn c\n"),
            "docs/api/x.txt:\n  - pub fn a\n  + pub fn c\n"
        );
    }

    #[test]
    fn of_many_changes_the_first_are_shown() {
        let now: String = (0..25).map(|i| format!("pub fn f{i:02}\n")).collect();
        let message = difference("x", "", &now);
        assert!(message.ends_with("  + pub fn f19\n  ... and 5 more\n"), "{message}");
    }
}
