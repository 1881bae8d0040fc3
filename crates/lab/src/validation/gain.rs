//! What other schedulers do where Linux was measured.

use super::compare::{Comparison, Quartiles};
use super::run::OurRun;
use core::fmt::Write;

/// Other schedulers on one MPTCP scenario, all else as in Linux.
#[derive(Clone, Debug, PartialEq)]
pub struct Alternatives<'a> {
    /// Linux, and our `linux`.
    pub comparison: &'a Comparison,
    /// Schedulers as written, with the median of their runs: completion time in seconds (sized) or goodput in 10⁶ bit/s.
    pub medians: Vec<(String, f64)>,
}

impl<'a> Alternatives<'a> {
    /// From the runs of each scheduler.
    pub fn new(comparison: &'a Comparison, runs: Vec<(String, Vec<OurRun>)>) -> Self {
        let median = |runs: &[OurRun]| Quartiles::of(runs.iter().map(|r| r.value)).median;
        Alternatives { comparison, medians: runs.into_iter().map(|(name, runs)| (name, median(&runs))).collect() }
    }

    /// How much more goodput than our `linux`, as a fraction; of sized runs, how much sooner.
    pub fn gains(&self) -> impl Iterator<Item = f64> + '_ {
        let ours = self.comparison.goodput(self.comparison.ours.median);
        self.medians.iter().map(move |(_, median)| self.comparison.goodput(*median) / ours - 1.0)
    }
}

/// A line for each scenario: Linux, our `linux`, and each scheduler with its gain in goodput over our `linux`; the last line has
/// the median gains.
pub fn gain_table(all: &[Alternatives<'_>]) -> String {
    let Some(first) = all.first() else { return String::new() };
    let width = all.iter().map(|a| a.comparison.reference.id.len()).max().unwrap_or(0).max(11);
    let mut out = format!("{:width$}  {:>9}  {:>9}", "scenario", "Linux", "linux");
    for (name, _) in &first.medians {
        let _ = write!(out, "  {name:>18}");
    }
    out.push('\n');
    for a in all {
        let c = a.comparison;
        let number = |v: f64| if c.class.sized { format!("{v:.4}s") } else { format!("{v:.3}M") };
        let id = &c.reference.id;
        let _ = write!(out, "{id:width$}  {:>9}  {:>9}", number(c.linux.median), number(c.ours.median));
        for ((_, median), gain) in a.medians.iter().zip(a.gains()) {
            let _ = write!(out, "  {:>18}", format!("{} {:+6.1}%", number(*median), 100.0 * gain));
        }
        out.push('\n');
    }
    let _ = write!(out, "{:width$}  {:>9}  {:>9}", "median gain", "", "");
    for i in 0..first.medians.len() {
        let gains = all.iter().filter_map(|a| a.gains().nth(i));
        let _ = write!(out, "  {:>17.1}%", 100.0 * Quartiles::of(gains).median);
    }
    out.push('\n');
    out
}
