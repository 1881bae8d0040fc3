//! The table of runs, a row for each scheduler.

use std::fmt::Write as _;

/// A run of the kernel beside the simulator's run of the same point.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) point: String,
    pub(super) scheduler: &'static str,
    pub(super) seed: u64,
    /// Goodput in Mbit/s: of this run, of plain TCP on the better path, of the kernel's own scheduler with the same
    /// seed, and of the simulator.
    pub(super) kernel: f64,
    pub(super) plain: f64,
    pub(super) default: f64,
    pub(super) simulator: f64,
}

/// A run that has less than this part of the better plain path's goodput counts as below that path.
const BELOW: f64 = 0.95;

/// A line for each scheduler, in the order of their first runs.
pub(super) fn table(runs: &[Run]) -> String {
    let mut schedulers: Vec<&str> = Vec::new();
    for run in runs {
        if !schedulers.contains(&run.scheduler) {
            schedulers.push(run.scheduler);
        }
    }
    let mut text = String::from(
        "| scheduler | runs | of the default: geometric mean | of the better plain path: geometric mean | \
         below 0.95 | least | from the simulator: median, % | 90th percentile, % |\n|---|---|---|---|---|---|---|---|\n",
    );
    for scheduler in schedulers {
        let runs: Vec<&Run> = runs.iter().filter(|run| run.scheduler == scheduler).collect();
        let of_plain = sorted(runs.iter().map(|run| run.kernel / run.plain));
        let apart = sorted(runs.iter().map(|run| 100.0 * (run.kernel / run.simulator - 1.0).abs()));
        let of_default = sorted(runs.iter().map(|run| run.kernel / run.default));
        let _ = writeln!(
            text,
            "| {scheduler} | {} | {:.3} | {:.3} | {} | {:.3} | {:.1} | {:.1} |",
            runs.len(),
            geometric_mean(&of_default),
            geometric_mean(&of_plain),
            of_plain.iter().filter(|part| **part < BELOW).count(),
            of_plain.first().unwrap_or(&f64::NAN),
            quantile(&apart, 0.5),
            quantile(&apart, 0.9),
        );
    }
    text
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    values
}

fn geometric_mean(values: &[f64]) -> f64 {
    libm::exp(values.iter().map(|value| libm::log(*value)).sum::<f64>() / values.len() as f64)
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
    use super::*;

    #[test]
    fn a_line_compares_with_plain_tcp_with_the_default_and_with_the_simulator() {
        let run = |kernel, simulator| Run {
            point: "p".into(),
            scheduler: "minrtt",
            seed: 1,
            kernel,
            plain: 10.0,
            default: 4.0,
            simulator,
        };
        let text = table(&[run(8.0, 10.0), run(2.0, 2.0)]);
        // 2 and 0.5 times the default; 0.8 and 0.2 of plain TCP; 20 % and 0 % from the simulator.
        assert_eq!(text.lines().nth(2), Some("| minrtt | 2 | 1.000 | 0.400 | 2 | 0.200 | 10.0 | 18.0 |"));
    }
}
