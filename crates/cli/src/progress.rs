//! The bar that shows how many runs are done.

use crate::interrupt;
use indicatif::{ProgressBar, ProgressStyle};
use pathweave_runner::Watch;

/// A bar on standard error, only where that is a terminal. It is gone when this is dropped. Ctrl-C stops the runs.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// Of so many runs.
    pub(crate) fn new(runs: usize) -> Self {
        let style = ProgressStyle::with_template("{bar:40} {pos}/{len} runs, {eta} left");
        let bar = ProgressBar::new(runs as u64);
        Progress(bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar())))
    }
}

impl Watch for Progress {
    fn stop(&self) -> bool {
        interrupt::asked()
    }

    fn finished_one(&self) {
        self.0.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
