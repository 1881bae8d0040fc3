//! Many runs of one scenario, summed up by scheduler and ranked.

use crate::statistics::Estimate;
use pathweave_lab::benefit::plain_tcp_path;
use pathweave_lab::results::{RunResult, Status};
use std::cmp::Ordering;

/// The part of the traffic on one path from which on the other paths do not count as used.
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
/// Every run counts in the means, also one that stalled or failed: with what it delivered until then. Only completion times are
/// of completed runs alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// The scheduler as written, or `tcp-path0`, ...
    pub scheduler: String,
    /// The congestion controller as written.
    pub congestion: String,
    /// The path, where this is plain TCP.
    pub plain_tcp: Option<usize>,
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
    /// Out-of-order queue, bytes: the mean of the runs' means.
    pub out_of_order_mean: f64,
    /// The mean of the runs' 95th percentiles.
    pub out_of_order_p95: f64,
    /// The largest of the runs' maxima.
    pub out_of_order_max: u64,
    /// Data segments sent again on their subflow, a run.
    pub retransmitted: f64,
    /// Data segments sent again on another subflow, a run.
    pub reinjected: f64,
    /// Segments sent by opportunistic retransmission, a run.
    pub opportunistic: f64,
    /// Retransmission timeouts, a run.
    pub timeouts: f64,
    /// Head-of-line blocked time, seconds a run.
    pub blocked_s: f64,
    /// Time that the receive window held data back, seconds a run.
    pub window_limited_s: f64,
    /// Against plain TCP on the best path, seed by seed; nothing for plain TCP itself, without plain TCP, and where all data went
    /// over one path.
    pub standing: Option<Standing>,
}

/// All schedulers of one scenario, the best first: by mean goodput, or by mean completion time for sized transfers. What did not
/// complete in every run comes after all that did, when transfers are sized.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The scenario's name.
    pub scenario: String,
    /// The seeds, ascending.
    pub seeds: Vec<u64>,
    /// The number of paths.
    pub paths: usize,
    /// Transfers have a size, so the completion time ranks.
    pub sized: bool,
    /// Ranked.
    pub summaries: Vec<Summary>,
}

impl Comparison {
    /// One comparison per scenario, in the order of the results.
    pub fn all(results: &[RunResult]) -> Vec<Comparison> {
        let mut names: Vec<&str> = Vec::new();
        for r in results {
            if !names.contains(&r.scenario.as_str()) {
                names.push(&r.scenario);
            }
        }
        names.iter().map(|name| Self::of(name, results)).collect()
    }

    /// The results of `scenario`, compared.
    pub fn of(scenario: &str, results: &[RunResult]) -> Comparison {
        let results: Vec<_> = results.iter().filter(|r| r.scenario == scenario).collect();
        let mut seeds: Vec<_> = results.iter().map(|r| r.seed).collect();
        seeds.sort_unstable();
        seeds.dedup();
        let sized = results.iter().any(|r| r.metrics.completion_s.is_some());
        let paths = results.iter().map(|r| r.metrics.per_path.len()).max().unwrap_or(0);

        let mut by_scheduler: Vec<Vec<&RunResult>> = Vec::new();
        for r in results {
            match by_scheduler.iter_mut().find(|runs| runs[0].scheduler == r.scheduler) {
                Some(runs) => runs.push(r),
                None => by_scheduler.push(vec![r]),
            }
        }
        let mut rows: Vec<(Summary, Vec<&RunResult>)> =
            by_scheduler.into_iter().map(|runs| (summarise(&runs, paths), runs)).collect();
        rows.sort_by(|(a, _), (b, _)| rank(a, b, sized));
        let best = rows.iter().find(|(s, _)| s.plain_tcp.is_some()).map(|(_, runs)| runs.clone());
        if let Some(best) = best.filter(|_| paths > 1) {
            for (summary, runs) in &mut rows {
                let several_paths = summary.share.iter().all(|s| *s < ONE_PATH);
                if summary.plain_tcp.is_none() && several_paths {
                    summary.standing = standing(runs, &best, sized);
                }
            }
        }
        let summaries = rows.into_iter().map(|(s, _)| s).collect();
        Comparison { scenario: scenario.into(), seeds, paths, sized, summaries }
    }

    /// Plain TCP on its best path.
    pub fn best_plain_tcp(&self) -> Option<&Summary> {
        self.summaries.iter().find(|s| s.plain_tcp.is_some())
    }

    /// The best of those that are not plain TCP.
    pub fn best_multipath(&self) -> Option<&Summary> {
        self.summaries.iter().find(|s| s.plain_tcp.is_none())
    }
}

fn summarise(runs: &[&RunResult], paths: usize) -> Summary {
    let values = |f: &dyn Fn(&RunResult) -> Option<f64>| runs.iter().filter_map(|r| f(r)).collect::<Vec<f64>>();
    let mean = |f: &dyn Fn(&RunResult) -> f64| runs.iter().map(|r| f(r)).sum::<f64>() / runs.len() as f64;
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
        plain_tcp: plain_tcp_path(&runs[0].scheduler),
        runs: runs.len(),
        stalled: runs.iter().filter(|r| r.status == Status::Stalled).count(),
        failed: runs.iter().filter(|r| r.status == Status::Failed).count(),
        goodput_mbps: Estimate::of(&values(&|r| Some(r.metrics.goodput_mbps)))
            .expect("a scheduler is there by its runs"),
        completion_s: Estimate::of(&values(&|r| r.metrics.completion_s.filter(|_| r.status == Status::Completed))),
        benefit: Estimate::of(&values(&|r| r.metrics.aggregation_benefit)),
        share,
        out_of_order_mean: mean(&|r| r.metrics.out_of_order_bytes.mean),
        out_of_order_p95: mean(&|r| r.metrics.out_of_order_bytes.p95 as f64),
        out_of_order_max: runs.iter().map(|r| r.metrics.out_of_order_bytes.max).max().unwrap_or(0),
        retransmitted: mean(&|r| r.metrics.retransmitted_segments as f64),
        reinjected: mean(&|r| r.metrics.reinjected_segments as f64),
        opportunistic: mean(&|r| r.metrics.opportunistic_retransmissions as f64),
        timeouts: mean(&|r| r.metrics.timeouts as f64),
        blocked_s: mean(&|r| r.metrics.head_of_line_blocked_s),
        window_limited_s: mean(&|r| r.metrics.window_limited_s),
        standing: None,
    }
}

fn rank(a: &Summary, b: &Summary, sized: bool) -> Ordering {
    let by_goodput = || b.goodput_mbps.mean.total_cmp(&a.goodput_mbps.mean);
    let unfinished = |s: &Summary| s.runs - s.completion_s.map_or(0, |c| c.count);
    let order = match (sized, a.completion_s, b.completion_s) {
        (true, Some(x), Some(y)) => unfinished(a).cmp(&unfinished(b)).then(x.mean.total_cmp(&y.mean)),
        (true, ..) => unfinished(a).cmp(&unfinished(b)).then_with(by_goodput),
        (false, ..) => by_goodput(),
    };
    order.then_with(|| a.scheduler.cmp(&b.scheduler))
}

/// The paired difference over the seeds that both have: they share the network's randomness, so most of the spread cancels.
fn standing(runs: &[&RunResult], best: &[&RunResult], sized: bool) -> Option<Standing> {
    let value = |r: &RunResult| if sized { r.metrics.completion_s.map(|s| -s) } else { Some(r.metrics.goodput_mbps) };
    let mut gains = Vec::new();
    let mut level = 0.0;
    for run in runs {
        match best.iter().find(|b| b.seed == run.seed).map(|b| (value(run), value(b))) {
            Some((Some(x), Some(y))) => {
                gains.push(x - y);
                level += y.abs();
            }
            Some((None, Some(_))) => return Some(Standing::Worse),
            _ => {}
        }
    }
    let gain = Estimate::of(&gains)?;
    let (low, high) = gain.interval.unwrap_or((gain.mean, gain.mean));
    let small = gain.mean.abs() <= LEVEL * level / gains.len() as f64;
    Some(match () {
        () if small => Standing::Level,
        () if low > 0.0 => Standing::Better,
        () if high < 0.0 => Standing::Worse,
        () => Standing::Level,
    })
}

#[cfg(test)]
#[path = "summary_tests.rs"]
mod tests;
