//! How accurate `pathweave emulate` is: ping and iperf3 on paths of known rate and delay.

use crate::results::{build, pathweave, put};
use crate::run::{machine_and_load, root, target};
use crate::setup;
use std::fmt::Write as _;
use std::fs;

/// Promised accuracy of the rate, as a fraction, and of the median round trip, ms.
const RATE_LIMIT: f64 = 0.01;
const ROUND_TRIP_LIMIT_MS: f64 = 0.5;
/// The same for the round trip on a machine that also does other work, as during checks.
const ROUND_TRIP_LIMIT_UNDER_LOAD_MS: f64 = 1.0;
/// Bytes of a TCP frame on the link, and of its data: an IP packet of 1500 with timestamps, behind the Ethernet header
/// that links count.
const FRAME_BYTES: f64 = 1514.0;
const DATA_BYTES: f64 = 1448.0;
/// A frame of ping, bytes.
const ECHO_BYTES: f64 = 98.0;
/// The paths: Mbit/s, and delay one way, ms.
const PATHS: [(f64, f64); 6] = [(1.0, 75.0), (5.0, 40.0), (10.0, 10.0), (20.0, 5.0), (50.0, 25.0), (100.0, 10.0)];
/// The paths that are quick to measure.
const QUICK: [(f64, f64); 2] = [PATHS[1], PATHS[3]];
/// The document with the table.
const PAGE: &str = "docs/emulate.md";
const START: &str = "<!-- written by `cargo xtask emulation` -->\n";
const END: &str = "<!-- end of what it writes -->";

/// The measurements of a path.
struct Measured {
    /// Promised rate and round trip, Mbit/s and ms.
    rate: f64,
    round_trip_ms: f64,
    /// The rate of whole frames, from the data that iperf3's server sent, Mbit/s.
    measured_rate: f64,
    /// Round trips, sorted.
    round_trips_ms: Vec<f64>,
    late: f64,
}

impl Measured {
    fn median_ms(&self) -> f64 {
        self.at(50)
    }

    fn at(&self, percent: usize) -> f64 {
        self.round_trips_ms.get(self.round_trips_ms.len() * percent / 100).copied().unwrap_or(f64::NAN)
    }

    fn is_accurate(&self, round_trip_limit_ms: f64) -> bool {
        let rate = (self.measured_rate / self.rate - 1.0).abs();
        rate <= RATE_LIMIT && (self.median_ms() - self.round_trip_ms).abs() <= round_trip_limit_ms
    }

    fn row(&self) -> String {
        let Measured { rate, round_trip_ms, measured_rate, late, .. } = self;
        let error = (measured_rate / rate - 1.0) * 100.0;
        format!(
            "| {rate} | {measured_rate:.3} | {error:+.2} % | {round_trip_ms:.3} | {:.3} | {:.3} | {:.2} % |",
            self.median_ms(),
            self.at(99),
            late * 100.0
        )
    }
}

/// Measures two paths for a few seconds and checks that rate and round trip are as promised.
///
/// # Errors
/// Each value that is not as promised.
pub(crate) fn check() -> Result<(), String> {
    setup::install(&setup::EMULATION)?;
    for path in QUICK {
        let measured = measure(path, 5, 1)?;
        println!("{}", measured.row());
        if !measured.is_accurate(ROUND_TRIP_LIMIT_UNDER_LOAD_MS) {
            return Err(format!(
                "more than {} % or {ROUND_TRIP_LIMIT_UNDER_LOAD_MS} ms off: {}",
                RATE_LIMIT * 100.0,
                measured.row()
            ));
        }
    }
    Ok(())
}

/// The paths with these rates, or all, for half a minute each, and their rows of the table in the documentation.
///
/// # Errors
/// If something cannot be measured or written, or is less accurate than promised.
pub(crate) fn measure_all(rates: &[&str]) -> Result<(), String> {
    setup::install(&setup::EMULATION)?;
    build()?;
    let rates: Vec<f64> = rates
        .iter()
        .map(|rate| rate.parse().map_err(|_| format!("{rate} is no rate in Mbit/s")))
        .collect::<Result<_, _>>()?;
    let mut wrong = 0;
    for path in PATHS.into_iter().filter(|(rate, _)| rates.is_empty() || rates.contains(rate)) {
        let measured = measure(path, 35, 5)?;
        println!("{}", measured.row());
        wrong += usize::from(!measured.is_accurate(ROUND_TRIP_LIMIT_MS));
        write_row(&measured)?;
    }
    if wrong == 0 { Ok(()) } else { Err(format!("{wrong} paths were less accurate than promised")) }
}

/// Replaces the row in the table, and the line about the machine. Other rows stay.
fn write_row(measured: &Measured) -> Result<(), String> {
    let text = fs::read_to_string(root().join(PAGE)).map_err(|e| format!("{PAGE}: {e}"))?;
    let missing = || format!("{PAGE}: there is no {START}");
    let (before, rest) = text.split_once(START).ok_or_else(missing)?;
    let (old, after) = rest.split_once(END).ok_or_else(missing)?;
    let mut table = String::from(
        "| rate, Mbit/s | measured | error | round trip, ms | median | 99th percentile | packets over 0.5 ms late |\n\
         |---|---|---|---|---|---|---|\n",
    );
    for (rate, _) in PATHS {
        let begin = format!("| {rate} |");
        match rate == measured.rate {
            true => table.extend([&measured.row(), "\n"]),
            false => old.lines().filter(|line| line.starts_with(&begin)).for_each(|line| table.extend([line, "\n"])),
        }
    }
    let (machine, load) = machine_and_load();
    let _ = write!(table, "\n{machine}; the load averages of 1, 5 and 15 minutes after the last path were {load}.\n");
    put(PAGE, format!("{before}{START}{table}{END}{after}").as_bytes())
}

/// Measures one path for this many seconds. The first `start` of them do not count.
fn measure((rate, delay_ms): (f64, f64), seconds: usize, start: usize) -> Result<Measured, String> {
    let folder = target().join("emulation");
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let scenario = folder.join("path.toml");
    let text = format!(
        "format = 1\nname = \"path\"\nduration = \"1s\"\n[[path]]\nname = \"path\"\nrate = \"{rate}Mbps\"\n\
         delay = \"{delay_ms}ms\"\n[[connection]]\nname = \"none\"\n"
    );
    fs::write(&scenario, text).map_err(|e| format!("{}: {e}", scenario.display()))?;
    let report = folder.join("report.json");
    // ping first, because iperf3 fills the queue.
    let echoes = seconds * 20;
    let command = format!(
        "ping -c {echoes} -i 0.05 $PATHWEAVE_SERVER && exec iperf3 --client $PATHWEAVE_SERVER --reverse --congestion cubic \
         --time {seconds} --json"
    );
    let mut emulate = pathweave();
    emulate.arg("emulate").arg(&scenario).args(["--server", "exec iperf3 --server --one-off >/dev/null"]);
    emulate.arg("--json").arg(&report).args(["--", "sh", "-c", &command]);
    let output = emulate.output().map_err(|e| e.to_string())?;
    if !output.status.success() {
        return Err(format!("{}\n{}", output.status, String::from_utf8_lossy(&output.stderr)));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let (pings, transfer) = text.split_once("\n{").ok_or("iperf3 printed no document")?;
    let mut round_trips_ms: Vec<f64> =
        pings.lines().filter_map(|line| line.split_once("time=")?.1.split(' ').next()?.parse().ok()).collect();
    round_trips_ms.sort_by(f64::total_cmp);
    if round_trips_ms.len() < echoes {
        return Err(format!("{} of {echoes} echoes came back", round_trips_ms.len()));
    }
    let transfer: serde_json::Value = serde_json::from_str(&format!("{{{transfer}")).map_err(|e| e.to_string())?;
    let intervals = transfer["intervals"].as_array().ok_or("iperf3 had no intervals")?;
    let sum = |key: &str| intervals.iter().skip(start).filter_map(|i| i["sum"][key].as_f64()).sum::<f64>();
    let report = fs::read_to_string(&report).map_err(|e| format!("{}: {e}", report.display()))?;
    let report: serde_json::Value = serde_json::from_str(&report).map_err(|e| e.to_string())?;
    let packets = |way: &str| report["paths"][0][way]["packets"].as_f64().unwrap_or(0.0);
    Ok(Measured {
        rate,
        round_trip_ms: 2.0 * (delay_ms + ECHO_BYTES * 8.0 / rate / 1000.0),
        measured_rate: sum("bytes") * 8.0 / sum("seconds") / 1e6 * FRAME_BYTES / DATA_BYTES,
        round_trips_ms,
        late: report["late_packets"].as_f64().unwrap_or(f64::NAN) / (packets("up") + packets("down")),
    })
}
