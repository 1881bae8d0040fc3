//! The project's own chores and checks: `cargo xtask test` runs them all.

mod determinism;
mod page;
mod run;
mod setup;
mod steps;

use run::{cargo, count_tests, run, target};
use std::path::Path;
use std::process::ExitCode;
use steps::Steps;

const USAGE: &str = "\
cargo xtask test         everything below, and what it needs is installed first
cargo xtask determinism  the same runs twice, on one thread and two, debug and release, x86-64 and wasm32
cargo xtask wasm         the crates that promise it build for wasm32-unknown-unknown
cargo xtask page FILE    a report page in headless Chromium, light and dark, wide and narrow";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut steps = Steps::default();
    match arguments[..] {
        ["test"] => test(&mut steps),
        ["determinism"] => {
            if steps.step("what the checks need", |_| setup::install()) {
                determinism::check(&mut steps);
            }
        }
        ["wasm"] => {
            steps.step("wasm32", |_| determinism::build_wasm());
        }
        ["page", file] => {
            steps.step("page", |_| page::check(Path::new(file)));
        }
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    }
    steps.finish()
}

/// Every check of the project. All are run, whatever fails.
fn test(steps: &mut Steps) {
    if !steps.step("what the checks need", |_| setup::install()) {
        return;
    }
    steps.step("format", |_| run(&mut cargo("fmt --all --check")));
    steps.step("clippy", |_| run(&mut cargo("clippy --workspace --all-targets --all-features -- -D warnings")));
    steps.step("documentation", |_| {
        run(cargo("doc --workspace --no-deps --all-features").env("RUSTDOCFLAGS", "-D warnings"))
    });
    steps.step("tests", |counts| count_tests(&mut cargo("test --workspace --all-features --no-fail-fast"), counts));
    determinism::check(steps);
    steps.step("report page", |counts| {
        report_page()?;
        // That the check finds what is wrong needs the browser that is there by now.
        count_tests(&mut cargo("test --package xtask -- --ignored"), counts)
    });
    steps.step("benchmarks compile", |_| run(&mut cargo("bench --workspace --bench * --no-run")));
}

/// The README's first command, and the page that it writes.
fn report_page() -> Result<(), String> {
    run(&mut cargo("build --release --package pathweave"))?;
    let folder = target().join("compare");
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let page = folder.join("pathweave-report.html");
    let _ = std::fs::remove_file(&page);
    run(std::process::Command::new(target().join("release/pathweave")).arg("compare").current_dir(&folder))?;
    page::check(&page)
}
