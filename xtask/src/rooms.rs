//! The shape of the code: no file that is too long, and no two rooms or files of a crate that need each other. The
//! check also prints how long the files are.
//!
//! A room is a folder or a file directly below a crate's `src`. A file that has modules of its own (`mod.rs`) joins
//! them, so it may need them and they may need it. Tests may look everywhere and are left out.

mod needs;

use crate::run::root;
use needs::{Modules, circles, needs, of_files, of_rooms};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Most lines of a file.
const LONGEST: usize = 500;

/// Groups of files that may need each other, with their crate.
const JOINED: &[(&str, &[&str])] = &[
    // One receiving half: how data is put in order, and when it is acknowledged.
    ("crates/proto", &["tcp::acknowledge", "tcp::receive"]),
    // One state machine: `recovery` has the states, and the others the rules of one part of its state each.
    ("crates/proto", &["tcp::detection", "tcp::recovery", "tcp::reduction", "tcp::undo"]),
];

/// Checks every crate.
///
/// # Errors
/// The files that are too long, and the circles.
pub(crate) fn check() -> Result<(), String> {
    let mut wrong = Vec::new();
    let mut crates = 0;
    for folder in ["crates", "examples", "tools"] {
        for package in entries(&root().join(folder))? {
            let source = package.join("src");
            if source.is_dir() {
                crates += 1;
                let needs = needs(&read_modules(&source)?);
                let name = package.strip_prefix(root()).unwrap_or(&package).display();
                let mut found = circles(&of_rooms(&needs));
                let of_files = circles(&of_files(needs));
                let joined = || JOINED.iter().filter(|(of, _)| package.ends_with(of)).map(|(_, files)| files);
                let gone = joined().filter(|files| !of_files.iter().any(|circle| circle == *files));
                wrong.extend(gone.map(|files| format!("{name}: {} need each other no more: JOINED", files.join(", "))));
                found.extend(of_files.into_iter().filter(|circle| !joined().any(|files| circle == files)));
                wrong.extend(found.iter().map(|circle| format!("{name}: {} need each other", circle.join(", "))));
            }
        }
    }
    let mut lengths = Vec::new();
    let mut files = 0;
    for folder in ["crates", "tools", "benches", "xtask", "fuzz", "python/src", "examples"] {
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
            "{files} files of at most {LONGEST} lines; {crates} crates without a circle of rooms or files that need each other, \
             but for {} groups of files in JOINED",
            JOINED.len()
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
    let named = |e| format!("{}: {e}", folder.display());
    let mut all: Vec<_> =
        fs::read_dir(folder).map_err(named)?.map(|e| e.map(|e| e.path())).collect::<Result<_, _>>().map_err(named)?;
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

/// The code of each module of the crate whose `src` this is.
fn read_modules(source: &Path) -> Result<Modules, String> {
    let files: Vec<(PathBuf, String)> =
        sources(source)?.into_iter().map(|file| read(&file).map(|text| (file, text))).collect::<Result<_, _>>()?;
    let tests: BTreeSet<PathBuf> = files.iter().flat_map(|(file, text)| test_modules(file, text)).collect();
    let mut modules = Modules::new();
    for (file, text) in &files {
        let inside = file.strip_prefix(source).unwrap_or(file).with_extension("");
        if !inside.ancestors().any(|part| tests.contains(&source.join(part))) {
            let names = inside.iter().map(|name| name.to_string_lossy());
            let names: Vec<_> = names.filter(|name| !["lib", "main", "mod"].contains(&name.as_ref())).collect();
            modules.entry(names.join("::")).or_default().push_str(&code(text));
        }
    }
    Ok(modules)
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

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_counted_by_their_length() {
        let text = distribution(&[1, 49, 50, 149, 150, 400, 401]);
        assert_eq!(
            text,
            "7 files beside tests: 2 with fewer than 50 lines, 2 with 50 to 149, 2 with 150 to 400, 1 with more"
        );
        assert!(
            is_test(Path::new("src/tests/a.rs"))
                && is_test(Path::new("src/b_tests.rs"))
                && !is_test(Path::new("src/testing.rs"))
        );
    }

    #[test]
    fn modules_for_tests_are_known_by_their_declaration() {
        let text = "#[cfg(test)]\nmod a;\n#[cfg(any(test, feature = \"testing\"))]\npub mod b;\npub mod c;\n";
        let of = |file: &str| test_modules(Path::new(file), text);
        assert_eq!(of("src/x/mod.rs"), [Path::new("src/x/a"), Path::new("src/x/b")]);
        assert_eq!(of("src/x.rs"), [Path::new("src/x/a"), Path::new("src/x/b")]);
    }

    #[test]
    fn comments_and_tests_are_left_out() {
        assert_eq!(code("//! See [`crate::b`].\nuse crate::a;\n").trim(), "use crate::a;");
        assert_eq!(
            code("#[cfg(test)]\nmod tests {\nuse crate::b;\n}\nuse crate::a;\n"),
            "#[cfg(test)]\nuse crate::a;\n"
        );
    }
}
