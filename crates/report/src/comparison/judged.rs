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

impl Judged {
    /// The kind of value that ranks these runs.
    pub(super) fn of(runs: &[&RunResult]) -> Self {
        let known = |by: &Judged| runs.iter().any(|run| by.value(run).is_some());
        [Judged::Delay, Judged::Completion].into_iter().find(known).unwrap_or(Judged::Goodput)
    }

    /// The value of a run. `None` if the run did not complete the transfer, or did not deliver its messages.
    pub(super) fn value(self, run: &RunResult) -> Option<f64> {
        let metrics = &run.metrics;
        let completed = run.status == Status::Completed;
        match self {
            Judged::Goodput => Some(metrics.goodput_mbps),
            Judged::Completion => metrics.completion_s.filter(|_| completed),
            Judged::Delay => {
                let delays = metrics.message_delay_ms.filter(|_| completed)?;
                let undelivered = metrics.undelivered_messages? as f64;
                let offered = delays.count as f64 + undelivered;
                (undelivered <= MOST_UNDELIVERED * offered).then_some(delays.p99)
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
    pub(crate) fn unit(self) -> &'static str {
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
