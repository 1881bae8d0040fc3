//! Reference files, with one run of Linux per line, and their errors.

use crate::scenario::Direction;
use core::fmt;
use serde_json::{Map, Value};

/// The connection that was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Plain TCP over this path.
    Tcp(usize),
    /// MPTCP over all paths.
    Mptcp,
}

/// Amount of data that was sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// As much as possible in this time.
    Seconds(f64),
    /// This many bytes.
    Bytes(u64),
}

/// One path.
#[derive(Clone, Debug, PartialEq)]
pub struct PathSetup {
    /// Rate of the bottleneck, 10⁶ bit/s of Ethernet frames.
    pub rate_mbps: f64,
    /// One-way delay, milliseconds.
    pub delay_ms: f64,
    /// Size of the bottleneck's queue, in full frames.
    pub queue_packets: u32,
    /// Random loss of the data, percent.
    pub loss_percent: f64,
    /// Later rates of the bottleneck.
    pub steps: Vec<RateStep>,
}

/// A change of a bottleneck's rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateStep {
    /// Time after the connect began, seconds.
    pub at_s: f64,
    /// The rate from then on, 10⁶ bit/s of Ethernet frames.
    pub rate_mbps: f64,
}

/// One scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Setup {
    /// The connection.
    pub mode: Mode,
    /// The sending side. The bottlenecks and losses are on the data's way.
    pub direction: Direction,
    /// The paths, 2 to 4.
    pub paths: Vec<PathSetup>,
    /// Congestion controller of both ends.
    pub congestion: String,
    /// Amount of data.
    pub amount: Amount,
    /// Maximum of `tcp_rmem`, bytes of the kernel's bookkeeping.
    pub rmem: u64,
    /// Initial receive buffer, in the same unit. If it equals `rmem`, the buffer is fixed.
    pub initial_rmem: u64,
    /// Maximum of `tcp_wmem`, in the same unit.
    pub wmem: u64,
}

/// One run of Linux.
#[derive(Clone, Debug, PartialEq)]
pub struct LinuxRun {
    /// Seed of its random numbers.
    pub seed: u64,
    /// Completion time in seconds of a sized run, else goodput in 10⁶ bit/s.
    pub value: f64,
    /// Whole frames at the receiver in the measured time (see [`Reference::read`]), bytes, by path.
    pub frame_bytes: Vec<f64>,
    /// Frames dropped at the bottleneck, by path.
    pub queue_drops: Vec<u64>,
    /// Largest window offered, by path; `None` if a path carried nothing.
    pub largest_window: Vec<Option<u64>>,
    /// Retransmitted segments, if they were counted.
    pub retransmitted_segments: Option<u64>,
    /// Retransmission timeouts, if they were counted.
    pub timeouts: Option<u64>,
}

/// A scenario with Linux's runs of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// The scenario's name, `GROUP/MODE`.
    pub id: String,
    /// The scenario.
    pub setup: Setup,
    /// The runs, in the file's order.
    pub runs: Vec<LinuxRun>,
}

/// Default of the initial receive buffer.
const INITIAL_RMEM: u64 = 131_072;
/// Default maximum of `tcp_wmem`.
const WMEM: u64 = 4_194_304;
/// Default maximum of `tcp_rmem`.
const RMEM: u64 = 6_291_456;

impl Setup {
    /// Whether frames are lost at random on a path in use.
    pub fn has_random_loss(&self) -> bool {
        self.used_paths().any(|path| self.paths[path].loss_percent > 0.0)
    }
    /// Whether the rate of a path in use changes.
    pub fn has_steps(&self) -> bool {
        self.used_paths().any(|path| !self.paths[path].steps.is_empty())
    }
    /// Whether the receive buffer never grows.
    pub fn has_fixed_window(&self) -> bool {
        self.initial_rmem >= self.rmem
    }
    /// Whether a run sends a fixed amount of data.
    pub fn is_sized(&self) -> bool {
        matches!(self.amount, Amount::Bytes(_))
    }
    /// Indices of the paths in use.
    pub fn used_paths(&self) -> core::ops::Range<usize> {
        match self.mode {
            Mode::Tcp(path) => path..path + 1,
            Mode::Mptcp => 0..self.paths.len(),
        }
    }
}

impl Reference {
    /// Reads the text of a reference file; `file` is its name in errors. Scenarios are in the order of their first
    /// lines. Lines of one scenario need not be together. Lines that begin with `#` are comments.
    ///
    /// After a timed run, Linux still empties its buffers. The bytes by path are of the whole run, and are scaled here
    /// to the measured part.
    ///
    /// # Errors
    /// At the first wrong line, or if there is no line at all.
    pub fn read(file: &str, text: &str) -> Result<Vec<Reference>, ReferenceError> {
        let mut out: Vec<Reference> = Vec::new();
        let says_something = |line: &str| !line.trim().is_empty() && !line.starts_with('#');
        for (i, content) in text.lines().enumerate().filter(|(_, line)| says_something(line)) {
            let line = Line { file, number: i + 1 };
            let (id, setup, run) = line.read(content)?;
            match out.iter_mut().find(|r| r.id == id) {
                Some(reference) if reference.setup != setup => {
                    return Err(line.wrong("scenario", "another one", "the scenario of the lines before with this id"));
                }
                Some(reference) if reference.runs.iter().any(|r| r.seed == run.seed) => {
                    return Err(line.wrong("seed", &run.seed.to_string(), "each seed of a scenario once"));
                }
                Some(reference) => reference.runs.push(run),
                None => out.push(Reference { id, setup, runs: vec![run] }),
            }
        }
        match out.is_empty() {
            true => Err(Line { file, number: 0 }.wrong("", "an empty file", "a line of JSON for each run")),
            false => Ok(out),
        }
    }

    /// The seeds of our runs of this scenario: 1 to 10, or 1 to 300 with random loss. All scenarios draw their losses
    /// from the same seeds. On one of the paths, the medians of 30 seeds were together 5 % off those of 300.
    pub fn seeds(&self) -> core::ops::RangeInclusive<u64> {
        1..=if self.setup.has_random_loss() { 300 } else { 10 }
    }

    /// The largest window offered in any run.
    pub fn largest_window(&self) -> Option<u64> {
        self.runs.iter().flat_map(|run| &run.largest_window).copied().flatten().max()
    }

    /// The part of the id before the mode. Runs of one group share their paths.
    pub fn group(&self) -> &str {
        self.id.rsplit_once('/').map_or(&self.id, |(group, _)| group)
    }
}

/// A line that is being read.
#[derive(Clone, Copy)]
struct Line<'a> {
    file: &'a str,
    number: usize,
}

type Object = Map<String, Value>;

impl Line<'_> {
    fn wrong(&self, key: &str, value: &str, allowed: &str) -> ReferenceError {
        let cut: String = value.chars().take(60).collect();
        ReferenceError {
            file: self.file.into(),
            line: self.number,
            key: key.into(),
            value: cut,
            allowed: allowed.into(),
        }
    }

    fn read(&self, text: &str) -> Result<(String, Setup, LinuxRun), ReferenceError> {
        let json = "an object of JSON with id, seed, scenario and results";
        let top = match serde_json::from_str(text) {
            Ok(Value::Object(top)) => top,
            _ => return Err(self.wrong("", text, json)),
        };
        if let Some(error) = top.get("error") {
            return Err(self.wrong("error", &error.to_string(), "runs that did not fail"));
        }
        let id = self.text(&top, "", "id")?;
        let setup = self.setup(self.object(&top, "", "scenario")?)?;
        let value = match setup.amount {
            Amount::Bytes(_) => self.number(&top, "", "completion_s", f64::MIN_POSITIVE)?,
            Amount::Seconds(_) => self.number(&top, "", "goodput_mbps", 0.0)?,
        };
        let all = self.number(&top, "", "bytes", 0.0)?;
        let part = match setup.amount {
            Amount::Seconds(s) if all > 0.0 => (value * 1e6 / 8.0 * s / all).min(1.0),
            _ => 1.0,
        };
        let counter = |key: &str| top.get("sender")?.get(key)?.as_u64();
        let mut run = LinuxRun {
            seed: self.whole(&top, "", "seed")?,
            value,
            frame_bytes: Vec::new(),
            queue_drops: Vec::new(),
            largest_window: Vec::new(),
            retransmitted_segments: counter("TcpRetransSegs"),
            timeouts: counter("TcpExtTCPTimeouts"),
        };
        for key in (0..setup.paths.len()).map(|path| format!("path{path}")) {
            let path = self.object(&top, "", &key)?;
            run.frame_bytes.push(part * self.number(path, &key, "received_frame_bytes", 0.0)?);
            run.queue_drops.push(self.whole(path, &key, "queue_drops")?);
            run.largest_window.push(self.largest_window(path, &key)?);
        }
        Ok((id, setup, run))
    }

    /// Reads `[median, largest]`, or null.
    fn largest_window(&self, path: &Object, at: &str) -> Result<Option<u64>, ReferenceError> {
        let allowed = "[median, largest] in bytes, or null";
        match path.get("window_bytes") {
            None | Some(Value::Null) => Ok(None),
            Some(value) => {
                let largest = value.as_array().filter(|list| list.len() == 2).and_then(|list| list[1].as_u64());
                let wrong = || self.wrong(&format!("{at}.window_bytes"), &value.to_string(), allowed);
                largest.map(Some).ok_or_else(wrong)
            }
        }
    }

    fn setup(&self, scenario: &Object) -> Result<Setup, ReferenceError> {
        let at = "scenario";
        let paths = self.paths(scenario)?;
        let mode = self.text(scenario, at, "mode")?;
        let modes = (0..paths.len()).map(|path| (format!("tcp{path}"), Mode::Tcp(path)));
        let modes: Vec<_> = modes.chain([("mptcp".to_owned(), Mode::Mptcp)]).collect();
        let Some(&(_, mode)) = modes.iter().find(|(name, _)| *name == mode) else {
            let names: Vec<&str> = modes.iter().map(|(name, _)| name.as_str()).collect();
            return Err(self.wrong("scenario.mode", &mode, &names.join(", ")));
        };
        let direction = match scenario.get("direction").map(|value| value.as_str()) {
            None | Some(Some("upload")) => Direction::Upload,
            Some(Some("download")) => Direction::Download,
            _ => return Err(self.wrong("scenario.direction", &scenario["direction"].to_string(), "upload, download")),
        };
        let congestion = match scenario.contains_key("cc") {
            true => self.text(scenario, at, "cc")?,
            false => "cubic".into(),
        };
        if !matches!(congestion.as_str(), "reno" | "cubic") {
            return Err(self.wrong("scenario.cc", &congestion, "reno, cubic"));
        }
        let amount = match (scenario.contains_key("seconds"), scenario.contains_key("bytes")) {
            (true, false) => Amount::Seconds(self.number(scenario, at, "seconds", 0.001)?),
            (false, true) => Amount::Bytes(self.whole(scenario, at, "bytes")?.max(1)),
            (both, _) => {
                let value = if both { "both" } else { "none" };
                return Err(self.wrong("scenario.seconds and .bytes", value, "one of the two"));
            }
        };
        let or = |key: &str, default: u64| match scenario.contains_key(key) {
            true => self.whole(scenario, at, key),
            false => Ok(default),
        };
        let rmem = or("rmem", RMEM)?;
        Ok(Setup {
            mode,
            direction,
            paths,
            congestion,
            amount,
            rmem,
            initial_rmem: or("rmem0", INITIAL_RMEM)?.min(rmem),
            wmem: or("wmem", WMEM)?,
        })
    }

    fn paths(&self, scenario: &Object) -> Result<Vec<PathSetup>, ReferenceError> {
        let value = scenario.get("paths");
        let list = value.and_then(Value::as_array).filter(|list| (2..=4).contains(&list.len()));
        let shown = value.map_or("nothing".into(), Value::to_string);
        let wrong = || self.wrong("scenario.paths", &shown, "a list of 2 to 4 objects");
        let list = list.ok_or_else(wrong)?;
        let path = |i: usize| {
            let at = format!("scenario.paths.{i}");
            let path = list[i].as_object().ok_or_else(wrong)?;
            let loss_percent = match path.contains_key("loss_pct") {
                true => self.number(path, &at, "loss_pct", 0.0)?,
                false => 0.0,
            };
            if loss_percent > 100.0 {
                return Err(self.wrong(&format!("{at}.loss_pct"), &loss_percent.to_string(), "0 to 100"));
            }
            let queue = self.whole(path, &at, "queue_pkts")?;
            let queue_packets = u32::try_from(queue).ok().filter(|n| *n > 0);
            Ok(PathSetup {
                rate_mbps: self.number(path, &at, "rate_mbps", 0.000_001)?,
                delay_ms: self.number(path, &at, "delay_ms", 0.0)?,
                queue_packets: queue_packets.ok_or_else(|| {
                    self.wrong(&format!("{at}.queue_pkts"), &queue.to_string(), "a number of packets above zero")
                })?,
                loss_percent,
                steps: self.steps(path, &at)?,
            })
        };
        (0..list.len()).map(path).collect()
    }

    /// Reads `[[seconds after the connect, rate], ...]`, if it is there.
    fn steps(&self, path: &Object, at: &str) -> Result<Vec<RateStep>, ReferenceError> {
        let Some(value) = path.get("steps") else { return Ok(Vec::new()) };
        let step = |pair: &Value| match pair.as_array()?.as_slice() {
            [at, rate] => Some(RateStep { at_s: at.as_f64()?, rate_mbps: rate.as_f64()? }),
            _ => None,
        };
        let steps: Option<Vec<RateStep>> = value.as_array().and_then(|list| list.iter().map(step).collect());
        let ordered = |steps: &Vec<RateStep>| {
            steps.iter().all(|s| s.at_s > 0.0 && s.rate_mbps > 0.0) && steps.is_sorted_by(|a, b| a.at_s < b.at_s)
        };
        steps.filter(ordered).ok_or_else(|| {
            let allowed = "a list of [seconds after the connect, rate], both above zero, in the order of time";
            self.wrong(&format!("{at}.steps"), &value.to_string(), allowed)
        })
    }

    /// Reads the value of a key with `get`.
    fn get<'v, T>(
        &self,
        object: &'v Object,
        at: &str,
        key: &str,
        allowed: &str,
        get: impl Fn(&'v Value) -> Option<T>,
    ) -> Result<T, ReferenceError> {
        let value = object.get(key);
        value.and_then(get).ok_or_else(|| {
            let key = if at.is_empty() { key.to_owned() } else { format!("{at}.{key}") };
            self.wrong(&key, &value.map_or("nothing".into(), Value::to_string), allowed)
        })
    }
    fn object<'v>(&self, object: &'v Object, at: &str, key: &str) -> Result<&'v Object, ReferenceError> {
        self.get(object, at, key, "an object", Value::as_object)
    }
    fn text(&self, object: &Object, at: &str, key: &str) -> Result<String, ReferenceError> {
        self.get(object, at, key, "a text", Value::as_str).map(str::to_owned)
    }
    fn whole(&self, object: &Object, at: &str, key: &str) -> Result<u64, ReferenceError> {
        self.get(object, at, key, "a whole number from zero", Value::as_u64)
    }
    fn number(&self, object: &Object, at: &str, key: &str, least: f64) -> Result<f64, ReferenceError> {
        let allowed = if least > 0.0 { "a number above zero" } else { "a number from zero" };
        self.get(object, at, key, allowed, |v| v.as_f64().filter(|n| *n >= least))
    }
}

/// A mistake in a reference file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReferenceError {
    /// The file's name.
    pub file: String,
    /// Line, from 1; 0 if the mistake concerns the file as a whole.
    pub line: usize,
    /// The field, with dots between its levels; empty if the line is not JSON.
    pub key: String,
    /// The value in the file.
    pub value: String,
    /// What is allowed.
    pub allowed: String,
}

impl fmt::Display for ReferenceError {
    /// Writes `FILE:LINE: key = value: allowed: ...`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ReferenceError { file, line, key, value, allowed } = self;
        match line {
            0 => write!(f, "{file}")?,
            _ => write!(f, "{file}:{line}")?,
        }
        match key.as_str() {
            "" => write!(f, ": {value}: allowed: {allowed}"),
            _ => write!(f, ": {key} = {value}: allowed: {allowed}"),
        }
    }
}

impl core::error::Error for ReferenceError {}
