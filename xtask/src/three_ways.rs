//! The same paths three ways: in the simulator, from the engine over emulated paths to a kernel, and from kernel to
//! kernel.

mod measured;

pub(crate) use measured::write as write_measured;

use crate::results::{build, pathweave, put};
use crate::run::{capture, root, target};
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// A built-in scenario with the paths to use.
struct Point {
    name: &'static str,
    /// The congestion controller, which both kernel and engine have.
    congestion: &'static str,
    /// The window that the receiver offers at the start and at most, KiB: the scenario's own.
    window_kib: (u64, u64),
    plan: Plan,
    /// Number of emulated runs at the same time. They need little processor time; the column of late packets shows
    /// whether it was too much.
    at_once: usize,
}

const POINTS: [Point; 4] = [
    // Megabytes wait for the slow path here, and count when its data is there: the interval has to be long beside that, and to begin with
    // the connection, or it counts what waited before.
    Point { name: "cp-asymmetric", congestion: "reno", window_kib: (128, 6144), plan: LONG, at_once: 5 },
    Point { name: "cp-symmetric", congestion: "reno", window_kib: (128, 6144), plan: FULL, at_once: 3 },
    Point { name: "wlan-3g", congestion: "reno", window_kib: (256, 256), plan: FULL, at_once: 3 },
    Point { name: "wifi-lte", congestion: "cubic", window_kib: (512, 512), plan: FULL, at_once: 3 },
];
const SCHEDULERS: [&str; 4] = ["minrtt", "blest", "linux", "weave"];
/// Fraction of its receive memory that Linux offers as a window (docs/validation.md).
const WINDOW_OF_MEMORY: (u64, u64) = (152, 256);
/// Largest ratio between emulated and simulated rate in the quick check. It does not measure accuracy, but an unused
/// path or a stalled connection exceeds it.
const QUICK_FACTOR: f64 = 1.5;
const PAGE: &str = "docs/three-ways.md";
const START: &str = "<!-- written by `cargo xtask three-ways` -->\n";
const END: &str = "<!-- end of what it writes -->";
const HEAD: &str = "| paths | scheduler | simulated | engine to kernel | kernel to kernel | window, KiB | late packets |\n\
                    |---|---|---|---|---|---|---|\n";
/// Settings that all three ways share: those of a Linux host, with Linux's default send buffer.
pub(crate) const LINUX_HOST: [(&str, &str); 7] = [
    ("host", "linux"),
    ("failure_detection", "linux"),
    ("send_buffer", "4MiB"),
    ("send_buffer_tuning", "true"),
    ("least_window_shift", "10"),
    ("timer_tick", "1ms"),
    ("pr", "false"),
];
const SEND_MEMORY: &str = "4096 16384 4194304";

/// Length and number of the runs.
#[derive(Clone, Copy)]
struct Plan {
    seeds: u64,
    /// Seconds that do not count (`omit`), and seconds that count.
    omit: u32,
    seconds: u32,
}

const LONG: Plan = Plan { seeds: 3, omit: 0, seconds: 60 };
const FULL: Plan = Plan { seeds: 3, omit: 5, seconds: 20 };
const QUICK: Plan = Plan { seeds: 1, omit: 2, seconds: 6 };

/// The sender over emulated paths.
#[derive(Clone, Copy, PartialEq)]
enum Sender {
    Engine(&'static str),
    Kernel,
}

struct Run<'a> {
    point: &'a Point,
    scenario: &'a Path,
    sender: Sender,
    seed: u64,
    plan: Plan,
}

/// The measurements of one emulated run.
struct Measured {
    mbps: f64,
    /// The largest window that the receiving kernel offered. `None` if the kernel is the sender, which does not report
    /// it.
    window_bytes: Option<f64>,
    /// Fraction of packets that left the emulator over 0.5 ms late.
    late: f64,
}

/// Measures the points with these names, or all, and writes their rows.
///
/// # Errors
/// If there is no such point, a run fails or something cannot be written.
pub(crate) fn write(names: &[&str]) -> Result<(), String> {
    if let Some(name) = names.iter().find(|name| POINTS.iter().all(|point| point.name != **name)) {
        return Err(format!("there is no point {name}"));
    }
    build()?;
    for point in POINTS.iter().filter(|point| names.is_empty() || names.contains(&point.name)) {
        let rows = measure(point, point.plan)?;
        replace(START, |old| {
            // Rows of other points stay as they are.
            let mut table = String::from(HEAD);
            for other in &POINTS {
                match other.name == point.name {
                    true => rows.iter().for_each(|row| table.push_str(&row.text(point))),
                    false => {
                        let of_other = old.lines().filter(|line| line.starts_with(&format!("| {},", other.name)));
                        of_other.for_each(|line| table.extend([line, "\n"]));
                    }
                }
            }
            table
        })?;
    }
    Ok(())
}

/// Replaces the page's table that follows the line `start`.
fn replace(start: &str, table: impl FnOnce(&str) -> String) -> Result<(), String> {
    let text = fs::read_to_string(root().join(PAGE)).map_err(|e| format!("{PAGE}: {e}"))?;
    let (before, rest) = text.split_once(start).ok_or_else(|| format!("{PAGE}: there is no {start}"))?;
    let (old, after) = rest.split_once(END).ok_or_else(|| format!("{PAGE}: there is no {END}"))?;
    put(PAGE, format!("{before}{start}{}{END}{after}", table(old)).as_bytes())
}

/// Runs one point for a few seconds and checks that every emulated rate is near the simulated one.
///
/// # Errors
/// Each rate that is not.
pub(crate) fn check() -> Result<(), String> {
    build()?;
    let point = &POINTS[3];
    for row in measure(point, QUICK)? {
        print!("{}", row.text(point));
        let simulated = mean(&row.simulated);
        let emulated = row.engine.iter().chain(&row.kernel).map(|run| run.mbps);
        if let Some(rate) =
            emulated.into_iter().find(|r| !(1.0 / QUICK_FACTOR..QUICK_FACTOR).contains(&(r / simulated)))
        {
            return Err(format!("{}: {rate:.2} Mbit/s over the emulator, {simulated:.2} simulated", row.scheduler));
        }
    }
    Ok(())
}

/// A scheduler's runs.
struct Row {
    scheduler: &'static str,
    simulated: Vec<f64>,
    engine: Vec<Measured>,
    /// Runs of the kernel as sender, which has only its own scheduler.
    kernel: Vec<Measured>,
}

fn measure(point: &Point, plan: Plan) -> Result<Vec<Row>, String> {
    let scenario = scenario(point, plan)?;
    let simulated = simulate(&scenario, plan)?;
    let senders = SCHEDULERS.map(Sender::Engine).into_iter().chain([Sender::Kernel]);
    let run = |sender, seed| Run { point, scenario: &scenario, sender, seed, plan };
    // One repetition of all after the other, so that what changes on the machine meets all.
    let senders: Vec<Sender> = senders.collect();
    let runs: Vec<Run<'_>> = (1..=plan.seeds).flat_map(|seed| senders.iter().map(move |s| run(*s, seed))).collect();
    let mut measured = Vec::new();
    for some in runs.chunks(point.at_once) {
        let results = std::thread::scope(|scope| {
            let threads: Vec<_> = some.iter().map(|run| scope.spawn(|| run.measure())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err("it panicked".into()))).collect()
        });
        let results: Vec<Result<Measured, String>> = results;
        for (run, result) in some.iter().zip(results) {
            let result = result.map_err(|e| format!("{}, {}, seed {}: {e}", point.name, run.title(), run.seed))?;
            println!("{}, {}, seed {}: {:.3} Mbit/s", point.name, run.title(), run.seed, result.mbps);
            measured.push((run.sender, result));
        }
    }
    let mut of = |wanted: Sender| -> Vec<Measured> {
        measured.extract_if(.., |(sender, _)| *sender == wanted).map(|(_, measured)| measured).collect()
    };
    let mut rows: Vec<Row> = Vec::new();
    for (scheduler, simulated) in SCHEDULERS.into_iter().zip(simulated) {
        let kernel = if scheduler == "linux" { of(Sender::Kernel) } else { Vec::new() };
        rows.push(Row { scheduler, simulated, engine: of(Sender::Engine(scheduler)), kernel });
    }
    Ok(rows)
}

/// A scenario with the point's paths and one bulk upload.
fn scenario(point: &Point, plan: Plan) -> Result<PathBuf, String> {
    let Point { name, congestion, window_kib: (first, most), .. } = point;
    let source = root().join(format!("crates/lab/scenarios/{name}.toml"));
    let text = fs::read_to_string(&source).map_err(|e| format!("{}: {e}", source.display()))?;
    let (_, paths) = text.split_once("[[path]]").ok_or("there is no path")?;
    let (paths, _) = paths.split_once("[[connection]]").ok_or("there is no connection")?;
    let window = if first == most { format!("{most}KiB") } else { format!("auto {first}KiB..{most}KiB") };
    let mut text = format!(
        "format = 1\nname = \"{name}\"\nduration = \"{}s\"\nmeasure_from = \"{}s\"\n\n[[path]]{paths}\
         [[connection]]\nname = \"bulk\"\ndirection = \"upload\"\nworkload = \"bulk\"\n\
         congestion = \"{congestion}\"\nreceive_buffer = \"{window}\"\n",
        plan.omit + plan.seconds,
        plan.omit
    );
    for (key, value) in LINUX_HOST {
        let plain = value == "true" || value == "false" || value.bytes().all(|b| b.is_ascii_digit());
        let _ = if plain { writeln!(text, "{key} = {value}") } else { writeln!(text, "{key} = \"{value}\"") };
    }
    let folder = target().join("three-ways");
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let file = folder.join(format!("{name}.toml"));
    fs::write(&file, text).map_err(|e| format!("{}: {e}", file.display()))?;
    Ok(file)
}

/// Mbit/s of each scheduler with each seed.
fn simulate(scenario: &Path, plan: Plan) -> Result<Vec<Vec<f64>>, String> {
    let mut run = pathweave();
    run.arg("compare").arg(scenario).args(["--schedulers", &SCHEDULERS.join(",")]);
    run.args(["--seeds", &plan.seeds.to_string(), "--jsonl", "-"]);
    let lines = String::from_utf8(capture(&mut run)?).map_err(|e| e.to_string())?;
    let runs: Vec<Value> = lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let of = |scheduler: &&str| {
        let rates = runs.iter().filter(|run| run["scheduler"].as_str() == Some(scheduler));
        let rates: Vec<f64> = rates.filter_map(|run| run["metrics"]["goodput_mbps"].as_f64()).collect();
        if rates.len() as u64 == plan.seeds { Ok(rates) } else { Err(format!("{scheduler} has {} runs", rates.len())) }
    };
    SCHEDULERS.iter().map(of).collect()
}

impl Run<'_> {
    fn title(&self) -> String {
        match self.sender {
            Sender::Engine(scheduler) => format!("engine with {scheduler} to kernel"),
            Sender::Kernel => "kernel to kernel".into(),
        }
    }

    fn measure(&self) -> Result<Measured, String> {
        let Plan { omit, seconds, .. } = self.plan;
        let report = self.scenario.with_extension(format!("{}.{}.json", self.title().replace(' ', "-"), self.seed));
        let perf = perf();
        let memory = |kib: u64| kib * 1024 * WINDOW_OF_MEMORY.1 / WINDOW_OF_MEMORY.0;
        let (first, most) = self.point.window_kib;
        let server = format!(
            "sysctl -qw 'net.ipv4.tcp_rmem=4096 {} {}'; {perf} --server --kernel >/dev/null",
            memory(first),
            memory(most)
        );
        let mut client = format!(
            "sysctl -qw 'net.ipv4.tcp_wmem={SEND_MEMORY}'; {perf} --client $PATHWEAVE_SERVER --omit {omit} --time {seconds} --json \
             --congestion {}",
            self.point.congestion
        );
        match self.sender {
            Sender::Kernel => client.push_str(" --kernel"),
            Sender::Engine(scheduler) => {
                let paths = "--path 10.0.1.5@10.0.1.6 --path 10.0.2.5@10.0.2.6";
                let _ = write!(client, " --no-offload --scheduler {scheduler} {paths}");
                client.extend(LINUX_HOST.iter().map(|(key, value)| format!(" --set {key}={value}")));
            }
        }
        let Emulated { document, late } = emulate(self.scenario, self.seed, &server, &client, &report)?;
        let intervals = document["intervals"].as_array().into_iter().flatten();
        let windows = intervals.filter_map(|interval| interval["streams"][0]["snd_wnd"].as_f64());
        let rate = document["end"]["sum_received"]["bits_per_second"].as_f64().ok_or("the client reports no rate")?;
        Ok(Measured { mbps: rate / 1e6, window_bytes: windows.reduce(f64::max), late })
    }
}

/// What a client's `perf` printed over emulated paths.
struct Emulated {
    document: Value,
    /// Fraction of packets that left the emulator over 0.5 ms late.
    late: f64,
}

/// The command line of `pathweave perf`, for a shell that ends with it.
fn perf() -> String {
    format!("exec {} perf", Path::new(pathweave().get_program()).display())
}

/// Runs a server's and a client's command over the emulated paths. `client` is a `perf` that prints JSON.
fn emulate(scenario: &Path, seed: u64, server: &str, client: &str, report: &Path) -> Result<Emulated, String> {
    let mut run = pathweave();
    run.arg("emulate").arg(scenario).args(["--seed", &seed.to_string(), "--server", server]);
    run.arg("--json").arg(report).args(["--", "sh", "-c", client]);
    let document = serde_json::from_slice(&capture(&mut run)?).map_err(|e| e.to_string())?;
    let text = fs::read_to_string(report).map_err(|e| format!("{}: {e}", report.display()))?;
    let report: Value = serde_json::from_str(&text).map_err(|e| e.to_string())?;
    let ways = report["paths"].as_array().into_iter().flatten().flat_map(|path| [&path["up"], &path["down"]]);
    let packets: f64 = ways.filter_map(|way| way["packets"].as_f64()).sum();
    Ok(Emulated { document, late: report["late_packets"].as_f64().unwrap_or(f64::NAN) / packets })
}

impl Row {
    fn text(&self, point: &Point) -> String {
        let Row { scheduler, simulated, engine, kernel } = self;
        let rates = |runs: &[Measured]| spread(&runs.iter().map(|run| run.mbps).collect::<Vec<_>>());
        let runs = || engine.iter().chain(kernel);
        let window = runs().filter_map(|run| run.window_bytes).fold(0.0, f64::max) / 1024.0;
        let late = runs().map(|run| run.late).fold(0.0, f64::max) * 100.0;
        let Point { name, congestion, .. } = point;
        let (simulated, engine, kernel) = (spread(simulated), rates(engine), rates(kernel));
        format!(
            "| {name}, {congestion} | {scheduler} | {simulated} | {engine} | {kernel} | {window:.0} | {late:.1} % |\n"
        )
    }
}

fn mean(rates: &[f64]) -> f64 {
    rates.iter().sum::<f64>() / rates.len() as f64
}

/// The mean, the minimum and the maximum, as text.
fn spread(rates: &[f64]) -> String {
    if rates.is_empty() {
        return "–".into();
    }
    let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
    let most = rates.iter().copied().fold(0.0, f64::max);
    format!("{:.2} ({least:.2} to {most:.2})", mean(rates))
}
