//! Scores: each scheduler's values at each point of the arena, relative to the best single path.

use crate::plan::Plan;
use crate::results::Results;
use crate::runs::{Cell, Sweep};
use pathweave_lab::bound::two_path_formula_mbps;
use pathweave_lab::scenario::{Connection, Scenario, Workload};
use pathweave_report::{Estimate, quantile_of};
use std::collections::BTreeSet;

/// A score below this is worse than the best single path.
pub(super) const BELOW: f64 = 0.975;
/// Two schedulers whose scores differ by less than this fraction count as equally good.
pub(super) const ALIKE: f64 = 0.03;
/// The percentiles of delays that are scored.
const DELAYS: [&str; 3] = ["message_delay_p50_ms", "message_delay_p95_ms", "message_delay_p99_ms"];
/// Controllers that share their increase between subflows.
const COUPLED: [&str; 3] = ["lia", "olia", "balia"];

/// The values of a scheduler at one point. Relative values are fractions of the best single path's value there.
#[derive(Clone, Debug, Default)]
pub struct Point {
    /// The plan's name.
    pub plan: String,
    /// The scenario's name.
    pub scenario: String,
    /// The number of the point in its plan, from 1 on.
    pub number: usize,
    /// The settings of the point, for people.
    pub settings: String,
    /// The score from the means over the seeds, in which the best single path has 1; `None` if either has no value.
    pub score: Option<f64>,
    /// The score with each seed alone, against that seed's best single path.
    pub by_seed: Vec<Option<f64>>,
    /// The scores over the first and the second half of the seeds; `None` with one seed.
    pub halves: Option<[Option<f64>; 2]>,
    /// Goodput as a fraction of the bound that no scheduler can exceed (`pathweave_lab::bound`), if the bound is known
    /// and goodput is compared.
    pub bound_share: Option<f64>,
    /// Goodput as a fraction of what two paths can deliver in order, as [`two_path_formula_mbps`] computes it.
    pub formula_share: Option<f64>,
    /// The size of a transfer, bytes.
    pub size: Option<u64>,
    /// The relative completion time of a transfer, from the medians over the seeds.
    pub completion: Option<f64>,
    /// The relative 50th, 95th and 99th percentile of messages' delays.
    pub delays: [Option<f64>; 3],
    /// The fraction of the delivered bytes that was also sent on a second path, if no link has random loss.
    pub duplicates: Option<f64>,
    /// The coupled controller, and the goodput of each competitor beside it as a fraction of its goodput beside a
    /// single path.
    pub competitors: Option<(String, Vec<f64>)>,
    /// The price of a gigabyte, and the 95th percentile of messages' delays in milliseconds, if paths have prices.
    pub metered: Option<(f64, f64)>,
}

/// The kind of variant that has scores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Who {
    /// A scheduler.
    #[default]
    Scheduler,
    /// A single path of the connection, for comparison.
    SinglePath,
    /// Plain TCP on the path that is best at each point.
    PlainTcp,
}

/// The scores of a scheduler in the whole arena. All schedulers have the same points in the same order.
#[derive(Clone, Debug, Default)]
pub struct Scores {
    /// The scheduler's name.
    pub scheduler: String,
    /// The kind of variant.
    pub who: Who,
    /// The points, ordered by plan, scenario and point. A single path has only the points at which paths have prices.
    pub points: Vec<Point>,
}

impl Scores {
    /// The geometric mean of the scores at `points`; `None` if there are none.
    pub fn mean<'a>(points: impl IntoIterator<Item = &'a Point>) -> Option<f64> {
        geometric(points.into_iter().filter_map(|p| p.score))
    }

    /// Whether both are scores of the same scheduler, with any parameters.
    pub(super) fn is_kind_of(&self, other: &Scores) -> bool {
        self.scheduler.split(':').next() == other.scheduler.split(':').next()
    }

    /// The scores of all points that have one.
    pub fn known(&self) -> Vec<f64> {
        self.points.iter().filter_map(|p| p.score).collect()
    }

    /// The points of a plan's scenario.
    pub fn of<'a>(&'a self, (plan, scenario): (&'a str, &'a str)) -> impl Iterator<Item = &'a Point> {
        self.points.iter().filter(move |p| p.plan == plan && p.scenario == scenario)
    }
}

/// The geometric mean.
pub(super) fn geometric(values: impl Iterator<Item = f64>) -> Option<f64> {
    let logs: Vec<f64> = values.map(libm::log).collect();
    Estimate::of(&logs).map(|e| libm::exp(e.mean))
}

/// The arithmetic mean.
pub(super) fn mean(values: &[f64]) -> Option<f64> {
    Estimate::of(values).map(|e| e.mean)
}

/// A quantile of the values; `None` if there are none.
pub(super) fn percentile(values: &[f64], part: f64) -> Option<f64> {
    (!values.is_empty()).then(|| quantile_of(values, part))
}

/// Plans and their scenarios, in the order of their runs.
pub(super) fn families(scores: &[Scores]) -> Vec<(&str, &str)> {
    let mut families = Vec::new();
    for point in scores.iter().filter(|s| s.who == Who::Scheduler).flat_map(|s| &s.points) {
        let family = (point.plan.as_str(), point.scenario.as_str());
        if !families.contains(&family) {
            families.push(family);
        }
    }
    families
}

/// Adds the scores of a plan's runs. The first variants of the plan, `references` of them, are single paths. The plan's
/// first metric is compared.
pub fn add(all: &mut Vec<Scores>, sweep: &Sweep, results: &Results, references: usize) {
    let plain_tcp: Vec<usize> = sweep.plain_tcp().collect();
    let mut entrants: Vec<(Who, String, Vec<usize>)> = Vec::new();
    for (variant, of) in sweep.variants.iter().enumerate().filter(|(variant, _)| !plain_tcp.contains(variant)) {
        let who = if variant < references { Who::SinglePath } else { Who::Scheduler };
        entrants.push((who, of.name.clone(), vec![variant]));
    }
    entrants.push((Who::PlainTcp, "plain TCP".to_owned(), plain_tcp));
    for (who, name, _) in &entrants {
        if !all.iter().any(|s| s.scheduler == *name && s.who == *who) {
            all.push(Scores { scheduler: name.clone(), who: *who, points: Vec::new() });
        }
    }
    // A sweep may have some of the points only.
    let there: BTreeSet<(usize, usize)> = sweep.cells.iter().map(|c| (c.scenario, c.point)).collect();
    for scenario in 0..sweep.plan.scenarios.len() {
        for point in (0..sweep.plan.points.len()).filter(|point| there.contains(&(scenario, *point))) {
            let place = Place { sweep, results, scenario, point, references };
            for (who, name, variants) in &entrants {
                let Some(own) = place.best(variants) else { continue };
                let found = place.point(own);
                let scores = all.iter_mut().find(|s| s.scheduler == *name && s.who == *who);
                if let Some(scores) = scores.filter(|_| *who != Who::SinglePath || found.metered.is_some()) {
                    scores.points.push(found);
                }
            }
        }
    }
    // The sort is stable, so the first scheduler of the command line stays the first.
    all.sort_by_key(|s| s.who);
}

/// Whether the data of `connection` on this path shares a link with the data of `other`.
fn meet(data: &Scenario, connection: &Connection, path: usize, other: &Connection) -> bool {
    let links = |of: &Connection, path: usize| data.paths[path].links(of.direction).0;
    let ours = links(connection, path);
    other.paths.iter().any(|path| links(other, *path).iter().any(|link| ours.contains(link)))
}

/// The settings of a plan's point, for people: `window 256KiB, rate1 57.1`.
pub fn settings(plan: &Plan, point: usize) -> String {
    let pairs = plan.parameters.iter().zip(plan.values(point));
    pairs.map(|(parameter, value)| format!("{} {value}", parameter.name)).collect::<Vec<_>>().join(", ")
}

/// One point of a plan.
struct Place<'a> {
    sweep: &'a Sweep,
    results: &'a Results,
    scenario: usize,
    point: usize,
    references: usize,
}

impl Place<'_> {
    fn values(&self, variant: usize, metric: &str) -> Vec<(u64, f64)> {
        self.results.by_seed(self.scenario, self.point, variant, metric)
    }

    fn estimate(&self, variant: usize, metric: &str) -> Option<Estimate> {
        self.results.estimate(self.scenario, self.point, variant, metric)
    }

    /// The metric that is compared.
    fn metric(&self) -> &str {
        self.sweep.plan.metrics.first().map_or("goodput_mbps", String::as_str)
    }

    /// The best of these variants at this point.
    fn best(&self, variants: &[usize]) -> Option<usize> {
        let metric = self.metric();
        // Higher rates are better, and shorter times.
        let sign = if metric.ends_with("_mbps") { 1.0 } else { -1.0 };
        let value = |variant: usize| self.estimate(variant, metric).map_or(f64::NEG_INFINITY, |e| sign * e.mean);
        variants.iter().copied().max_by(|a, b| value(*a).total_cmp(&value(*b)))
    }

    /// The score over the seeds for which `takes` is true.
    fn score(&self, own: usize, metric: &str, takes: impl Fn(u64) -> bool) -> Option<f64> {
        // Higher rates are better, and shorter times.
        let rate = metric.ends_with("_mbps");
        let value = |variant| {
            let seeds = self.values(variant, metric).into_iter().filter(|(seed, _)| takes(*seed));
            mean(&seeds.map(|(_, value)| value).collect::<Vec<f64>>()).filter(|v| *v > 0.0)
        };
        let best = (0..self.references).filter_map(value).reduce(if rate { f64::max } else { f64::min })?;
        let own = value(own)?;
        Some(if rate { own / best } else { best / own })
    }

    /// A time as a fraction of the shortest one among the single paths.
    fn part(&self, own: usize, metric: &str, of: impl Fn(Estimate) -> f64) -> Option<f64> {
        let value = |variant| self.estimate(variant, metric).map(&of).filter(|time| *time > 0.0);
        Some(value(own)? / (0..self.references).filter_map(value).reduce(f64::min)?)
    }

    /// The scenario with the settings of this point.
    fn data(&self, variant: usize) -> Option<&Scenario> {
        let is_here = |c: &&Cell| (c.scenario, c.point, c.variant) == (self.scenario, self.point, variant);
        self.sweep.cells.iter().find(is_here).map(|c| &c.data)
    }

    /// The coupled controller, and for each competitor its goodput as a fraction of its goodput beside the best single
    /// path that shares a link with it. LIA's goal is to take no more from any resource than a flow on one path would
    /// (RFC 6356 §2).
    fn competitors(&self, own: usize) -> Option<(String, Vec<f64>)> {
        let (_, controller) = self.settings().find(|(name, value)| *name == "congestion" && COUPLED.contains(value))?;
        let data = self.data(own)?;
        let measured = data.connections.iter().find(|c| c.measured)?;
        let goodput = |variant| self.estimate(variant, "goodput_mbps").map_or(0.0, |e| e.mean);
        let kept = |(i, competitor): (usize, &Connection)| {
            let meets =
                |path: &usize| measured.paths.get(*path).is_some_and(|path| meet(data, measured, *path, competitor));
            let best = (0..self.references).filter(meets).max_by(|a, b| goodput(*a).total_cmp(&goodput(*b)))?;
            let metric = format!("competitor{i}_mbps");
            let beside = |variant| Some(self.estimate(variant, &metric)?.mean).filter(|mbps| *mbps > 0.0);
            Some(beside(own)? / beside(best)?)
        };
        let competitors = data.connections.iter().filter(|c| !c.measured).enumerate();
        Some((controller.to_owned(), competitors.filter_map(kept).collect()))
    }

    fn settings(&self) -> impl Iterator<Item = (&str, &str)> {
        self.sweep.plan.parameters.iter().map(|p| p.name.as_str()).zip(self.sweep.plan.values(self.point))
    }

    fn point(&self, own: usize) -> Point {
        let plan = &self.sweep.plan;
        let metric = self.metric();
        let rate = metric.ends_with("_mbps");
        let value = |metric: &str| self.estimate(own, metric).map(|e| e.mean);
        let data = self.data(own);
        let size = data.and_then(|data| {
            let measured = data.connections.iter().find(|c| c.measured)?;
            if let Workload::Transfer { size } = measured.workload { Some(size) } else { None }
        });
        let half = plan.seeds / 2;
        let lossless = data.is_some_and(|data| data.links.iter().all(|link| link.settings.loss.share() == 0.0));
        let priced = self.settings().any(|(name, _)| name.starts_with("cost"));
        let formula = data.and_then(two_path_formula_mbps).filter(|_| rate);
        Point {
            plan: plan.name.clone(),
            scenario: plan.scenarios[self.scenario].name.clone(),
            number: self.point + 1,
            settings: settings(plan, self.point),
            score: self.score(own, metric, |_| true),
            by_seed: (1..=plan.seeds).map(|seed| self.score(own, metric, |s| s == seed)).collect(),
            halves: (half > 0).then(|| [self.score(own, metric, |s| s <= half), self.score(own, metric, |s| s > half)]),
            bound_share: value("bound_share").filter(|_| rate),
            formula_share: value("goodput_mbps").zip(formula).map(|(goodput, formula)| goodput / formula),
            size,
            completion: (metric == "completion_s").then(|| self.part(own, "completion_s", |e| e.median)).flatten(),
            delays: DELAYS.map(|metric| self.part(own, metric, |e| e.mean)),
            duplicates: value("duplicate_share").filter(|_| lossless),
            competitors: self.competitors(own),
            metered: value("price_per_gb").zip(value("message_delay_p95_ms")).filter(|_| priced),
        }
    }
}
