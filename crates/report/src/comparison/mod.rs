//! Many runs of one scenario, summarised by scheduler and ranked.

mod judged;
mod planned;
mod rows;
mod standing;
mod summary;

pub use judged::{Judged, RunEnd};
use pathweave_lab::benefit::{plain_tcp_path, without_backups};
use pathweave_lab::results::{PathInfo, RunResult, Status};
use planned::Counts;
pub use planned::{Absent, Planned};
pub(crate) use rows::by_results;
use rows::{by_scheduler, rank};
pub(crate) use standing::BesideTcp;
pub(crate) use standing::all_are_behind;
pub use standing::{HEADERS, Standing, least_gain};
use std::collections::BTreeSet;
pub use summary::Summary;
pub(crate) use summary::measured_s;
use summary::{mean, summarise};

/// All schedulers of one scenario, ranked by the mean of [`Judged`]'s value, the best first. Schedulers without a value
/// in any run come last. Schedulers whose runs are the same packet by packet share a row.
/// A scheduler that lacks seeds of others, because runs failed or were not made, comes after those that lack none.
///
/// Failed runs are counted, but do not enter any other number.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The scenario's name.
    pub scenario: String,
    /// Number of runs that were asked for.
    pub planned: usize,
    /// Number of finished runs.
    pub finished: usize,
    /// The seeds of the finished runs, ascending.
    pub seeds: Vec<u64>,
    /// The number of paths.
    pub paths: usize,
    /// The paths' names, if the results have them, and whether each path is a backup.
    pub path_info: Vec<PathInfo>,
    /// The value that ranks the schedulers.
    pub judged: Judged,
    /// Whether some run sends messages or loads a page, which may be less data than the network can carry.
    pub has_messages: bool,
    /// Mean of the measured time over all runs, seconds.
    pub measured_s: f64,
    /// Index in `summaries` of the row that the others are compared with.
    pub reference: Option<usize>,
    /// The rows, the best first.
    pub summaries: Vec<Summary>,
    /// Plain TCP on a backup, if it is ahead of every scheduler and of plain TCP on the other paths: an index into
    /// `summaries`.
    pub(crate) backup_ahead: Option<usize>,
    /// Requested schedulers without a finished run that did not fail, in the order of the request.
    pub absent: Vec<Absent>,
}

impl Comparison {
    /// One comparison per scenario, in the order of `planned`, then of the results. For a scenario that is not in
    /// `planned`, the existing runs count as the planned ones. `against` names the reference; the default is plain TCP
    /// on the best path.
    pub fn all(results: &[RunResult], planned: &[Planned], against: Option<&str>) -> Vec<Comparison> {
        let mut names: Vec<&str> = Vec::new();
        let asked = planned.iter().map(|p| p.scenario.as_str());
        for name in asked.chain(results.iter().map(|r| r.scenario.as_str())) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let of = |name: &&str| Self::of(name, results, planned.iter().find(|p| p.scenario == **name), against);
        names.iter().map(of).collect()
    }

    fn of(scenario: &str, results: &[RunResult], planned: Option<&Planned>, against: Option<&str>) -> Comparison {
        let finished: Vec<&RunResult> = results.iter().filter(|r| r.scenario == scenario).collect();
        let (failed, measured): (Vec<&RunResult>, Vec<&RunResult>) =
            finished.iter().copied().partition(|r| r.status == Status::Failed);
        let counts = Counts::new(planned, &finished, &failed);
        let mut seeds: Vec<_> = measured.iter().map(|r| r.seed).collect();
        seeds.sort_unstable();
        seeds.dedup();
        let of_schedulers: BTreeSet<u64> = measured.iter().filter(|r| !is_plain_tcp(r)).map(|r| r.seed).collect();
        let judged = Judged::of(&measured);
        let paths = finished.iter().map(|r| r.metrics.per_path.len()).max().unwrap_or(0);
        // The baselines know less of the connection's backups than the runs with all paths.
        let known = || finished.iter().filter(|r| !r.paths.is_empty());
        let info = known().find(|r| r.plain_tcp.is_none()).or_else(|| known().next()).map(|r| r.paths.clone());
        let named =
            planned.map(|p| p.paths.iter().map(|name| PathInfo { name: name.clone(), backup: false }).collect());

        let mut rows: Vec<(Summary, Vec<&RunResult>)> = by_scheduler(&measured, |name| counts.failed(name) == 0)
            .into_iter()
            .map(|(runs, same)| {
                let name = &runs[0].scheduler;
                let failed = counts.failed(name);
                let has = |seed: &&u64| runs.iter().any(|r| r.seed == **seed);
                let lacking = of_schedulers.iter().filter(|seed| !has(seed)).count();
                let summary = Summary {
                    lacking: if is_plain_tcp(runs[0]) { 0 } else { lacking },
                    same,
                    planned: counts.planned(name),
                    runs: runs.len() + failed,
                    failed,
                    failure: counts.failure(name),
                    ..summarise(&runs, paths, judged)
                };
                (summary, runs)
            })
            .collect();
        rows.sort_by(|(a, _), (b, _)| rank(a, b, judged.less_is_better()));
        let plain = || (0..rows.len()).filter(|row| rows[*row].0.plain_tcp.is_some());
        let first_plain_tcp = plain().next();
        let tcp = without_backups(plain(), |row| rows[*row].0.on_backup).first().copied();
        let best = rows.iter().position(|(s, _)| s.plain_tcp.is_none());
        let linux = rows.iter().position(|(s, _)| s.is("linux"));
        let asked = against.and_then(|name| rows.iter().position(|(s, _)| s.is(name)));
        let reference = asked.or(tcp);
        let runs_of: Vec<Vec<&RunResult>> = rows.iter().map(|(_, runs)| runs.clone()).collect();
        for (i, (summary, runs)) in rows.iter_mut().enumerate() {
            let other = |row: Option<usize>| row.filter(|r| *r != i).and_then(|r| judged.paired(runs, &runs_of[r]));
            summary.against = other(reference);
            summary.against_tcp = other(tcp);
            summary.against_linux = other(linux);
            summary.against_best = other(best);
            if let Some(tcp) = tcp.filter(|_| summary.plain_tcp.is_none()) {
                summary.beside_tcp = BesideTcp::of(runs, &runs_of[tcp], summary.against_tcp, judged);
            }
        }
        let is_ahead = |tcp: &usize| {
            let beside = |runs: &[&RunResult]| {
                let difference = judged.paired(runs, &runs_of[*tcp]);
                (BesideTcp::of(runs, &runs_of[*tcp], difference, judged), difference)
            };
            let schedulers = rows.iter().filter(|(s, _)| s.plain_tcp.is_none());
            all_are_behind(&schedulers.map(|(_, runs)| beside(runs)).collect::<Vec<_>>(), judged)
        };
        let backup_ahead = first_plain_tcp.filter(|row| Some(*row) != tcp).filter(is_ahead);
        Comparison {
            scenario: scenario.into(),
            planned: counts.all_planned(),
            finished: finished.len(),
            seeds,
            paths,
            path_info: info.or(named).unwrap_or_default(),
            judged,
            has_messages: measured.iter().any(|r| r.metrics.undelivered_messages.is_some()),
            measured_s: mean(&measured.iter().map(|r| measured_s(&r.metrics.time)).collect::<Vec<_>>()),
            reference,
            summaries: rows.into_iter().map(|(s, _)| s).collect(),
            backup_ahead,
            absent: counts.absent(),
        }
    }

    /// Whether runs that were asked for are missing.
    pub fn is_stopped(&self) -> bool {
        self.finished < self.planned
    }

    /// The rows that are not plain TCP.
    pub(crate) fn multipath(&self) -> impl DoubleEndedIterator<Item = &Summary> + Clone {
        self.summaries.iter().filter(|s| s.plain_tcp.is_none())
    }

    /// Plain TCP on its best path. A backup counts only if all paths are backups.
    pub fn best_plain_tcp(&self) -> Option<&Summary> {
        let plain = self.summaries.iter().filter(|s| s.plain_tcp.is_some());
        without_backups(plain, |s| s.on_backup).first().copied()
    }

    /// The best row that is not plain TCP.
    pub fn best_multipath(&self) -> Option<&Summary> {
        self.multipath().next()
    }

    /// A row of a scheduler, and the rows of others that have the same value with every seed.
    pub(crate) fn equals<'a>(&'a self, row: &'a Summary) -> impl Iterator<Item = &'a Summary> + Clone {
        self.multipath().filter(move |other| other.scheduler == row.scheduler || other.is_equal(row))
    }

    /// Whether the schedulers were measured with different seeds, so that their means are of different networks.
    pub(crate) fn is_uneven(&self) -> bool {
        self.multipath().any(|row| row.lacking > 0)
    }

    /// The row of this scheduler.
    pub fn row(&self, scheduler: &str) -> Option<&Summary> {
        self.summaries.iter().find(|s| s.is(scheduler))
    }

    /// A path's name.
    pub fn path_name(&self, path: usize) -> String {
        self.path_info.get(path).map_or_else(|| format!("path {path}"), |p| p.name.clone())
    }

    /// The name of a row for people: `blest`, or `tcp-path1 (3g)`.
    pub fn label(&self, summary: &Summary) -> String {
        self.named(&summary.scheduler, summary.plain_tcp)
    }

    /// The name for people of a scheduler without a measurement.
    pub(crate) fn absent_label(&self, absent: &Absent) -> String {
        self.named(&absent.scheduler, absent.plain_tcp)
    }

    fn named(&self, scheduler: &str, plain_tcp: Option<usize>) -> String {
        match plain_tcp {
            Some(path) if !self.path_info.is_empty() => format!("{scheduler} ({})", self.path_name(path)),
            _ => scheduler.to_owned(),
        }
    }

    /// Whether no byte arrived in any run.
    pub fn nothing_arrived(&self) -> bool {
        !self.summaries.is_empty() && self.summaries.iter().all(|s| s.goodput_mbps.mean == 0.0)
    }
}

fn is_plain_tcp(run: &RunResult) -> bool {
    run.plain_tcp.is_some() || plain_tcp_path(&run.scheduler).is_some()
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod told_tests;
