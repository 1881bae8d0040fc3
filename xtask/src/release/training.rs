//! Profile-guided optimisation of the command: a build that counts makes some runs, and the release is built with the
//! counts.

use super::wrong;
use crate::run::{capture, cargo, program, run, target};
use std::fs;
use std::path::{Path, PathBuf};

/// The runs of the command that counts.
const RUNS: [&str; 2] = ["compare wifi-lte --seeds 2 --jobs 1", "compare wlan-3g --seeds 1 --jobs 1"];

/// Flags for rustc with the counts of the command that `build`, arguments of Cargo, puts into the folder `built`.
///
/// # Errors
/// If the command does not build or run, or the component `llvm-tools` is missing.
pub(super) fn flags(build: &str, built: &Path) -> Result<String, String> {
    let counts = target().join("training");
    let _ = fs::remove_dir_all(&counts);
    run(cargo(build).env("RUSTFLAGS", format!("-Cprofile-generate={}", counts.display())))?;
    for arguments in RUNS {
        run(&mut program(&built.join("pathweave").display().to_string(), arguments))?;
    }
    let all = counts.join("all.profdata");
    let mut merge = program(&merger()?.display().to_string(), "merge -o");
    merge.arg(&all);
    for entry in fs::read_dir(&counts).map_err(wrong(&counts))? {
        merge.arg(entry.map_err(wrong(&counts))?.path());
    }
    run(&mut merge)?;
    Ok(format!("-Cprofile-use={}", all.display()))
}

/// `llvm-profdata` of the pinned toolchain.
fn merger() -> Result<PathBuf, String> {
    let folder = capture(&mut program("rustc", "--print target-libdir"))?;
    let merger = Path::new(String::from_utf8_lossy(&folder).trim()).with_file_name("bin").join("llvm-profdata");
    match merger.is_file() {
        true => Ok(merger),
        false => Err(format!("there is no {}: rustup component add llvm-tools", merger.display())),
    }
}
