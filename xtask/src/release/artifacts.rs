//! Builds what a release has: crates, the command, the Debian package, the C library, wheels, the source distribution,
//! bills of materials.

use super::manifests::published;
use super::tools::{environment, first_in_path, with_subcommands};
use super::{C_LIBRARY, MACHINE, VERSION, folder, training, wrong};
use crate::run::{capture, cargo, program, root, run, target};
use crate::scheduler_c;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The target of the command: static, so it runs on every Linux.
const TARGET: &str = "x86_64-unknown-linux-musl";
/// What the command can do beside the default build.
const FEATURES: &str = "tun,parquet";
/// The machines that wheels are built for.
pub(super) const WHEELS: [&str; 2] = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"];
/// The oldest systems that wheels run on: with glibc 2.17.
const OLDEST: &str = "manylinux2014";

/// Packages the crates that are published, builds each from its package, and copies the packages.
///
/// # Errors
/// If Cargo does not accept a crate.
pub(super) fn crates() -> Result<(), String> {
    let names = published()?;
    // Cargo keeps the packages that it has unpacked by the path of this folder, and would take those of an earlier commit
    // with the same version.
    let place = target().join(format!("package-{}", commit()?));
    // Not the whole workspace: Cargo wants each dependency of a package in a registry, and crates that are not published
    // depend on others of their kind.
    let packages = names.iter().flat_map(|name| ["--package", name]);
    run(cargo("package --quiet --target-dir").arg(&place).args(packages))?;
    for name in names {
        let file = format!("{name}-{VERSION}.crate");
        let from = place.join("package").join(&file);
        fs::copy(&from, folder().join(file)).map_err(wrong(&from))?;
    }
    fs::remove_dir_all(&place).map_err(wrong(&place))
}

/// Cargo's folder with the command.
fn built() -> PathBuf {
    target().join(TARGET).join("fast")
}

/// The commit, short.
fn commit() -> Result<String, String> {
    let commit = capture(&mut program("git", "rev-parse --short=8 HEAD"))?;
    Ok(String::from_utf8_lossy(&commit).trim().to_owned())
}

/// Time of the commit, which archives have in place of the time when they are made. So the same commit gives the same bytes.
fn time() -> Result<String, String> {
    let time = capture(&mut program("git", "log -1 --format=%ct"))?;
    Ok(String::from_utf8_lossy(&time).trim().to_owned())
}

/// Builds the command, and packs it with its manual pages and completions. `trained`: with profile-guided optimisation.
///
/// # Errors
/// If it does not build, or does not run in a folder without any library.
pub(super) fn command(trained: bool) -> Result<(), String> {
    let build = format!("build --profile fast --target {TARGET} --package pathweave --features {FEATURES}");
    let mut cargo = cargo(&build);
    if trained {
        cargo.env("RUSTFLAGS", training::flags(&build, &built())?);
    }
    run(cargo.env("CARGO_PROFILE_FAST_STRIP", "symbols"))?;
    let name = format!("pathweave_{VERSION}_{MACHINE}");
    // cargo-deb takes the files from here too.
    let stage = built().join("package");
    let _ = fs::remove_dir_all(&stage);
    let script = r#"
        umask 022
        mkdir -p bin share/man/man1 share/bash-completion/completions share/zsh/site-functions share/fish/vendor_completions.d
        mkdir -p share/doc/pathweave
        cp "$1" bin/pathweave
        bin/pathweave man share/man/man1
        gzip -9 -n share/man/man1/*
        bin/pathweave completions bash >share/bash-completion/completions/pathweave
        bin/pathweave completions zsh >share/zsh/site-functions/_pathweave
        bin/pathweave completions fish >share/fish/vendor_completions.d/pathweave.fish
        cp "$2"/LICENSE-* "$2/README.md" "$2/CHANGELOG.md" share/doc/pathweave/
    "#;
    fs::create_dir_all(&stage).map_err(wrong(&stage))?;
    let mut fill = Command::new("sh");
    fill.args(["-euc", script, "sh"]).arg(built().join("pathweave")).arg(root());
    run(fill.current_dir(&stage))?;
    pack(&stage, &name)
}

/// Packs a folder as the archive `NAME.tar.gz`, in which the folder is called `name`.
fn pack(folder_to_pack: &Path, name: &str) -> Result<(), String> {
    let script = r#"
        tar --create --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$2" --transform="s,^\.,$1," . | gzip -9 -n >"$3"
    "#;
    let mut pack = Command::new("sh");
    pack.args(["-euc", script, "sh", name, &time()?]).arg(folder().join(format!("{name}.tar.gz")));
    run(pack.current_dir(folder_to_pack))
}

/// Builds the schedulers as a C library, and packs it with its header, its documentation and the examples.
///
/// # Errors
/// If it does not build, or a file cannot be written.
pub(super) fn c_library() -> Result<(), String> {
    scheduler_c::build()?;
    let stage = target().join("scheduler-c/package");
    let _ = fs::remove_dir_all(&stage);
    scheduler_c::install(&stage)?;
    let script = r#"
        umask 022
        mkdir -p share/doc/pathweave-scheduler
        cp "$1"/LICENSE-* "$1"/docs/embedding.md "$1"/docs/embedding-c.md "$1/$2"/*.c share/doc/pathweave-scheduler/
    "#;
    let mut fill = Command::new("sh");
    fill.args(["-euc", script, "sh"]).arg(root()).arg(scheduler_c::EXAMPLES);
    run(fill.current_dir(&stage))?;
    pack(&stage, C_LIBRARY)
}

/// Packs the command for Debian.
///
/// # Errors
/// If cargo-deb fails.
pub(super) fn debian() -> Result<(), String> {
    let arguments = format!("deb --package pathweave --target {TARGET} --profile fast --no-build --no-strip --output");
    run(with_subcommands(&arguments).arg(folder()).env("SOURCE_DATE_EPOCH", time()?))
}

/// Builds the Python package for one kind of machine; for the first, from the source distribution, which is made too.
///
/// # Errors
/// If it does not build, or needs something that [`OLDEST`] systems lack.
pub(super) fn wheel(machine: &str) -> Result<(), String> {
    let environment = environment()?;
    let mut maturin = environment.program("maturin");
    maturin.args(["build", "--quiet", "--profile", "fast", "--zig", "--compatibility", OLDEST, "--target", machine]);
    maturin.arg("--interpreter").arg(environment.folder().join("bin/python")).arg("--out").arg(folder());
    if machine == WHEELS[0] {
        maturin.arg("--sdist");
    }
    let path = first_in_path(environment.folder().join("bin"));
    run(maturin.env("PATH", path).env("CARGO_TARGET_DIR", target()).env("SOURCE_DATE_EPOCH", time()?))
}

/// Writes the bills of materials of the command and of the Python package's native module.
///
/// # Errors
/// If cargo-cyclonedx fails.
pub(super) fn bills() -> Result<(), String> {
    let bill = |manifest: &str, target: &str, features: &str| {
        let arguments = format!(
            "cyclonedx --quiet --manifest-path {manifest} --format json --spec-version 1.5 --target {target}{features} --override-filename bill"
        );
        run(with_subcommands(&arguments).env("SOURCE_DATE_EPOCH", time()?))
    };
    // It writes a file beside the manifest of every crate of the workspace; one of them is wanted.
    let taken = bill("crates/cli/Cargo.toml", TARGET, &format!(" --features {FEATURES}"))
        .and_then(|()| bill("python/Cargo.toml", WHEELS[0], ""))
        .and_then(|()| {
            [("crates/cli", "pathweave"), ("python", "pathweave-python")].iter().try_for_each(|(place, name)| {
                let from = root().join(place).join("bill.json");
                let to = folder().join(format!("{name}-{VERSION}.cdx.json"));
                fs::copy(&from, &to).map(drop).map_err(wrong(&from))
            })
        });
    run(program("git", "clean --quiet --force -x -- ").args(["bill.json", "*/bill.json"]))?;
    taken
}
