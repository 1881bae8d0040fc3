//! The summary of one scheduler's runs.

use super::judged::Judged;
use super::standing::{BesideTcp, Standing};
use crate::metric::{DELAY_P50, DELAY_P99, LONGEST_GAP, METRICS};
use crate::statistics::{Difference, Estimate};
use pathweave_lab::benefit::plain_tcp_path;
use pathweave_lab::results::{RunResult, STARTS_AFTER_THE_END, Status, TimeSpent};
use pathweave_lab::scenario::HostModel;

/// Fraction of the traffic from which on one path counts as the only one used.
const ONE_PATH: f64 = 0.995;

/// The results of one run that rank it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct OfSeed {
    seed: u64,
    value: Option<f64>,
    goodput_mbps: f64,
}

/// One scheduler (or plain TCP on one path) over all seeds of a scenario.
///
/// All means include every run that did not fail. A stalled run counts with the data that it delivered. Completion
/// times are means over completed runs only.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// The scheduler as written, or `tcp-path0`, ...
    pub scheduler: String,
    /// The congestion controller as written.
    pub congestion: String,
    /// The hosts on which the scheduler ran.
    pub host: HostModel,
    /// Other schedulers whose runs put exactly the same packets on every link with every seed, so that all their
    /// numbers are the same.
    pub same: Vec<String>,
    /// The path of plain TCP; `None` for schedulers.
    pub plain_tcp: Option<usize>,
    /// Whether this is plain TCP on a backup. A backup would not be used alone.
    pub on_backup: bool,
    /// Number of runs that were asked for.
    pub planned: usize,
    /// Number of finished runs.
    pub runs: usize,
    /// Number of finished runs that stalled.
    pub stalled: usize,
    /// Number of finished runs that failed. They do not enter any number below.
    pub failed: usize,
    /// The reason of the first failure.
    pub failure: Option<String>,
    /// Number of seeds for which another scheduler has a measurement and this one has none; 0 for plain TCP.
    pub lacking: usize,
    /// Data arrived, within the measured time or before it.
    pub(crate) received: bool,
    /// No run has data, because the measured connections start after its end.
    pub(crate) starts_late: bool,
    /// The value that ranks the row, over the runs that have one.
    pub value: Option<Estimate>,
    /// Goodput, 10⁶ bit/s.
    pub goodput_mbps: Estimate,
    /// Completion time of a sized transfer, seconds.
    pub completion_s: Option<Estimate>,
    /// Aggregation benefit (CP eq. 9), computed for each run with the plain TCP runs of its seed.
    pub benefit: Option<Estimate>,
    /// Fraction of the sent data bytes on each path, 0 to 1, retransmissions included.
    pub share: Vec<f64>,
    /// The row's value of each metric in [`METRICS`], in that order.
    pub(crate) metrics: Vec<Option<f64>>,
    /// Parts of the time, as means over the runs. Times of several measured connections are added up.
    pub time: TimeSpent,
    /// Number of measured connections in a run.
    pub(crate) connections: usize,
    /// The warnings of the runs, each once.
    pub warnings: Vec<String>,
    /// The results of each run that did not fail.
    pub(super) seeds: Vec<OfSeed>,
    /// Difference of the ranking value to the comparison's reference; `None` for the reference itself.
    pub against: Option<Difference>,
    /// Difference to plain TCP on the best path; `None` for that row itself and without plain TCP.
    pub against_tcp: Option<Difference>,
    /// Difference to the scheduler `linux`, which is that of mainline Linux.
    pub against_linux: Option<Difference>,
    /// Difference to the best scheduler.
    pub(crate) against_best: Option<Difference>,
    /// Result against plain TCP on the best path, seed by seed; `None` for plain TCP itself and without plain TCP.
    pub(crate) beside_tcp: Option<BesideTcp>,
}

impl Summary {
    /// Whether this is the row of the scheduler, alone or with others.
    pub fn is(&self, scheduler: &str) -> bool {
        self.scheduler == scheduler || self.same.iter().any(|s| s == scheduler)
    }

    /// The only path that carried data, if there is one.
    pub fn only_path(&self) -> Option<usize> {
        self.share.iter().position(|s| *s >= ONE_PATH)
    }

    /// Number of runs that enter the means.
    pub fn measured(&self) -> usize {
        self.runs - self.failed
    }

    /// Number of measured runs without a value: the transfer did not finish, or messages were not delivered.
    pub fn unfinished(&self) -> usize {
        self.measured() - self.value.map_or(0, |v| v.count)
    }

    /// Mean of the median delay of messages or of a page's objects, ms.
    pub fn delay_p50_ms(&self) -> Option<f64> {
        self.metric(DELAY_P50)
    }

    /// Mean of the 99th percentile of that delay, ms.
    pub fn delay_p99_ms(&self) -> Option<f64> {
        self.metric(DELAY_P99)
    }

    /// Longest time between two deliveries of messages, ms.
    pub fn longest_gap_ms(&self) -> Option<f64> {
        self.metric(LONGEST_GAP)
    }

    /// Both rows' results with each seed that both have.
    fn beside<'a>(&'a self, other: &'a Summary) -> impl Iterator<Item = (OfSeed, OfSeed)> + 'a {
        let of_other = |own: &OfSeed| other.seeds.iter().find(|o| o.seed == own.seed);
        self.seeds.iter().filter_map(move |own| Some((*own, *of_other(own)?)))
    }

    /// The difference of the ranking value to another row.
    pub(crate) fn value_beside(&self, other: &Summary) -> Option<Difference> {
        Difference::of(&self.beside(other).filter_map(|(a, b)| a.value.zip(b.value)).collect::<Vec<_>>())
    }

    /// The difference of the goodput to another row.
    pub(crate) fn goodput_beside(&self, other: &Summary) -> Option<Difference> {
        Difference::of(&self.beside(other).map(|(a, b)| (a.goodput_mbps, b.goodput_mbps)).collect::<Vec<_>>())
    }

    /// Whether both rows have the same seeds, and the same ranking value with each of them, or the same goodput where
    /// neither has a value.
    pub(crate) fn is_equal(&self, other: &Summary) -> bool {
        let is_alike = |(a, b): &(OfSeed, OfSeed)| match (a.value, b.value) {
            (None, None) => a.goodput_mbps == b.goodput_mbps,
            (a, b) => a.is_some() == b.is_some(),
        };
        let both = self.beside(other).filter(is_alike).count();
        both == self.seeds.len() && both == other.seeds.len() && self.value_beside(other).is_none_or(|d| d.is_equal)
    }

    /// The row's value of the metric with this CSV column.
    pub(crate) fn metric(&self, csv: &str) -> Option<f64> {
        METRICS.iter().zip(&self.metrics).find(|(m, _)| m.csv == csv).and_then(|(_, value)| *value)
    }

    /// Whether several paths are better than plain TCP on the best one. `None` for plain TCP itself, if all data used
    /// one path, and with a single seed, which cannot show it.
    pub fn standing(&self) -> Option<Standing> {
        self.beside_tcp_by_several_paths().filter(|beside| beside.seeds > 1).map(|beside| beside.standing)
    }

    /// Result against plain TCP, if the scheduler used several paths.
    pub(crate) fn beside_tcp_by_several_paths(&self) -> Option<BesideTcp> {
        self.beside_tcp.filter(|_| self.share.len() > 1 && self.only_path().is_none())
    }
}

pub(super) fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// The measured time of a run, which is the sum of its parts.
pub(crate) fn measured_s(time: &TimeSpent) -> f64 {
    time.total_s()
}

/// Mean of each part of the time over the runs.
fn mean_time(runs: &[&RunResult], paths: usize) -> TimeSpent {
    let part = |f: &dyn Fn(&TimeSpent) -> f64| mean(&runs.iter().map(|r| f(&r.metrics.time)).collect::<Vec<_>>());
    let list =
        |f: fn(&TimeSpent) -> &Vec<f64>| (0..paths).map(|p| part(&|t| f(t).get(p).copied().unwrap_or(0.0))).collect();
    TimeSpent {
        no_data_s: part(&|t| t.no_data_s),
        window_full_s: part(&|t| t.window_full_s),
        congestion_windows_full_s: part(&|t| t.congestion_windows_full_s),
        scheduler_waits_s: part(&|t| t.scheduler_waits_s),
        nagle_s: part(&|t| t.nagle_s),
        pacing_s: part(&|t| t.pacing_s),
        send_buffer_s: part(&|t| t.send_buffer_s),
        sending_s: part(&|t| t.sending_s),
        window_full_by_path_s: list(|t| &t.window_full_by_path_s),
        blocked_by_path_s: list(|t| &t.blocked_by_path_s),
        slow_start_by_path_s: list(|t| &t.slow_start_by_path_s),
        recovery_by_path_s: list(|t| &t.recovery_by_path_s),
    }
}

pub(super) fn summarise(runs: &[&RunResult], paths: usize, judged: Judged) -> Summary {
    let values = |f: &dyn Fn(&RunResult) -> Option<f64>| runs.iter().filter_map(|r| f(r)).collect::<Vec<f64>>();
    let sent =
        |path: usize| runs.iter().filter_map(|r| r.metrics.per_path.get(path)).map(|p| p.sent_bytes as f64).sum();
    let mut share: Vec<f64> = (0..paths).map(sent).collect();
    let total: f64 = share.iter().sum();
    if total > 0.0 {
        share.iter_mut().for_each(|s| *s /= total);
    }
    Summary {
        scheduler: runs[0].scheduler.clone(),
        congestion: runs[0].congestion.clone(),
        host: runs[0].host,
        same: Vec::new(),
        plain_tcp: runs[0].plain_tcp.or_else(|| plain_tcp_path(&runs[0].scheduler)),
        on_backup: runs[0].is_on_backup(),
        planned: runs.len(),
        runs: runs.len(),
        stalled: runs.iter().filter(|r| r.status == Status::Stalled).count(),
        failed: 0,
        failure: None,
        lacking: 0,
        received: runs.iter().flat_map(|r| &r.connections).any(|c| c.measured && c.received_bytes > 0),
        starts_late: runs.iter().all(|r| r.reason.as_deref() == Some(STARTS_AFTER_THE_END)),
        value: Estimate::of(&values(&|r| judged.value(r))),
        goodput_mbps: Estimate::of(&values(&|r| Some(r.metrics.goodput_mbps)))
            .expect("a scheduler is there by its runs"),
        completion_s: Estimate::of(&values(&|r| r.metrics.completion_s.filter(|_| r.status == Status::Completed))),
        benefit: Estimate::of(&values(&|r| r.metrics.aggregation_benefit)),
        share,
        metrics: METRICS.iter().map(|m| m.sum_up(runs.iter().map(|r| &r.metrics))).collect(),
        time: mean_time(runs, paths),
        connections: runs.iter().map(|r| r.connections.iter().filter(|c| c.measured).count()).max().unwrap_or(0),
        warnings: warnings(runs),
        seeds: runs
            .iter()
            .map(|r| OfSeed { seed: r.seed, value: judged.value(r), goodput_mbps: r.metrics.goodput_mbps })
            .collect(),
        against: None,
        against_tcp: None,
        against_linux: None,
        against_best: None,
        beside_tcp: None,
    }
}

fn warnings(runs: &[&RunResult]) -> Vec<String> {
    // The numbers in a warning differ between the seeds: the first run's stand for all.
    runs.iter().find(|r| !r.warnings.is_empty()).map(|r| r.warnings.clone()).unwrap_or_default()
}
