//! Whether schedulers are better than plain TCP on one path.

use super::judged::Judged;
use crate::statistics::{Difference, Estimate};
use pathweave_lab::results::RunResult;

/// A scheduler is not called better than plain TCP if the difference is at most this part of plain TCP's value.
const LEVEL: f64 = 0.01;

/// Bytes of a segment that the options of Multipath TCP take: a mapping and a DATA_ACK.
const OPTIONS: f64 = 24.0;
/// Bytes of payload in a segment of plain TCP.
const PAYLOAD: f64 = 1448.0;

/// Largest difference, as a fraction of plain TCP's value, with which a scheduler is not called worse than plain TCP.
/// The options of Multipath TCP cost as much: 24 bytes of the 1448 in a segment.
pub const HEADERS: f64 = OPTIONS / PAYLOAD;

/// A difference of this part of a value may come from rounding. A dozen operations lose less.
const ROUNDING: f64 = 1e-9;

/// The mean gain over these values of plain TCP below which several paths are called worse: [`HEADERS`] of the values,
/// negative. A scheduler whose values are exactly as much worse than plain TCP's has at least this gain, in whatever
/// order floating-point numbers were rounded: the limit is lower by a thousand-millionth of the values.
pub fn least_gain(tcp: &[f64], judged: Judged) -> f64 {
    let gain = |tcp: &f64| match judged.less_is_better() {
        true => tcp - tcp * (PAYLOAD + OPTIONS) / PAYLOAD - tcp * ROUNDING,
        false => tcp * (PAYLOAD - OPTIONS) / PAYLOAD - tcp - tcp * ROUNDING,
    };
    Estimate::of(&tcp.iter().map(gain).collect::<Vec<_>>()).map_or(0.0, |gain| gain.mean)
}

/// The result of comparing a scheduler with plain TCP on the best path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Better by more than 1 %, at 95 % confidence over the seeds.
    Better,
    /// Neither, or within the spread of the seeds.
    Level,
    /// Worse by more than [`HEADERS`], at 95 % confidence over the seeds.
    Worse,
}

/// A scheduler's result against plain TCP on the best path, over the seeds that both have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BesideTcp {
    /// The result. With a single seed, it says which mean is better.
    pub(crate) standing: Standing,
    /// Number of seeds that both have.
    pub(crate) seeds: usize,
    /// Number of these seeds for which only plain TCP has a value.
    pub(crate) lost: usize,
    /// Number of these seeds for which only the scheduler has a value.
    pub(crate) won: usize,
}

impl BesideTcp {
    /// Compares the rows. `None` if they have no seed in common, or none for which at least one of them has a value.
    pub(super) fn of(
        runs: &[&RunResult],
        tcp: &[&RunResult],
        difference: Option<Difference>,
        judged: Judged,
    ) -> Option<Self> {
        let (mut seeds, mut lost, mut won) = (0, 0, 0);
        let mut tcp_values = Vec::new();
        for run in runs {
            let Some(other) = tcp.iter().find(|t| t.seed == run.seed) else { continue };
            seeds += 1;
            match (judged.value(run), judged.value(other)) {
                (None, Some(_)) => lost += 1,
                (Some(_), None) => won += 1,
                (Some(_), Some(tcp)) => tcp_values.push(tcp),
                (None, None) => {}
            }
        }
        let standing = match lost.cmp(&won) {
            std::cmp::Ordering::Greater => Standing::Worse,
            std::cmp::Ordering::Less => Standing::Better,
            // One seed with which both finish decides nothing between several seeds.
            std::cmp::Ordering::Equal if seeds > 1 && difference?.is_significant().is_none() => Standing::Level,
            std::cmp::Ordering::Equal => by_value(difference?, least_gain(&tcp_values, judged), judged),
        };
        Some(BesideTcp { standing, seeds, lost, won })
    }
}

fn by_value(difference: Difference, least_gain: f64, judged: Judged) -> Standing {
    let gain = if judged.less_is_better() { -difference.mean() } else { difference.mean() };
    match difference.is_significant() {
        Some(false) => Standing::Level,
        _ if gain > LEVEL * difference.reference_mean => Standing::Better,
        _ if gain < least_gain => Standing::Worse,
        _ => Standing::Level,
    }
}

/// Whether all schedulers are behind plain TCP, and the best one clearly. `rows`: each scheduler beside plain TCP, and
/// its difference; the best one first.
pub(crate) fn all_are_behind(rows: &[(Option<BesideTcp>, Option<Difference>)], judged: Judged) -> bool {
    let Some((Some(best), _)) = rows.first() else { return false };
    let less_often = |b: &BesideTcp| b.lost > b.won;
    let is_behind = |(beside, difference): &(Option<BesideTcp>, Option<Difference>)| match beside {
        Some(beside) if less_often(best) || less_often(beside) => less_often(beside),
        Some(beside) if beside.won > beside.lost => false,
        _ => difference.is_some_and(|d| !d.is_equal && (d.mean() < 0.0) != judged.less_is_better()),
    };
    best.standing == Standing::Worse && rows.iter().all(is_behind)
}
