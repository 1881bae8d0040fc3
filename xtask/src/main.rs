//! The project's own chores and checks: `cargo xtask test` runs them all.

mod ablations;
mod api;
mod captures;
mod decisions;
mod determinism;
mod digests;
mod emulation;
mod experiments;
mod instructions;
mod interop;
mod mutants;
mod new_scheduler;
mod packetdrill;
mod page;
mod peers;
mod python;
mod reproduction;
mod results;
mod rooms;
mod run;
mod schedulers;
mod setup;
mod specs;
mod steps;
mod three_ways;
mod throughput;
mod transients;
mod uplinks;
mod validation;
mod watchdog;

use run::{cargo, count_tests, root, run, target};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;
use steps::Steps;

const USAGE: &str = "\
cargo xtask test         all checks; installs what they need first
cargo xtask decisions    counts the instructions of each scheduler's decisions, which have a limit; --write updates docs/decisions.txt
cargo xtask api          compares the public interface of each library with docs/api/; --bless updates it
cargo xtask rooms        checks that no file is over 500 lines, and that no two rooms of a crate need each other
cargo xtask digests      compares the digests of fixed runs with tools/digests/digests.txt; --bless updates it
cargo xtask validation   some of Linux's measurements must be as close as validation/guard.txt says; --bless updates it,
                         --choose chooses them again from all measurements (validation/guard-6.12.jsonl)
cargo xtask determinism  compares the same runs on one thread and two, in debug and release, on x86-64 and wasm32
cargo xtask fairness     tests two subflows and one TCP flow at a shared bottleneck, and prints the table of all seeds
cargo xtask faults [--runs N | --seconds N] [--seed S]  random faulty networks, peers, middleboxes and attackers: no byte is lost or wrong; without --runs: 10,000 runs
cargo xtask faults --replay SEED [--without STEPS]  one of these runs, with its packets
cargo xtask packetdrill DIR [PART]  scripts of a checkout of multipath-tcp/packetdrill against the engine; PART: of a name, to run those alone
cargo xtask mutants      changes the engine's checks one by one; a test must notice each; goes on where it was stopped, 90 minutes at most
cargo xtask ablations [--quick]  what each rule of the scheduler weave is worth: prints the table of docs/notes/weave-evaluation.md; goes on where it was stopped
cargo xtask gates [--seeds N]  all schedulers on paths that go dark; without --seeds: 200 seeds, written to docs/failing-paths.txt
cargo xtask instructions compares instructions of the hot paths with benches/instructions.txt; --bless updates it
cargo xtask emulation [RATE...]  how accurate `pathweave emulate` is, against ping and iperf3 (root, 75 s a path): the table of docs/emulate.md
cargo xtask interop [--quick]  the engine with real packets against the kernel's Multipath TCP, in a network namespace (root)
cargo xtask interop --deadline SENDER  whether two emulated paths carry what their rates add up to; SENDER: a scheduler, or kernel
cargo xtask three-ways [POINT...]  simulates the same paths, and emulates them with the engine and with the kernel as sender (root, 2.5 minutes a
                         point): docs/three-ways.md; --quick: one point for some seconds, nothing is written
cargo xtask throughput [--fast]  measures the engine with real packets beside the kernel's Multipath TCP in the same run (root, 2 minutes on a quiet
                         machine): the table of docs/performance.md; --fast: built with that profile
cargo xtask uplinks      changes a machine's addresses while `pathweave perf --auto` sends and receives (root, 90 s)
cargo xtask peers        compares data segments per second of processor time with ns-3, which is installed first
cargo xtask captures     lets tshark check captures of all built-in scenarios
cargo xtask through-bytes  all built-in scenarios and schedulers, 20 seeds, with segments that travel as bytes (not in test)
cargo xtask new-scheduler  builds, tests and runs the crate that `pathweave new-scheduler` writes
cargo xtask wasm         builds the crates that must build for wasm32-unknown-unknown
cargo xtask page FILE    opens a report page in headless Chromium, light and dark, wide and narrow, and presses its export buttons
cargo xtask specs        updates the tables of specs/
cargo xtask results      updates docs/results/, docs/schedulers/ and the table and picture in the README
cargo xtask transients   checks that no pair of schedulers changes places between 20 s and 110 s: docs/results/transients.txt
cargo xtask reproduction  makes the papers' experiments, goes on where it was stopped, and writes docs/reproduction.md; --from-tables makes no runs;
                         --quick makes small runs and checks that no effect above 10 % has another sign than in docs/reproduction/tables
cargo xtask python       the Python package: wheel, lints, types, tests, notebooks, examples; --bless: writes docs/python-api.md;
                         --measure [WHAT]: the figures of docs/performance.md
cargo xtask experiments  tries some small experiments, a sweep that is killed and resumed, shards, and the page
cargo xtask schedulers   updates docs/schedulers/ from the sources and docs/results/";

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
        ["api"] => {
            steps.step("public interface", |_| api::check());
        }
        ["api", "--bless"] => {
            steps.step("public interface", |_| api::bless());
        }
        ["rooms"] => {
            steps.step("rooms", |_| rooms::check());
        }
        ["digests"] => {
            steps.step("digests", |_| results::build().and_then(|()| digests::check()));
        }
        ["digests", "--bless"] => {
            steps.step("digests", |_| results::build().and_then(|()| digests::bless()));
        }
        ["validation"] => {
            steps.step("validation", |_| results::build().and_then(|()| validation::check()));
        }
        ["validation", "--bless"] => {
            steps.step("validation", |_| results::build().and_then(|()| validation::bless()));
        }
        ["validation", "--choose"] => {
            steps.step("validation", |_| validation::write_part());
        }
        ["instructions"] => {
            if steps.step("what the checks need", |_| setup::install()) {
                steps.step("instructions", |_| instructions::check());
            }
        }
        ["instructions", "--bless"] => {
            steps.step("instructions", |_| instructions::bless());
        }
        ["emulation", ..] => {
            steps.step("emulation", |_| emulation::measure_all(&arguments[1..]));
        }
        ["interop"] => {
            steps.step("interop", |counts| interop::check(false, counts));
        }
        ["interop", "--quick"] => {
            steps.step("interop", |counts| interop::check(true, counts));
        }
        ["interop", "--deadline", sender] => {
            steps.step("interop", |_| interop::deadline(sender));
        }
        ["interop-inside", ..] => {
            steps.step("rows", |_| interop::inside(&arguments[1..]));
        }
        ["three-ways", "--quick"] => {
            steps.step("three ways", |_| three_ways::check());
        }
        ["three-ways", ..] => {
            steps.step("three ways", |_| three_ways::write(&arguments[1..]));
        }
        ["throughput"] => {
            steps.step("throughput", |_| throughput::measure("release"));
        }
        ["throughput", "--fast"] => {
            steps.step("throughput", |_| throughput::measure("fast"));
        }
        ["throughput-inside", profile] => {
            steps.step("rounds", |_| throughput::inside(profile));
        }
        ["uplinks"] => {
            steps.step("uplinks", |_| uplinks::check());
        }
        ["peers"] => {
            steps.step("peers", |_| peers::compare());
        }
        ["fairness"] => {
            let test = "test --release --package pathweave-lab --test it fairness:: -- --ignored --nocapture";
            steps.step("fairness", |counts| count_tests(&mut cargo(test), counts));
        }
        ["faults", ..] => {
            steps.step("faults", |_| faults(&arguments[1..].join(" ")));
        }
        ["packetdrill", checkout, ref rest @ ..] => {
            let only = rest.first().copied();
            steps.step("packetdrill", |counts| packetdrill::check(Path::new(checkout), only, counts));
        }
        ["mutants"] => {
            steps.step("mutants", |_| mutants::check());
        }
        ["ablations"] => {
            steps.step("ablations", |_| ablations::measure(6));
        }
        ["ablations", "--quick"] => {
            steps.step("ablations", |_| ablations::measure(60));
        }
        ["gates"] => {
            steps.step("gates", |_| gates("--write docs/failing-paths.txt"));
        }
        ["gates", "--seeds", seeds] => {
            steps.step("gates", |_| gates(&format!("--seeds {seeds}")));
        }
        ["captures"] => {
            steps.step("tshark", |_| setup::tshark());
            steps.step("captures", |_| {
                results::build()?;
                captures::check()
            });
        }
        ["through-bytes"] => {
            steps.step("through bytes", |_| {
                results::build()?;
                determinism::through_bytes()
            });
        }
        ["new-scheduler"] => {
            steps.step("new scheduler", new_scheduler::check);
        }
        ["decisions"] => {
            if steps.step("what the checks need", |_| setup::install()) {
                steps.step("decisions", |_| decisions::check());
            }
        }
        ["decisions", "--write"] => {
            steps.step("decisions", |_| decisions::write());
        }
        ["reproduction"] => {
            steps.step("reproduction", |_| reproduction::make());
        }
        ["reproduction", "--quick"] => {
            steps.step("reproduction", |_| reproduction::quick());
        }
        ["reproduction", "--from-tables"] => {
            steps.step("reproduction", |_| reproduction::write());
        }
        ["experiments"] => {
            steps.step("experiments", |_| results::build().and_then(|()| experiments::smoke()));
        }
        ["python"] => {
            steps.step("Python package", |_| python::check());
        }
        ["python", "--bless"] => {
            steps.step("Python reference", |_| python::write_reference());
        }
        ["python", "--measure", ..] => {
            steps.step("Python measurements", |_| python::measure(&arguments[2..]));
        }
        ["transients"] => {
            steps.step("transients", |_| transients::write());
        }
        ["schedulers"] => {
            steps.step("schedulers", |_| schedulers::write());
        }
        ["wasm"] => {
            steps.step("wasm32", |_| determinism::build_wasm());
        }
        ["page", file] => {
            steps.step("page", |_| page::check(Path::new(file)));
        }
        ["specs"] => {
            steps.step("specs", |_| specs::write());
        }
        ["results"] => {
            steps.step("results", |_| results::write());
            steps.step("schedulers", |_| schedulers::write());
        }
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    }
    steps.finish()
}

/// Runs every scheduler on paths that go dark.
fn gates(arguments: &str) -> Result<(), String> {
    results::build()?;
    run(Command::new(target().join("release/gates")).current_dir(root()).args(arguments.split(' ')))
}

/// Random faulty runs.
fn faults(arguments: &str) -> Result<(), String> {
    results::build()?;
    run(Command::new(target().join("release/faults")).current_dir(root()).args(arguments.split_whitespace()))
}

/// Runs every check of the project, even if some fail.
///
/// Cargo compiles shared crates again if another selection of packages needs other features of them. So there are few
/// selections: the whole workspace with all features in the profile dev, [`results::build`] in release, and
/// [`run::COUNTED`] for what Callgrind counts.
/// All checks take about half an hour on two processors. After so long something hangs.
const TEST_LIMIT: Duration = Duration::from_secs(70 * 60);

fn test(steps: &mut Steps) {
    watchdog::end_after(TEST_LIMIT);
    if !steps.step("what the checks need", |_| setup::install()) {
        return;
    }
    steps.step("format", |_| run(&mut cargo("fmt --all --check")));
    steps.step("rooms", |_| rooms::check());
    steps.step("clippy", |_| run(&mut cargo("clippy --workspace --all-targets --all-features -- -D warnings")));
    steps.step("documentation", |_| {
        run(cargo("doc --workspace --no-deps --all-features").env("RUSTDOCFLAGS", "-D warnings"))
    });
    steps.step("public interface", |_| api::check());
    steps.step("specs", |_| specs::check());
    steps.step("tests", |counts| count_tests(&mut cargo("test --workspace --all-features --no-fail-fast"), counts));
    // Features that differ are built anew: the engine alone, with what its tests need.
    steps.step("engine without hosts", |counts| {
        count_tests(&mut cargo("test --package pathweave-proto --no-default-features --no-fail-fast"), counts)
    });
    determinism::check(steps);
    steps.step("validation against Linux", |_| validation::check());
    let mut table = None;
    steps.step("report page", |counts| {
        let (text, page) = results::first_command()?;
        table = Some(text);
        page::check(&page)?;
        page::check(&results::explain_page()?)?;
        // The tests of this check need the browser, which is installed by now.
        count_tests(&mut cargo("test --workspace --all-features --bin xtask -- --ignored"), counts)
    });
    if let Some(table) = table {
        steps.step("README", |_| results::check_readme(&table));
    }
    steps.step("captures", |_| captures::check());
    steps.step("experiments", |_| experiments::smoke());
    steps.step("Python package", |_| python::check());
    steps.step("transients", |_| transients::check());
    steps.step("gates", |_| gates("--seeds 10"));
    steps.step("faults", |_| faults("--runs 20000"));
    steps.step("interop", |counts| interop::check(true, counts));
    steps.step("pages of schedulers", |_| schedulers::check());
    steps.step("new scheduler", new_scheduler::check);
    steps.step("instructions", |_| instructions::check());
    steps.step("decisions", |_| decisions::check());
    // They only have to link, so they are not optimised. Those that are counted above are.
    steps.step("benchmarks compile", |_| run(&mut cargo("build --workspace --all-features --benches")));
}
