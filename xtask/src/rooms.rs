//! The shape of the code: no file is too long, and no two rooms of a crate need each other. Also prints how long the
//! files are.
//!
//! A room is a folder or a file directly below a crate's `src`. It needs another room if its code names that room as
//! `crate::other`, or names an item that `lib.rs` re-exports from it (`pub use other::Thing`). Tests may use every room
//! and are left out.

use crate::run::root;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Most lines of a file.
const LONGEST: usize = 500;

/// The rooms that each room needs.
type Needs = BTreeMap<String, BTreeSet<String>>;

/// Checks every crate.
///
/// # Errors
/// The files that are too long, and the circles.
pub(crate) fn check() -> Result<(), String> {
    let mut wrong = Vec::new();
    let mut crates = 0;
    for folder in ["crates", "tools"] {
        for package in entries(&root().join(folder))? {
            let source = package.join("src");
            if source.is_dir() {
                crates += 1;
                let needs = needs(&read_rooms(&source)?);
                let name = package.strip_prefix(root()).unwrap_or(&package).display();
                wrong.extend(
                    circles(&needs).iter().map(|rooms| format!("{name}: {} need each other", rooms.join(", "))),
                );
            }
        }
    }
    let mut lengths = Vec::new();
    let mut files = 0;
    for folder in ["crates", "tools", "benches", "xtask", "fuzz", "python/src"] {
        for file in sources(&root().join(folder))? {
            let lines = read(&file)?.lines().count();
            files += 1;
            if !is_test(&file) {
                lengths.push(lines);
            }
            if lines > LONGEST {
                let name = file.strip_prefix(root()).unwrap_or(&file).display();
                wrong.push(format!("{name} has {lines} lines: {LONGEST} are allowed"));
            }
        }
    }
    if wrong.is_empty() {
        println!(
            "{files} files of at most {LONGEST} lines; {crates} crates whose rooms do not need each other in a circle"
        );
        println!("{}", distribution(&lengths));
        return Ok(());
    }
    Err(wrong.join("\n"))
}

/// Whether a file holds tests alone.
fn is_test(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    name == "tests.rs" || name.ends_with("_tests.rs") || file.iter().any(|part| part == "tests")
}

/// A table of the numbers of files by length.
fn distribution(lengths: &[usize]) -> String {
    let within = |least: usize, most: usize| lengths.iter().filter(|l| (least..=most).contains(l)).count();
    format!(
        "{} files beside tests: {} with fewer than 50 lines, {} with 50 to 149, {} with 150 to 400, {} with more",
        lengths.len(),
        within(0, 49),
        within(50, 149),
        within(150, 400),
        within(401, usize::MAX),
    )
}

fn read(file: &Path) -> Result<String, String> {
    fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let told = |e| format!("{}: {e}", folder.display());
    let mut all: Vec<_> =
        fs::read_dir(folder).map_err(told)?.map(|e| e.map(|e| e.path())).collect::<Result<_, _>>().map_err(told)?;
    all.sort();
    Ok(all)
}

/// All Rust files below a folder, except Cargo's build output.
fn sources(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    for path in entries(folder)? {
        if path.is_dir() && !path.ends_with("target") {
            found.extend(sources(&path)?);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
    Ok(found)
}

/// The code of each room of the crate with this `src`, and of the crate's root under the name `lib`.
fn read_rooms(source: &Path) -> Result<BTreeMap<String, String>, String> {
    let files: Vec<(PathBuf, String)> =
        sources(source)?.into_iter().map(|file| read(&file).map(|text| (file, text))).collect::<Result<_, _>>()?;
    let tests: BTreeSet<PathBuf> = files.iter().flat_map(|(file, text)| test_modules(file, text)).collect();
    let mut rooms = BTreeMap::<String, String>::new();
    for (file, text) in &files {
        let inside = file.strip_prefix(source).unwrap_or(file);
        let is_test = inside.ancestors().any(|part| tests.contains(&source.join(part).with_extension("")));
        if let (Some(room), false) = (inside.iter().next(), is_test) {
            let room = room.to_string_lossy().trim_end_matches(".rs").to_owned();
            rooms.entry(room).or_default().push_str(&code(text));
        }
    }
    Ok(rooms)
}

/// The modules that a file declares for tests only, as paths without an ending.
fn test_modules(file: &Path, text: &str) -> Vec<PathBuf> {
    let stem = file.file_stem().unwrap_or_default();
    let folder = match stem == "mod" || stem == "lib" || stem == "main" {
        true => file.parent().unwrap_or(file).to_path_buf(),
        false => file.with_extension(""),
    };
    let declared = text.match_indices("#[cfg(").filter_map(|(at, _)| {
        let (condition, after) = text[at..].split_once('\n')?;
        let mut lines = after.lines();
        let line = lines.next()?;
        // `#[path]` names a file beside this one.
        let elsewhere = line.strip_prefix("#[path = \"").and_then(|path| path.strip_suffix(".rs\"]"));
        let line = if elsewhere.is_some() { lines.next()? } else { line };
        let name = line.strip_prefix("pub ").unwrap_or(line).strip_prefix("mod ")?.strip_suffix(';')?;
        let path = elsewhere.map_or_else(|| folder.join(name), |path| file.with_file_name(path));
        words(condition).any(|word| word == "test").then_some(path)
    });
    declared.collect()
}

/// A file's code without its comments and test modules, whatever their names.
fn code(text: &str) -> String {
    let mut code = String::new();
    let mut before = "";
    let mut inside_tests = false;
    for line in text.lines() {
        inside_tests |= before == "#[cfg(test)]" && line.contains("mod ") && line.ends_with(" {");
        if !inside_tests {
            code.push_str(line.split_once("//").map_or(line, |(code, _)| code));
            code.push('\n');
        }
        // Modules at the outermost level end with the first brace of their column.
        inside_tests &= line != "}";
        before = line;
    }
    code
}

/// The rooms that each room needs.
fn needs(rooms: &BTreeMap<String, String>) -> Needs {
    let empty = String::new();
    let lib = rooms.get("lib").unwrap_or(&empty);
    // The items that the crate's root re-exports from its rooms: the item's name and its room.
    let mut shown = BTreeMap::new();
    for room in rooms.keys() {
        for (at, _) in lib.match_indices(&format!("use {room}::")) {
            let list = lib[at..].split(';').next().unwrap_or_default();
            shown.extend(words(list).filter(|word| *word != "use").map(|word| (word, room.as_str())));
        }
    }
    let mut needs = Needs::new();
    for (room, code) in rooms.iter().filter(|(room, _)| *room != "lib" && *room != "main") {
        let mine = needs.entry(room.clone()).or_default();
        for named in named_of_crate(code) {
            let other = if rooms.contains_key(named) { named } else { shown.get(named).copied().unwrap_or(room) };
            if other != room {
                mine.insert(other.to_owned());
            }
        }
    }
    needs
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// The first names after `crate::`, including those of lists in braces.
fn named_of_crate(code: &str) -> Vec<&str> {
    let mut named = Vec::new();
    for (at, prefix) in code.match_indices("crate::") {
        let rest = &code[at + prefix.len()..];
        if let Some(list) = rest.strip_prefix('{') {
            let mut depth = 1;
            let mut start = Some(0);
            for (i, c) in list.char_indices() {
                match c {
                    '{' => depth += 1,
                    '}' => depth -= 1,
                    _ => {}
                }
                let ends = !c.is_alphanumeric() && c != '_' && !c.is_whitespace();
                if let (Some(from), true) = (start, ends) {
                    named.extend(words(&list[from..i]).next());
                    start = None;
                }
                if c == ',' && depth == 1 {
                    start = Some(i + 1);
                }
                if depth == 0 {
                    break;
                }
            }
        } else {
            named.extend(words(rest).next());
        }
    }
    named
}

/// Groups of rooms that all reach each other.
fn circles(needs: &Needs) -> Vec<Vec<String>> {
    let reached: BTreeMap<&String, BTreeSet<&String>> = needs.keys().map(|room| (room, reach(needs, room))).collect();
    let mut found: Vec<Vec<String>> = Vec::new();
    for (room, beyond) in &reached {
        if beyond.contains(*room) && !found.iter().any(|circle| circle.contains(*room)) {
            let back = beyond.iter().filter(|other| reached.get(**other).is_some_and(|theirs| theirs.contains(*room)));
            found.push(back.map(|other| (*other).clone()).collect());
        }
    }
    found
}

fn reach<'a>(needs: &'a Needs, from: &str) -> BTreeSet<&'a String> {
    let mut found = BTreeSet::new();
    let mut open: Vec<&String> = needs.get(from).into_iter().flatten().collect();
    while let Some(room) = open.pop() {
        if found.insert(room) {
            open.extend(needs.get(room).into_iter().flatten());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_counted_by_their_length() {
        let told = distribution(&[1, 49, 50, 149, 150, 400, 401]);
        assert_eq!(
            told,
            "7 files beside tests: 2 with fewer than 50 lines, 2 with 50 to 149, 2 with 150 to 400, 1 with more"
        );
        assert!(
            is_test(Path::new("src/tests/a.rs"))
                && is_test(Path::new("src/b_tests.rs"))
                && !is_test(Path::new("src/testing.rs"))
        );
    }

    fn rooms(texts: &[(&str, &str)]) -> BTreeMap<String, String> {
        texts.iter().map(|(name, text)| ((*name).to_owned(), code(text))).collect()
    }

    #[test]
    fn a_circle_over_three_rooms_is_found() {
        let texts = [
            ("a", "use crate::b::B;\n"),
            ("b", "use crate::{c, seq::{self, Seq}};\n"),
            ("c", "fn f() { crate::a::g() }\n"),
            ("seq", ""),
        ];
        assert_eq!(circles(&needs(&rooms(&texts))), [["a", "b", "c"]]);
    }

    #[test]
    fn what_the_root_shows_belongs_to_its_room() {
        let texts = [("lib", "pub use b::{Thing, Other};\n"), ("a", "use crate::Thing;\n"), ("b", "use crate::a;\n")];
        assert_eq!(circles(&needs(&rooms(&texts))), [["a", "b"]]);
    }

    #[test]
    fn modules_for_tests_are_known_by_their_declaration() {
        let text = "#[cfg(test)]\nmod a;\n#[cfg(any(test, feature = \"testing\"))]\npub mod b;\npub mod c;\n";
        let of = |file: &str| test_modules(Path::new(file), text);
        assert_eq!(of("src/x/mod.rs"), [Path::new("src/x/a"), Path::new("src/x/b")]);
        assert_eq!(of("src/x.rs"), [Path::new("src/x/a"), Path::new("src/x/b")]);
    }

    #[test]
    fn comments_and_tests_need_nothing() {
        let texts = [
            ("a", "//! See [`crate::b`].\n"),
            ("b", "use crate::a;\n"),
            ("a_too", "#[cfg(test)]\nmod tests {\nuse crate::b;\n}\n"),
        ];
        assert_eq!(circles(&needs(&rooms(&texts))), Vec::<Vec<String>>::new());
    }
}
