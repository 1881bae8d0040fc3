//! What a release is made with: programs of other projects, in fixed versions, in folders of their own below `target/`.

use super::wrong;
use crate::python::{Environment, interpreter};
use crate::run::{cargo, program, run, target, works};
use crate::setup::{self, SHELLCHECK};
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// Subcommands of Cargo.
const OF_CARGO: &str = "cargo-deb@3.8.0 cargo-cyclonedx@0.5.9";
/// The linter of hosted workflows, which `go run` brings.
const WORKFLOW_LINTER: &str = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12";
/// Targets beside the machine's own.
const TARGETS: &str = "x86_64-unknown-linux-gnu x86_64-unknown-linux-musl aarch64-unknown-linux-gnu";
/// The Python packages: maturin, and zig as its linker.
const OF_PYTHON: &str = "packaging/requirements.txt";

fn folder() -> PathBuf {
    target().join("release-tools")
}

/// Installs everything that is missing.
///
/// # Errors
/// If something cannot be installed.
pub(super) fn install() -> Result<(), String> {
    setup::install(&[SHELLCHECK, setup::DEBOOTSTRAP])?;
    run(&mut program("rustup", &format!("target add {TARGETS}")))?;
    environment()?;
    let stamp = folder().join("installed.txt");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == OF_CARGO) {
        return Ok(());
    }
    run(cargo(&format!("install --locked {OF_CARGO} --root")).arg(folder()))?;
    fs::write(&stamp, OF_CARGO).map_err(wrong(&stamp))
}

/// The environment with the Python packages.
///
/// # Errors
/// If there is no Python, or a package cannot be installed.
pub(super) fn environment() -> Result<Environment, String> {
    Environment::new(interpreter().ok_or("there is no Python 3.11 or later")?, "release-python", OF_PYTHON)
}

/// Cargo with its subcommands from here.
pub(super) fn with_subcommands(arguments: &str) -> Command {
    let mut command = cargo(arguments);
    command.env("PATH", first_in_path(folder().join("bin")));
    command
}

/// `PATH` with one more folder before the others.
pub(super) fn first_in_path(folder: PathBuf) -> OsString {
    let others = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths([folder].into_iter().chain(std::env::split_paths(&others))).unwrap_or(others)
}

/// Checks the hosted workflows, the install script and `CITATION.cff` with their linters. Without Go, the workflows are not
/// checked, and the output says so.
///
/// # Errors
/// What is wrong in them.
pub(super) fn lint() -> Result<(), String> {
    run(program(&SHELLCHECK.path()?.to_string_lossy(), "").arg("packaging/install.sh"))?;
    run(environment()?.program("cffconvert").args(["--validate", "--infile", "CITATION.cff"]))?;
    if !works(&mut program("go", "version")) {
        println!("SKIPPED: there is no Go, so the hosted workflows are not checked");
        return Ok(());
    }
    run(&mut program("go", &format!("run {WORKFLOW_LINTER}")))
}
