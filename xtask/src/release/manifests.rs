//! Checks that the manifests have what registries ask for, and that each crate's package has the files that its code
//! includes. The check builds nothing and takes seconds, so `cargo xtask test` makes it.

use super::{VERSION, wrong};
use crate::run::{capture, cargo, root};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Most keywords of a crate, a rule of crates.io.
const MOST_KEYWORDS: usize = 5;
/// Files that name the version, and the line that does it.
const VERSIONS: [(&str, &str); 2] = [("pyproject.toml", "version = \"@\""), ("CITATION.cff", "version: @")];

/// Checks all manifests.
///
/// # Errors
/// Everything that a registry would refuse, and files that a package lacks.
pub(crate) fn check() -> Result<(), String> {
    let packages = packages()?;
    let names: BTreeSet<&str> =
        packages.iter().filter(|p| is_published(p)).filter_map(|p| p["name"].as_str()).collect();
    let mut wrong = Vec::new();
    for package in packages.iter().filter(|p| is_published(p)) {
        wrong.extend(faults(package, &names));
    }
    for (file, line) in VERSIONS {
        let text = fs::read_to_string(root().join(file)).map_err(super::wrong(Path::new(file)))?;
        let line = line.replace('@', VERSION);
        if !text.lines().any(|l| l == line) {
            wrong.push(format!("{file} has no line `{line}`, the version of Cargo.toml"));
        }
    }
    for package in packages.iter().filter(|p| is_published(p)) {
        wrong.extend(missing_files(package)?);
    }
    println!("{} crates would be published: {}", names.len(), names.iter().copied().collect::<Vec<_>>().join(", "));
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

/// The names of the crates that are published.
///
/// # Errors
/// If Cargo cannot read the manifests.
pub(super) fn published() -> Result<Vec<String>, String> {
    let packages = packages()?;
    Ok(packages.iter().filter(|p| is_published(p)).filter_map(|p| p["name"].as_str().map(str::to_owned)).collect())
}

fn is_published(package: &Value) -> bool {
    package["publish"].is_null()
}

/// The workspace's packages, as Cargo describes them.
fn packages() -> Result<Vec<Value>, String> {
    let text = capture(&mut cargo("metadata --no-deps --offline --format-version 1"))?;
    let mut metadata: Value = serde_json::from_slice(&text).map_err(|e| format!("cargo metadata: {e}"))?;
    let packages = metadata["packages"].as_array_mut().ok_or("cargo metadata names no packages")?;
    Ok(std::mem::take(packages))
}

/// What a registry would refuse in a manifest, or show nothing for. `names` are those of the crates that are published.
fn faults(package: &Value, names: &BTreeSet<&str>) -> Vec<String> {
    let name = package["name"].as_str().unwrap_or_default();
    let mut faults: Vec<String> = ["description", "license", "readme", "rust_version"]
        .into_iter()
        .filter(|key| package[key].as_str().is_none_or(str::is_empty))
        .map(|key| format!("{name} has no {key}"))
        .collect();
    for (key, most) in [("keywords", MOST_KEYWORDS), ("categories", MOST_KEYWORDS)] {
        let count = package[key].as_array().map_or(0, Vec::len);
        if !(1..=most).contains(&count) {
            faults.push(format!("{name} has {count} {key}; 1 to {most} are allowed"));
        }
    }
    if package["version"] != VERSION {
        faults.push(format!("{name} has version {}, and the others {VERSION}", package["version"]));
    }
    for dependency in package["dependencies"].as_array().into_iter().flatten().filter(|d| d["path"].is_string()) {
        let other = dependency["name"].as_str().unwrap_or_default();
        // Cargo leaves a dependency of tests out of the package if it has no version.
        let left_out = dependency["kind"] == "dev" && dependency["req"] == "*";
        if !left_out && dependency["req"] == "*" {
            faults.push(format!("{name} depends on {other} without a version"));
        } else if !left_out && !names.contains(other) {
            faults.push(format!("{name} depends on {other}, which is not published"));
        }
    }
    faults
}

/// The files of a crate's package.
fn listed(name: &str) -> Result<BTreeSet<PathBuf>, String> {
    let text = capture(&mut cargo(&format!("package --package {name} --list --allow-dirty --offline")))?;
    Ok(String::from_utf8_lossy(&text).lines().map(PathBuf::from).collect())
}

/// The files that a crate's code includes and its package lacks.
fn missing_files(package: &Value) -> Result<Vec<String>, String> {
    let name = package["name"].as_str().unwrap_or_default();
    let folder = Path::new(package["manifest_path"].as_str().unwrap_or_default()).parent().unwrap_or(root());
    let listed = listed(name)?;
    let mut missing = Vec::new();
    for source in listed.iter().filter(|file| file.extension().is_some_and(|e| e == "rs")) {
        let path = folder.join(source);
        let text = fs::read_to_string(&path).map_err(wrong(&path))?;
        for included in included(&text) {
            let place = within(&source.with_file_name(included));
            if place.is_none_or(|place| !listed.contains(&place)) {
                missing.push(format!("{name}: {} includes {included}, which is not in its package", source.display()));
            }
        }
    }
    Ok(missing)
}

/// The files that `include_str!` and `include_bytes!` name in a source file.
fn included(text: &str) -> impl Iterator<Item = &str> {
    ["include_str!(\"", "include_bytes!(\""]
        .into_iter()
        .flat_map(|start| text.split(start).skip(1).filter_map(|rest| rest.split('"').next()))
}

/// A path without `..`; nothing if it leaves the folder that it starts in.
fn within(path: &Path) -> Option<PathBuf> {
    let mut inside = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => inside.pop().then_some(())?,
            other => inside.push(other),
        }
    }
    Some(inside)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_registries_ask_for_is_named() {
        let whole = json!({
            "name": "a", "version": VERSION, "description": "A", "license": "MIT", "readme": "README.md", "rust_version": "1.95",
            "keywords": ["k"], "categories": ["c"],
            "dependencies": [
                { "name": "b", "req": "^0.1", "kind": null, "path": "/b" },
                { "name": "outside", "req": "*", "kind": null },
                { "name": "of-tests", "req": "*", "kind": "dev", "path": "/c" },
            ],
        });
        let names = BTreeSet::from(["a", "b"]);
        assert_eq!(faults(&whole, &names), [""; 0]);
        let mut poor = whole;
        poor["description"] = json!("");
        poor["keywords"] = json!(["1", "2", "3", "4", "5", "6"]);
        poor["dependencies"][0]["req"] = json!("*");
        poor["dependencies"][2]["req"] = json!("^0.1");
        let expected = [
            "a has no description",
            "a has 6 keywords; 1 to 5 are allowed",
            "a depends on b without a version",
            "a depends on of-tests, which is not published",
        ];
        assert_eq!(faults(&poor, &names), expected);
    }

    #[test]
    fn included_files_are_found_and_stay_in_the_package() {
        let text = "const A: &str = include_str!(\"../a.txt\"); let b = include_bytes!(\"b.bin\");";
        assert_eq!(included(text).collect::<Vec<_>>(), ["../a.txt", "b.bin"]);
        assert_eq!(within(Path::new("src/x/../a.txt")), Some("src/a.txt".into()));
        assert_eq!(within(Path::new("src/../../a.txt")), None);
    }
}
