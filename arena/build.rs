//! Writes the list of the plans' files, so that a new plan needs no entry anywhere.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let missing = |e: env::VarError| io::Error::other(format!("Cargo sets it: {e}"));
    let folder = env::var("CARGO_MANIFEST_DIR").map_err(missing)?;
    let out = env::var("OUT_DIR").map_err(missing)?;
    println!("cargo::rerun-if-changed={folder}");
    let mut files = Vec::new();
    for file in fs::read_dir(&folder)? {
        let path = file?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        let of_a_plan = path.extension().is_some_and(|e| e == "toml" || e == "csv");
        // Cargo writes Cargo.toml.orig and Cargo.lock into packages; neither ends so.
        if of_a_plan && name != "Cargo.toml" {
            files.push((name, path));
        }
    }
    for file in fs::read_dir(Path::new(&folder).join("papers"))? {
        let path = file?.path();
        let name = path.file_stem().and_then(|name| name.to_str()).and_then(|name| name.split_once('-'));
        // As plans name it.
        if let Some((paper, scenario)) = name {
            files.push((format!("../experiments/{paper}/_{scenario}.toml"), path));
        }
    }
    files.sort();
    let mut text = String::from("&[\n");
    for (name, path) in files {
        let _ = writeln!(text, "    ({name:?}, include_str!({:?})),", path.display().to_string());
    }
    text.push_str("]\n");
    fs::write(Path::new(&out).join("files.rs"), text)
}
