//! Runs spread over threads.

use crate::engine::{Engine, Run, failed};
use crate::failure::Failure;
use crate::plan::Plan;
use indicatif::{ProgressBar, ProgressStyle};
use pathweave_lab::results::RunResult;
use pathweave_proto::Registry;
use rayon::prelude::*;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Makes all runs; the results are in the order of plans, variants and seeds, whatever the number of threads. A run in which the
/// engine's own invariants break is a failed run.
pub(crate) fn execute(
    plans: &[Plan],
    registry: &Registry,
    engine: &Engine,
    jobs: Option<NonZero<usize>>,
) -> Result<Vec<RunResult>, Failure> {
    let mut runs = Vec::new();
    for plan in plans {
        for (variant, scenario) in &plan.variants {
            for seed in &plan.seeds {
                let (document, files) = (&plan.document, &plan.traces);
                runs.push(Run { document, scenario, variant, seed: *seed, registry, files });
            }
        }
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs.map_or(0, NonZero::get)).build();
    let pool = pool.map_err(|e| Failure::Output(format!("threads: {e}")))?;
    let progress = progress(runs.len());
    let results = pool.install(|| {
        let one = |run: &Run<'_>| {
            let result = catch_unwind(AssertUnwindSafe(|| engine(run))).unwrap_or_else(|panic| {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("an unknown panic");
                failed(run, &format!("a fault in Pathweave: {text}"))
            });
            progress.inc(1);
            result
        };
        runs.par_iter().with_max_len(1).map(one).collect()
    });
    progress.finish_and_clear();
    Ok(results)
}

/// On standard error, and only where that is a terminal.
fn progress(runs: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} runs, {eta} left");
    let bar = ProgressBar::new(runs as u64);
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
