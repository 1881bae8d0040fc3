//! The sections of a scheduler's module documentation, and the links in it.

use super::word;
use crate::run::root;
use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

pub(super) const SOURCES: &str = "crates/algorithms/src/schedulers";
/// The sections that each scheduler's module documentation has, in this order.
pub(super) const SECTIONS: [&str; 4] = ["What it does", "Formula", "Source", "Deviations"];
/// Most letters of "What it does", about five lines.
const LONGEST: usize = 600;

/// A module's documentation by heading. Text before the first heading has an empty one.
#[derive(Debug, PartialEq)]
pub(super) struct Doc {
    /// Path of the file from the repository's root.
    pub(super) file: String,
    sections: Vec<(String, String)>,
}

impl Doc {
    pub(super) fn new(file: String, source: &str) -> Doc {
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

    pub(super) fn section(&self, heading: &str) -> &str {
        self.sections.iter().find(|(h, _)| h == heading).map_or("", |(_, text)| text)
    }

    /// The missing or too long sections, if there are any.
    pub(super) fn judge(&self) -> Result<(), String> {
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

/// The name of a module from its file. For a `mod.rs` it is that of the folder.
fn module_name(file: &Path) -> Option<&OsStr> {
    match file.file_stem()? {
        stem if stem == "mod" => file.parent()?.file_name(),
        stem => Some(stem),
    }
}

/// The documentation of the file that declares a scheduler.
pub(super) fn module_doc(name: &str) -> Result<Doc, String> {
    let folder = root().join(SOURCES);
    let entries = fs::read_dir(&folder).map_err(|e| format!("{SOURCES}: {e}"))?.flatten().map(|f| f.path());
    // A scheduler of several files is a folder.
    let mut files: Vec<PathBuf> = entries.map(|f| if f.is_dir() { f.join("mod.rs") } else { f }).collect();
    files.sort();
    // The one called like it first: several may share a declaration.
    let stem = name.replace('-', "_");
    let is_own = |f: &Path| module_name(f).is_some_and(|s| *s == *stem);
    files.sort_by_key(|f| !is_own(f));
    let declares = format!("\"{name}\"");
    for file in files.into_iter().filter(|f| f.extension().is_some_and(|e| e == "rs")) {
        let text = fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        if text.starts_with("//!") && text.contains("SchedulerEntry") && (is_own(&file) || text.contains(&declares)) {
            return Ok(Doc::new(file.strip_prefix(root()).unwrap_or(&file).display().to_string(), &text));
        }
    }
    Err(format!("{SOURCES}: no file declares {name}"))
}

/// The first link into the code: the text before it, its path, the text after it.
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
pub(super) fn linked_modules(mut text: &str) -> Vec<&str> {
    let mut modules = Vec::new();
    while let Some((_, path, after)) = first_link(text) {
        modules.extend(path.strip_prefix("super::").filter(|name| !name.contains("::")));
        text = after;
    }
    modules
}

/// A text whose links into the code are replaced by `shown`, called with the last part of their paths.
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
pub(super) fn linked(text: &str, schedulers: &[Value]) -> String {
    with_links(text, |name| {
        let page = name.replace('_', "-");
        let has_page = schedulers.iter().any(|s| word(s, "name") == page);
        if has_page { format!("[{page}]({page}.md)") } else { format!("`{name}`") }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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

    /// Each scheduler of the registry has these sections.
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
