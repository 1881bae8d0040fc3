//! Comparisons as text, and results of other schedulers in the scenarios that were measured with Linux.

use super::compare::{Comparison, Quartiles};
use super::limits::{Summary, plain_tcp};
use super::run::OurRun;
use core::fmt::Write;
use pathweave_units::counted;

/// A line for each scenario: medians with quartiles, difference, and for each path the frames at the receiver in 10⁶
/// bytes and the drops at the bottleneck, Linux's before ours.
pub fn comparison_table(all: &[Comparison]) -> String {
    let width = all.iter().map(|c| c.reference.id.len()).max().unwrap_or(0).max(8);
    let paths = all.iter().map(|c| c.reference.setup.paths.len()).max().unwrap_or(0);
    let mut out = format!(
        "{:width$}  {:>8} {:^19}  {:>8} {:^19}  {:>7}",
        "scenario", "Linux", "quartiles", "ours", "quartiles", "differ",
    );
    for path in 0..paths {
        let _ = write!(out, "  {:>15}", format!("path {path}, MB"));
    }
    for path in 0..paths {
        let _ = write!(out, "  {:>11}", format!("drops {path}"));
    }
    out.push('\n');
    for c in all {
        let number = |v: f64| if c.class.sized { format!("{v:.4}") } else { format!("{v:.3}") };
        let unit = if c.class.sized { "s" } else { "M" };
        let quartiles = |first: f64, third: f64| format!("{} to {}", number(first), number(third));
        let _ = write!(
            out,
            "{:width$}  {:>7}{unit} {:^19}  {:>7}{unit} {:^19}  {:>+6.1}%",
            c.reference.id,
            number(c.linux.median),
            quartiles(c.linux.first, c.linux.third),
            number(c.ours.median),
            quartiles(c.ours.first, c.ours.third),
            100.0 * c.difference(),
        );
        let mut cells = |width: usize, cell: &dyn Fn(usize) -> String| {
            for path in 0..paths {
                let cell = if path < c.reference.setup.paths.len() { cell(path) } else { String::new() };
                let _ = write!(out, "  {cell:>width$}");
            }
        };
        cells(15, &|path| format!("{:.2} / {:.2}", c.linux_frames[path] / 1e6, c.our_frames[path] / 1e6));
        cells(11, &|path| {
            let median = |list: Vec<u64>| Quartiles::of(list.into_iter().map(|n| n as f64)).median;
            let linux = median(c.reference.runs.iter().map(|r| r.queue_drops[path]).collect());
            format!("{linux:.0} / {:.0}", median(c.runs.iter().map(|r| r.queue_drops[path]).collect()))
        });
        if c.incomplete() > 0 {
            let reason = c.runs.iter().find_map(|r| r.problem.as_deref()).unwrap_or("");
            let _ = write!(out, "  {} of {} did not complete: {reason}", c.incomplete(), counted(c.runs.len(), "run"));
        }
        out.truncate(out.trim_end().len());
        out.push('\n');
    }
    out
}

/// A line for each scenario without random loss whose Linux runs differ by more than 20 %: smallest value, median and
/// largest value of Linux's runs and of ours. Empty if there is none.
pub fn ranges_table(all: &[Comparison]) -> String {
    let scattered: Vec<&Comparison> = all.iter().filter(|c| c.is_scattered()).collect();
    let width = scattered.iter().map(|c| c.reference.id.len()).max().unwrap_or(0);
    let mut out = String::new();
    for c in scattered {
        if out.is_empty() {
            out = "\nLinux's runs differ by more than 20 %: smallest, median, largest\n".into();
        }
        let [linux, ours] = c.ranges();
        let range = |(least, most): (f64, f64), median: f64| format!("{least:.3} {median:.3} {most:.3}");
        let _ = writeln!(
            out,
            "{:width$}  Linux {:24}  ours {:24}  {}",
            c.reference.id,
            range(linux, c.linux.median),
            range(ours, c.ours.median),
            if c.ranges_overlap() { "overlap" } else { "do not overlap" },
        );
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

/// A line for each MPTCP scenario of whose paths each was measured with plain TCP: how much more goodput than the best
/// single path Linux, our `linux` and each scheduler deliver. Linux is compared with Linux's plain TCP, the others with
/// ours. The last line counts the scenarios that are more than 2.5 % below. Empty if there is no such scenario.
pub fn best_path_table(all: &[Alternatives<'_>], comparisons: &[Comparison]) -> String {
    let mut rows: Vec<(&str, Vec<f64>)> = Vec::new();
    for a in all {
        let Some(tcp) = plain_tcp(comparisons, a.comparison) else { continue };
        let best = |of: &dyn Fn(&Comparison) -> f64| tcp.iter().map(|c| c.goodput(of(c))).fold(0.0, f64::max);
        let (linux, ours) = (best(&|c| c.linux.median), best(&|c| c.ours.median));
        let c = a.comparison;
        let mut gains = vec![c.goodput(c.linux.median) / linux - 1.0, c.goodput(c.ours.median) / ours - 1.0];
        gains.extend(a.medians.iter().map(|(_, median)| c.goodput(*median) / ours - 1.0));
        rows.push((&c.reference.id, gains));
    }
    let (Some(first), false) = (all.first(), rows.is_empty()) else { return String::new() };
    let label = "more than 2.5 % below";
    let width = rows.iter().map(|(id, _)| id.len()).max().unwrap_or(0).max(label.len());
    let mut out = format!("{:width$}", "against the best path");
    for name in ["Linux", "linux"].into_iter().chain(first.medians.iter().map(|(name, _)| name.as_str())) {
        let _ = write!(out, "  {name:>11}");
    }
    out.push('\n');
    for (id, gains) in &rows {
        let _ = write!(out, "{id:width$}");
        for gain in gains {
            let _ = write!(out, "  {:>+10.1}%", 100.0 * gain);
        }
        out.push('\n');
    }
    let _ = write!(out, "{label:width$}");
    for i in 0..first.medians.len() + 2 {
        let below = rows.iter().filter(|(_, gains)| gains[i] < -0.025).count();
        let _ = write!(out, "  {:>11}", format!("{below} of {}", rows.len()));
    }
    out.push('\n');
    out
}
