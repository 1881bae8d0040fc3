//! The aggregation benefit: the gain of several paths over one.

use crate::results::{RunResult, Status};
use crate::scenario::{PathMode, Scenario, Variant};
use std::collections::BTreeMap;

/// The modified aggregation benefit, CP (Oh & Lee, Computer Networks 2015) eq. 9.
///
/// With g the goodput over all paths, Cᵢ that of plain TCP alone on path i and C the largest of them:
///
/// > Ben(S) = (g − C) / (Σ Cᵢ − C), when g ≥ C; (g − C) / C, when g < C.
///
/// So 0 is the best single path alone, 1 the sum of all, −1 nothing at all. Values above 1 are possible, because plain
/// TCP does not always fill its path. DPSAF eq. 14 is the same.
///
/// `goodput` and `singles` need the same unit. The papers leave three cases open, for which the result is `None`: there
/// is no plain TCP run; plain TCP delivers nothing on any path; only one path delivers anything and `goodput` is above
/// it. If `goodput` is exactly that path's, the benefit is 0.
///
/// ```
/// use pathweave_lab::benefit::aggregation_benefit;
/// assert_eq!(aggregation_benefit(8.5, &[8.0, 1.0]), Some(0.5));
/// assert_eq!(aggregation_benefit(4.0, &[8.0, 1.0]), Some(-0.5));
/// ```
pub fn aggregation_benefit(goodput: f64, singles: &[f64]) -> Option<f64> {
    let best = singles.iter().copied().fold(0.0, f64::max);
    if best <= 0.0 {
        return None;
    }
    let gain = goodput - best;
    if gain < 0.0 {
        return Some(gain / best);
    }
    if gain == 0.0 {
        return Some(0.0);
    }
    let rest = singles.iter().sum::<f64>() - best;
    (rest > 0.0).then(|| gain / rest)
}

/// The aggregation benefit of a run from the goodput of plain TCP on each path. A failed run has none.
pub fn benefit_of(run: &RunResult, singles: &[f64]) -> Option<f64> {
    (run.status != Status::Failed).then(|| aggregation_benefit(run.metrics.goodput_mbps, singles))?
}

/// The path of a plain TCP run from the name in [`RunResult::scheduler`]: `tcp-path1` is path 1.
pub fn plain_tcp_path(scheduler: &str) -> Option<usize> {
    scheduler.strip_prefix("tcp-path")?.parse().ok()
}

/// Whether a path is a backup of the measured connection, in a run of this variant.
pub fn is_backup(scenario: &Scenario, variant: &Variant, path: usize) -> bool {
    let connection = scenario.connections.iter().find(|c| c.measured);
    let place = connection.and_then(|c| c.paths.iter().position(|p| *p == path).map(|i| (c, i)));
    match (variant, place) {
        // Plain TCP has only one path. The place of that path in the connection decides whether it is a backup.
        (Variant::PlainTcp(i), Some((c, _))) => {
            scenario.paths[path].backup || (c.path_mode == PathMode::Backup && *i > 0)
        }
        (_, Some((c, i))) => c.is_backup(i, &scenario.paths),
        (_, None) => scenario.paths[path].backup,
    }
}

/// The measurements of plain TCP with which several paths are compared: those on paths that are not backups, because a
/// backup is not meant to be used alone. If every path is a backup, all of them.
pub fn without_backups<T>(plain_tcp: impl Iterator<Item = T>, is_on_backup: impl Fn(&T) -> bool) -> Vec<T> {
    let (backups, others): (Vec<T>, Vec<T>) = plain_tcp.partition(is_on_backup);
    if others.is_empty() { backups } else { others }
}

/// Fills in every run's [`aggregation_benefit`](crate::results::Metrics::aggregation_benefit) from the plain TCP runs
/// of the same scenario and seed. Backup paths do not count, because they are not meant to be used alone or added up.
pub fn fill_aggregation_benefit(results: &mut [RunResult]) {
    let mut singles: BTreeMap<(String, u64), Vec<f64>> = BTreeMap::new();
    for r in results.iter().filter(|r| plain_tcp_path(&r.scheduler).is_some() && !r.is_on_backup()) {
        singles.entry((r.scenario.clone(), r.seed)).or_default().push(r.metrics.goodput_mbps);
    }
    for r in results {
        let singles = singles.get(&(r.scenario.clone(), r.seed)).map_or(&[][..], Vec::as_slice);
        r.metrics.aggregation_benefit = benefit_of(r, singles);
    }
}

#[cfg(test)]
mod tests {
    use super::aggregation_benefit as benefit;
    use super::*;
    use crate::results::{Metrics, PathInfo};

    #[test]
    fn its_fixed_points() {
        let singles = [2.0, 6.0, 4.0];
        assert_eq!(benefit(0.0, &singles), Some(-1.0));
        assert_eq!(benefit(3.0, &singles), Some(-0.5));
        assert_eq!(benefit(6.0, &singles), Some(0.0));
        assert_eq!(benefit(9.0, &singles), Some(0.5));
        assert_eq!(benefit(12.0, &singles), Some(1.0));
        assert_eq!(benefit(15.0, &singles), Some(1.5));
    }

    #[test]
    fn below_the_best_path_it_is_scaled_by_that_path_alone() {
        // eq. 9, second line: the other paths' goodput does not matter.
        assert_eq!(benefit(6.0, &[8.0, 1.0]), Some(-0.25));
        assert_eq!(benefit(6.0, &[8.0, 7.0]), Some(-0.25));
    }

    #[test]
    fn without_an_answer_in_the_paper_there_is_none() {
        assert_eq!(benefit(1.0, &[]), None);
        assert_eq!(benefit(1.0, &[0.0, 0.0]), None);
        assert_eq!(benefit(1.1, &[1.0]), None);
        assert_eq!(benefit(1.1, &[1.0, 0.0]), None);
        assert_eq!(benefit(1.0, &[1.0]), Some(0.0));
        assert_eq!(benefit(0.5, &[1.0]), Some(-0.5));
    }

    #[test]
    fn runs_are_measured_against_plain_tcp_of_their_seed() {
        let run = |scheduler: &str, seed, goodput_mbps| RunResult {
            scenario: "two".into(),
            scheduler: scheduler.into(),
            seed,
            metrics: Metrics { goodput_mbps, ..Metrics::default() },
            ..RunResult::default()
        };
        let mut results = [
            run("minrtt", 1, 9.0),
            run("minrtt", 2, 3.0),
            run("minrtt", 3, 3.0),
            run("tcp-path0", 1, 8.0),
            run("tcp-path1", 1, 2.0),
            run("tcp-path0", 2, 6.0),
        ];
        fill_aggregation_benefit(&mut results);
        let filled: Vec<_> = results.iter().map(|r| r.metrics.aggregation_benefit).collect();
        assert_eq!(filled, [Some(0.5), Some(-0.5), None, Some(0.0), Some(-0.75), Some(0.0)]);
        assert_eq!(plain_tcp_path("tcp-path12"), Some(12));
        assert_eq!(plain_tcp_path("tcp-pathological"), None);
    }

    #[test]
    fn a_backup_is_not_the_best_path_alone() {
        let path = |name: &str, backup| PathInfo { name: name.into(), backup };
        let run = |scheduler: &str, plain_tcp, goodput_mbps| RunResult {
            scheduler: scheduler.into(),
            plain_tcp,
            paths: vec![path("wlan", false), path("lte", true)],
            metrics: Metrics { goodput_mbps, ..Metrics::default() },
            ..RunResult::default()
        };
        let mut results = [run("minrtt", None, 4.0), run("tcp-path0", Some(0), 4.0), run("tcp-path1", Some(1), 20.0)];
        fill_aggregation_benefit(&mut results);
        assert_eq!(results[0].metrics.aggregation_benefit, Some(0.0), "not -0.8, as against the backup");
    }
}
