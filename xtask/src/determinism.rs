//! The same scenario and seed give the same bytes: on one thread and two, in debug and release, on this machine and in
//! WebAssembly (ARCHITECTURE.md, contract 7).

use crate::digests;
use crate::results::{self, SCENARIOS};
use crate::run::{capture, cargo, in_parallel, root, run, target};
use crate::setup;
use crate::steps::Steps;
use std::fs;
use std::process::Command;

/// Crates that promise to build for `wasm32-unknown-unknown`.
const FOR_WASM: [&str; 8] = [
    "pathweave-units",
    "pathweave-wire",
    "pathweave-netsim",
    "pathweave-scheduler",
    "pathweave-proto",
    "pathweave-algorithms",
    "pathweave-driver",
    "pathweave-lab",
];
/// Of the fixed runs, the build with debug assertions makes each third: it is several times slower than the others.
const EVERY_IN_DEBUG: usize = 3;
const MODULE: &str = "wasm32-unknown-unknown/release/pathweave_digests.wasm";

/// Builds the crates that promise it for WebAssembly, and the module that computes digests.
///
/// # Errors
/// If it does not build.
pub(crate) fn build_wasm() -> Result<(), String> {
    let packages = FOR_WASM.map(|name| format!("--package {name} ")).concat();
    run(&mut cargo(&format!(
        "build --release --target wasm32-unknown-unknown --lib {packages} --package pathweave-digests"
    )))
}

/// Builds everything in every way and compares.
pub(crate) fn check(steps: &mut Steps) {
    let wasm = steps.step("wasm32", |_| build_wasm());
    let native = steps.step("builds to compare", |_| {
        // With the tests, which are built by now: without them Cargo would build shared crates anew, with fewer features.
        run(&mut cargo("build --workspace --all-features --bin pathweave --bin digests --tests"))?;
        results::build()
    });
    if native {
        steps.step("digests: debug, release, wasm32 and the committed ones", |_| compare_digests(wasm));
        steps.step("JSON Lines: one thread and two, debug and release", |_| json_lines());
    }
}

fn compare_digests(wasm: bool) -> Result<(), String> {
    let built = |profile: &str| Command::new(target().join(profile).join("digests"));
    let kinds = ["release", "debug", "release, through bytes", "wasm32"];
    let mut found = in_parallel(&kinds, |kind| match *kind {
        "wasm32" if !wasm => Err("there is no WebAssembly module to compare with".into()),
        "wasm32" => capture(
            Command::new(setup::NODE.path()?)
                .current_dir(root())
                .arg("tools/digests/run.mjs")
                .arg(target().join(MODULE)),
        ),
        "release, through bytes" => capture(built("release").arg("--through-bytes")),
        "debug" => capture(built("debug").args(["--every", &EVERY_IN_DEBUG.to_string()])),
        profile => capture(&mut built(profile)),
    })
    .into_iter();
    let release = found.next().unwrap_or_else(|| Err("no digests were computed".into()))?;
    let part = lines(&release).into_iter().step_by(EVERY_IN_DEBUG).collect::<Vec<_>>().join(&b'\n');
    for (kind, other) in kinds[1..].iter().zip(found) {
        let expected = if *kind == "debug" { &part } else { &release };
        compare(("release", expected), (kind, &other?))?;
    }
    println!("{} runs have the same digests everywhere, as far as each build makes them", lines(&release).len());
    digests::judge(&String::from_utf8_lossy(&release))
}

/// Checks the lines of JSON that `pathweave compare` writes.
fn json_lines() -> Result<(), String> {
    let folder = target().join("determinism");
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut first: Option<(String, Vec<u8>)> = None;
    for profile in ["release", "debug"] {
        for jobs in ["1", "2"] {
            let name = format!("{profile}, --jobs {jobs}");
            let command = "compare wlan-3g cp-asymmetric --schedulers all --seeds 2 --set duration=5s --set measure_from=0s --jsonl - --jobs";
            let mut pathweave = Command::new(target().join(profile).join("pathweave"));
            let out = capture(pathweave.args(command.split(' ')).arg(jobs).current_dir(&folder))?;
            match &first {
                None => first = Some((name, out)),
                Some((other, expected)) => compare((other, expected), (&name, &out))?,
            }
        }
    }
    let count = first.map_or(0, |(_, out)| lines(&out).len());
    if count == 0 {
        return Err("there was no output".into());
    }
    println!("{count} lines are the same in all four");
    Ok(())
}

/// Segments that travel as bytes change no result: every built-in scenario with every scheduler and seeds 1 to 20
/// (ARCHITECTURE.md, contract 8). The command must have been built.
///
/// # Errors
/// The first result that differs.
pub(crate) fn through_bytes() -> Result<(), String> {
    // A scenario at a time, so that few results are in memory.
    for scenario in SCENARIOS {
        let command = format!("compare {scenario} --schedulers all --seeds 20 --jsonl -");
        let pathweave = || Command::new(target().join("release/pathweave"));
        let values = capture(pathweave().args(command.split(' ')))?;
        let bytes = capture(pathweave().args(command.split(' ')).arg("--through-bytes"))?;
        compare(("values", &values), ("bytes", &bytes))?;
        match lines(&values).len() {
            0 => return Err("there was no output".into()),
            count => println!("{count} runs are the same"),
        }
    }
    Ok(())
}

fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split(|b| *b == b'\n').filter(|line| !line.is_empty()).collect()
}

/// Finds the first line that differs.
fn compare((name, expected): (&str, &[u8]), (other, found): (&str, &[u8])) -> Result<(), String> {
    let (a, b) = (lines(expected), lines(found));
    if a == b {
        return Ok(());
    }
    let differs = (0..a.len().max(b.len())).find(|i| a.get(*i) != b.get(*i)).unwrap_or(0);
    let shown = |line: Option<&&[u8]>| line.map_or("nothing".into(), |l| start(&String::from_utf8_lossy(l)));
    Err(format!(
        "{name} and {other} differ, first in line {}:\n{name}: {}\n{other}: {}",
        differs + 1,
        shown(a.get(differs)),
        shown(b.get(differs))
    ))
}

fn start(line: &str) -> String {
    line.chars().take(300).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_told() {
        assert_eq!(compare(("a", b"1\n2\n"), ("b", b"1\n2\n")), Ok(()));
        let error = compare(("a", b"1\n2\n3\n"), ("b", b"1\nx\n")).expect_err("they differ");
        assert_eq!(error, "a and b differ, first in line 2:\na: 2\nb: x");
        assert!(compare(("a", b"1\n"), ("b", b"1\n2\n")).is_err());
    }
}
