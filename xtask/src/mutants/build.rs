//! Builds the tests with all changes in them, in a copy of the workspace.

use super::list::Change;
use super::rewrite::{chooser, is_const, rewrite};
use crate::run::{capture, cargo, program, root, target};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

/// The engine, and the packages that its tests need.
const PACKAGES: [&str; 6] =
    ["crates/algorithms/", "crates/driver/", "crates/proto/", "crates/scheduler/", "crates/units/", "crates/wire/"];

const TESTS: &str = "crates/proto/tests/";

/// The root of the engine's crate.
const LIBRARY: &str = "crates/proto/src/lib.rs";

/// The folder of everything that this command writes.
pub(super) fn folder() -> PathBuf {
    target().join("mutants")
}

/// The copy of the workspace, which is changed.
fn tree() -> PathBuf {
    folder().join("tree")
}

/// The folder that the tests run in.
pub(super) fn package() -> PathBuf {
    tree().join("crates/proto")
}

/// The built tests.
#[derive(Debug)]
pub(super) struct Built {
    /// Name (`lib`, `it`) and file of each program.
    pub(super) programs: Vec<(String, PathBuf)>,
    /// Changes that do not build.
    pub(super) unbuildable: BTreeSet<String>,
    /// Changes in functions of compile time, which are not tried.
    pub(super) untried: BTreeSet<String>,
    /// Hash of the sources, the tests and the list of changes.
    pub(super) hash: String,
}

/// Copies the workspace, writes the changes into it, and builds its tests. Changes that do not build are left out. A
/// change's number is its position in the list, counted from one.
///
/// # Errors
/// If something other than a change does not build.
pub(super) fn build(changes: &[Change]) -> Result<Built, String> {
    let files = files()?;
    let is_source = |file: &str| {
        file == "Cargo.lock" || file == "Cargo.toml" || PACKAGES.iter().any(|folder| file.starts_with(folder))
    };
    let sources = || files.iter().filter(|file| is_source(file));
    let all = hash(changes, sources())?;
    // Tests beside the engine's own source change nothing about what builds.
    let hash = hash(changes, sources().filter(|file| !file.starts_with(TESTS)))?;
    let mut rewritten = BTreeMap::new();
    let mut by_file: BTreeMap<&str, Vec<(u32, &Change)>> = BTreeMap::new();
    let mut untried = BTreeSet::new();
    for (number, change) in (1..).zip(changes) {
        let source = read(&root().join(&change.file))?;
        if is_const(&source, change) {
            untried.insert(change.name.clone());
        } else {
            by_file.entry(&change.file).or_default().push((number, change));
        }
    }
    let mut unbuildable = remembered(&hash);
    copy(&files, |file| file == LIBRARY || by_file.contains_key(file))?;
    loop {
        for (file, changes) in &by_file {
            let left: Vec<_> = changes.iter().filter(|(_, c)| !unbuildable.contains(&c.name)).copied().collect();
            let new = rewrite(&read(&root().join(file))?, &left)?;
            write(&tree().join(file), &new.text)?;
            rewritten.insert(*file, new.arms);
        }
        if !by_file.contains_key(LIBRARY) {
            write(&tree().join(LIBRARY), &(read(&root().join(LIBRARY))? + &chooser()))?;
        }
        match compile(&rewritten)? {
            Attempt::Built(programs) => return Ok(Built { programs, unbuildable, untried, hash: all }),
            Attempt::Broken(numbers) => {
                let broken = numbers.into_iter().filter_map(|number| changes.get(number as usize - 1));
                unbuildable.extend(broken.map(|change| change.name.clone()));
                println!("{} changes do not build", unbuildable.len());
                let lines: Vec<&str> =
                    std::iter::once(hash.as_str()).chain(unbuildable.iter().map(String::as_str)).collect();
                write(&folder().join("unbuildable.txt"), &(lines.join("\n") + "\n"))?;
            }
        }
    }
}

enum Attempt {
    Built(Vec<(String, PathBuf)>),
    /// The numbers of the changes that have errors.
    Broken(BTreeSet<u32>),
}

fn compile(arms: &BTreeMap<&str, Vec<(u32, RangeInclusive<usize>)>>) -> Result<Attempt, String> {
    let mut command =
        cargo("test --package pathweave-proto --all-features --lib --test it --no-run --message-format json");
    // A change may leave something unused or overflow in a constant: the compiler's lints are no tests.
    command.current_dir(tree()).env("CARGO_TARGET_DIR", folder().join("target"));
    command.env("RUSTFLAGS", "--cap-lints allow").env("CARGO_PROFILE_DEV_DEBUG", "0");
    let output = command.output().map_err(|e| format!("cargo test: {e}"))?;
    let messages: Vec<Value> =
        output.stdout.split(|b| *b == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
    if output.status.success() {
        let programs: Vec<_> = messages.iter().filter_map(test_program).collect();
        return match programs.len() {
            2 => Ok(Attempt::Built(programs)),
            number => Err(format!("{number} programs with tests were built, not two")),
        };
    }
    let errors: Vec<&Value> = messages
        .iter()
        .map(|m| &m["message"])
        .filter(|m| m["level"] == "error" && m["spans"] != Value::Array(vec![]))
        .collect();
    let broken: BTreeSet<u32> =
        errors.iter().flat_map(|error| places(error)).filter_map(|(file, line)| at(arms, &file, line)).collect();
    if broken.is_empty() {
        let texts: Vec<&str> = errors.iter().filter_map(|e| e["rendered"].as_str()).collect();
        let more = String::from_utf8_lossy(&output.stderr);
        return Err(format!("the copy does not build:\n{}{}", texts.concat(), more.trim_end()));
    }
    Ok(Attempt::Broken(broken))
}

/// The name and the file of a program with tests.
fn test_program(message: &Value) -> Option<(String, PathBuf)> {
    let file = message["executable"].as_str().filter(|_| message["profile"]["test"] == true)?;
    let name = if message["target"]["kind"][0] == "test" { message["target"]["name"].as_str()? } else { "lib" };
    Some((name.into(), file.into()))
}

/// The positions of an error, without the other positions that it refers to.
fn places(error: &Value) -> Vec<(String, usize)> {
    let spans = error["spans"].as_array().into_iter().flatten().filter(|span| span["is_primary"] == true);
    spans
        .filter_map(|span| {
            Some((span["file_name"].as_str()?.into(), usize::try_from(span["line_start"].as_u64()?).ok()?))
        })
        .collect()
}

/// The change whose arm has that line.
fn at(arms: &BTreeMap<&str, Vec<(u32, RangeInclusive<usize>)>>, file: &str, line: usize) -> Option<u32> {
    arms.get(file)?.iter().find(|(_, lines)| lines.contains(&line)).map(|(number, _)| *number)
}

/// Changes of these sources that are known not to build.
fn remembered(hash: &str) -> BTreeSet<String> {
    let text = fs::read_to_string(folder().join("unbuildable.txt")).unwrap_or_default();
    match text.split_once('\n') {
        Some((of, names)) if of == hash => names.lines().map(String::from).collect(),
        _ => BTreeSet::new(),
    }
}

/// The repository's files that are there.
fn files() -> Result<Vec<String>, String> {
    let list = capture(&mut program("git", "ls-files --cached --others --exclude-standard -z"))?;
    let names =
        list.split(|b| *b == 0).filter(|name| !name.is_empty()).map(|n| String::from_utf8_lossy(n).into_owned());
    let mut names: Vec<String> = names.filter(|name| root().join(name).is_file()).collect();
    names.sort();
    names.dedup();
    Ok(names)
}

fn hash<'a>(changes: &[Change], files: impl Iterator<Item = &'a String>) -> Result<String, String> {
    let mut hash = Sha256::new();
    for change in changes {
        hash.update(format!("{change:?}\n"));
    }
    for file in files {
        let content = fs::read(root().join(file)).map_err(|e| format!("{file}: {e}"))?;
        hash.update(format!("{file} {}\n", content.len()));
        hash.update(content);
    }
    Ok(hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect())
}

/// Makes the copy equal to the repository, except for the files that are rewritten. Unchanged files keep their times,
/// so that Cargo does not build them again.
fn copy(files: &[String], is_rewritten: impl Fn(&str) -> bool) -> Result<(), String> {
    let known: BTreeSet<PathBuf> = files.iter().map(|file| tree().join(file)).collect();
    remove_others(&tree(), &known)?;
    for file in files.iter().filter(|file| !is_rewritten(file)) {
        let content = fs::read(root().join(file)).map_err(|e| format!("{file}: {e}"))?;
        write(&tree().join(file), content)?;
    }
    Ok(())
}

fn remove_others(folder: &Path, known: &BTreeSet<PathBuf>) -> Result<(), String> {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            remove_others(&path, known)?;
        } else if !known.contains(&path) {
            fs::remove_file(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        }
    }
    Ok(())
}

fn read(file: &Path) -> Result<String, String> {
    fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))
}

/// Writes a file if its content differs.
fn write(file: &Path, content: impl AsRef<[u8]>) -> Result<(), String> {
    if fs::read(file).is_ok_and(|old| old == content.as_ref()) {
        return Ok(());
    }
    let folder = file.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).and_then(|()| fs::write(file, content)).map_err(|e| format!("{}: {e}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_the_change_of_its_line() {
        let error = serde_json::json!({ "spans": [
            { "file_name": "a.rs", "line_start": 7, "is_primary": true },
            { "file_name": "a.rs", "line_start": 3, "is_primary": false },
        ] });
        let arms = BTreeMap::from([("a.rs", vec![(1, 2..=4), (2, 5..=7)])]);
        let found: Vec<_> = places(&error).into_iter().map(|(file, line)| at(&arms, &file, line)).collect();
        assert_eq!(found, [Some(2)]);
        assert_eq!(at(&arms, "a.rs", 8), None);
        assert_eq!(at(&arms, "b.rs", 7), None);
    }
}
