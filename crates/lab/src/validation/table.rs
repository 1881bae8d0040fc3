//! Comparisons as text, and results of other schedulers in the scenarios that were measured with Linux.

use super::compare::{Comparison, Quartiles};
use super::limits::Summary;
use super::run::OurRun;
use core::fmt::Write;
use pathweave_units::counted;

/// A line for each scenario: medians with quartiles, difference, and for each path the frames at the server in 10⁶
/// bytes and the drops at the bottleneck, Linux's before ours.
pub fn comparison_table(all: &[Comparison]) -> String {
    let width = all.iter().map(|c| c.reference.id.len()).max().unwrap_or(0).max(8);
    let mut out = format!(
        "{:width$}  {:>8} {:^19}  {:>8} {:^19}  {:>7}  {:>15}  {:>15}  {:>11}  {:>11}\n",
        "scenario",
        "Linux",
        "quartiles",
        "ours",
        "quartiles",
        "differ",
        "path 0, MB",
        "path 1, MB",
        "drops 0",
        "drops 1",
    );
    for c in all {
        let number = |v: f64| if c.class.sized { format!("{v:.4}") } else { format!("{v:.3}") };
        let quartiles = |first: f64, third: f64| format!("{} to {}", number(first), number(third));
        let frames = |path: usize| format!("{:.2} / {:.2}", c.linux_frames[path] / 1e6, c.our_frames[path] / 1e6);
        let drops = |path: usize| {
            let median = |list: Vec<u64>| super::Quartiles::of(list.into_iter().map(|n| n as f64)).median;
            let linux = median(c.reference.runs.iter().map(|r| r.queue_drops[path]).collect());
            format!("{linux:.0} / {:.0}", median(c.runs.iter().map(|r| r.queue_drops[path]).collect()))
        };
        let _ = write!(
            out,
            "{:width$}  {:>7}{} {:^19}  {:>7}{} {:^19}  {:>+6.1}%  {:>15}  {:>15}  {:>11}  {:>11}",
            c.reference.id,
            number(c.linux.median),
            if c.class.sized { "s" } else { "M" },
            quartiles(c.linux.first, c.linux.third),
            number(c.ours.median),
            if c.class.sized { "s" } else { "M" },
            quartiles(c.ours.first, c.ours.third),
            100.0 * c.difference(),
            frames(0),
            frames(1),
            drops(0),
            drops(1),
        );
        if c.incomplete() > 0 {
            let reason = c.runs.iter().find_map(|r| r.problem.as_deref()).unwrap_or("");
            let _ = write!(out, "  {} of {} did not complete: {reason}", c.incomplete(), counted(c.runs.len(), "run"));
        }
        out.push('\n');
    }
    out
}

/// The distribution of |difference| by class, the limits, and groups whose aggregation benefit has the wrong sign.
pub fn summary_table(summary: &Summary) -> String {
    let mut out = format!(
        "{:28} {:>9} {:>8} {:>8} {:>8}  worst scenario\n",
        "|difference|", "scenarios", "median", "90 %", "worst"
    );
    for row in &summary.rows {
        let percent = |f: f64| format!("{:.1} %", 100.0 * f);
        let _ = writeln!(
            out,
            "{:28} {:>9} {:>8} {:>8} {:>8}  {}",
            row.name,
            row.scenarios,
            percent(row.median),
            percent(row.p90),
            percent(row.worst),
            row.worst_id
        );
    }
    out.push_str("\nLimits\n");
    for limit in &summary.limits {
        let word = match limit.holds {
            Some(true) => "holds",
            Some(false) => "FAILS",
            None => "-",
        };
        let _ = writeln!(
            out,
            "{word:5}  {} ({}): {}: {}",
            limit.what,
            counted(limit.scenarios, "scenario"),
            limit.required,
            limit.measured
        );
    }
    let wrong: Vec<_> = summary.benefits.iter().filter(|b| b.clear && !b.agrees()).collect();
    for b in wrong {
        let _ = writeln!(out, "       {}: Linux {:+.3}, ours {:+.3}", b.group, b.linux, b.ours);
    }
    out
}

/// Other schedulers in one MPTCP scenario, with everything else as in Linux.
#[derive(Clone, Debug, PartialEq)]
pub struct Alternatives<'a> {
    /// The results of Linux and of our `linux`.
    pub comparison: &'a Comparison,
    /// Schedulers as written, with the median of their runs: completion time in seconds (sized) or goodput in 10⁶ bit/s.
    pub medians: Vec<(String, f64)>,
}

impl<'a> Alternatives<'a> {
    /// Summarises the runs of each scheduler.
    pub fn new(comparison: &'a Comparison, runs: Vec<(String, Vec<OurRun>)>) -> Self {
        let median = |runs: &[OurRun]| Quartiles::of(runs.iter().map(|r| r.value)).median;
        Alternatives { comparison, medians: runs.into_iter().map(|(name, runs)| (name, median(&runs))).collect() }
    }

    /// Relative gain in goodput over our `linux`; for sized runs, in completion time.
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
