//! Groups runs into rows, and orders the rows.

use super::summary::Summary;
use pathweave_lab::benefit::plain_tcp_path;
use pathweave_lab::results::RunResult;
use std::cmp::Ordering;

/// The runs by scheduler, in the order of the results. Schedulers that have exactly the same runs share a row, which
/// lists their names. A scheduler that is not `whole`, because some of its runs failed, has a row of its own.
pub(super) fn by_scheduler<'a>(
    results: &[&'a RunResult],
    whole: impl Fn(&str) -> bool,
) -> Vec<(Vec<&'a RunResult>, Vec<String>)> {
    let mut all: Vec<Vec<&RunResult>> = Vec::new();
    for r in results {
        match all.iter_mut().find(|runs| runs[0].scheduler == r.scheduler) {
            Some(runs) => runs.push(r),
            None => all.push(vec![r]),
        }
    }
    let mut rows: Vec<(Vec<&RunResult>, Vec<String>)> = Vec::new();
    for runs in all {
        let name = &runs[0].scheduler;
        let equal = |row: &&mut (Vec<&RunResult>, Vec<String>)| {
            whole(name) && whole(&row.0[0].scheduler) && same_packets(&row.0, &runs)
        };
        match rows.iter_mut().find(equal) {
            Some((_, same)) => same.push(name.clone()),
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

/// Orders two rows, the better one first: as [`by_results`], but a scheduler that lacks seeds of others comes after those
/// that have a value, because its mean is of other networks than theirs.
pub(super) fn rank(a: &Summary, b: &Summary, less_is_better: bool) -> Ordering {
    never(a, b)
        .then(a.lacking.cmp(&b.lacking))
        .then_with(|| by_results(a, b, less_is_better))
        .then_with(|| a.scheduler.cmp(&b.scheduler))
}

/// Orders two rows by their results, the better one first: by the fraction of runs that have a value, then by the
/// value's mean, then by goodput.
pub(crate) fn by_results(a: &Summary, b: &Summary, less_is_better: bool) -> Ordering {
    let unfinished = (a.unfinished() * b.measured()).cmp(&(b.unfinished() * a.measured()));
    let by_value = match (a.value, b.value) {
        (Some(x), Some(y)) if less_is_better => x.mean.total_cmp(&y.mean),
        (Some(x), Some(y)) => y.mean.total_cmp(&x.mean),
        _ => Ordering::Equal,
    };
    let by_goodput = || b.goodput_mbps.mean.total_cmp(&a.goodput_mbps.mean);
    never(a, b).then(unfinished).then(by_value).then_with(by_goodput)
}

/// Orders a row without any value after one that has some.
fn never(a: &Summary, b: &Summary) -> Ordering {
    a.value.is_none().cmp(&b.value.is_none())
}
