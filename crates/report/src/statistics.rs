//! Statistics over a few seeds: a value with its interval, and the difference of two rows, seed by seed.

/// Summary of a quantity over the seeds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The arithmetic mean.
    pub mean: f64,
    /// The median.
    pub median: f64,
    /// The 95 % confidence interval of the mean by Student's t: mean ± t(0.975, n − 1) · s / √n. `None` with a single
    /// run. It assumes independent seeds and a mean that is about normally distributed. If all runs are equal, its
    /// width is 0.
    pub interval: Option<(f64, f64)>,
    /// The number of runs.
    pub count: usize,
}

impl Estimate {
    /// Summarises `values`; `None` if there are none.
    pub fn of(values: &[f64]) -> Option<Self> {
        let n = values.len();
        if n == 0 {
            return None;
        }
        let mean = values.iter().sum::<f64>() / n as f64;
        let interval = (n > 1).then(|| {
            let squares: f64 = values.iter().map(|x| (x - mean) * (x - mean)).sum();
            let half = student_t(n - 1) * (squares / (n - 1) as f64 / n as f64).sqrt();
            (mean - half, mean + half)
        });
        Some(Estimate { mean, median: quantile(&sorted(values), 0.5), interval, count: n })
    }

    /// Half of the interval's width.
    pub fn margin(&self) -> Option<f64> {
        self.interval.map(|(low, high)| (high - low) / 2.0)
    }
}

/// The values in ascending order.
pub(crate) fn sorted(values: &[f64]) -> Vec<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values
}

/// The `p` quantile of values in any order, linear between neighbours; 0 if there are none.
pub fn quantile_of(values: &[f64], p: f64) -> f64 {
    quantile(&sorted(values), p)
}

/// The `p` quantile of ascending values, linear between neighbours; 0 if there are none.
pub(crate) fn quantile(ascending: &[f64], p: f64) -> f64 {
    let Some(last) = ascending.len().checked_sub(1) else { return 0.0 };
    let place = p * last as f64;
    let below = (place as usize).min(last);
    let above = (below + 1).min(last);
    ascending[below] + (ascending[above] - ascending[below]) * (place - below as f64)
}

/// The 0.975 quantile of Student's distribution: from a table up to 30 degrees of freedom, beyond that by its expansion
/// around the normal distribution (Abramowitz and Stegun 26.7.5), which is exact to four digits there.
fn student_t(degrees: usize) -> f64 {
    const TABLE: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
        2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
    ];
    if let Some(t) = degrees.checked_sub(1).and_then(|i| TABLE.get(i)) {
        return *t;
    }
    let (z, n) = (1.959_964, degrees.max(1) as f64);
    let z3 = z * z * z;
    z + (z3 + z) / (4.0 * n) + (5.0 * z3 * z * z + 16.0 * z3 + 3.0 * z) / (96.0 * n * n)
}

/// Differences smaller than this fraction of the values come only from rounding.
const ROUNDING: f64 = 1e-9;

/// The difference between a value and a reference's value, seed by seed. Runs of one seed share the network's random
/// numbers, so most of the spread between seeds is in both runs and cancels. Separate intervals of the two means would
/// hide that.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// Mean and 95 % interval of the differences by seed (Student's t). A difference is negative if the value is
    /// smaller.
    pub estimate: Estimate,
    /// Whether the difference is the same with each of several seeds. The interval then has no width.
    pub same_on_every_seed: bool,
    /// Whether the values equal those of the reference with every seed.
    pub is_equal: bool,
    /// The reference's mean over the same seeds.
    pub reference_mean: f64,
}

impl Difference {
    /// The difference over pairs of a value and the reference's value; `None` if there are none.
    pub fn of(pairs: &[(f64, f64)]) -> Option<Self> {
        let differences: Vec<f64> = pairs.iter().map(|(x, y)| x - y).collect();
        let estimate = Estimate::of(&differences)?;
        let scale = pairs.iter().map(|(x, y)| x.abs().max(y.abs())).fold(0.0, f64::max);
        let same = differences.iter().all(|d| (d - differences[0]).abs() <= scale * ROUNDING);
        Some(Difference {
            estimate,
            same_on_every_seed: same && pairs.len() > 1,
            is_equal: differences.iter().all(|d| d.abs() <= scale * ROUNDING),
            reference_mean: pairs.iter().map(|(_, y)| y).sum::<f64>() / pairs.len() as f64,
        })
    }

    /// The mean.
    pub fn mean(&self) -> f64 {
        self.estimate.mean
    }

    /// The 95 % interval of the difference. It is a single point if the difference is the same with every seed, and
    /// `None` with a single seed.
    pub fn bounds(&self) -> Option<(f64, f64)> {
        let bounds = self.estimate.interval?;
        Some(if self.same_on_every_seed { (self.mean(), self.mean()) } else { bounds })
    }

    /// Whether the values differ at 95 % confidence. `None` with a single seed, which cannot show it.
    pub fn is_significant(&self) -> Option<bool> {
        self.bounds().map(|(low, high)| !self.is_equal && (low > 0.0 || high < 0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_seeds() {
        let e = Estimate::of(&[9.0, 10.0, 11.0, 10.0, 12.0]).expect("there are values");
        assert_eq!((e.mean, e.median, e.count), (10.4, 10.0, 5));
        // s = 1.1402, s/√5 = 0.5099, t(4) = 2.776
        assert!((e.margin().expect("five runs have an interval") - 1.4155).abs() < 1e-3);
    }

    #[test]
    fn one_run_has_no_interval_and_equal_runs_have_an_empty_one() {
        assert_eq!(Estimate::of(&[]), None);
        assert_eq!(Estimate::of(&[3.0]).expect("there is a value").interval, None);
        assert_eq!(Estimate::of(&[3.0; 4]).expect("there are values").margin(), Some(0.0));
    }

    #[test]
    fn quantiles_lie_between_neighbours() {
        assert_eq!(quantile(&[1.0, 2.0, 3.0, 4.0], 0.5), 2.5);
        assert_eq!(quantile(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.25), 2.0);
        assert_eq!(quantile(&[7.0], 0.9), 7.0);
        assert_eq!(quantile(&[], 0.9), 0.0);
    }

    #[test]
    fn the_expansion_meets_the_table() {
        assert!((student_t(31) - 2.0395).abs() < 1e-3);
        assert!((student_t(120) - 1.9799).abs() < 1e-3);
        assert!((student_t(100_000) - 1.96).abs() < 1e-3);
    }

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
