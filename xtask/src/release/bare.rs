//! A bare Debian: a folder made by debootstrap, with Python and without any compiler, Rust or Python package.

use super::{folder, wrong};
use crate::run::{program, run, target};
use crate::setup::DEBOOTSTRAP;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Debian's release. Its Python is the oldest that the package supports.
const SUITE: &str = "bookworm";
/// What debootstrap adds to the packages that every Debian has.
const PACKAGES: &str = "python3,python3-venv";
/// Where the release is inside.
const RELEASE: &str = "release";
/// Commands that must not be there.
const ABSENT: &str = "cc gcc c++ clang rustc cargo rustup maturin pathweave";

/// A copy of the bare system, with the release in `/release`. It is removed in the end.
#[derive(Debug)]
pub(super) struct Bare(PathBuf);

/// Makes the system that [`Bare`] copies, if it is not there yet.
///
/// # Errors
/// Without root, or if debootstrap fails.
pub(super) fn prepare() -> Result<(), String> {
    let system = system();
    let stamp = system.join("etc/pathweave-bare");
    let wanted = format!("{SUITE} {PACKAGES}");
    if fs::read_to_string(&stamp).is_ok_and(|made| made == wanted) {
        return Ok(());
    }
    let _ = fs::remove_dir_all(&system);
    let debootstrap = DEBOOTSTRAP.path()?;
    let arguments = format!("--variant=minbase --include={PACKAGES} {SUITE}");
    run(program(&debootstrap.to_string_lossy(), &arguments).arg(&system))?;
    fs::write(&stamp, wanted).map_err(wrong(&stamp))
}

fn system() -> PathBuf {
    target().join("bare-debian")
}

impl Bare {
    /// A fresh copy.
    ///
    /// # Errors
    /// If it cannot be made, or has a compiler.
    pub(super) fn new(name: &str) -> Result<Self, String> {
        let copy = Self(target().join(format!("bare-{name}")));
        let _ = fs::remove_dir_all(&copy.0);
        run(program("cp", "--archive --reflink=auto").arg(system()).arg(&copy.0))?;
        run(program("cp", "--recursive").arg(folder()).arg(copy.0.join(RELEASE)))?;
        run(&mut copy.inside(&format!("for name in {ABSENT}; do ! command -v $name; done")))?;
        Ok(copy)
    }

    /// Copies a file or a folder of this machine to `to`, a path inside.
    pub(super) fn copy(&self, from: &Path, to: &str) -> Result<(), String> {
        run(program("cp", "--archive").arg(from).arg(self.0.join(to.trim_start_matches('/'))))
    }

    /// Runs a script inside, as root, with nothing of this machine's environment.
    pub(super) fn inside(&self, script: &str) -> Command {
        let mut command = program("chroot", "");
        command.arg(&self.0).args(["/usr/bin/env", "-i", "PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]);
        command.args(["HOME=/root", "LC_ALL=C.UTF-8", "sh", "-euc", &format!("cd /root; {script}")]);
        command
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
