//! Tests of the built command from outside.

mod arena_point;
mod compare;
mod explain;
mod listings;
mod new_scheduler;
mod outputs;
#[cfg(all(feature = "tun", target_os = "linux"))]
mod real;
mod sweep;
mod validate;

use std::path::PathBuf;
use std::process::{Command, Output};

/// Runs the command in a folder of its own.
pub(crate) fn pathweave(folder: &PathBuf, arguments: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_pathweave")).args(arguments).current_dir(folder).output();
    output.expect("the command can be started")
}

/// The folder of a test.
pub(crate) fn folder_of(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// An empty folder for one test.
pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = folder_of(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    folder
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("the output is Unicode")
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("the output is Unicode")
}
