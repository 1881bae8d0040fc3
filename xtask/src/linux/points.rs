//! The points on which kernel and simulator are compared, and the kernel's schedulers.

use crate::run::root;
use serde_json::{Value, json};
use std::fs;

/// Points of the arena with the same number of paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Family {
    /// The name, with which the names of its points begin.
    pub(super) name: &'static str,
    pub(super) paths: usize,
    /// Whether some paths lose packets at random.
    pub(super) losses: bool,
}

const fn family(name: &'static str, paths: usize, losses: bool) -> Family {
    Family { name, paths, losses }
}

pub(super) const FAMILIES: [Family; 3] =
    [family("small-window", 2, false), family("three-paths", 3, true), family("four-paths", 4, true)];

/// Seconds of a run.
const SECONDS: u64 = 8;
/// Fraction of its receive memory that Linux offers as a window, and the step of memory (docs/validation.md).
const WINDOW_OF_MEMORY: (f64, f64) = (152.0, 256.0);
const MEMORY_STEP: f64 = 4096.0;
/// The window that grows: initial and largest value of Linux's receive memory are the defaults.
const GROWING: &str = "auto 128KiB..6MiB";

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

/// At most `count` points of a family, spread evenly over all.
///
/// # Errors
/// If the file cannot be read, or a line is wrong.
pub(super) fn read(family: Family, count: usize) -> Result<Vec<Point>, String> {
    let file = format!("arena/{}-evaluation.csv", family.name);
    let text = fs::read_to_string(root().join(&file)).map_err(|e| format!("{file}: {e}"))?;
    let mut lines = text.lines();
    let columns = columns(family);
    if lines.next() != Some(&columns) {
        return Err(format!("{file}: the columns are not {columns}"));
    }
    let all: Vec<&str> = lines.collect();
    let count = count.min(all.len());
    let chosen = (0..count).map(|i| i * all.len() / count.max(1));
    chosen.map(|i| point(family, i, all[i]).ok_or_else(|| format!("{file}:{}: {}", i + 2, all[i]))).collect()
}

fn columns(family: Family) -> String {
    let loss = |path| if family.losses { format!(",loss{path}") } else { String::new() };
    let path = |path| format!("rate{path},delay{path},queue{path}{},", loss(path));
    format!("window,{}congestion", (1..=family.paths).map(path).collect::<String>())
}

fn point(family: Family, index: usize, line: &str) -> Option<Point> {
    let fields: Vec<&str> = line.split(',').collect();
    let [window, paths @ .., congestion] = &fields[..] else { return None };
    let number = |text: &&str| text.parse::<f64>().ok();
    let path = |fields: &[&str]| {
        let [rate, delay, queue, loss @ ..] = fields else { return None };
        let queue: u64 = queue.parse().ok()?;
        let mut path = json!({"rate_mbps": number(rate)?, "delay_ms": number(delay)?, "queue_pkts": queue});
        if let Some(percent) = loss.first().map(number) {
            path["loss_pct"] = percent?.into();
        }
        Some(path)
    };
    let paths = paths.chunks(if family.losses { 4 } else { 3 }).map(path).collect::<Option<Vec<_>>>()?;
    let mut scenario = json!({"paths": paths, "cc": congestion, "seconds": SECONDS});
    if *window != GROWING {
        let memory =
            (window_bytes(window)? * WINDOW_OF_MEMORY.1 / WINDOW_OF_MEMORY.0 / MEMORY_STEP).round() * MEMORY_STEP;
        scenario["rmem"] = (memory as u64).into();
        scenario["rmem0"] = (memory as u64).into();
    }
    Some(Point { name: format!("{}-{:02}", family.name, index + 1), scenario })
}

/// Bytes of a window: `1MiB`, `256KiB`, or a number of kilobytes.
fn window_bytes(text: &str) -> Option<f64> {
    let units = [("MiB", 1048576.0), ("KiB", 1024.0), ("", 1000.0)];
    units.iter().find_map(|(unit, bytes)| Some(text.strip_suffix(unit)?.parse::<f64>().ok()? * bytes))
}

impl Point {
    /// The modes of plain TCP, one for each path.
    pub(super) fn plain_modes(&self) -> impl Iterator<Item = String> {
        let paths = self.scenario["paths"].as_array().map_or(0, Vec::len);
        (0..paths).map(|path| format!("tcp{path}"))
    }

    /// Whether a path loses packets at random, so that plain TCP depends on the seed.
    pub(super) fn has_losses(&self) -> bool {
        let paths = self.scenario["paths"].as_array();
        paths.is_some_and(|paths| paths.iter().any(|path| path["loss_pct"].as_f64().is_some_and(|loss| loss > 0.0)))
    }

    /// A run of plain TCP as a line for `validation/measure.py`.
    pub(super) fn plain_line(&self, mode: &str, seed: u64) -> String {
        self.line("plain", mode, None, seed)
    }

    /// A run of Multipath TCP as a line for `validation/measure.py`.
    pub(super) fn scheduler_line(&self, scheduler: &str, seed: u64) -> String {
        self.line(scheduler, "mptcp", Some(scheduler), seed)
    }

    fn line(&self, name: &str, mode: &str, scheduler: Option<&str>, seed: u64) -> String {
        let mut scenario = self.scenario.clone();
        scenario["mode"] = mode.into();
        if let Some(scheduler) = scheduler {
            scenario["scheduler"] = scheduler.into();
        }
        format!("{}\n", json!({"id": format!("{}-{name}/{mode}", self.name), "scenario": scenario, "seed": seed}))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_has_the_memory_for_its_window_and_both_paths() {
        let point = point(FAMILIES[0], 4, "39,9.3,47.0,100,7.9,17.8,200,reno").expect("a point");
        assert_eq!(point.plain_modes().collect::<Vec<_>>(), ["tcp0", "tcp1"]);
        assert!(!point.has_losses());
        let line: Value = serde_json::from_str(&point.scheduler_line("minrtt", 3)).expect("JSON");
        assert_eq!((&line["id"], &line["seed"]), (&json!("small-window-05-minrtt/mptcp"), &json!(3)));
        let scenario = &line["scenario"];
        assert_eq!((&scenario["rmem"], &scenario["scheduler"]), (&json!(65536), &json!("minrtt")));
        assert_eq!(scenario["paths"][1], json!({"rate_mbps": 7.9, "delay_ms": 17.8, "queue_pkts": 200}));
    }

    #[test]
    fn a_point_with_three_paths_has_losses_and_a_window_in_binary_units() {
        let line = "1MiB,57.1,9.9,200,0.1,80.4,15.0,400,0,79.7,8.7,400,0,reno";
        let fixed = point(FAMILIES[1], 0, line).expect("a point");
        assert!(fixed.has_losses() && fixed.plain_modes().count() == 3);
        assert_eq!(fixed.scenario["rmem"], json!(1765376));
        assert_eq!(fixed.scenario["paths"][0]["loss_pct"], json!(0.1));
        let growing = point(FAMILIES[1], 0, &line.replace("1MiB", GROWING)).expect("a point");
        assert!(growing.scenario["rmem"].is_null());
    }

    #[test]
    fn a_tenth_of_the_points_is_spread_over_all() {
        let names: Vec<String> = read(FAMILIES[0], 5).expect("points").into_iter().map(|p| p.name).collect();
        assert_eq!(names.len(), 5);
        assert_eq!((names[0].as_str(), names[4].as_str()), ("small-window-01", "small-window-39"));
    }

    #[test]
    fn each_family_of_points_can_be_read() {
        assert_eq!(FAMILIES.map(|family| read(family, 100).expect("points").len()), [48, 20, 16]);
    }
}
