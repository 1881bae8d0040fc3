//! The gates for failing paths: what must hold when paths go dark at any moment, with every scheduler. The program runs them, prints
//! the table, and fails if a gate does not hold.
//!
//! A [`Case`] is drawn from a seed: paths, buffers, controller, recovery, and when which path goes dark for how long, in both
//! directions or in one. [`run`] runs it with one scheduler and watches it. [`Summary`] holds the runs of one scheduler
//! against the gates, [`table`] shows the summaries.

mod case;
mod summary;
mod watch;

use case::{Case, Kind};
use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use pathweave_algorithms::Registry;
use pathweave_proto::scheduler::SchedulerFactory;
use rayon::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use summary::{Summary, table};
use watch::{Outcome, run};

/// Tests schedulers on paths that go dark.
#[derive(Debug, Parser)]
struct Options {
    /// Number of seeds.
    #[arg(long, default_value_t = 200)]
    seeds: u64,
    /// The first seed.
    #[arg(long, default_value_t = 1)]
    first: u64,
    /// Number of threads; 0 means one per processor.
    #[arg(long, default_value_t = 0)]
    jobs: usize,
    /// Only these schedulers, separated by commas.
    #[arg(long, value_delimiter = ',')]
    schedulers: Vec<String>,
    /// Also writes the table to this file.
    #[arg(long)]
    write: Option<PathBuf>,
    /// Prints the scenario file of this kind (one, each, all, linux) for the first seed and scheduler, and runs
    /// nothing.
    #[arg(long)]
    show: Option<String>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let registry = Registry::builtin();
    let wanted = |name: &str| options.schedulers.is_empty() || options.schedulers.iter().any(|s| s == name);
    // `single` has only one path, so nothing can be delivered while that is dark.
    let schedulers: Vec<_> =
        registry.schedulers().iter().filter(|f| f.name() != "single" && wanted(f.name())).collect();
    if let (Some(kind), Some(factory)) = (&options.show, schedulers.first()) {
        let kind = Kind::ALL.into_iter().find(|k| format!("{k:?}").eq_ignore_ascii_case(kind));
        let Some(kind) = kind else {
            eprintln!("--show: allowed: one, each, all, linux");
            return ExitCode::from(2);
        };
        println!("{}", Case::draw(kind, options.first).scenario_text(factory.name(), &registry));
        return ExitCode::SUCCESS;
    }
    let seeds = options.first..options.first + options.seeds;
    let mut items = Vec::new();
    for factory in &schedulers {
        for kind in Kind::ALL {
            items.extend(seeds.clone().map(|seed| (factory.name(), kind, seed)));
        }
    }
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} runs, {eta} left");
    let bar = ProgressBar::new(items.len() as u64);
    let bar = bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    let one = |&(name, kind, seed): &(&str, Kind, u64)| {
        let case = Case::draw(kind, seed);
        let outcome = catch_unwind(AssertUnwindSafe(|| run(&case, name, &registry)));
        bar.inc(1);
        let broken = || Outcome { broken: Some("a panic".into()), ..Outcome::default() };
        (kind, seed, outcome.unwrap_or_else(|_| broken()))
    };
    let Ok(pool) = rayon::ThreadPoolBuilder::new().num_threads(options.jobs).build() else {
        eprintln!("no threads");
        return ExitCode::FAILURE;
    };
    let outcomes: Vec<_> = pool.install(|| items.par_iter().with_max_len(1).map(one).collect());
    bar.finish_and_clear();
    let mut outcomes = outcomes.into_iter();
    let each = Kind::ALL.len() * options.seeds as usize;
    let summary = |factory: &&Arc<dyn SchedulerFactory>| {
        Summary::new(factory.name(), factory.duplicates(), outcomes.by_ref().take(each).collect())
    };
    let summaries: Vec<Summary> = schedulers.iter().map(summary).collect();
    let text = table(&summaries);
    print!("{text}");
    if let Some(path) = &options.write
        && let Err(e) = std::fs::write(path, &text)
    {
        eprintln!("{}: {e}", path.display());
        return ExitCode::FAILURE;
    }
    let violations: Vec<String> = summaries.iter().flat_map(Summary::violations).collect();
    if violations.is_empty() {
        return ExitCode::SUCCESS;
    }
    println!("\nWhat does not hold:");
    violations.iter().for_each(|v| println!("{v}"));
    ExitCode::FAILURE
}
