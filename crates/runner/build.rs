//! Tells the crate the commit that it is built from, if git knows its files. Without git, or in an archive, there is
//! none.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // The file of another project's repository that this one was unpacked into is not known to git.
    if git(&["ls-files", "--error-unmatch", "build.rs"]).is_none() {
        return;
    }
    for name in ["HEAD", "logs/HEAD"] {
        let path = git(&["rev-parse", "--git-path", name]).filter(|path| Path::new(path).exists());
        path.into_iter().for_each(|path| println!("cargo::rerun-if-changed={path}"));
    }
    let crates = std::fs::read_dir("..").into_iter().flatten().flatten();
    let sources: Vec<String> = crates.map(|entry| format!("{}/src", entry.path().display())).collect();
    sources.iter().filter(|path| Path::new(path).exists()).for_each(|path| println!("cargo::rerun-if-changed={path}"));
    let Some(commit) = git(&["rev-parse", "--short=8", "HEAD"]) else { return };
    let status = ["status", "--porcelain", "--untracked-files=no", "--"].into_iter();
    let status: Vec<&str> = status.chain(sources.iter().map(String::as_str)).collect();
    let changed = git(&status).is_some_and(|list| !list.is_empty());
    println!("cargo::rustc-env=PATHWEAVE_COMMIT={commit}{}", if changed { " with changes" } else { "" });
}

/// The output of git; nothing if git is not installed or fails.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}
