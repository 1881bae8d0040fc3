//! Runs the campaign of faults; fails where something does not hold, and names the seed.

use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use pathweave_faults::{Case, Ending, Fault, Outcome, run};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

/// Random faulty runs: no byte lost, none wrong, every connection ends.
#[derive(Debug, Parser)]
struct Options {
    /// How many runs.
    #[arg(long, default_value_t = 10_000)]
    runs: u64,
    /// The first seed; each run has the next one.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Runs this seed alone and shows its packets.
    #[arg(long)]
    replay: Option<u64>,
    /// Threads; 0: as many as there are processors.
    #[arg(long, default_value_t = 0)]
    jobs: usize,
    /// How many failures are listed.
    #[arg(long, default_value_t = 20)]
    list: usize,
}

fn main() -> ExitCode {
    let options = Options::parse();
    if let Some(seed) = options.replay {
        return replay(seed);
    }
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} runs, {eta} left");
    // Drawn only on a terminal.
    let bar = ProgressBar::new(options.runs);
    let bar = bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    let one = |seed: u64| {
        let outcome = catch_unwind(AssertUnwindSafe(|| run(&Case::draw(seed), false)));
        bar.inc(1);
        (seed, outcome.ok())
    };
    let Ok(pool) = rayon::ThreadPoolBuilder::new().num_threads(options.jobs).build() else {
        eprintln!("no threads");
        return ExitCode::FAILURE;
    };
    let seeds = options.seed..options.seed + options.runs;
    let outcomes: Vec<_> = pool.install(|| seeds.into_par_iter().map(one).collect());
    bar.finish_and_clear();
    summary(&outcomes, options.list)
}

fn replay(seed: u64) -> ExitCode {
    let case = Case::draw(seed);
    println!("{case:#?}");
    let outcome = run(&case, true);
    println!("{outcome:#?}");
    if outcome.fault.is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn summary(outcomes: &[(u64, Option<Outcome>)], list: usize) -> ExitCode {
    let mut endings: BTreeMap<String, u64> = BTreeMap::new();
    let (mut wrong, mut endless, mut panics, mut one_sided) = (0, 0, 0, 0);
    let (mut packets, mut bytes, mut tampered, mut corrupted) = (0, 0, 0, 0);
    let mut failures = Vec::new();
    for (seed, outcome) in outcomes {
        let Some(o) = outcome else {
            panics += 1;
            failures.push(format!("seed {seed}: a panic"));
            continue;
        };
        let name = |e: Ending| match e {
            Ending::Never => "never open".into(),
            Ending::Closed => "closed".into(),
            Ending::Open => "open".into(),
            Ending::Failed(error) => format!("{error}"),
        };
        *endings.entry(format!("{} / {}", name(o.endings[0]), name(o.endings[1]))).or_default() += 1;
        packets += o.packets;
        bytes += o.bytes;
        tampered += u64::from(o.tampered);
        corrupted += u64::from(o.corrupted);
        one_sided += u64::from(o.one_sided);
        match &o.fault {
            Some(Fault::Bytes(what)) => {
                wrong += 1;
                failures.push(format!("seed {seed}: {what}"));
            }
            Some(Fault::Endless(what)) => {
                endless += 1;
                failures.push(format!("seed {seed}: {what}"));
            }
            None => {}
        }
    }
    println!("{} runs, {packets} packets, {bytes} bytes read", outcomes.len());
    println!("{tampered} with a middlebox that changed something, {corrupted} with changed bytes");
    println!("{one_sided} where one end closed in order and the other lacked bytes and had an error");
    println!("\nclient / server");
    for (what, times) in &endings {
        println!("{times:>8}  {what}");
    }
    println!("\n{wrong} wrong or truncated, {endless} without an end, {panics} panics");
    if failures.is_empty() {
        return ExitCode::SUCCESS;
    }
    println!("\nWhat does not hold (cargo xtask faults --replay SEED shows the packets):");
    failures.iter().take(list).for_each(|f| println!("{f}"));
    ExitCode::FAILURE
}
