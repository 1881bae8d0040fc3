//! Many runs of one scenario, summed up by scheduler and ranked.

use crate::metric::METRICS;
use crate::statistics::Estimate;
use crate::statistics::{Difference, paired, value};
use pathweave_lab::benefit::plain_tcp_path;
use pathweave_lab::results::{PathInfo, RunResult, Status, TimeSpent};
use pathweave_lab::scenario::HostModel;
use std::cmp::Ordering;

/// If one path carries at least this fraction of the traffic, the other paths do not count as used.
const ONE_PATH: f64 = 0.995;
/// The relative difference to plain TCP below which nothing is called better or worse.
const LEVEL: f64 = 0.01;

/// How several paths compare with plain TCP on the best one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Better by more than 1 %, at 95 % confidence over the seeds.
    Better,
    /// Within 1 %, or within the spread of the seeds.
    Level,
    /// Worse by more than 1 %, at 95 % confidence over the seeds.
    Worse,
}

/// One scheduler (or plain TCP on one path) over all seeds of a scenario.
///
/// Every run counts in the means. A run that stalled or failed counts with what it delivered until then. Only completion times
/// are those of completed runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// The scheduler as written, or `tcp-path0`, ...
    pub scheduler: String,
    /// The congestion controller as written.
    pub congestion: String,
    /// The hosts on which it ran.
    pub host: HostModel,
    /// Other schedulers whose runs put exactly the same packets on every link, on every seed: their numbers are the same.
    pub same: Vec<String>,
    /// The path, where this is plain TCP.
    pub plain_tcp: Option<usize>,
    /// Whether that path is a backup, which nobody would use alone.
    pub on_backup: bool,
    /// How many runs.
    pub runs: usize,
    /// How many of them stalled.
    pub stalled: usize,
    /// How many of them failed.
    pub failed: usize,
    /// Goodput, 10⁶ bit/s.
    pub goodput_mbps: Estimate,
    /// Completion time of a sized transfer, seconds.
    pub completion_s: Option<Estimate>,
    /// Aggregation benefit (CP eq. 9), each run against the plain TCP runs of its seed.
    pub benefit: Option<Estimate>,
    /// Part of the sent data bytes by path, 0 to 1 (repeated bytes included).
    pub share: Vec<f64>,
    /// What stands for the runs in each of [`METRICS`], in that order.
    pub(crate) metrics: Vec<f64>,
    /// Where the time went, means over the runs.
    pub time: TimeSpent,
    /// The warnings of the runs, each once.
    pub warnings: Vec<String>,
    /// Goodput, or completion time of sized transfers, against the comparison's reference; nothing for the reference itself.
    pub against: Option<Difference>,
    /// The same against plain TCP on the best path; nothing for that row itself and without plain TCP.
    pub against_tcp: Option<Difference>,
    /// The same against the scheduler `linux`, which is mainline's.
    pub against_linux: Option<Difference>,
    /// Against plain TCP on the best path, seed by seed; nothing for plain TCP itself, without plain TCP, and where all data went
    /// over one path.
    pub standing: Option<Standing>,
}

impl Summary {
    /// The row stands for this scheduler, alone or among others.
    pub fn is(&self, scheduler: &str) -> bool {
        self.scheduler == scheduler || self.same.iter().any(|s| s == scheduler)
    }

    /// The one path that carried all data, where it was one.
    pub fn only_path(&self) -> Option<usize> {
        self.share.iter().position(|s| *s >= ONE_PATH)
    }

    /// How many runs did not finish a sized transfer.
    pub fn unfinished(&self) -> usize {
        self.runs - self.completion_s.map_or(0, |c| c.count)
    }
}

/// All schedulers of one scenario, the best first: by mean goodput, or by mean completion time for sized transfers. What did not
/// complete in every run comes after all that did, when transfers are sized. Schedulers whose runs are the same packet by packet
/// share a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The scenario's name.
    pub scenario: String,
    /// The seeds, ascending.
    pub seeds: Vec<u64>,
    /// The number of paths.
    pub paths: usize,
    /// The paths' names, where the results know them, and which of them are backups.
    pub path_info: Vec<PathInfo>,
    /// Transfers have a size, so the completion time ranks.
    pub sized: bool,
    /// The measured time, seconds: the mean over all runs.
    pub measured_s: f64,
    /// The row that the others are compared with, an index into `summaries`.
    pub reference: Option<usize>,
    /// Ranked.
    pub summaries: Vec<Summary>,
}

impl Comparison {
    /// One comparison per scenario, in the order of the results. `against` names the reference; without it, it is plain TCP on
    /// the best path.
    pub fn all(results: &[RunResult], against: Option<&str>) -> Vec<Comparison> {
        let mut names: Vec<&str> = Vec::new();
        for r in results {
            if !names.contains(&r.scenario.as_str()) {
                names.push(&r.scenario);
            }
        }
        names.iter().map(|name| Self::of(name, results, against)).collect()
    }

    /// The results of `scenario`, compared with `against` as in [`Comparison::all`].
    pub fn of(scenario: &str, results: &[RunResult], against: Option<&str>) -> Comparison {
        let results: Vec<_> = results.iter().filter(|r| r.scenario == scenario).collect();
        let mut seeds: Vec<_> = results.iter().map(|r| r.seed).collect();
        seeds.sort_unstable();
        seeds.dedup();
        let sized = results.iter().any(|r| r.metrics.completion_s.is_some());
        let paths = results.iter().map(|r| r.metrics.per_path.len()).max().unwrap_or(0);
        // The baselines know less of the connection's backups than the runs with all paths.
        let info = results.iter().find(|r| r.plain_tcp.is_none() && !r.paths.is_empty());

        let mut rows: Vec<(Summary, Vec<&RunResult>)> = by_scheduler(&results)
            .into_iter()
            .map(|(runs, same)| (Summary { same, ..summarise(&runs, paths) }, runs))
            .collect();
        rows.sort_by(|(a, _), (b, _)| rank(a, b, sized));
        let plain = |backup: bool| rows.iter().position(|(s, _)| s.plain_tcp.is_some() && (backup || !s.on_backup));
        let tcp = plain(false).or_else(|| plain(true));
        let linux = rows.iter().position(|(s, _)| s.is("linux"));
        let named = against.and_then(|name| rows.iter().position(|(s, _)| s.is(name)));
        let reference = named.or(tcp);
        let runs_of: Vec<Vec<&RunResult>> = rows.iter().map(|(_, runs)| runs.clone()).collect();
        for (i, (summary, runs)) in rows.iter_mut().enumerate() {
            let other = |row: Option<usize>| row.filter(|r| *r != i).and_then(|r| paired(runs, &runs_of[r], sized));
            summary.against = other(reference);
            summary.against_tcp = other(tcp);
            summary.against_linux = other(linux);
            if let Some(tcp) = tcp.filter(|_| paths > 1 && summary.plain_tcp.is_none() && summary.only_path().is_none())
            {
                summary.standing = standing(runs, &runs_of[tcp], summary.against_tcp, sized);
            }
        }
        Comparison {
            scenario: scenario.into(),
            seeds,
            paths,
            path_info: info.or(results.first()).map(|r| r.paths.clone()).unwrap_or_default(),
            sized,
            measured_s: mean(&results.iter().map(|r| measured_s(&r.metrics.time)).collect::<Vec<_>>()),
            reference,
            summaries: rows.into_iter().map(|(s, _)| s).collect(),
        }
    }

    /// Plain TCP on its best path; on a backup only if all paths are backups.
    pub fn best_plain_tcp(&self) -> Option<&Summary> {
        let mut plain = self.summaries.iter().filter(|s| s.plain_tcp.is_some());
        plain.clone().find(|s| !s.on_backup).or_else(|| plain.next())
    }

    /// The best of those that are not plain TCP.
    pub fn best_multipath(&self) -> Option<&Summary> {
        self.summaries.iter().find(|s| s.plain_tcp.is_none())
    }

    /// The row that stands for this scheduler.
    pub fn row(&self, scheduler: &str) -> Option<&Summary> {
        self.summaries.iter().find(|s| s.is(scheduler))
    }

    /// A path's name.
    pub fn path_name(&self, path: usize) -> String {
        self.path_info.get(path).map_or_else(|| format!("path {path}"), |p| p.name.clone())
    }

    /// What a row is called: `blest`, or `tcp-path1 (3g)`.
    pub fn label(&self, summary: &Summary) -> String {
        match summary.plain_tcp {
            Some(path) if !self.path_info.is_empty() => format!("{} ({})", summary.scheduler, self.path_name(path)),
            _ => summary.scheduler.clone(),
        }
    }

    /// Whether no byte arrived in any run.
    pub fn nothing_arrived(&self) -> bool {
        self.summaries.iter().all(|s| s.goodput_mbps.mean == 0.0)
    }
}

/// The runs by scheduler, in the order of the results; with each row the names of those that have exactly the same runs.
fn by_scheduler<'a>(results: &[&'a RunResult]) -> Vec<(Vec<&'a RunResult>, Vec<String>)> {
    let mut all: Vec<Vec<&RunResult>> = Vec::new();
    for r in results {
        match all.iter_mut().find(|runs| runs[0].scheduler == r.scheduler) {
            Some(runs) => runs.push(r),
            None => all.push(vec![r]),
        }
    }
    let mut rows: Vec<(Vec<&RunResult>, Vec<String>)> = Vec::new();
    for runs in all {
        let equal = |row: &&mut (Vec<&RunResult>, Vec<String>)| same_packets(&row.0, &runs);
        match rows.iter_mut().find(equal) {
            Some((_, same)) => same.push(runs[0].scheduler.clone()),
            None => rows.push((runs, Vec::new())),
        }
    }
    rows
}

/// Whether two schedulers' runs are the same, packet by packet, on every seed.
fn same_packets(a: &[&RunResult], b: &[&RunResult]) -> bool {
    let equal = |r: &&RunResult| {
        let same = |o: &&&RunResult| {
            let settings = o.congestion == r.congestion && o.host == r.host;
            o.seed == r.seed && o.digest == r.digest && o.status == r.status && settings
        };
        !r.digest.is_empty() && b.iter().any(|o| same(&o))
    };
    let plain = |runs: &[&RunResult]| plain_tcp_path(&runs[0].scheduler).is_some();
    a.len() == b.len() && !plain(a) && !plain(b) && a.iter().all(equal)
}

fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// The measured time of a run: its parts add up to it.
pub(crate) fn measured_s(time: &TimeSpent) -> f64 {
    time.total_s()
}

/// The mean of each part over the runs.
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
        sending_s: part(&|t| t.sending_s),
        window_full_by_path_s: list(|t| &t.window_full_by_path_s),
        blocked_by_path_s: list(|t| &t.blocked_by_path_s),
        slow_start_by_path_s: list(|t| &t.slow_start_by_path_s),
        recovery_by_path_s: list(|t| &t.recovery_by_path_s),
    }
}

fn summarise(runs: &[&RunResult], paths: usize) -> Summary {
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
        runs: runs.len(),
        stalled: runs.iter().filter(|r| r.status == Status::Stalled).count(),
        failed: runs.iter().filter(|r| r.status == Status::Failed).count(),
        goodput_mbps: Estimate::of(&values(&|r| Some(r.metrics.goodput_mbps)))
            .expect("a scheduler is there by its runs"),
        completion_s: Estimate::of(&values(&|r| r.metrics.completion_s.filter(|_| r.status == Status::Completed))),
        benefit: Estimate::of(&values(&|r| r.metrics.aggregation_benefit)),
        share,
        metrics: METRICS.iter().map(|m| m.sum_up(runs.iter().map(|r| &r.metrics))).collect(),
        time: mean_time(runs, paths),
        warnings: warnings(runs),
        against: None,
        against_tcp: None,
        against_linux: None,
        standing: None,
    }
}

fn rank(a: &Summary, b: &Summary, sized: bool) -> Ordering {
    let by_goodput = || b.goodput_mbps.mean.total_cmp(&a.goodput_mbps.mean);
    let order = match (sized, a.completion_s, b.completion_s) {
        (true, Some(x), Some(y)) => a.unfinished().cmp(&b.unfinished()).then(x.mean.total_cmp(&y.mean)),
        (true, ..) => a.unfinished().cmp(&b.unfinished()).then_with(by_goodput),
        (false, ..) => by_goodput(),
    };
    order.then_with(|| a.scheduler.cmp(&b.scheduler))
}

fn warnings(runs: &[&RunResult]) -> Vec<String> {
    // The numbers in a warning differ between the seeds: the first run's stand for all.
    runs.iter().find(|r| !r.warnings.is_empty()).map(|r| r.warnings.clone()).unwrap_or_default()
}

/// Better, level or worse than plain TCP on the best path.
fn standing(runs: &[&RunResult], tcp: &[&RunResult], difference: Option<Difference>, sized: bool) -> Option<Standing> {
    // A scheduler that does not finish is worse than plain TCP that does, however long that takes.
    let alone = |a: &[&RunResult], b: &[&RunResult]| {
        a.iter().any(|x| {
            let other = b.iter().find(|y| y.seed == x.seed);
            value(x, sized).is_none() && other.is_some_and(|y| value(y, sized).is_some())
        })
    };
    if alone(runs, tcp) {
        return Some(Standing::Worse);
    }
    if alone(tcp, runs) {
        return Some(Standing::Better);
    }
    let difference = difference?;
    let level = mean(&tcp.iter().filter_map(|r| value(r, sized)).collect::<Vec<_>>());
    let gain = if sized { -difference.mean() } else { difference.mean() };
    let small = gain.abs() <= LEVEL * level;
    Some(match difference.is_significant() {
        _ if small => Standing::Level,
        Some(false) => Standing::Level,
        Some(true) | None if gain > 0.0 => Standing::Better,
        Some(true) | None => Standing::Worse,
    })
}

#[cfg(test)]
#[path = "summary_tests.rs"]
mod tests;
