//! The limits on the differences from Linux.

use super::compare::{Class, Comparison, Quartiles};
use super::reference::Mode;
use crate::benefit::aggregation_benefit;
use std::collections::BTreeSet;

/// A limit, and whether it holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// The scenarios that the limit applies to, and the limited figure.
    pub what: &'static str,
    /// The required value.
    pub required: String,
    /// The measured value.
    pub measured: String,
    /// Number of these scenarios.
    pub scenarios: usize,
    /// Whether the limit holds; `None` without scenarios.
    pub holds: Option<bool>,
}

/// The distribution of |difference| over the scenarios of one class.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Name of the class. The class of plain TCP without random loss has several rows.
    pub name: String,
    /// Number of scenarios.
    pub scenarios: usize,
    /// Median of |difference|.
    pub median: f64,
    /// 90th percentile (nearest rank).
    pub p90: f64,
    /// The largest |difference|.
    pub worst: f64,
    /// The scenario with the largest |difference|.
    pub worst_id: String,
}

/// A check of whether several paths gain or lose against the best of them, in Linux and here.
#[derive(Clone, Debug, PartialEq)]
pub struct BenefitCheck {
    /// The group of scenarios.
    pub group: String,
    /// Aggregation benefit (CP eq. 9) of Linux's medians.
    pub linux: f64,
    /// Aggregation benefit of our medians.
    pub ours: f64,
    /// Whether Linux's benefit is beyond ± 5 %, and on the same side of zero for each of its seeds.
    pub clear: bool,
}

impl BenefitCheck {
    /// Whether the signs agree.
    pub fn agrees(&self) -> bool {
        (self.linux > 0.0) == (self.ours > 0.0)
    }
}

/// All scenarios compared with the limits.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// The distributions by class.
    pub rows: Vec<Row>,
    /// The limits.
    pub limits: Vec<Limit>,
    /// The groups' aggregation benefits.
    pub benefits: Vec<BenefitCheck>,
}

impl Summary {
    /// Compares these scenarios with the limits.
    pub fn new(all: &[Comparison]) -> Self {
        let benefits = benefits(all);
        Summary { rows: rows(all), limits: limits(all, &benefits), benefits }
    }

    /// Whether no limit is broken.
    pub fn holds(&self) -> bool {
        self.limits.iter().all(|l| l.holds != Some(false))
    }
}

/// The 90th percentile: the smallest value with at least 90 % at or below it.
fn p90(sorted: &[f64]) -> f64 {
    let rank = (sorted.len() * 9).div_ceil(10).max(1);
    sorted.get(rank - 1).copied().unwrap_or(0.0)
}

fn sorted_differences(of: &[&Comparison]) -> Vec<f64> {
    let mut differences: Vec<f64> = of.iter().map(|c| c.difference().abs()).collect();
    differences.sort_by(f64::total_cmp);
    differences
}

fn row(name: String, of: &[&Comparison]) -> Option<Row> {
    let worst = of.iter().max_by(|a, b| a.difference().abs().total_cmp(&b.difference().abs()))?;
    let sorted = sorted_differences(of);
    Some(Row {
        name,
        scenarios: of.len(),
        median: Quartiles::of(sorted.iter().copied()).median,
        p90: p90(&sorted),
        worst: worst.difference().abs(),
        worst_id: worst.reference.id.clone(),
    })
}

fn rows(all: &[Comparison]) -> Vec<Row> {
    let classes: BTreeSet<Class> = all.iter().map(|c| c.class).collect();
    let mut rows = Vec::new();
    for class in classes {
        let of: Vec<_> = all.iter().filter(|c| c.class == class).collect();
        rows.extend(row(class.to_string(), &of));
        let mut parts = |names: [&str; 2], is_first: &dyn Fn(&Comparison) -> bool| {
            let (first, second): (Vec<_>, Vec<_>) = of.iter().partition(|c| is_first(c));
            if !first.is_empty() && !second.is_empty() {
                rows.extend(
                    [(names[0], first), (names[1], second)].into_iter().filter_map(|(n, of)| row(n.into(), &of)),
                );
            }
        };
        match class.is_beyond_two_steady_paths() {
            true => parts(["  of these, Linux within 20 %", "  of these, Linux beyond 20 %"], &|c| !c.is_scattered()),
            false => {
                parts(["  of these, fixed window", "  of these, auto-tuned"], &|c| c.reference.setup.has_fixed_window())
            }
        }
    }
    rows
}

fn percent(fraction: f64) -> String {
    format!("{:.1} %", 100.0 * fraction)
}

/// A figure computed from sorted differences.
type Figure = fn(&[f64]) -> f64;

/// A limit on the median of |difference| and on another figure of its distribution.
fn spread(what: &'static str, of: &[&Comparison], median: f64, (name, figure, most): (&str, Figure, f64)) -> Limit {
    let sorted = sorted_differences(of);
    let middle = Quartiles::of(sorted.iter().copied()).median;
    let other = figure(&sorted);
    Limit {
        what,
        required: format!("at most median {} and {name} {}", percent(median), percent(most)),
        measured: format!("median {} and {name} {}", percent(middle), percent(other)),
        scenarios: of.len(),
        holds: (!of.is_empty()).then_some(middle <= median && other <= most),
    }
}

fn limits(all: &[Comparison], benefits: &[BenefitCheck]) -> Vec<Limit> {
    let worst: Figure = |sorted| sorted.last().copied().unwrap_or(0.0);
    let select = |keep: &dyn Fn(&Comparison) -> bool| all.iter().filter(|c| keep(c)).collect::<Vec<_>>();
    let timed = |c: &Comparison| !c.class.random_loss && !c.class.sized;
    let steady_pair = |c: &Comparison| timed(c) && c.class.mptcp && !c.class.is_beyond_two_steady_paths();
    let beyond = |c: &Comparison, steps: bool| {
        timed(c) && c.class.is_beyond_two_steady_paths() && c.class.steps == steps && c.class.mptcp
    };
    let fixed = |c: &Comparison| c.reference.setup.has_fixed_window();
    let mut limits = vec![
        spread(
            "TCP, no loss, timed, fixed window",
            &select(&|c| timed(c) && !c.class.mptcp && fixed(c)),
            0.01,
            ("worst", worst, 0.03),
        ),
        spread(
            "TCP, no loss, timed, auto-tuned or queue-limited",
            &select(&|c| timed(c) && !c.class.mptcp && !fixed(c)),
            0.02,
            ("worst", worst, 0.06),
        ),
        spread("MPTCP, no loss, timed", &select(&steady_pair), 0.04, ("90th percentile", p90, 0.12)),
        spread(
            "MPTCP, 3 and 4 paths, no loss, timed",
            &select(&|c| beyond(c, false) && !c.is_scattered()),
            0.02,
            ("90th percentile", p90, 0.12),
        ),
        spread(
            "MPTCP, rates change, no loss, timed",
            &select(&|c| beyond(c, true) && !c.is_scattered()),
            0.015,
            ("90th percentile", p90, 0.08),
        ),
        spread(
            "sized, no loss",
            &select(&|c| c.class.sized && !c.class.random_loss),
            0.10,
            ("90th percentile", p90, 0.20),
        ),
    ];
    for (what, mptcp) in [("TCP, random loss", false), ("MPTCP, random loss", true)] {
        let lossy = select(&|c| c.class.random_loss && c.class.mptcp == mptcp);
        let within = lossy.iter().filter(|c| c.is_within_spread()).count();
        let share = |of: usize| of as f64 / lossy.len().max(1) as f64;
        limits.push(Limit {
            what,
            required: "medians within max(5 %, Linux's interquartile range) in 90.0 %".into(),
            measured: format!("in {}", percent(share(within))),
            scenarios: lossy.len(),
            holds: (!lossy.is_empty()).then_some(within * 10 >= lossy.len() * 9),
        });
    }
    let scattered = select(&|c| c.class.is_beyond_two_steady_paths() && c.class.mptcp && c.is_scattered());
    let overlapping = scattered.iter().filter(|c| c.ranges_overlap()).count();
    limits.push(Limit {
        what: "MPTCP, 3 and 4 paths or rates change, Linux's runs beyond 20 %",
        required: "the range of our runs overlaps that of Linux's".into(),
        measured: format!("overlaps in {overlapping}"),
        scenarios: scattered.len(),
        holds: (!scattered.is_empty()).then_some(overlapping == scattered.len()),
    });
    let clear: Vec<_> = benefits.iter().filter(|b| b.clear).collect();
    let agree = clear.iter().filter(|b| b.agrees()).count();
    limits.push(Limit {
        what: "sign of the aggregation benefit",
        required: "agrees wherever Linux's is clear".into(),
        measured: format!("agrees in {agree}"),
        scenarios: clear.len(),
        holds: (!clear.is_empty()).then_some(agree == clear.len()),
    });
    limits
}

/// Plain TCP on each path of the group of `mptcp`; `None` if a path was not measured.
pub(super) fn plain_tcp<'a>(all: &'a [Comparison], mptcp: &Comparison) -> Option<Vec<&'a Comparison>> {
    let of = |path: usize| {
        all.iter().find(|c| c.reference.group() == mptcp.reference.group() && c.reference.setup.mode == Mode::Tcp(path))
    };
    (0..mptcp.reference.setup.paths.len()).map(of).collect()
}

/// The aggregation benefit of each group that has plain TCP on each path and the MPTCP run.
fn benefits(all: &[Comparison]) -> Vec<BenefitCheck> {
    let mut out = Vec::new();
    for both in all.iter().filter(|c| c.reference.setup.mode == Mode::Mptcp) {
        let group = both.reference.group();
        let Some(tcp) = plain_tcp(all, both) else { continue };
        let singles =
            |median: &dyn Fn(&Comparison) -> f64| -> Vec<f64> { tcp.iter().map(|c| c.goodput(median(c))).collect() };
        let linux_singles = singles(&|c| c.linux.median);
        let benefit = |value: f64| aggregation_benefit(both.goodput(value), &linux_singles);
        let Some(linux) = benefit(both.linux.median) else { continue };
        let ours = aggregation_benefit(both.goodput(both.ours.median), &singles(&|c| c.ours.median));
        let same_side =
            both.reference.runs.iter().all(|r| benefit(r.value).is_some_and(|b| (b > 0.0) == (linux > 0.0)));
        out.push(BenefitCheck {
            group: group.to_owned(),
            linux,
            ours: ours.unwrap_or(0.0),
            clear: linux.abs() > 0.05 && same_side,
        });
    }
    out
}
