//! The value by which the schedulers of a scenario are ranked.

use crate::metric::DELAY_P99;
use crate::statistics::Difference;
use pathweave_lab::results::{RunResult, Status};

/// Fraction of undelivered messages above which a run counts as not delivering its messages.
const MOST_UNDELIVERED: f64 = 0.01;

/// The value by which the schedulers of a scenario are ranked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judged {
    /// Goodput, 10⁶ bit/s: for streams that are as fast as the network allows, and for messages that no run delivers at
    /// the rate at which they are sent.
    Goodput,
    /// Completion time, s: for transfers that have a size.
    Completion,
    /// The 99th percentile of the delay of messages, or of a web page's objects, ms: if some run delivers them all.
    Delay,
}

/// How a run ended, as far as that ranks it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunEnd {
    /// How.
    pub status: Status,
    /// Goodput, 10⁶ bit/s.
    pub goodput_mbps: f64,
    /// Completion time of a transfer that has a size, s.
    pub completion_s: Option<f64>,
    /// The 99th percentile of the delay of messages, or of a web page's objects, ms.
    pub delay_p99_ms: Option<f64>,
    /// The part of the messages that were due and did not arrive, 0 to 1; `None` if a measured connection has other
    /// work too.
    pub undelivered_part: Option<f64>,
}

impl From<&RunResult> for RunEnd {
    fn from(run: &RunResult) -> Self {
        let metrics = &run.metrics;
        RunEnd {
            status: run.status,
            goodput_mbps: metrics.goodput_mbps,
            completion_s: metrics.completion_s,
            delay_p99_ms: metrics.message_delay_ms.map(|delays| delays.p99),
            undelivered_part: metrics.undelivered_part(),
        }
    }
}

impl Judged {
    /// The kind of value that ranks these runs.
    pub(super) fn of(runs: &[&RunResult]) -> Self {
        Self::of_ends(runs.iter().map(|run| RunEnd::from(*run)))
    }

    /// What ranks runs with these ends.
    pub fn of_ends(ends: impl Iterator<Item = RunEnd> + Clone) -> Self {
        let known = |by: &Judged| ends.clone().any(|end| by.value_of(end).is_some());
        [Judged::Delay, Judged::Completion].into_iter().find(known).unwrap_or(Judged::Goodput)
    }

    /// The value of a run.
    pub(super) fn value(self, run: &RunResult) -> Option<f64> {
        self.value_of(run.into())
    }

    /// What ranks a run with this end; `None` if it did not complete the transfer, or does not deliver what is offered.
    pub fn value_of(self, end: RunEnd) -> Option<f64> {
        let completed = end.status == Status::Completed;
        match self {
            Judged::Goodput => Some(end.goodput_mbps),
            Judged::Completion => end.completion_s.filter(|_| completed),
            Judged::Delay => {
                let delivers = end.undelivered_part? <= MOST_UNDELIVERED;
                end.delay_p99_ms.filter(|_| completed && delivers)
            }
        }
    }

    /// Whether a smaller value is better.
    pub fn less_is_better(self) -> bool {
        self != Judged::Goodput
    }

    /// The value's name in tables for programs, with its unit at the end.
    pub fn column(self) -> &'static str {
        match self {
            Judged::Goodput => "goodput_mbps",
            Judged::Completion => "completion_s",
            Judged::Delay => DELAY_P99,
        }
    }

    /// The value's name for people.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Judged::Goodput => "Goodput",
            Judged::Completion => "Completion time",
            Judged::Delay => "Delay, 99th percentile",
        }
    }

    /// The value's unit.
    pub fn unit(self) -> &'static str {
        match self {
            Judged::Goodput => "Mbit/s",
            Judged::Completion => "s",
            Judged::Delay => "ms",
        }
    }

    /// The differences between `runs` and `reference`, over the seeds for which both have a value.
    pub(super) fn paired(self, runs: &[&RunResult], reference: &[&RunResult]) -> Option<Difference> {
        let pair = |run: &&RunResult| {
            let other = reference.iter().find(|r| r.seed == run.seed)?;
            Some((self.value(run)?, self.value(other)?))
        };
        Difference::of(&runs.iter().filter_map(pair).collect::<Vec<_>>())
    }
}
