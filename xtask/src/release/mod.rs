//! A release: one folder with all that people install, with its SHA-256 sums and its bills of materials.
//!
//! Everything is built here and tried from this folder ([`check`]). Publishing is another matter: `docs/releasing.md`.

mod artifacts;
mod bare;
pub(crate) mod check;
pub(crate) mod manifests;
mod tools;
mod training;

use crate::run::{program, root, run, target};
use crate::steps::Steps;
use std::fs;
use std::path::{Path, PathBuf};

/// The version of all crates and of the Python package.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The end of the command's archive's name: the machines that it is for. Before it is no hyphen, because pip takes
/// `pathweave-ANYTHING.tar.gz` for the source of the Python package.
const MACHINE: &str = "x86_64-linux-musl";

/// The name of the C library's archive and of the folder in it, for Linux with glibc.
const C_LIBRARY: &str = concat!("libpathweave-scheduler_", env!("CARGO_PKG_VERSION"), "_x86_64-linux-gnu");

/// The folder of the release.
fn folder() -> PathBuf {
    target().join("dist").join(format!("pathweave-{VERSION}"))
}

/// Files that the release has as they are in the repository, but for `@VERSION@`.
const TEXTS: [&str; 4] = ["packaging/Containerfile", "packaging/install.sh", "CHANGELOG.md", "CITATION.cff"];

/// Makes the folder of the release. An artifact that fails does not keep the others from being made. `trained`: the
/// command has profile-guided optimisation.
pub(crate) fn make(steps: &mut Steps, trained: bool) {
    let ready = steps.step("manifests", |_| manifests::check())
        && steps.step("what a release is made with", |_| tools::install())
        && steps.step("folder", |_| empty_folder());
    if !ready {
        return;
    }
    steps.step("workflows, script and citation", |_| tools::lint());
    steps.step("crates", |_| artifacts::crates());
    if steps.step("command", |_| artifacts::command(trained)) {
        steps.step("Debian package", |_| artifacts::debian());
    }
    steps.step("C library", |_| artifacts::c_library());
    for machine in artifacts::WHEELS {
        steps.step(&format!("wheel for {machine}"), |_| artifacts::wheel(machine));
    }
    steps.step("bills of materials", |_| artifacts::bills());
    steps.step("texts", |_| TEXTS.iter().try_for_each(|name| text(name)));
    steps.step("sums", |_| sums());
}

fn empty_folder() -> Result<(), String> {
    let _ = fs::remove_dir_all(folder());
    fs::create_dir_all(folder()).map_err(wrong(&folder()))
}

/// Puts one of the repository's texts into the folder.
fn text(name: &str) -> Result<(), String> {
    let source = root().join(name);
    let text = fs::read_to_string(&source).map_err(wrong(&source))?;
    let place = folder().join(source.file_name().unwrap_or_default());
    fs::write(&place, text.replace("@VERSION@", VERSION)).map_err(wrong(&place))
}

/// Writes `SHA256SUMS` of all files of the folder.
fn sums() -> Result<(), String> {
    run(program("sh", "-euc")
        .arg("sha256sum -- * >../SHA256SUMS && mv ../SHA256SUMS . && ls -l")
        .current_dir(folder()))?;
    println!("the release is in {}", folder().display());
    Ok(())
}

/// An error about a file, for people.
fn wrong<E: std::fmt::Display>(path: &Path) -> impl FnOnce(E) -> String {
    move |error| format!("{}: {error}", path.display())
}
