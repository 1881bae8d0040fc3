//! The packet schedulers as a C library: lays out the library, its header and its description for pkg-config below a
//! folder, and checks them as a program in C meets them.

use crate::release::VERSION;
use crate::run::{capture, cargo, program, root, run, target};
use crate::setup::{self, Tool};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The crate's folder.
const CRATE: &str = "crates/scheduler-c";
/// The library's name, and the crate's.
const LIBRARY: &str = "pathweave_scheduler";
const BUILT: &str = "pathweave_scheduler_c";
/// The examples.
pub(crate) const EXAMPLES: &str = "crates/scheduler-c/examples";
/// The header, and the description for pkg-config.
const HEADER: &str = "pathweave_scheduler.h";
const DESCRIPTION: &str = "pathweave-scheduler.pc";
/// The schedulers that the example compares. The first must carry more than twice as much.
pub(crate) const COMPARED: [&str; 2] = ["weave", "roundrobin"];
/// Warnings, which are errors in the example and the header.
const STRICT: &str = "-Wall -Wextra -Werror -pedantic";

/// The tools that compile and check programs in C.
pub(crate) const TOOLS: [Tool; 4] = [setup::GCC, setup::GXX, setup::PKG_CONFIG, setup::VALGRIND];

/// Builds the library. It does not need the engine's hosts, but with them it is built from what the programs of
/// [`results::build`](crate::results::build) are built from.
///
/// # Errors
/// If it does not compile.
pub(crate) fn build() -> Result<(), String> {
    let packages = "--package pathweave-scheduler-c --package pathweave-proto";
    run(&mut cargo(&format!("build --release --lib {packages} --no-default-features --features pathweave-proto/hosts")))
}

/// Lays out the library that was built below `prefix`: lib/, include/ and lib/pkgconfig/.
///
/// # Errors
/// If a file cannot be written.
pub(crate) fn install(prefix: &Path) -> Result<(), String> {
    let prefix = std::path::absolute(prefix).map_err(|e| format!("{}: {e}", prefix.display()))?;
    let (lib, include) = (prefix.join("lib"), prefix.join("include"));
    for folder in [&lib.join("pkgconfig"), &include] {
        fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    }
    let copy = |from: PathBuf, to: PathBuf| {
        // A program may have the old file open.
        let _ = fs::remove_file(&to);
        fs::copy(&from, &to).map(drop).map_err(|e| format!("{} to {}: {e}", from.display(), to.display()))
    };
    let built = target().join("release");
    copy(built.join(format!("lib{BUILT}.a")), lib.join(format!("lib{LIBRARY}.a")))?;
    let shared = format!("lib{LIBRARY}.so");
    copy(built.join(format!("lib{BUILT}.so")), lib.join(format!("{shared}.{VERSION}")))?;
    // The linker looks for the first of these names, and the dynamic linker for the second (build.rs).
    let minor = VERSION.rsplit_once('.').map_or(VERSION, |(minor, _)| minor);
    for name in [shared.clone(), format!("{shared}.{minor}")] {
        let link = lib.join(name);
        let _ = fs::remove_file(&link);
        let to = format!("{shared}.{VERSION}");
        std::os::unix::fs::symlink(to, &link).map_err(|e| format!("{}: {e}", link.display()))?;
    }
    copy(root().join(CRATE).join("include").join(HEADER), include.join(HEADER))?;
    let description = root().join(CRATE).join(format!("{DESCRIPTION}.in"));
    let text = fs::read_to_string(&description).map_err(|e| format!("{}: {e}", description.display()))?;
    let text = text.replace("@version@", VERSION);
    let file = lib.join("pkgconfig").join(DESCRIPTION);
    fs::write(&file, text.replace("@private@", &private_libraries()?)).map_err(|e| format!("{}: {e}", file.display()))
}

/// The system's libraries that a static library of Rust needs. The C compiler adds libgcc and libc by itself, the static
/// ones for a static program.
fn private_libraries() -> Result<String, String> {
    let folder = target().join("scheduler-c");
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let (list, nothing) = (folder.join("libraries.txt"), folder.join("nothing.rs"));
    fs::write(&nothing, "").map_err(|e| format!("{}: {e}", nothing.display()))?;
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let mut command = program(&rustc, "--crate-type staticlib --print");
    command.arg(format!("native-static-libs={}", list.display())).arg("-o").arg(folder.join("nothing.a")).arg(&nothing);
    capture(&mut command)?;
    let text = fs::read_to_string(&list).map_err(|e| format!("{}: {e}", list.display()))?;
    let needed: Vec<&str> = text.split_whitespace().filter(|name| !["-lgcc_s", "-lc"].contains(name)).collect();
    Ok(needed.join(" "))
}

/// Lays out the library that was built, and tries it ([`check_in`]).
///
/// # Errors
/// The library cannot be laid out, or a check of it fails.
pub(crate) fn check() -> Result<(), String> {
    let prefix = target().join("scheduler-c/prefix");
    let _ = fs::remove_dir_all(&prefix);
    install(&prefix)?;
    check_in(&prefix).map(drop)
}

/// Compiles the header as C and C++, and the examples against the libraries below `prefix`, with what pkg-config says, and
/// runs the examples under valgrind. Returns the one of two paths that is linked with the shared library, and its output.
///
/// # Errors
/// A warning, an error of memory, or a goodput that is not as it should be.
pub(crate) fn check_in(prefix: &Path) -> Result<(PathBuf, String), String> {
    header(prefix)?;
    let shared = example(prefix, "two_paths", "shared", &[])?;
    let of_static = example(prefix, "two_paths", "static", &["--static"])?;
    let lib = prefix.join("lib");
    let output = valgrind(Command::new("valgrind").env("LD_LIBRARY_PATH", &lib), &shared, &COMPARED)?;
    let other = valgrind(&mut Command::new("valgrind"), &of_static, &COMPARED)?;
    let tunnel = example(prefix, "tunnel", "shared", &[])?;
    both_filled(&valgrind(Command::new("valgrind").env("LD_LIBRARY_PATH", &lib), &tunnel, &COMPARED[..1])?)?;
    if output != other {
        return Err(format!("the libraries differ:\n{output}{other}"));
    }
    compare(&output)?;
    Ok((shared, output))
}

/// Compiles a file that includes the header and nothing else.
fn header(prefix: &Path) -> Result<(), String> {
    let header = prefix.join("include").join(HEADER);
    for (compiler, language) in [("gcc", "-std=c11 -x c"), ("g++", "-std=c++17 -x c++")] {
        run(program(compiler, &format!("-fsyntax-only {STRICT} {language}")).arg(&header))?;
    }
    Ok(())
}

/// Compiles an example with what pkg-config says.
fn example(prefix: &Path, name: &str, kind: &str, how: &[&str]) -> Result<PathBuf, String> {
    let mut said = program("pkg-config", "--cflags --libs");
    said.args(how).arg("pathweave-scheduler").env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"));
    let mut said = String::from_utf8_lossy(&capture(&mut said)?).into_owned();
    if !how.is_empty() {
        // The static library of this name, beside the system's shared ones: valgrind watches a program's memory through
        // the shared C library.
        said = said.replace(&format!("-l{LIBRARY}"), &format!("-l:lib{LIBRARY}.a"));
    }
    let made = target().join("scheduler-c").join(format!("{name}-{kind}"));
    let source = root().join(EXAMPLES).join(format!("{name}.c"));
    let flags = format!("-std=c11 -O1 -g {STRICT}");
    run(program("gcc", &flags).arg(source).arg("-o").arg(&made).args(said.split_whitespace()))?;
    Ok(made)
}

/// Runs an example with these schedulers under valgrind; returns its output.
fn valgrind(command: &mut Command, example: &Path, schedulers: &[&str]) -> Result<String, String> {
    command.args(["--quiet", "--error-exitcode=1", "--leak-check=full"]).arg(example).args(schedulers);
    let output = capture(command)?;
    let text = String::from_utf8_lossy(&output).into_owned();
    print!("{text}");
    Ok(text)
}

/// The goodput of a scheduler in an example's output, 10⁶ bit/s.
fn goodput(output: &str, name: &str) -> Option<f64> {
    let line = output.lines().find(|line| line.split_whitespace().next() == Some(name))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Checks what the tunnel says: both paths are filled, of 20 and 120 Mbit/s. A hundredth of the packets on the second is
/// lost, and a tenth of the time is left for the first round trips.
fn both_filled(output: &str) -> Result<(), String> {
    match goodput(output, COMPARED[0]) {
        Some(mbps) if (0.9 * (20.0 + 0.99 * 120.0)..20.0 + 0.99 * 120.0).contains(&mbps) => Ok(()),
        _ => Err(format!("the tunnel does not fill both paths:\n{output}")),
    }
}

/// Checks what the example of two paths says: the first scheduler fills the fast path, and the second waits for the slow
/// one.
fn compare(output: &str) -> Result<(), String> {
    match COMPARED.map(|name| goodput(output, name)) {
        [Some(first), Some(second)] if first > 2.0 * second && second > 0.0 => Ok(()),
        _ => Err(format!("{} does not carry twice as much as {}:\n{output}", COMPARED[0], COMPARED[1])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_lines_are_compared() {
        assert_eq!(compare("weave 50.0 Mbit/s\nroundrobin 8.0 Mbit/s\n"), Ok(()));
        assert!(compare("weave 50.0 Mbit/s\nroundrobin 30.0 Mbit/s\n").is_err());
        assert!(compare("weave 50.0 Mbit/s\n").is_err());
        assert_eq!(both_filled("weave 135.0 Mbit/s of 140\n"), Ok(()));
        assert!(both_filled("weave 118.0 Mbit/s of 140\n").is_err(), "LTE is not used");
        assert!(both_filled("weave 141.0 Mbit/s of 140\n").is_err(), "more than there is");
    }
}
