//! What the page's script draws from: summaries, and series thinned to what a screen can show.

use crate::colour::{Ink, assign};
use crate::statistics::{Estimate, quantile, sorted};
use crate::summary::{Comparison, Standing, Summary};
use pathweave_lab::results::RunResult;
use serde::Serialize;
use std::collections::BTreeMap;

/// Most points of a series; longer ones are thinned.
const POINTS: usize = 600;
/// Most seeds whose own series are embedded; median and quartiles are always of all.
const SEEDS: usize = 20;

/// Everything of the page.
#[derive(Serialize)]
pub(crate) struct Data {
    pub(crate) scenarios: Vec<ScenarioData>,
}

/// One section.
#[derive(Serialize)]
pub(crate) struct ScenarioData {
    name: String,
    paths: usize,
    sized: bool,
    /// The seeds that can be chosen.
    seeds: Vec<u64>,
    /// How many seeds there are.
    all_seeds: usize,
    rows: Vec<Row>,
}

/// One scheduler, in ranked order.
#[derive(Serialize)]
struct Row {
    name: String,
    plain_tcp: Option<usize>,
    colour: usize,
    dash: usize,
    standing: Option<&'static str>,
    goodput: Spread,
    time: Option<Spread>,
    benefit: Option<f64>,
    share: Vec<f64>,
    /// Seconds a step.
    step: f64,
    /// 10⁶ bit/s.
    goodput_series: SeriesData,
    /// KB.
    queue_series: SeriesData,
}

#[derive(Serialize)]
struct Spread {
    mean: f64,
    median: f64,
    low: Option<f64>,
    high: Option<f64>,
}

/// Median and quartiles over all seeds, as long as at least half of the runs go on; and single runs in the order of the seeds.
#[derive(Serialize, Default)]
struct SeriesData {
    median: Vec<f64>,
    low: Vec<f64>,
    high: Vec<f64>,
    runs: Vec<Vec<f64>>,
}

impl Data {
    pub(crate) fn of(results: &[RunResult], comparisons: &[Comparison]) -> Self {
        let all = comparisons.iter().flat_map(|c| &c.summaries).filter(|s| s.plain_tcp.is_none());
        let inks = assign(all.map(|s| s.scheduler.as_str()));
        Data { scenarios: comparisons.iter().map(|c| scenario(c, results, &inks)).collect() }
    }
}

fn scenario(comparison: &Comparison, results: &[RunResult], inks: &BTreeMap<String, Ink>) -> ScenarioData {
    let seeds: Vec<u64> = comparison.seeds.iter().copied().take(SEEDS).collect();
    let rows = comparison.summaries.iter().map(|s| row(comparison, s, results, &seeds, inks)).collect();
    ScenarioData {
        name: comparison.scenario.clone(),
        paths: comparison.paths,
        sized: comparison.sized,
        all_seeds: comparison.seeds.len(),
        seeds,
        rows,
    }
}

fn row(
    comparison: &Comparison,
    summary: &Summary,
    results: &[RunResult],
    seeds: &[u64],
    inks: &BTreeMap<String, Ink>,
) -> Row {
    let mut runs: Vec<&RunResult> =
        results.iter().filter(|r| r.scenario == comparison.scenario && r.scheduler == summary.scheduler).collect();
    runs.sort_by_key(|r| r.seed);
    let longest = runs.iter().map(|r| r.series.goodput_mbps.len()).max().unwrap_or(0);
    let thin = longest.div_ceil(POINTS).max(1);
    let goodput: Vec<_> = runs.iter().map(|r| means(&r.series.goodput_mbps, thin)).collect();
    let queue: Vec<_> = runs.iter().map(|r| maxima(&r.series.out_of_order_bytes, thin)).collect();
    let embedded: Vec<usize> = seeds.iter().filter_map(|seed| runs.iter().position(|r| r.seed == *seed)).collect();
    let ink = inks.get(&summary.scheduler).copied().unwrap_or(Ink { colour: 0, dash: summary.plain_tcp.unwrap_or(0) });
    Row {
        name: summary.scheduler.clone(),
        plain_tcp: summary.plain_tcp,
        colour: ink.colour,
        dash: ink.dash,
        standing: summary.standing.map(|s| match s {
            Standing::Better => "better",
            Standing::Level => "level",
            Standing::Worse => "worse",
        }),
        goodput: spread(summary.goodput_mbps),
        time: summary.completion_s.map(spread),
        benefit: summary.benefit.map(|b| round(b.mean)),
        share: summary.share.iter().copied().map(round).collect(),
        step: runs.iter().map(|r| r.series.step_s).fold(0.0, f64::max) * thin as f64,
        goodput_series: series(&goodput, &embedded),
        queue_series: series(&queue, &embedded),
    }
}

fn spread(e: Estimate) -> Spread {
    let (low, high) = e.interval.unzip();
    Spread { mean: round(e.mean), median: round(e.median), low: low.map(round), high: high.map(round) }
}

fn series(runs: &[Vec<f64>], embedded: &[usize]) -> SeriesData {
    let mut data = SeriesData { runs: embedded.iter().map(|i| runs[*i].clone()).collect(), ..SeriesData::default() };
    let longest = runs.iter().map(Vec::len).max().unwrap_or(0);
    for step in 0..longest {
        let values = sorted(&runs.iter().filter_map(|r| r.get(step).copied()).collect::<Vec<_>>());
        if values.len() * 2 < runs.len() {
            break;
        }
        let at = |p| (quantile(&values, p) * 1e3).round() / 1e3;
        data.median.push(at(0.5));
        data.low.push(at(0.25));
        data.high.push(at(0.75));
    }
    data
}

/// Of 10⁶ bit/s, to three places.
fn means(values: &[f64], thin: usize) -> Vec<f64> {
    let round = |x: f64| (x * 1e3).round() / 1e3;
    values.chunks(thin).map(|c| round(c.iter().sum::<f64>() / c.len() as f64)).collect()
}

/// Of bytes; in KB to one place.
fn maxima(values: &[u64], thin: usize) -> Vec<f64> {
    let round = |bytes: u64| (bytes as f64 / 100.0).round() / 10.0;
    values.chunks(thin).map(|c| round(c.iter().copied().max().unwrap_or(0))).collect()
}

/// To four places, which no plot can show: the page stays small.
fn round(x: f64) -> f64 {
    (x * 1e4).round() / 1e4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_series_are_thinned_without_losing_peaks() {
        assert_eq!(means(&[1.0, 3.0, 5.0], 2), [2.0, 5.0]);
        assert_eq!(maxima(&[1000, 9000, 5240], 2), [9.0, 5.2]);
    }

    #[test]
    fn the_median_ends_where_fewer_than_half_of_the_runs_go_on() {
        let runs = vec![vec![1.0, 1.0, 1.0, 1.0], vec![2.0, 2.0, 2.0], vec![3.0]];
        let s = series(&runs, &[2, 0]);
        assert_eq!(s.median, [2.0, 1.5, 1.5]);
        assert_eq!(s.runs, [vec![3.0], vec![1.0; 4]]);
    }
}
