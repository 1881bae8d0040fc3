//! The limits on the differences from Linux.

use super::compare::{Class, Comparison, Quartiles};
use super::reference::Mode;
use crate::benefit::aggregation_benefit;

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

/// A check of whether two paths gain or lose, in Linux and here.
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
    let mut rows = Vec::new();
    for mptcp in [false, true] {
        for random_loss in [false, true] {
            for sized in [false, true] {
                let class = Class { mptcp, random_loss, sized };
                let of: Vec<_> = all.iter().filter(|c| c.class == class).collect();
                rows.extend(row(class.to_string(), &of));
                let (fixed, auto): (Vec<_>, Vec<_>) =
                    of.into_iter().partition(|c| c.reference.setup.has_fixed_window());
                if !fixed.is_empty() && !auto.is_empty() {
                    rows.extend(row("  of these, fixed window".into(), &fixed));
                    rows.extend(row("  of these, auto-tuned".into(), &auto));
                }
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
        spread("MPTCP, no loss, timed", &select(&|c| timed(c) && c.class.mptcp), 0.04, ("90th percentile", p90, 0.12)),
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

/// The aggregation benefit of each group that has both plain TCP runs and the MPTCP run.
fn benefits(all: &[Comparison]) -> Vec<BenefitCheck> {
    let of =
        |group: &str, mode: Mode| all.iter().find(|c| c.reference.group() == group && c.reference.setup.mode == mode);
    let mut out = Vec::new();
    for both in all.iter().filter(|c| c.reference.setup.mode == Mode::Mptcp) {
        let group = both.reference.group();
        let (Some(first), Some(second)) = (of(group, Mode::Tcp(0)), of(group, Mode::Tcp(1))) else { continue };
        let singles = |median: &dyn Fn(&Comparison) -> f64| [first, second].map(|c| c.goodput(median(c)));
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
