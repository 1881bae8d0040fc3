//! Whether schedulers are better than plain TCP on one path.

use super::judged::Judged;
use crate::statistics::Difference;
use pathweave_lab::results::RunResult;

/// Relative difference to plain TCP up to which a scheduler counts as level with it.
const LEVEL: f64 = 0.01;

/// The result of comparing a scheduler with plain TCP on the best path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Better by more than 1 %, at 95 % confidence over the seeds.
    Better,
    /// Within 1 %, or within the spread of the seeds.
    Level,
    /// Worse by more than 1 %, at 95 % confidence over the seeds.
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
        for run in runs {
            let Some(other) = tcp.iter().find(|t| t.seed == run.seed) else { continue };
            seeds += 1;
            match (judged.value(run), judged.value(other)) {
                (None, Some(_)) => lost += 1,
                (Some(_), None) => won += 1,
                _ => {}
            }
        }
        let standing = match lost.cmp(&won) {
            std::cmp::Ordering::Greater => Standing::Worse,
            std::cmp::Ordering::Less => Standing::Better,
            // One seed with which both finish decides nothing between several seeds.
            std::cmp::Ordering::Equal if seeds > 1 && difference?.is_significant().is_none() => Standing::Level,
            std::cmp::Ordering::Equal => by_value(difference?, judged),
        };
        Some(BesideTcp { standing, seeds, lost, won })
    }
}

fn by_value(difference: Difference, judged: Judged) -> Standing {
    let gain = if judged.less_is_better() { -difference.mean() } else { difference.mean() };
    match difference.is_significant() {
        _ if gain.abs() <= LEVEL * difference.reference_mean => Standing::Level,
        Some(false) => Standing::Level,
        Some(true) | None if gain > 0.0 => Standing::Better,
        Some(true) | None => Standing::Worse,
    }
}
