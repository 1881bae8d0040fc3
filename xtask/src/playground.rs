//! The playground: its folder for a web server, its digests beside the native program's, and the page in a browser.

use crate::results;
use crate::run::{capture, cargo, root, run, target};
use crate::setup;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The files of the page, beside the module.
const PAGE: [&str; 8] =
    ["index.html", "style.css", "page.js", "controls.js", "results.js", "plot.js", "scenario.js", "worker.js"];
const MODULE: &str = "playground.wasm";
/// The most that the page may be over the wire, bytes.
const MOST_BYTES: usize = 3_000_000;
/// The schedulers of `check/digests.mjs`.
const SCHEDULERS: &str = "minrtt,blest,weave";

fn source() -> PathBuf {
    root().join("crates/web")
}

/// The folder into which the playground is put.
fn site() -> PathBuf {
    target().join("playground")
}

/// Builds the playground into `target/playground/`, and checks how large it is over the wire.
///
/// # Errors
/// If it does not build, or is too large.
pub(crate) fn build() -> Result<(), String> {
    run(&mut cargo("build --profile playground --target wasm32-unknown-unknown --package pathweave-web --lib"))?;
    let folder = site();
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let copy = |from: &Path, name: &str| {
        fs::copy(from, folder.join(name)).map(drop).map_err(|e| format!("{}: {e}", from.display()))
    };
    copy(&target().join("wasm32-unknown-unknown/playground/pathweave_web.wasm"), MODULE)?;
    PAGE.iter().try_for_each(|name| copy(&source().join("page").join(name), name))?;
    let mut all = 0;
    for name in PAGE.iter().copied().chain([MODULE]) {
        let compressed = capture(Command::new("gzip").args(["-9", "--stdout"]).arg(folder.join(name)))?.len();
        println!("{name}: {compressed} bytes compressed");
        all += compressed;
    }
    println!("{all} bytes over the wire, at most {MOST_BYTES}: {}", folder.display());
    if all <= MOST_BYTES { Ok(()) } else { Err(format!("{all} bytes over the wire are too many")) }
}

/// Compares the digests of ten scenarios in the module with those of the command, and what both say of a wrong scenario.
///
/// # Errors
/// The first run that differs.
pub(crate) fn compare_digests() -> Result<(), String> {
    results::build()?;
    let folder = target().join("playground-scenarios");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let module = capture(Command::new(setup::NODE.path()?).arg(source().join("check/digests.mjs")).args([
        site().join(MODULE),
        source().join("page"),
        folder.clone(),
    ]))?;
    let module: BTreeSet<String> = String::from_utf8_lossy(&module).lines().map(str::to_owned).collect();
    let entries = fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let (scenarios, wrong): (Vec<PathBuf>, Vec<PathBuf>) =
        entries.flatten().map(|entry| entry.path()).partition(|path| path.extension().is_some());
    let compare = |files: &[PathBuf]| {
        let mut command = results::pathweave();
        command.arg("compare").args(files).args(["--schedulers", SCHEDULERS, "--seeds", "1", "--jsonl", "-"]);
        command
    };
    let mut native = lines(&capture(&mut compare(&scenarios))?)?;
    let error = compare(&wrong).output().map_err(|e| format!("the command: {e}"))?.stderr;
    native.insert(String::from_utf8_lossy(&error).trim_end().to_owned());
    if let Some(other) = native.symmetric_difference(&module).next() {
        return Err(format!("{other} is only in one of the module and the command"));
    }
    if scenarios.len() < 10 || native.is_empty() {
        return Err(format!("{} runs of {} scenarios are too few", native.len(), scenarios.len()));
    }
    println!("{} runs of {} scenarios have the same digests in both", native.len() - 1, scenarios.len());
    Ok(())
}

/// Scenario, scheduler, seed and digest of each result.
fn lines(results: &[u8]) -> Result<BTreeSet<String>, String> {
    let line = |text: &str| -> Result<String, String> {
        let result: serde_json::Value = serde_json::from_str(text).map_err(|e| e.to_string())?;
        let word = |key: &str| result[key].as_str().unwrap_or_default().to_owned();
        Ok(format!("{} {} {} {}", word("scenario"), word("scheduler"), result["seed"], word("digest")))
    };
    String::from_utf8_lossy(results).lines().map(line).collect()
}

/// Opens the page in Chromium and uses it. Leaves pictures in `target/page/`.
///
/// # Errors
/// The mistake that was found in the page.
pub(crate) fn open() -> Result<(), String> {
    let pictures = target().join("page");
    fs::create_dir_all(&pictures).map_err(|e| format!("{}: {e}", pictures.display()))?;
    run(Command::new(setup::NODE.path()?)
        .arg(source().join("check/browser.mjs"))
        .arg(setup::CHROMIUM.path()?)
        .args([site(), pictures]))
}
