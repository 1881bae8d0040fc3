//! The points on which kernel and simulator are compared, and the kernel's schedulers.

use crate::run::root;
use serde_json::{Value, json};
use std::fs;

/// The arena's points with two paths and small windows.
const POINTS: &str = "arena/small-window-evaluation.csv";
/// Columns of a point.
const COLUMNS: &str = "window,rate1,delay1,queue1,rate2,delay2,queue2,congestion";
/// Seconds of a run.
const SECONDS: u64 = 8;
/// Fraction of its receive memory that Linux offers as a window, and the step of memory (docs/validation.md).
const WINDOW_OF_MEMORY: (f64, f64) = (152.0, 256.0);
const MEMORY_STEP: f64 = 4096.0;

/// A scheduler of the kernel, and the simulator's scheduler that it is compared with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    pub(super) kernel: &'static str,
    pub(super) simulator: &'static str,
}

const fn pair(kernel: &'static str, simulator: &'static str) -> Pair {
    Pair { kernel, simulator }
}

/// The kernel's own scheduler and those of the patches. The first one is what the others are compared with.
pub(super) const PAIRS: [Pair; 10] = [
    pair("default", "linux"),
    pair("minrtt", "minrtt"),
    pair("roundrobin", "roundrobin"),
    pair("redundant", "redundant"),
    pair("blest", "blest-kernel"),
    pair("ecf", "ecf"),
    pair("cp", "cp"),
    pair("cp_conservative", "cp:mode=conservative"),
    pair("otias", "otias"),
    pair("weave", "weave"),
];

/// A point: its name, and its scenario in the form of `validation/README.md`, without the mode.
#[derive(Clone, Debug)]
pub(super) struct Point {
    pub(super) name: String,
    scenario: Value,
}

/// At most `count` points, spread evenly over all.
///
/// # Errors
/// If the file cannot be read, or a line is wrong.
pub(super) fn read(count: usize) -> Result<Vec<Point>, String> {
    let text = fs::read_to_string(root().join(POINTS)).map_err(|e| format!("{POINTS}: {e}"))?;
    let mut lines = text.lines();
    if lines.next() != Some(COLUMNS) {
        return Err(format!("{POINTS}: the columns are not {COLUMNS}"));
    }
    let all: Vec<&str> = lines.collect();
    let count = count.min(all.len());
    let chosen = (0..count).map(|i| i * all.len() / count.max(1));
    chosen.map(|i| point(i, all[i]).ok_or_else(|| format!("{POINTS}:{}: {}", i + 2, all[i]))).collect()
}

fn point(index: usize, line: &str) -> Option<Point> {
    let fields: Vec<&str> = line.split(',').collect();
    let [window, paths @ .., congestion] = &fields[..] else { return None };
    let number = |text: &&str| text.parse::<f64>().ok();
    let memory = number(window)? * 1000.0 * WINDOW_OF_MEMORY.1 / WINDOW_OF_MEMORY.0;
    let memory = (memory / MEMORY_STEP).round() * MEMORY_STEP;
    let path = |fields: &[&str]| {
        let [rate, delay, queue] = fields else { return None };
        let queue: u64 = queue.parse().ok()?;
        Some(json!({"rate_mbps": number(rate)?, "delay_ms": number(delay)?, "queue_pkts": queue}))
    };
    let paths = paths.chunks(3).map(path).collect::<Option<Vec<_>>>()?;
    let scenario = json!({
        "paths": paths, "cc": congestion, "seconds": SECONDS, "rmem": memory as u64, "rmem0": memory as u64,
    });
    Some(Point { name: format!("small-window-{:02}", index + 1), scenario })
}

impl Point {
    /// The kernel's runs of this point, a line for each: plain TCP on each path, and Multipath TCP with each scheduler.
    pub(super) fn lines(&self, schedulers: &[Pair], seeds: u64) -> String {
        let line = |name: &str, mode: &str, scheduler: Option<&str>| {
            let mut scenario = self.scenario.clone();
            scenario["mode"] = mode.into();
            if let Some(scheduler) = scheduler {
                scenario["scheduler"] = scheduler.into();
            }
            format!("{}\n", json!({"id": format!("{}-{name}/{mode}", self.name), "scenario": scenario, "seeds": seeds}))
        };
        let plain = ["tcp0", "tcp1"].map(|mode| line("plain", mode, None)).concat();
        plain + &schedulers.iter().map(|s| line(s.kernel, "mptcp", Some(s.kernel))).collect::<String>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_has_the_memory_for_its_window_and_both_paths() {
        let point = point(4, "39,9.3,47.0,100,7.9,17.8,200,reno").expect("a point");
        let lines = point.lines(&PAIRS[1..2], 3);
        let ids: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let named: Vec<&str> = ids.iter().filter_map(|line| line["id"].as_str()).collect();
        assert_eq!(named, ["small-window-05-plain/tcp0", "small-window-05-plain/tcp1", "small-window-05-minrtt/mptcp"]);
        let scenario = &ids[2]["scenario"];
        assert_eq!((&scenario["rmem"], &scenario["scheduler"]), (&json!(65536), &json!("minrtt")));
        assert_eq!(scenario["paths"][1], json!({"rate_mbps": 7.9, "delay_ms": 17.8, "queue_pkts": 200}));
    }

    #[test]
    fn a_tenth_of_the_points_is_spread_over_all() {
        let names: Vec<String> = read(5).expect("points").into_iter().map(|p| p.name).collect();
        assert_eq!(names.len(), 5);
        assert_eq!((names[0].as_str(), names[4].as_str()), ("small-window-01", "small-window-39"));
    }
}
