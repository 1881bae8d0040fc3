//! Checks two crates with a scheduler: `examples/own-rule`, and the one that `pathweave new-scheduler` writes. In full, the second
//! builds without a network, its tests pass, and `compare` knows the scheduler. It also compiles with a git revision instead
//! of a checkout.

use crate::results;
use crate::run::{capture, cargo, count_tests, root, run, target};
use crate::steps::Counts;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Has the command write the crate and Cargo find all its dependencies, and compares by the crate's program. That is an
/// example of the command, which the tests of the workspace have built; they have also run the crate's tests.
///
/// # Errors
/// If a step fails.
pub(crate) fn check_quickly(counts: &mut Counts) -> Result<(), String> {
    own_rule(counts)?;
    write()?;
    capture(&mut inside(&folder(), "tree --offline"))?;
    compare(&target().join("debug/examples/sample-rule"))?;
    from_git()
}

/// Writes the crate, builds it, tests it and runs it.
///
/// # Errors
/// If a step fails.
pub(crate) fn check(counts: &mut Counts) -> Result<(), String> {
    own_rule(counts)?;
    results::build()?;
    write()?;
    // The program and its tests at once: apart, Cargo would build what they share twice, with and without the feature
    // `testing`.
    run(&mut inside(&folder(), "build --offline --bins --tests"))?;
    count_tests(&mut inside(&folder(), "test --offline"), counts)?;
    compare(&target().join("debug/sample-rule"))?;
    from_git()
}

/// Builds and tests a third party's scheduler, which needs `pathweave-scheduler` alone.
fn own_rule(counts: &mut Counts) -> Result<(), String> {
    count_tests(&mut inside(&root().join("examples/own-rule"), "test --offline --locked"), counts)
}

fn folder() -> PathBuf {
    target().join("new-scheduler")
}

/// Has the command write the crate into the target folder.
fn write() -> Result<(), String> {
    let _ = std::fs::remove_dir_all(folder());
    let command = "new-scheduler sample-rule --checkout . --path";
    run(results::pathweave().current_dir(root()).args(command.split(' ')).arg(folder()))
}

/// Compares the new scheduler with another by this program.
fn compare(program: &Path) -> Result<(), String> {
    let compare =
        "compare cp-symmetric --schedulers sample-rule,minrtt --seeds 1 --set duration=3s --set measure_from=0s";
    let table = capture(Command::new(program).current_dir(target()).args(compare.split(' ')))?;
    match String::from_utf8_lossy(&table).contains("sample-rule") {
        true => Ok(()),
        false => Err("compare does not show the new scheduler".into()),
    }
}

/// Checks that Cargo finds all that the crate needs in a clone of the last commit of this repository. The crate is not
/// compiled again, because only the source of Pathweave differs.
fn from_git() -> Result<(), String> {
    let (folder, clone) = (target().join("new-scheduler-git"), target().join("new-scheduler-clone"));
    for old in [&folder, &clone] {
        let _ = std::fs::remove_dir_all(old);
    }
    let revision = capture(Command::new("git").current_dir(root()).args(["rev-parse", "HEAD"]))?;
    run(Command::new("git").args(["clone", "--quiet", "--bare"]).args([root(), &clone]))?;
    let (url, revision) = (format!("file://{}", clone.display()), String::from_utf8_lossy(&revision).into_owned());
    let command = "new-scheduler sample-rule --path";
    run(results::pathweave().args(command.split(' ')).arg(&folder).args(["--git", &url, "--rev", revision.trim()]))?;
    // The versions that are there already, so that nothing is downloaded but the clone.
    std::fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock")).map_err(|e| format!("Cargo.lock: {e}"))?;
    capture(&mut inside(&folder, "tree")).map(drop)
}

/// Cargo in the new crate, with the target folder of this repository.
fn inside(folder: &Path, arguments: &str) -> Command {
    let mut command = cargo(arguments);
    command.current_dir(folder).env("CARGO_TARGET_DIR", target()).env("RUSTUP_TOOLCHAIN", toolchain());
    command
}

/// The toolchain that the repository pins. Outside of the repository, it has to be named.
fn toolchain() -> String {
    let text = std::fs::read_to_string(root().join("rust-toolchain.toml")).unwrap_or_default();
    let channel = text.lines().find_map(|line| line.strip_prefix("channel = "));
    channel.map_or_else(|| "stable".into(), |name| name.trim_matches('"').into())
}
