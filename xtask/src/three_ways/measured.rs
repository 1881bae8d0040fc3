//! Scenarios of the measurements of Linux with three and four paths or changing rates: simulated, measured in virtual time, and
//! from kernel to kernel over emulated paths in real time.

use super::{Emulated, emulate, perf, replace};
use crate::results::{build, pathweave};
use crate::run::{capture, root, target};
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

const FILE: &str = "validation/paths-6.12.jsonl";
const START: &str = "<!-- written by `cargo xtask three-ways --measured` -->\n";
const HEAD: &str = "| scenario | simulated | virtual time, 6.12 | real time | late packets |\n|---|---|---|---|---|\n";
const SEEDS: u64 = 3;
/// A real-time run with a larger fraction of late packets is repeated, at most this often in all; the run with the fewest
/// late packets counts.
const LATE: f64 = 0.01;
const ATTEMPTS: usize = 3;

/// A scenario with what was measured in virtual time.
struct Point {
    id: String,
    setup: Value,
    virtual_time: Vec<f64>,
}

/// A run in real time.
struct Run {
    mbps: f64,
    late: f64,
}

/// Measures every second Multipath TCP scenario of the file, from the second on, and writes their table. Linux must be 6.x
/// or later with Multipath TCP.
///
/// # Errors
/// If a run fails or something cannot be written.
pub(crate) fn write() -> Result<(), String> {
    build()?;
    let folder = target().join("three-ways/measured");
    let _ = capture(pathweave().args(["validate", FILE, "--scenarios"]).arg(&folder).current_dir(root()))?;
    let mut table = String::from(HEAD);
    for point in points()?.into_iter().skip(1).step_by(2) {
        let simulated = simulated(&point.id)?;
        let scenario = folder.join(format!("{}.toml", point.id.replace('/', "-")));
        let runs: Vec<Run> = (1..=SEEDS).map(|seed| point.real_time(&scenario, seed)).collect::<Result<_, _>>()?;
        let late = runs.iter().map(|run| run.late).fold(0.0, f64::max) * 100.0;
        let real_time = spread(runs.iter().map(|run| run.mbps).collect());
        let row = format!(
            "| {} | {simulated:.2} | {} | {real_time} | {late:.1} % |\n",
            point.id.trim_end_matches("/mptcp"),
            spread(point.virtual_time)
        );
        print!("{row}");
        table.push_str(&row);
    }
    replace(START, |_| table)
}

/// The Multipath TCP scenarios in the order of the file.
fn points() -> Result<Vec<Point>, String> {
    let mut points: Vec<Point> = Vec::new();
    let text = fs::read_to_string(root().join(FILE)).map_err(|e| format!("{FILE}: {e}"))?;
    for line in text.lines().filter(|line| line.contains("/mptcp\"")) {
        let run: Value = serde_json::from_str(line).map_err(|e| format!("{FILE}: {e}"))?;
        let (Some(id), Some(mbps)) = (run["id"].as_str(), run["goodput_mbps"].as_f64()) else {
            return Err(format!("{FILE}: no id or goodput: {line}"));
        };
        match points.iter_mut().find(|point| point.id == id) {
            Some(point) => point.virtual_time.push(mbps),
            None => {
                points.push(Point { id: id.into(), setup: run["scenario"].clone(), virtual_time: vec![mbps] });
            }
        }
    }
    Ok(points)
}

/// The median of the simulator's runs, Mbit/s.
fn simulated(id: &str) -> Result<f64, String> {
    let mut run = pathweave();
    run.args(["validate", FILE, "--only", id, "--jsonl", "-"]).current_dir(root());
    let line: Value = serde_json::from_slice(&capture(&mut run)?).map_err(|e| format!("{id}: {e}"))?;
    line["ours_median"].as_f64().ok_or_else(|| format!("{id}: no median"))
}

impl Point {
    /// One run of the kernel to the kernel, with the settings of the measurement. As there, the server announces its
    /// further addresses, and the client joins.
    fn real_time(&self, scenario: &Path, seed: u64) -> Result<Run, String> {
        let setup = &self.setup;
        let number = |key: &str, default: u64| setup[key].as_u64().unwrap_or(default);
        let most = number("rmem", 6_291_456);
        let settings = format!(
            "sysctl -qw 'net.ipv4.tcp_rmem=4096 {} {most}' 'net.ipv4.tcp_wmem=4096 16384 {}' net.ipv4.tcp_no_metrics_save=1",
            number("rmem0", 131_072).min(most),
            number("wmem", 4_194_304)
        );
        let mut server = settings.clone();
        for path in 2..=setup["paths"].as_array().map_or(0, Vec::len) {
            let _ = write!(server, "; ip mptcp endpoint add 10.0.{path}.2 signal");
        }
        let perf = perf();
        let seconds = setup["seconds"].as_f64().unwrap_or(0.0);
        let _ = write!(server, "; {perf} --server --kernel >/dev/null");
        let client = format!(
            "{settings}; ip mptcp endpoint flush; {perf} --client $PATHWEAVE_SERVER --time {} --json --congestion {} --kernel",
            seconds,
            setup["cc"].as_str().unwrap_or("cubic")
        );
        let report = scenario.with_extension(format!("{seed}.json"));
        let mut best: Option<Run> = None;
        for _ in 0..ATTEMPTS {
            let wrong = |e: String| format!("{}: {e}", self.id);
            let Emulated { document, late } = emulate(scenario, seed, &server, &client, &report).map_err(wrong)?;
            let run = Run { mbps: acknowledged(&document, seconds).ok_or_else(|| wrong("no intervals".into()))?, late };
            println!("{}, seed {seed}: {:.3} Mbit/s, {:.2} % late", self.id, run.mbps, 100.0 * run.late);
            if best.as_ref().is_none_or(|best| run.late < best.late) {
                best = Some(run);
            }
            if best.as_ref().is_some_and(|best| best.late <= LATE) {
                break;
            }
        }
        best.ok_or_else(|| "there was no run".into())
    }
}

/// Mbit/s of the acknowledged data in the intervals that begin before `seconds`. Later the sender empties its buffer.
fn acknowledged(document: &Value, seconds: f64) -> Option<f64> {
    let sums = document["intervals"].as_array()?.iter().map(|interval| &interval["sum"]);
    let counted: Vec<&Value> = sums.filter(|sum| sum["start"].as_f64().is_some_and(|start| start < seconds)).collect();
    let bytes: f64 = counted.iter().filter_map(|sum| sum["bytes"].as_f64()).sum();
    Some(bytes * 8e-6 / counted.last()?["end"].as_f64()?)
}

/// The median, the minimum and the maximum, as text.
fn spread(mut rates: Vec<f64>) -> String {
    rates.sort_by(f64::total_cmp);
    match rates[..] {
        [] => "–".into(),
        [least, .., most] => format!("{:.2} ({least:.2} to {most:.2})", rates[rates.len() / 2]),
        [one] => format!("{one:.2}"),
    }
}
