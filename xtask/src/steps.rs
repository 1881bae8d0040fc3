//! Checks one after the other, with a headline, a time and a summary.

use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Tests that ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// That passed.
    pub(crate) passed: u64,
    /// That failed.
    pub(crate) failed: u64,
}

/// What was checked so far.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    done: Vec<(String, Duration, Result<(), String>)>,
    counts: Counts,
}

impl Steps {
    /// Runs one check; the answer is whether it holds.
    pub(crate) fn step(&mut self, name: &str, check: impl FnOnce(&mut Counts) -> Result<(), String>) -> bool {
        println!("\n=== {name}");
        let start = now();
        let result = check(&mut self.counts);
        let time = start.elapsed();
        match &result {
            Ok(()) => println!("=== {name}: passed in {:.1} s", time.as_secs_f64()),
            Err(error) => println!("=== {name}: FAILED after {:.1} s: {error}", time.as_secs_f64()),
        }
        let passed = result.is_ok();
        self.done.push((name.into(), time, result));
        passed
    }

    /// Says what held and what did not.
    pub(crate) fn finish(self) -> ExitCode {
        println!("\n=== summary");
        for (name, time, result) in &self.done {
            let word = if result.is_ok() { "passed" } else { "FAILED" };
            println!("{word} {:>7.1} s  {name}", time.as_secs_f64());
        }
        let total: Duration = self.done.iter().map(|(_, time, _)| *time).sum();
        println!("       {:>7.1} s  in all", total.as_secs_f64());
        for (name, _, result) in &self.done {
            if let Err(error) = result {
                println!("\n{name}: {error}");
            }
        }
        if self.counts != Counts::default() {
            println!("\n{} passed, {} failed", self.counts.passed, self.counts.failed);
        }
        match self.done.iter().all(|(_, _, result)| result.is_ok()) {
            true => ExitCode::SUCCESS,
            false => ExitCode::FAILURE,
        }
    }
}

/// Chores may read the clock.
#[expect(clippy::disallowed_methods, reason = "how long a check takes is shown to people and affects no result")]
fn now() -> Instant {
    Instant::now()
}
