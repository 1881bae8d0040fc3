//! Many runs of one scenario, summed up by scheduler and ranked.

mod rows;
mod standing;
mod summary;

use crate::statistics::paired;
use pathweave_lab::results::{PathInfo, RunResult};
use rows::{by_scheduler, rank};
pub use standing::Standing;
use standing::standing;
pub use summary::Summary;
pub(crate) use summary::measured_s;
use summary::{mean, summarise};

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

#[cfg(test)]
mod tests;
