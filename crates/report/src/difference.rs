//! How far one row is from another, seed by seed.

use crate::statistics::Estimate;
use pathweave_lab::results::RunResult;

/// Differences that stay within this part of the values are the same number, written twice by floating point.
const ROUNDING: f64 = 1e-9;

/// A value minus a reference's, over the seeds that both have. Runs of one seed share the network's random numbers, so most of the
/// spread between the seeds is in both and cancels; an interval of each mean by itself would hide that.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// Mean and 95 % interval of the differences by seed (Student's t). Negative where the value is the smaller one.
    pub estimate: Estimate,
    /// The difference is the same with every seed, of which there are several: there is no spread to make an interval of.
    pub same_on_every_seed: bool,
}

impl Difference {
    /// Of pairs of a value and the reference's; `None` if there are none.
    pub fn of(pairs: &[(f64, f64)]) -> Option<Self> {
        let differences: Vec<f64> = pairs.iter().map(|(x, y)| x - y).collect();
        let estimate = Estimate::of(&differences)?;
        let scale = pairs.iter().map(|(x, y)| x.abs().max(y.abs())).fold(0.0, f64::max);
        let same = differences.iter().all(|d| (d - differences[0]).abs() <= scale * ROUNDING);
        Some(Difference { estimate, same_on_every_seed: same && pairs.len() > 1 })
    }

    /// The mean.
    pub fn mean(&self) -> f64 {
        self.estimate.mean
    }

    /// The 95 % interval: a point where the difference is the same with every seed; nothing with a single seed.
    pub fn bounds(&self) -> Option<(f64, f64)> {
        let bounds = self.estimate.interval?;
        Some(if self.same_on_every_seed { (self.mean(), self.mean()) } else { bounds })
    }

    /// Whether the values differ at 95 % confidence; nothing with a single seed, which cannot tell.
    pub fn is_significant(&self) -> Option<bool> {
        self.bounds().map(|(low, high)| low > 0.0 || high < 0.0)
    }
}

/// What ranks a run: its goodput, or its completion time where transfers have a size and it completed.
pub(crate) fn value(run: &RunResult, sized: bool) -> Option<f64> {
    if sized { run.metrics.completion_s } else { Some(run.metrics.goodput_mbps) }
}

/// `runs` against `reference`, over the seeds on which both have a value.
pub(crate) fn paired(runs: &[&RunResult], reference: &[&RunResult], sized: bool) -> Option<Difference> {
    let pair = |run: &&RunResult| {
        let other = reference.iter().find(|r| r.seed == run.seed)?;
        Some((value(run, sized)?, value(other, sized)?))
    };
    Difference::of(&runs.iter().filter_map(pair).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_seeds_share_cancels() {
        // The values spread over 30, the differences over 0.2: unpaired intervals would overlap widely.
        let d = Difference::of(&[(40.1, 40.0), (10.2, 10.0), (25.3, 25.0)]).expect("there are pairs");
        assert!((d.mean() - 0.2).abs() < 1e-9);
        // s = 0.1, s/√3 = 0.0577, t(2) = 4.303
        assert!((d.estimate.margin().expect("three seeds") - 0.2484).abs() < 1e-3);
        assert_eq!((d.same_on_every_seed, d.is_significant()), (false, Some(false)));
        let d = Difference::of(&[(40.19, 40.0), (10.2, 10.0), (25.21, 25.0)]).expect("there are pairs");
        assert_eq!(d.is_significant(), Some(true));
    }

    #[test]
    fn the_same_on_every_seed_is_no_interval() {
        let d = Difference::of(&[(7.3, 7.0), (8.3, 8.0)]).expect("there are pairs");
        assert!(d.same_on_every_seed && d.is_significant() == Some(true));
        let equal = Difference::of(&[(7.0, 7.0), (8.0, 8.0)]).expect("there are pairs");
        assert!(equal.same_on_every_seed && equal.is_significant() == Some(false));
    }

    #[test]
    fn one_seed_cannot_tell() {
        let d = Difference::of(&[(7.3, 7.0)]).expect("there is a pair");
        assert_eq!((d.same_on_every_seed, d.is_significant()), (false, None));
        assert_eq!(Difference::of(&[]), None);
    }
}
