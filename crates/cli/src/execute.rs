//! Runs spread over threads.

use crate::args::CompareOptions;
use crate::engine::{Engine, Run, failed};
use crate::failure::Failure;
use crate::pcap::Capture;
use crate::plan::Plan;
use indicatif::{ProgressBar, ProgressStyle};
use pathweave_lab::results::RunResult;
use pathweave_proto::Registry;
use rayon::prelude::*;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Makes all runs; the results are in the order of plans, variants and seeds, whatever the number of threads. A run in which the
/// engine's own invariants break is a failed run. The first run is written to `capture`.
pub(crate) fn execute(
    plans: &[Plan],
    registry: &Registry,
    engine: &Engine,
    options: &CompareOptions,
    capture: Option<&Capture>,
) -> Result<Vec<RunResult>, Failure> {
    let mut runs = Vec::new();
    for plan in plans {
        for (variant, scenario) in &plan.variants {
            for seed in &plan.seeds {
                let (document, files) = (&plan.document, &plan.traces);
                // A capture is of the first run; the others are plain TCP's.
                let capture = capture.filter(|_| runs.is_empty()).cloned();
                let through_bytes = options.through_bytes;
                runs.push(Run { document, scenario, variant, seed: *seed, registry, files, capture, through_bytes });
            }
        }
    }
    let one = |run: &Run<'_>| caught(|| engine(run)).unwrap_or_else(|fault| failed(run, &fault));
    spread(&runs, options.jobs, one)
}

/// What `work` gives; where the engine's own invariants break, what to say of it.
pub(crate) fn caught<R>(work: impl FnOnce() -> R) -> Result<R, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("an unknown panic");
        format!("a fault in Pathweave: {text}")
    })
}

/// Does `one` with every item, on `jobs` threads, in any order; the results are in the order of the items.
pub(crate) fn spread<T: Sync, R: Send>(
    items: &[T],
    jobs: Option<NonZero<usize>>,
    one: impl Fn(&T) -> R + Sync,
) -> Result<Vec<R>, Failure> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs.map_or(0, NonZero::get)).build();
    let pool = pool.map_err(|e| Failure::Output(format!("threads: {e}")))?;
    let progress = progress(items.len());
    let counted = |item: &T| {
        let result = one(item);
        progress.inc(1);
        result
    };
    let results = pool.install(|| items.par_iter().with_max_len(1).map(counted).collect());
    progress.finish_and_clear();
    Ok(results)
}

/// On standard error, and only where that is a terminal.
fn progress(runs: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} runs, {eta} left");
    let bar = ProgressBar::new(runs as u64);
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
