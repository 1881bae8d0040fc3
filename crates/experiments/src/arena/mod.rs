//! The arena: schedulers over many plans, each point scored against the best single path of the same connection.

mod html;

pub use html::html_page;

use crate::results::Results;
use crate::runs::Sweep;
use pathweave_report::Estimate;
use std::fmt::Write;

/// A score below this is worse than the best single path.
pub const BELOW: f64 = 0.975;
/// Two schedulers whose scores differ by less than this part are as good as each other.
const ALIKE: f64 = 0.03;

/// What a scheduler did in all of the arena.
#[derive(Clone, Debug, Default)]
pub struct Scores {
    /// Its name.
    pub scheduler: String,
    /// By plan and point, in the same order for all: how good it was beside the best single path, whose score is 1. Nothing where either
    /// has no value.
    pub points: Vec<(String, Option<f64>)>,
    /// The shares of the bound, where that is known and goodput is compared.
    pub bound_shares: Vec<f64>,
    /// How long transfers took, as a part of what they take on the best single path.
    pub completion: Vec<f64>,
    /// The same of the 50th, 95th and 99th percentile of messages' delays.
    pub delays: [Vec<f64>; 3],
    /// Which part of what was delivered went out on a second path too, of transfers over paths without random losses.
    pub duplicates: Vec<f64>,
    /// What competitors have beside a coupled controller, as a part of what they have beside the best single path.
    pub competitors: Vec<f64>,
    /// What a gigabyte costs, where paths have prices.
    pub prices: Vec<f64>,
}

/// The percentiles of delays that are scored.
const DELAYS: [&str; 3] = ["message_delay_p50_ms", "message_delay_p95_ms", "message_delay_p99_ms"];
/// Controllers that share their increase between subflows.
const COUPLED: [&str; 3] = ["lia", "olia", "balia"];

impl Scores {
    fn known(&self) -> Vec<f64> {
        let mut known: Vec<f64> = self.points.iter().filter_map(|p| p.1).collect();
        known.sort_by(f64::total_cmp);
        known
    }

    /// The geometric mean of its scores, of the plan `family` or of all; nothing where it has none.
    pub fn mean(&self, family: Option<&str>) -> Option<f64> {
        let of = self.points.iter().filter(|(plan, _)| family.is_none_or(|f| f == plan));
        let logs: Vec<f64> = of.filter_map(|(_, score)| Some(libm::log((*score)?))).collect();
        (!logs.is_empty()).then(|| libm::exp(logs.iter().sum::<f64>() / logs.len() as f64))
    }

    /// What goodput does not show, of the scenario, point and variant of `cell`.
    fn add_costs(&mut self, sweep: &Sweep, results: &Results, cell: (usize, usize, usize), references: usize) {
        let (scenario, point, own) = cell;
        let value = |variant, metric: &str| Some(results.estimate(scenario, point, variant, metric)?.mean);
        let shortest = |metric: &str| {
            let times = (0..references).filter_map(|v| value(v, metric)).filter(|time| *time > 0.0);
            times.reduce(f64::min)
        };
        let part = |metric: &str| Some(value(own, metric)? / shortest(metric)?);
        if sweep.plan.metrics.first().is_some_and(|m| m == "completion_s") {
            self.completion.extend(part("completion_s"));
        }
        for (delays, metric) in self.delays.iter_mut().zip(DELAYS) {
            delays.extend(part(metric));
        }
        let settings = || sweep.plan.parameters.iter().map(|p| p.name.as_str()).zip(sweep.plan.values(point));
        if settings().all(|(name, value)| !name.starts_with("loss") || value == "0") {
            self.duplicates.extend(value(own, "duplicate_share"));
        }
        if settings().any(|(name, _)| name.starts_with("cost")) {
            self.prices.extend(value(own, "price_per_gb"));
        }
        if settings().any(|(name, value)| name == "congestion" && COUPLED.contains(&value)) {
            let goodput = |variant| value(variant, "goodput_mbps");
            let best = (0..references).max_by(|a, b| goodput(*a).unwrap_or(0.0).total_cmp(&goodput(*b).unwrap_or(0.0)));
            let beside = |variant| value(variant, "competitors_mbps").filter(|mbps| *mbps > 0.0);
            self.competitors.extend(best.and_then(|best| Some(beside(own)? / beside(best)?)));
        }
    }

    /// Points at which it is worse than the best single path.
    pub fn below(&self) -> usize {
        self.points.iter().filter(|(_, score)| score.is_some_and(|s| s < BELOW)).count()
    }
}

/// Adds what a plan's runs say. Its first variants are the `references`, single paths; its first metric is compared.
pub fn add(all: &mut Vec<Scores>, sweep: &Sweep, results: &Results, references: usize) {
    let metric = sweep.plan.metrics.first().map_or("goodput_mbps", String::as_str);
    // Of rates more is better, of times less.
    let rate = metric.ends_with("_mbps");
    let variants = &sweep.variants[references..];
    if all.is_empty() {
        all.extend(variants.iter().map(|v| Scores { scheduler: v.name.clone(), ..Scores::default() }));
    }
    for scenario in 0..sweep.plan.scenarios.len() {
        for point in 0..sweep.plan.points.len() {
            let value = |variant| Some(results.estimate(scenario, point, variant, metric)?.mean).filter(|v| *v > 0.0);
            let singles = (0..references).filter_map(value);
            let best = singles.reduce(if rate { f64::max } else { f64::min });
            for (i, scores) in all.iter_mut().enumerate() {
                let score =
                    best.zip(value(references + i)).map(|(best, own)| if rate { own / best } else { best / own });
                scores.points.push((sweep.plan.name.clone(), score));
                let share = results.estimate(scenario, point, references + i, "bound_share").filter(|_| rate);
                scores.bound_shares.extend(share.map(|s| s.mean));
            }
            for (i, scores) in all.iter_mut().enumerate() {
                scores.add_costs(sweep, results, (scenario, point, references + i), references);
            }
        }
    }
}

/// One page: the ranking, each plan by itself, and the first scheduler beside every other one.
///
/// # Panics
/// Never: a text takes all that is written to it.
pub fn page(scores: &[Scores], seeds: u64) -> String {
    let mut text = String::new();
    let mut put = |line: std::fmt::Arguments<'_>| text.write_fmt(line).expect("a text takes all");
    let points = scores.first().map_or(0, |s| s.points.len());
    put(format_args!(
        "{points} comparisons, {seeds} {}. 1 is the best single path of the same connection at each point; more is better.\n\n",
        if seeds == 1 { "seed" } else { "seeds" }
    ));
    put(format_args!(
        "{:<28}{:>8}{:>8}{:>8}{:>8}{:>10}{:>8}\n",
        "scheduler", "mean", "p10", "least", "below", "of bound", "points"
    ));
    let mut ranked: Vec<&Scores> = scores.iter().collect();
    ranked.sort_by(|a, b| b.mean(None).unwrap_or(0.0).total_cmp(&a.mean(None).unwrap_or(0.0)));
    for of in &ranked {
        let known = of.known();
        let shares = Estimate::of(&of.bound_shares).map_or(f64::NAN, |e| e.mean);
        put(format_args!(
            "{:<28}{:>8.3}{:>8.3}{:>8.3}{:>8}{:>10.3}{:>8}\n",
            of.scheduler,
            of.mean(None).unwrap_or(f64::NAN),
            html::percentile(&known, 0.1).unwrap_or(f64::NAN),
            known.first().copied().unwrap_or(f64::NAN),
            of.below(),
            shares,
            known.len()
        ));
    }
    for family in families(scores) {
        put(format_args!("\n{family}: "));
        let of = |s: &&Scores| s.mean(Some(family)).unwrap_or(0.0);
        let mut ranked = ranked.clone();
        ranked.sort_by(|a, b| of(b).total_cmp(&of(a)));
        let all: Vec<String> = ranked.iter().map(|s| format!("{} {:.3}", s.scheduler, of(s))).collect();
        put(format_args!("{}", all.join(", ")));
    }
    put(format_args!("\n"));
    if let Some((first, others)) = scores.split_first() {
        put(format_args!(
            "\n{} beside each: mean difference in %, 95 % interval; points better and worse by 3 %\n",
            first.scheduler
        ));
        for other in others {
            put(format_args!("{}\n", pair(first, other)));
        }
    }
    text
}

/// The plans, in the order of their runs.
fn families(scores: &[Scores]) -> Vec<&str> {
    let mut families: Vec<&str> = Vec::new();
    for (plan, _) in scores.iter().flat_map(|s| &s.points) {
        if !families.contains(&plan.as_str()) {
            families.push(plan);
        }
    }
    families
}

/// How much better the first is, point by point where both have a score.
fn ratios(first: &Scores, other: &Scores) -> Vec<f64> {
    first.points.iter().zip(&other.points).filter_map(|(a, b)| Some(a.1? / b.1?)).collect()
}

/// By how many percent the first is better in the geometric mean.
fn difference(ratios: &[f64]) -> Option<Estimate> {
    Estimate::of(&ratios.iter().map(|r| libm::log(*r)).collect::<Vec<f64>>())
}

fn percent(log: f64) -> f64 {
    100.0 * (libm::exp(log) - 1.0)
}

/// A line on two schedulers.
fn pair(first: &Scores, other: &Scores) -> String {
    let ratios = ratios(first, other);
    let Some(estimate) = difference(&ratios) else { return format!("{:<28} nothing in common", other.scheduler) };
    let interval = estimate
        .interval
        .map_or(String::new(), |(low, high)| format!(" ({:+.1} to {:+.1})", percent(low), percent(high)));
    let better = ratios.iter().filter(|r| **r > 1.0 + ALIKE).count();
    let worse = ratios.iter().filter(|r| **r < 1.0 - ALIKE).count();
    format!(
        "{:<28}{:>+8.1}{interval}  {better} better, {worse} worse of {}",
        other.scheduler,
        percent(estimate.mean),
        ratios.len()
    )
}

#[cfg(test)]
mod tests {
    use super::{Scores, page, pair};

    fn scores(scheduler: &str, values: &[f64]) -> Scores {
        let points = values.iter().map(|v| ("plan".to_owned(), Some(*v))).collect();
        Scores { scheduler: scheduler.into(), points, ..Scores::default() }
    }

    #[test]
    fn a_mean_is_geometric_and_points_below_one_path_count() {
        let of = scores("a", &[0.5, 2.0, 0.98]);
        assert!((of.mean(None).expect("it has scores") - libm::cbrt(0.98)).abs() < 1e-12);
        assert_eq!(of.below(), 1);
        assert_eq!(of.mean(Some("another")), None);
    }

    #[test]
    fn a_pair_counts_what_differs_by_more_than_three_percent() {
        let line = pair(&scores("a", &[1.0, 1.1, 1.02, 0.9]), &scores("b", &[1.0; 4]));
        assert!(line.ends_with("1 better, 1 worse of 4"), "{line}");
    }

    #[test]
    fn the_page_ranks_by_the_mean() {
        let page = page(&[scores("worse", &[0.9, 0.9]), scores("best", &[1.0, 1.2])], 2);
        let at = |name: &str| page.find(name).expect("it is on the page");
        assert!(at("best ") < at("worse "), "{page}");
    }
}
