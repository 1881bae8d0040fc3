//! The runs that were asked for, and those that are missing.

use pathweave_lab::benefit::plain_tcp_path;
use pathweave_lab::results::RunResult;

/// The runs of one scenario that were asked for: each scheduler with each seed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Planned {
    /// The scenario's name.
    pub scenario: String,
    /// The schedulers as written, and `tcp-path0`, ...
    pub schedulers: Vec<String>,
    /// Number of seeds of each scheduler.
    pub seeds: usize,
    /// The paths' names: a run that failed early does not know them.
    pub paths: Vec<String>,
}

/// A scheduler, or plain TCP on a path, that was asked for but has no measurement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Absent {
    /// The scheduler as written, or `tcp-path0`, ...
    pub scheduler: String,
    /// The path, if this is plain TCP.
    pub plain_tcp: Option<usize>,
    /// Number of runs that were asked for.
    pub planned: usize,
    /// Number of failed runs. No other run of this scheduler finished.
    pub failed: usize,
    /// The reason of the first failure.
    pub failure: Option<String>,
}

/// Counts of the runs of each scheduler.
pub(super) struct Counts<'a> {
    planned: Option<&'a Planned>,
    finished: &'a [&'a RunResult],
    failed: &'a [&'a RunResult],
}

impl<'a> Counts<'a> {
    pub(super) fn new(
        planned: Option<&'a Planned>,
        finished: &'a [&'a RunResult],
        failed: &'a [&'a RunResult],
    ) -> Self {
        Counts { planned, finished, failed }
    }

    /// Every scheduler that was asked for or run, each once.
    fn schedulers(&self) -> Vec<&'a str> {
        let asked = self.planned.into_iter().flat_map(|p| p.schedulers.iter().map(String::as_str));
        let mut all: Vec<&str> = Vec::new();
        for name in asked.chain(self.finished.iter().map(|r| r.scheduler.as_str())) {
            if !all.contains(&name) {
                all.push(name);
            }
        }
        all
    }

    /// Number of a scheduler's runs that were asked for. Without a plan, the number of finished runs.
    pub(super) fn planned(&self, scheduler: &str) -> usize {
        match self.planned.filter(|p| p.schedulers.iter().any(|s| s == scheduler)) {
            Some(planned) => planned.seeds,
            None => self.finished.iter().filter(|r| r.scheduler == scheduler).count(),
        }
    }

    /// Number of all runs that were asked for.
    pub(super) fn all_planned(&self) -> usize {
        self.schedulers().into_iter().map(|name| self.planned(name)).sum()
    }

    /// Number of a scheduler's failed runs.
    pub(super) fn failed(&self, scheduler: &str) -> usize {
        self.failed.iter().filter(|r| r.scheduler == scheduler).count()
    }

    /// The reason of a scheduler's first failure.
    pub(super) fn failure(&self, scheduler: &str) -> Option<String> {
        self.failed.iter().find(|r| r.scheduler == scheduler)?.reason.clone()
    }

    /// The schedulers without a measurement.
    pub(super) fn absent(&self) -> Vec<Absent> {
        let runs = |name: &str| self.finished.iter().filter(|r| r.scheduler == name).count();
        let none = |name: &&str| runs(name) == self.failed(name);
        let absent = |name: &str| Absent {
            scheduler: name.to_owned(),
            plain_tcp: plain_tcp_path(name),
            planned: self.planned(name),
            failed: self.failed(name),
            failure: self.failure(name),
        };
        self.schedulers().into_iter().filter(none).map(absent).collect()
    }
}
