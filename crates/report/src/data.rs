//! The input of the page's script: summaries, and series thinned to a screen's resolution.

use crate::alike::alike_in_words;
use crate::card::About;
use crate::comparison::{Comparison, Judged, Standing, Summary};
use crate::statistics::Difference;
use crate::statistics::{Estimate, quantile, sorted};
use crate::time_spent::{explained, shares};
use pathweave_lab::results::{RunResult, Status};
use serde::Serialize;

/// Most points of a series; longer ones are thinned.
const POINTS: usize = 300;
/// Most seeds with series of their own on the page. Median and quartiles are always over all seeds.
const SEEDS: usize = 20;

/// The data of the page.
#[derive(Serialize)]
pub(crate) struct Data {
    pub(crate) scenarios: Vec<ScenarioData>,
}

/// The data of one section.
#[derive(Serialize)]
pub(crate) struct ScenarioData {
    name: String,
    paths: Vec<String>,
    /// Name and unit of the ranking value, and the words for a row without one.
    judged: &'static str,
    unit: &'static str,
    no_value: &'static str,
    /// The seeds that a reader can choose.
    seeds: Vec<u64>,
    /// Number of all seeds.
    all_seeds: usize,
    /// Indices of the best scheduler's row, the reference's row, and the row that is explained at first.
    best: Option<usize>,
    reference: Option<usize>,
    chosen: Option<usize>,
    /// The call of `pathweave explain`, without the scheduler and the seed.
    command: String,
    explanation: Option<Explained>,
    /// Connections with series of their subflows, in groups of equal ones.
    groups: Vec<Group>,
    rows: Vec<Row>,
}

/// A link to an explanation page beside this one.
#[derive(Serialize)]
struct Explained {
    scheduler: String,
    href: String,
    shows: String,
}

/// Equal connections: the group in words, and the index of the one that is shown at first.
#[derive(Serialize)]
struct Group {
    text: String,
    shown: usize,
    names: Vec<String>,
}

/// One scheduler. Rows are in ranked order.
#[derive(Serialize)]
struct Row {
    name: String,
    label: String,
    same: Vec<String>,
    plain_tcp: Option<usize>,
    standing: Option<&'static str>,
    /// The ranking value.
    value: Option<Spread>,
    against: Option<Against>,
    benefit: Option<f64>,
    share: Vec<f64>,
    /// Parts of the time: name and seconds.
    parts: Vec<(&'static str, f64)>,
    /// Times of each path, seconds: in slow start, in recovery, blocking the receiver, keeping the send window full.
    by_path: Vec<[f64; 4]>,
    /// Length of a step of the series, seconds.
    step: f64,
    /// Goodput over the last second, 10⁶ bit/s.
    goodput_series: SeriesData,
    /// Delivered since the start, MB.
    delivered_series: SeriesData,
    /// Bytes in queues, KB.
    queue_series: SeriesData,
    /// Series of the subflows and links with the first seed.
    subflows: Vec<SubflowData>,
}

#[derive(Serialize)]
struct Spread {
    mean: f64,
    median: f64,
    /// The 95 % interval of the mean, if there are several seeds.
    low: Option<f64>,
    high: Option<f64>,
}

/// Difference to the reference.
#[derive(Serialize)]
struct Against {
    mean: f64,
    low: Option<f64>,
    high: Option<f64>,
    always: bool,
    significant: Option<bool>,
}

/// Median and quartiles over all seeds, up to the time when less than half of the runs are still running; and single
/// runs in the order of the seeds.
#[derive(Serialize, Default)]
struct SeriesData {
    median: Vec<f64>,
    low: Vec<f64>,
    high: Vec<f64>,
    runs: Vec<Vec<f64>>,
}

/// A subflow of one run, with the links of its path.
#[derive(Serialize)]
struct SubflowData {
    connection: String,
    path: usize,
    cwnd: Vec<f64>,
    in_flight: Vec<f64>,
    /// Smoothed round-trip time, ms.
    srtt: Vec<f64>,
    /// Data in all queues of the path, KB.
    queue: Vec<f64>,
    /// Rate of the path's slowest link, 10⁶ bit/s; empty if no link has a rate limit.
    capacity: Vec<f64>,
}

impl Data {
    pub(crate) fn of(results: &[RunResult], comparisons: &[Comparison], about: &[About], why: Option<&str>) -> Self {
        let of = |c: &Comparison| scenario(c, results, about.iter().find(|a| a.scenario == c.scenario), why, SEEDS);
        Data { scenarios: comparisons.iter().map(of).collect() }
    }
}

/// The data of one comparison that the page's script draws, without the series of single seeds: the ranking, median and
/// quartiles over time, and the parts of the time.
pub fn drawn(comparison: &Comparison, results: &[RunResult]) -> impl Serialize + use<> {
    scenario(comparison, results, None, None, 0)
}

fn scenario(
    comparison: &Comparison,
    results: &[RunResult],
    about: Option<&About>,
    why: Option<&str>,
    most_seeds: usize,
) -> ScenarioData {
    let seeds: Vec<u64> = comparison.seeds.iter().copied().take(most_seeds).collect();
    let place = |wanted: Option<&Summary>| {
        let name = &wanted?.scheduler;
        comparison.summaries.iter().position(|s| s.scheduler == *name)
    };
    ScenarioData {
        name: comparison.scenario.clone(),
        paths: (0..comparison.paths).map(|p| comparison.path_name(p)).collect(),
        judged: comparison.judged.title(),
        unit: comparison.judged.unit(),
        no_value: match comparison.judged {
            Judged::Delay => "short of what is offered",
            Judged::Goodput | Judged::Completion => "did not finish",
        },
        all_seeds: comparison.seeds.len(),
        best: place(comparison.best_multipath()),
        reference: comparison.reference,
        chosen: place(explained(comparison, why).or(comparison.best_multipath())),
        command: about.map_or(String::new(), |a| a.command.clone()),
        explanation: about.and_then(|a| a.explanation.as_ref()).map(|e| Explained {
            scheduler: e.scheduler.clone(),
            href: e.href.clone(),
            shows: e.shows.clone(),
        }),
        groups: groups(about, results.iter().filter(|r| r.scenario == comparison.scenario)),
        rows: comparison.summaries.iter().map(|s| row(comparison, s, results, &seeds)).collect(),
        seeds,
    }
}

/// The connections of the runs in the groups of `about`. Without it, nothing says which connections are equal.
fn groups<'a>(about: Option<&About>, runs: impl Iterator<Item = &'a RunResult>) -> Vec<Group> {
    let mut names: Vec<&str> = Vec::new();
    for series in runs.flat_map(|r| &r.series.subflows) {
        if !names.contains(&series.connection.as_str()) {
            names.push(&series.connection);
        }
    }
    let mut groups: Vec<Vec<String>> = Vec::new();
    for known in about.iter().flat_map(|a| a.alike()) {
        groups.push(names.extract_if(.., |name| known.iter().any(|k| k == *name)).map(str::to_owned).collect());
    }
    groups.extend(names.iter().map(|name| vec![(*name).to_owned()]));
    groups.retain(|names| !names.is_empty());
    groups.into_iter().map(|names| Group { text: alike_in_words(&names), shown: 0, names }).collect()
}

fn row(comparison: &Comparison, summary: &Summary, results: &[RunResult], seeds: &[u64]) -> Row {
    let mut runs: Vec<&RunResult> =
        results.iter().filter(|r| r.scenario == comparison.scenario && r.scheduler == summary.scheduler).collect();
    runs.retain(|r| r.status != Status::Failed);
    runs.sort_by_key(|r| r.seed);
    let longest = runs.iter().map(|r| r.series.goodput_mbps.len()).max().unwrap_or(0);
    let thin = longest.div_ceil(POINTS).max(1);
    let raw_step = runs.iter().map(|r| r.series.step_s).fold(0.0, f64::max);
    let each = |f: &dyn Fn(&RunResult) -> Vec<f64>| runs.iter().map(|r| f(r)).collect::<Vec<_>>();
    let goodput = each(&|r| means(&second_means(&r.series.goodput_mbps, raw_step), thin));
    let delivered = each(&|r| last_of(&cumulated(&r.series.goodput_mbps, raw_step), thin));
    let queue = each(&|r| maxima(&r.series.out_of_order_bytes, thin));
    let embedded: Vec<usize> = seeds.iter().filter_map(|seed| runs.iter().position(|r| r.seed == *seed)).collect();
    let time = &summary.time;
    let at = |list: &[f64], p: usize| round(list.get(p).copied().unwrap_or(0.0));
    Row {
        name: summary.scheduler.clone(),
        label: comparison.marked_label(summary),
        same: summary.same.clone(),
        plain_tcp: summary.plain_tcp,
        standing: summary.standing().map(|s| match s {
            Standing::Better => "better",
            Standing::Level => "level",
            Standing::Worse => "worse",
        }),
        value: summary.value.map(spread),
        against: summary.against.map(against),
        benefit: summary.benefit.map(|b| round(b.mean)),
        share: summary.share.iter().copied().map(round).collect(),
        parts: shares(comparison, summary).into_iter().map(|p| (p.name, round(p.seconds))).collect(),
        by_path: (0..comparison.paths)
            .map(|p| {
                [
                    at(&time.slow_start_by_path_s, p),
                    at(&time.recovery_by_path_s, p),
                    at(&time.blocked_by_path_s, p),
                    at(&time.window_full_by_path_s, p),
                ]
            })
            .collect(),
        step: raw_step * thin as f64,
        goodput_series: series(&goodput, &embedded),
        delivered_series: series(&delivered, &embedded),
        queue_series: series(&queue, &embedded),
        subflows: runs.first().map(|r| subflows(r, thin)).unwrap_or_default(),
    }
}

fn against(d: Difference) -> Against {
    let (low, high) = d.estimate.interval.unzip();
    Against {
        mean: round(d.mean()),
        low: low.map(round),
        high: high.map(round),
        always: d.same_on_every_seed,
        significant: d.is_significant(),
    }
}

fn spread(e: Estimate) -> Spread {
    let (low, high) = e.interval.unzip();
    Spread { mean: round(e.mean), median: round(e.median), low: low.map(round), high: high.map(round) }
}

/// The subflows of one run, each with the queue and the capacity of its path.
fn subflows(run: &RunResult, thin: usize) -> Vec<SubflowData> {
    let of = |s: &pathweave_lab::results::SubflowSeries| {
        let links: Vec<_> = run.series.links.iter().filter(|l| l.paths.contains(&s.path)).collect();
        let steps = s.cwnd_segments.len();
        let queue: Vec<u64> = (0..steps).map(|i| links.iter().filter_map(|l| l.queue_bytes.get(i)).sum()).collect();
        let limits: Vec<_> = links.iter().filter(|l| !l.capacity_mbps.is_empty()).collect();
        let narrowest =
            |i: usize| limits.iter().filter_map(|l| l.capacity_mbps.get(i).copied()).fold(f64::MAX, f64::min);
        let capacity: Vec<f64> = if limits.is_empty() { Vec::new() } else { (0..steps).map(narrowest).collect() };
        let numbers = |list: &[u32]| means(&list.iter().map(|x| f64::from(*x)).collect::<Vec<_>>(), thin);
        SubflowData {
            connection: s.connection.clone(),
            path: s.path,
            cwnd: numbers(&s.cwnd_segments),
            in_flight: numbers(&s.in_flight_segments),
            srtt: means(&s.srtt_ms, thin),
            queue: maxima(&queue, thin),
            capacity: means(&capacity, thin),
        }
    };
    run.series.subflows.iter().map(of).collect()
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

/// The mean over the last second at each step. Single steps would not do: data that waited out of order is delivered in
/// bursts far above any link's rate.
fn second_means(values: &[f64], step_s: f64) -> Vec<f64> {
    let window = if step_s > 0.0 { ((1.0 / step_s).round() as usize).max(1) } else { 1 };
    let mean = |end: usize| {
        let part = &values[(end + 1).saturating_sub(window)..=end];
        part.iter().sum::<f64>() / part.len() as f64
    };
    (0..values.len()).map(mean).collect()
}

/// MB delivered up to the end of each step.
fn cumulated(values: &[f64], step_s: f64) -> Vec<f64> {
    let mut sum = 0.0;
    let next = |v: &f64| {
        sum += v * step_s / 8.0;
        sum
    };
    values.iter().map(next).collect()
}

/// The last of each `thin` values, with three decimals.
fn last_of(values: &[f64], thin: usize) -> Vec<f64> {
    values.chunks(thin).filter_map(|c| c.last()).map(|x| (x * 1e3).round() / 1e3).collect()
}

/// Mean of each `thin` values, with three decimals.
fn means(values: &[f64], thin: usize) -> Vec<f64> {
    let round = |x: f64| (x * 1e3).round() / 1e3;
    values.chunks(thin).map(|c| round(c.iter().sum::<f64>() / c.len() as f64)).collect()
}

/// Maximum of each `thin` numbers of bytes, in KB with one decimal.
fn maxima(values: &[u64], thin: usize) -> Vec<f64> {
    let round = |bytes: u64| (bytes as f64 / 100.0).round() / 10.0;
    values.chunks(thin).map(|c| round(c.iter().copied().max().unwrap_or(0))).collect()
}

/// Rounds to four decimals, which is finer than any plot shows and keeps the page small.
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
    fn bursts_are_means_of_a_second_and_sums() {
        // Nothing for half a second, then a burst of the waiting data: 200 Mbit/s for 0.1 s.
        let goodput = [0.0, 0.0, 0.0, 0.0, 0.0, 200.0, 10.0, 10.0, 10.0, 10.0, 10.0];
        assert_eq!(second_means(&goodput, 0.1)[9], 24.0);
        assert_eq!(cumulated(&[8.0, 16.0], 0.5), [0.5, 1.5]);
        assert_eq!(last_of(&[1.0, 2.0, 3.0], 2), [2.0, 3.0]);
    }

    #[test]
    fn the_median_ends_where_fewer_than_half_of_the_runs_go_on() {
        let runs = vec![vec![1.0, 1.0, 1.0, 1.0], vec![2.0, 2.0, 2.0], vec![3.0]];
        let s = series(&runs, &[2, 0]);
        assert_eq!(s.median, [2.0, 1.5, 1.5]);
        assert_eq!(s.runs, [vec![3.0], vec![1.0; 4]]);
    }
}
