//! The tables of runs: a row for each scheduler, and a row for each compared pair of schedulers.

use super::points::Family;
use super::record::Run;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A point whose median run has less than this part of the best plain path's goodput counts as below that path.
const BELOW: f64 = 0.95;
/// Pairs of schedulers that are compared: the first is expected to be better.
const COMPARED: [[&str; 2]; 6] = [
    ["weave", "default"],
    ["weave", "blest"],
    ["weave", "minrtt"],
    ["blest", "default"],
    ["blest", "minrtt"],
    ["minrtt", "default"],
];

/// A scheduler's runs at a point, one for each seed.
type ByPoint<'a> = BTreeMap<&'a str, Vec<&'a Run>>;

/// Both tables of a family, the second only if it has a row.
pub(super) fn tables(runs: &[Run], family: Family) -> String {
    let pairs = pairs(runs, family);
    let gap = if pairs.is_empty() { "" } else { "\n" };
    format!("{}{gap}{pairs}", schedulers(runs, family))
}

/// A row for each scheduler, in the order of their first runs.
pub(super) fn schedulers(runs: &[Run], family: Family) -> String {
    let runs: Vec<&Run> = runs.iter().filter(|run| run.is_of(family.name)).collect();
    let mut names: Vec<&str> = Vec::new();
    for run in &runs {
        if !names.contains(&run.scheduler) {
            names.push(run.scheduler);
        }
    }
    let mut text = String::from(
        "| scheduler | points | seeds | of the default | of the best plain path | below 0.95 | least | \
         of the default in the simulator | from the simulator: median, % | 90th percentile, % |\n\
         |---|---|---|---|---|---|---|---|---|---|\n",
    );
    let simulated_default: BTreeMap<&str, f64> =
        runs.iter().filter(|run| run.scheduler == "default").map(|run| (run.point.as_str(), run.simulator)).collect();
    for name in names {
        let points = by_point(&runs, name);
        let each = |value: &dyn Fn(&Run) -> f64| -> Vec<Vec<f64>> {
            points.values().map(|runs| sorted(runs.iter().map(|run| value(run)))).collect()
        };
        let of_plain = each(&|run| run.kernel / run.plain);
        let apart = sorted(
            each(&|run| run.kernel / run.simulator).iter().map(|point| 100.0 * (quantile(point, 0.5) - 1.0).abs()),
        );
        let first = points.values().filter_map(|runs| runs.first());
        let simulated = first.filter_map(|run| Some(run.simulator / simulated_default.get(run.point.as_str())?));
        let _ = writeln!(
            text,
            "| {name} | {} | {} | {} | {} | {} | {:.3} | {:.3} | {:.1} | {:.1} |",
            points.len(),
            seeds(&points),
            Mean::of(&each(&|run| run.kernel / run.default)),
            Mean::of(&of_plain),
            of_plain.iter().filter(|point| quantile(point, 0.5) < BELOW).count(),
            of_plain.iter().flatten().copied().fold(f64::INFINITY, f64::min),
            Mean::of(&simulated.map(|ratio| vec![ratio]).collect::<Vec<_>>()).ratio,
            quantile(&apart, 0.5),
            quantile(&apart, 0.9),
        );
    }
    text
}

/// A row for each compared pair of schedulers that have runs at the same points, with the seeds that both have.
pub(super) fn pairs(runs: &[Run], family: Family) -> String {
    let runs: Vec<&Run> = runs.iter().filter(|run| run.is_of(family.name)).collect();
    let mut text = String::new();
    for [better, other] in COMPARED {
        let (better_points, other_points) = (by_point(&runs, better), by_point(&runs, other));
        let common: Vec<Vec<[f64; 2]>> =
            better_points.iter().filter_map(|(point, runs)| Some(same_seeds(runs, other_points.get(point)?))).collect();
        if common.is_empty() {
            continue;
        }
        let ratios: Vec<Vec<f64>> =
            common.iter().map(|point| point.iter().map(|[one, two]| one / two).collect()).collect();
        let repeated: Vec<&Vec<[f64; 2]>> = common.iter().filter(|point| point.len() > 1).collect();
        let always = |above: usize| {
            let apart = repeated.iter().filter(|point| {
                let least = point.iter().map(|pair| pair[above]).fold(f64::INFINITY, f64::min);
                least > point.iter().map(|pair| pair[1 - above]).fold(0.0, f64::max)
            });
            if repeated.is_empty() { "–".into() } else { format!("{} of {}", apart.count(), repeated.len()) }
        };
        let (above, below) = (always(0), always(1));
        let _ = writeln!(text, "| {better} | {other} | {} | {} | {above} | {below} |", common.len(), Mean::of(&ratios));
    }
    if !text.is_empty() {
        let head = "| scheduler | over | points | ratio | points where all seeds are above | where all are below |\n\
                    |---|---|---|---|---|---|\n";
        text.insert_str(0, head);
    }
    text
}

/// The goodputs of two schedulers at a point, by seed.
fn same_seeds(one: &[&Run], two: &[&Run]) -> Vec<[f64; 2]> {
    let other = |seed| two.iter().find(|run| run.seed == seed);
    one.iter().filter_map(|run| Some([run.kernel, other(run.seed)?.kernel])).collect()
}

fn by_point<'a>(runs: &[&'a Run], scheduler: &str) -> ByPoint<'a> {
    let mut points = ByPoint::new();
    for run in runs.iter().filter(|run| run.scheduler == scheduler) {
        points.entry(&run.point).or_default().push(run);
    }
    points.values_mut().for_each(|runs| runs.sort_by_key(|run| run.seed));
    points
}

/// Number of seeds of a point; with two numbers if the points differ.
fn seeds(points: &ByPoint<'_>) -> String {
    let numbers = points.values().map(Vec::len);
    let (least, most) = (numbers.clone().min().unwrap_or(0), numbers.max().unwrap_or(0));
    if least == most { least.to_string() } else { format!("{least} to {most}") }
}

/// A geometric mean over points, and its 95 % interval.
struct Mean {
    ratio: f64,
    low: f64,
    high: f64,
}

impl Mean {
    /// A point counts once: with the geometric mean of its seeds. The interval is Student's for the points' logarithms.
    fn of(points: &[Vec<f64>]) -> Mean {
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let logs: Vec<f64> =
            points.iter().map(|point| mean(&point.iter().map(|v| libm::log(*v)).collect::<Vec<_>>())).collect();
        let (number, middle) = (logs.len() as f64, mean(&logs));
        let variance = logs.iter().map(|log| (log - middle) * (log - middle)).sum::<f64>() / (number - 1.0);
        // Student's t for 95 % within 1 % from 12 points on.
        let t = 1.96 + 2.5 / (number - 1.0);
        let half = t * (variance / number).sqrt();
        Mean { ratio: libm::exp(middle), low: libm::exp(middle - half), high: libm::exp(middle + half) }
    }
}

impl std::fmt::Display for Mean {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.3}", self.ratio)?;
        if self.low < self.high { write!(f, " ({:.2} to {:.2})", self.low, self.high) } else { Ok(()) }
    }
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    values
}

/// The value below which this part of the sorted values is, interpolated.
fn quantile(values: &[f64], part: f64) -> f64 {
    let Some(last) = values.len().checked_sub(1) else { return f64::NAN };
    let at = part * last as f64;
    let (low, high) = (values[at.floor() as usize], values[at.ceil() as usize]);
    low + (high - low) * at.fract()
}

#[cfg(test)]
mod tests {
    use super::super::points::FAMILIES;
    use super::*;

    fn run(scheduler: &'static str, point: &str, seed: u64, kernel: f64, simulator: f64) -> Run {
        Run { point: point.into(), scheduler, seed, kernel, plain: 10.0, default: 4.0, simulator }
    }

    #[test]
    fn a_row_compares_with_plain_tcp_with_the_default_and_with_the_simulator() {
        let runs = [
            run("default", "small-window-01", 1, 4.0, 5.0),
            run("minrtt", "small-window-01", 1, 8.0, 10.0),
            run("minrtt", "small-window-01", 2, 8.0, 10.0),
            run("minrtt", "small-window-01", 3, 2.0, 10.0),
            run("minrtt", "three-paths-01", 1, 1.0, 1.0),
        ];
        let text = schedulers(&runs, FAMILIES[0]);
        // 2, 2 and 0.5 times the default; 0.8, 0.8 and 0.2 of plain TCP, so the median is below 0.95; the simulator's
        // default has 5 and its minrtt 10; the median is 20 % from the simulator.
        assert_eq!(text.lines().last(), Some("| minrtt | 1 | 3 | 1.260 | 0.504 | 1 | 0.200 | 2.000 | 20.0 | 20.0 |"));
    }

    #[test]
    fn the_interval_is_that_of_the_points() {
        // Logarithms 0 and 2: mean 1, standard error 1, t = 4.46.
        let mean = Mean::of(&[vec![1.0, 1.0], vec![libm::exp(2.0)]]);
        assert!((libm::log(mean.ratio) - 1.0).abs() < 1e-12);
        assert!((libm::log(mean.high) - 5.46).abs() < 1e-12 && (libm::log(mean.low) + 3.46).abs() < 1e-12);
    }

    #[test]
    fn a_pair_counts_the_points_where_all_seeds_agree() {
        let both = |point: &str, weave: [f64; 2], blest: [f64; 2]| {
            let each = |scheduler, [first, second]: [f64; 2]| {
                [run(scheduler, point, 1, first, 1.0), run(scheduler, point, 2, second, 1.0)]
            };
            [each("weave", weave), each("blest", blest)].concat()
        };
        let runs = [
            both("small-window-01", [4.0, 4.0], [2.0, 2.0]),
            both("small-window-02", [4.0, 2.0], [3.0, 3.0]),
            both("small-window-03", [1.0, 1.0], [2.0, 2.0]),
        ];
        let text = pairs(&runs.concat(), FAMILIES[0]);
        // 2, (4/3 · 2/3)^(1/2) and 1/2 have the geometric mean 0.981.
        let row = text.lines().nth(2).expect("a row");
        assert!(row.starts_with("| weave | blest | 3 | 0.981 (") && row.ends_with(" | 1 of 3 | 1 of 3 |"), "{row}");
        assert_eq!(text.lines().count(), 3);
    }
}
