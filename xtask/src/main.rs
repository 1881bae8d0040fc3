//! The project's own chores and checks: `cargo xtask test` runs them all.

mod api;
mod arguments;
mod captures;
mod decisions;
mod determinism;
mod digests;
mod emulation;
mod experiments;
mod instructions;
mod interop;
mod lesson;
mod linux;
mod mutants;
mod new_scheduler;
mod packetdrill;
mod page;
mod peers;
mod playground;
mod python;
mod release;
mod reproduction;
mod results;
mod rooms;
mod run;
mod scheduler_c;
mod schedulers;
mod setup;
mod site;
mod specs;
mod steps;
mod stripe;
mod supply;
mod three_ways;
mod throughput;
mod transients;
mod uplinks;
mod validation;
mod watchdog;

use arguments::{Arguments, Bless, Chore};
use clap::Parser;
use run::{cargo, count_tests, root, run, target};
use setup::Tool;
use std::ffi::OsStr;
use std::process::{Command, ExitCode};
use std::time::Duration;
use steps::{Counts, Steps};

fn main() -> ExitCode {
    let mut steps = Steps::default();
    carry_out(Arguments::parse().chore, &mut steps);
    steps.finish()
}

/// Carries out a chore, mostly as one step of its name.
fn carry_out(chore: Chore, steps: &mut Steps) {
    match chore {
        Chore::Test { no_install } => test(steps, no_install),
        Chore::Api(Bless { bless }) => {
            steps.step("public interface", |_| if bless { api::bless() } else { api::check() });
        }
        Chore::Rooms => {
            steps.step("rooms", |_| rooms::check());
        }
        Chore::Supply { offline } => {
            steps.step("supply", |_| supply::check(offline));
        }
        Chore::Digests(Bless { bless }) => {
            steps.step("digests", |_| {
                results::build()?;
                if bless { digests::bless() } else { digests::check() }
            });
        }
        Chore::Validation { bless, choose } => {
            steps.step("validation", |_| match choose {
                true => validation::write_part(),
                false => {
                    results::build()?;
                    if bless.bless { validation::bless() } else { validation::check() }
                }
            });
        }
        Chore::Determinism => {
            if steps.step("what the check needs", |_| setup::install_all(&[setup::NODE], true)) {
                determinism::check(steps);
            }
        }
        Chore::Fairness => {
            let test = "test --release --package pathweave-lab --test it fairness:: -- --ignored --nocapture";
            steps.step("fairness", |counts| count_tests(&mut cargo(test), counts));
        }
        Chore::Faults { arguments } => {
            steps.step("faults", |_| faults(&arguments));
        }
        Chore::Linux(arguments) => {
            steps.step("linux", |_| linux::compare(&arguments));
        }
        Chore::Packetdrill { checkout, part } => {
            steps.step("packetdrill", |counts| packetdrill::check(&checkout, part.as_deref(), counts));
        }
        Chore::Mutants => {
            steps.step("mutants", |_| mutants::check());
        }
        Chore::Gates { seeds } => {
            let arguments = seeds.map_or("--write docs/failing-paths.txt".into(), |seeds| format!("--seeds {seeds}"));
            steps.step("gates", |_| gates(&arguments));
        }
        Chore::Instructions(Bless { bless: true }) => {
            steps.step("instructions", |_| instructions::bless());
        }
        Chore::Instructions(Bless { bless: false }) => {
            if install_valgrind(steps) {
                steps.step("instructions", |_| instructions::check());
            }
        }
        Chore::Decisions { write: true } => {
            steps.step("decisions", |_| decisions::write());
        }
        Chore::Decisions { write: false } => {
            if install_valgrind(steps) {
                steps.step("decisions", |_| decisions::check());
            }
        }
        Chore::Emulation { rates } => {
            steps.step("emulation", |_| emulation::measure_all(&borrowed(&rates)));
        }
        Chore::Interop { deadline: Some(sender), .. } => {
            steps.step("interop", |_| interop::deadline(&sender));
        }
        Chore::Interop { quick, deadline: None } => {
            steps.step("interop", |counts| results::build().and_then(|()| interop::check(quick, counts)));
        }
        Chore::InteropInside { arguments } => {
            steps.step("rows", |_| interop::inside(&borrowed(&arguments)));
        }
        Chore::ThreeWays { quick: true, .. } => {
            steps.step("three ways", |_| three_ways::check());
        }
        Chore::ThreeWays { measured: true, .. } => {
            steps.step("three ways", |_| three_ways::write_measured());
        }
        Chore::ThreeWays { points, .. } => {
            steps.step("three ways", |_| three_ways::write(&borrowed(&points)));
        }
        Chore::Stripe { quick, tenth } => {
            steps.step("stripe", |_| if quick { stripe::check() } else { stripe::measure(tenth) });
        }
        Chore::Throughput { fast } => {
            steps.step("throughput", |_| throughput::measure(if fast { "fast" } else { "release" }));
        }
        Chore::ThroughputInside { profile } => {
            steps.step("rounds", |_| throughput::inside(&profile));
        }
        Chore::Uplinks => {
            steps.step("uplinks", |_| uplinks::check());
        }
        Chore::Peers(Bless { bless }) => {
            steps.step("peers", |_| peers::compare(bless));
        }
        Chore::Captures => {
            steps.step("tshark", |_| setup::install(&[setup::TSHARK]));
            steps.step("captures", |_| {
                results::build()?;
                captures::check()
            });
        }
        Chore::ThroughBytes => {
            steps.step("through bytes", |_| {
                results::build()?;
                determinism::through_bytes()
            });
        }
        Chore::NewScheduler => {
            steps.step("new scheduler", new_scheduler::check);
        }
        Chore::Wasm => {
            steps.step("wasm32", |_| determinism::build_wasm());
        }
        Chore::Playground => {
            let tools = [setup::NODE, setup::CHROMIUM];
            let ready = steps.step("what the playground needs", |_| setup::install_all(&tools, true));
            if ready && steps.step("playground", |_| playground::build()) {
                steps.step("playground: digests beside the command's", |_| playground::compare_digests());
                steps.step("playground in a browser", |_| playground::open());
            }
        }
        Chore::Page { file } => {
            steps.step("page", |_| page::check(&file));
        }
        Chore::Specs => {
            steps.step("specs", |_| specs::write());
        }
        Chore::Results => {
            steps.step("results", |_| results::write());
            steps.step("schedulers", |_| schedulers::write());
        }
        Chore::Transients => {
            steps.step("transients", |_| transients::write());
        }
        Chore::Reproduction { check: Some(seconds), .. } => {
            steps.step("reproduction", |_| reproduction::check(seconds));
        }
        Chore::Reproduction { plans, from_tables, quick, check: None } => {
            steps.step("reproduction", |_| match (from_tables, quick) {
                (true, _) => reproduction::write(),
                (_, true) => reproduction::quick(),
                _ => reproduction::make(&plans),
            });
        }
        Chore::Python { measure: Some(measurements), .. } => {
            steps.step("Python measurements", |_| python::measure(&borrowed(&measurements)));
        }
        Chore::Python { bless: true, .. } => {
            steps.step("Python reference", |_| python::write_reference());
        }
        Chore::Python { .. } => {
            steps.step("Python package", |_| python::check());
        }
        Chore::Experiments => {
            steps.step("experiments", |_| results::build().and_then(|()| experiments::smoke()));
        }
        Chore::Release { check: true, .. } => release::check::check(steps),
        Chore::Release { check: false, trained } => release::make(steps, trained),
        Chore::Site { quick } => {
            let built = steps.step("site", |_| site::build());
            if built && !quick {
                steps.step("playground on the site", |_| site::add_playground());
                steps.step("crates' reference", |_| site::reference());
            }
            if built && steps.step("links and search", |_| site::check()) && !quick {
                let ready = steps.step("what a browser needs", |_| setup::install(&[setup::NODE, setup::CHROMIUM]));
                let _ = ready && steps.step("site in a browser", |_| site::open());
            }
        }
        Chore::SchedulerC { prefix: Some(prefix) } => {
            steps.step("schedulers for C", |_| scheduler_c::build().and_then(|()| scheduler_c::install(&prefix)));
        }
        Chore::SchedulerC { prefix: None } => {
            if steps.step("what the check needs", |_| setup::install(&scheduler_c::TOOLS)) {
                steps.step("schedulers for C", |_| scheduler_c::build().and_then(|()| scheduler_c::check()));
            }
        }
        Chore::Schedulers => {
            steps.step("schedulers", |_| schedulers::write());
        }
    }
}

fn borrowed(list: &[String]) -> Vec<&str> {
    list.iter().map(String::as_str).collect()
}

/// Installs valgrind, which counts the instructions.
fn install_valgrind(steps: &mut Steps) -> bool {
    steps.step("what the check needs", |_| setup::install(&[setup::VALGRIND]))
}

/// All tools that the checks need beside Rust.
fn tools() -> Vec<Tool> {
    let mut tools = vec![setup::NODE, setup::TSHARK, setup::CHROMIUM];
    tools.extend(scheduler_c::TOOLS);
    if interop::missing().is_none() {
        tools.extend(setup::EMULATION);
        tools.extend(setup::INTEROP);
    }
    tools
}

/// Runs every scheduler on paths that go dark.
fn gates(arguments: &str) -> Result<(), String> {
    results::build()?;
    run(Command::new(target().join("release/gates")).current_dir(root()).args(arguments.split(' ')))
}

/// Random faulty runs.
fn faults(arguments: &[impl AsRef<OsStr>]) -> Result<(), String> {
    results::build()?;
    run(Command::new(target().join("release/faults")).current_dir(root()).args(arguments))
}

/// Processor time of the tables that all checks make again: three tables of seconds.
const SECONDS_OF_TABLES: f64 = 30.0;
/// Time after which the checks have hung. All checks take about 25 minutes on two processors.
const TEST_LIMIT: Duration = Duration::from_secs(70 * 60);

/// Runs every check of the project, even if some fail.
///
/// Cargo compiles shared crates again if another selection of packages needs other features of them. So there are few
/// selections: the whole workspace with all features in the profile dev, [`results::build`] in release, and
/// [`run::benchmark`] for what Callgrind counts.
fn test(steps: &mut Steps, no_install: bool) {
    watchdog::end_after(TEST_LIMIT);
    let is_ready = steps.step("what the checks need", |_| {
        setup::warn_of_full_disk(&target())?;
        setup::install_all(&tools(), !no_install)
    });
    if !is_ready {
        return;
    }
    steps.step("format", |_| run(&mut cargo("fmt --all --check")));
    steps.step("rooms", |_| rooms::check());
    steps.step("clippy", |_| {
        run(&mut cargo("clippy --workspace --all-targets --all-features -- -D warnings"))?;
        // As users build the command. Code for features that are off here would be unused.
        run(&mut cargo("clippy -- -D warnings"))
    });
    steps.step("documentation", |_| {
        run(cargo("doc --workspace --no-deps --all-features").env("RUSTDOCFLAGS", "-D warnings"))
    });
    steps.step("public interface", |_| api::check());
    steps.step("specs", |_| specs::check());
    steps.step("manifests", |_| release::manifests::check());
    steps.step("tests", |counts| count_tests(&mut cargo("test --workspace --all-features --no-fail-fast"), counts));
    // The tests of the plain host have run above, beside the kernels' hosts.
    steps.step("engine without hosts", |_| {
        run(&mut cargo("clippy --package pathweave-proto --no-default-features --all-targets -- -D warnings"))
    });
    determinism::check(steps);
    steps.step("pages of schedulers", |_| schedulers::check());
    steps.step("new scheduler", new_scheduler::check_quickly);
    // Real packets need a processor in time, so only a build that gives way to them runs beside them.
    steps.side_by_side([
        &[("interop", |counts| interop::check(true, counts))],
        &[("programs to count", |_| run::build_counted_when_idle())],
    ]);
    steps.side_by_side([
        &[("Python package", |_| python::check())],
        &[
            ("report page", report_page),
            ("site", |_| site::build().and_then(|()| site::check())),
            ("captures", |_| captures::check()),
            ("schedulers for C", |_| scheduler_c::build().and_then(|()| scheduler_c::check())),
            ("validation against Linux", |_| validation::check()),
            ("experiments", |_| experiments::smoke()),
            ("tables of experiments", |_| reproduction::check(SECONDS_OF_TABLES)),
            ("transients", |_| transients::check()),
            ("gates", |_| gates("--seeds 10")),
            ("faults", |_| faults(&["--runs", "10000"])),
            ("instructions", |_| instructions::check()),
            ("decisions", |_| decisions::check()),
        ],
    ]);
    // They only have to link, so they are not optimised. Those that are counted above are.
    steps.step("benchmarks compile", |_| run(&mut cargo("build --workspace --all-features --benches")));
}

/// The first command's output and pages, in a browser and beside the documents.
fn report_page(counts: &mut Counts) -> Result<(), String> {
    let (table, page) = results::first_command()?;
    page::check(&page)?;
    page::check(&results::explain_page()?)?;
    // The tests of this check need the browser, which is installed by now.
    count_tests(&mut cargo("test --workspace --all-features --bin xtask -- --ignored"), counts)?;
    results::check_documents(&table)
}
