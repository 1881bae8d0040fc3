//! Whether several paths are better than one.

use super::summary::mean;
use crate::statistics::{Difference, value};
use pathweave_lab::results::RunResult;

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

/// Better, level or worse than plain TCP on the best path.
pub(super) fn standing(
    runs: &[&RunResult],
    tcp: &[&RunResult],
    difference: Option<Difference>,
    sized: bool,
) -> Option<Standing> {
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
