//! The result of a run, one line of JSON.

use crate::scenario::HostModel;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;

/// Version of the result's fields. It changes when a field changes its meaning or is removed. `docs/results-format.md`
/// says what each version changed.
pub const SCHEMA_VERSION: u32 = 4;

/// The reason why a run has no data, if every measured connection starts after the run's end.
pub const STARTS_AFTER_THE_END: &str = "the measured connections start after the run's end";

/// One run: a scenario, a scheduler, a seed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RunResult {
    /// The value of [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The scenario's name.
    pub scenario: String,
    /// The scheduler with its parameters as written, or `tcp-path0`, `tcp-path1`, ... for plain TCP on one path.
    pub scheduler: String,
    /// The congestion controller with its parameters as written.
    pub congestion: String,
    /// The measured connection's host.
    #[serde(default)]
    pub host: HostModel,
    /// The run's seed.
    pub seed: u64,
    /// How the run ended.
    pub status: Status,
    /// The reason why the run did not complete.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
    /// Hash of everything that a capture of all links would show, 32 hexadecimal digits.
    pub digest: String,
    /// The scenario's paths. Every list by path has this order.
    #[serde(default)]
    pub paths: Vec<PathInfo>,
    /// The path of a run of plain TCP, an index into `paths`.
    #[serde(default)]
    pub plain_tcp: Option<usize>,
    /// Warnings about the scheduler, in sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The metrics. Those of a failed run are no measurements: its JSON has `null` ([`RunResult::to_json`]).
    #[serde(deserialize_with = "or_nothing")]
    pub metrics: Metrics,
    /// Results of every connection of the scenario, measured or not.
    #[serde(default)]
    pub connections: Vec<ConnectionResult>,
    /// Results of the sources of UDP packets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traffic: Vec<TrafficResult>,
    /// Values over time. A failed run has none, and its JSON has `null`.
    #[serde(deserialize_with = "or_nothing")]
    pub series: Series,
    /// The inputs of the run.
    pub manifest: Manifest,
}

/// Reads `null` as nothing measured.
fn or_nothing<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(reader: D) -> Result<T, D::Error> {
    Ok(Option::<T>::deserialize(reader)?.unwrap_or_default())
}

impl RunResult {
    /// The run as a line of JSON, without the line's end.
    ///
    /// # Errors
    /// Never: numbers and text have a JSON form.
    pub fn to_json(&self) -> serde_json::Result<String> {
        let line = serde_json::to_string(self)?;
        if self.status != Status::Failed {
            return Ok(line);
        }
        // A quotation mark within a text has a backslash before it, so this is the key itself.
        let metrics = format!("\"metrics\":{}", serde_json::to_string(&self.metrics)?);
        let series = format!("\"series\":{}", serde_json::to_string(&self.series)?);
        Ok(line.replacen(&metrics, "\"metrics\":null", 1).replacen(&series, "\"series\":null", 1))
    }

    /// Whether this is plain TCP on a path that is a backup.
    pub fn is_on_backup(&self) -> bool {
        self.plain_tcp.and_then(|path| self.paths.get(path)).is_some_and(|path| path.backup)
    }
}

/// A path of the scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathInfo {
    /// The path's name.
    pub name: String,
    /// Whether the measured connection uses this path only if no other path works.
    pub backup: bool,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// The run ended as the scenario says: its time is over, or all data has arrived.
    #[default]
    Completed,
    /// Data was left that would never have arrived, or the run's time limit was reached.
    Stalled,
    /// The connection ended with an error.
    Failed,
}

impl Status {
    /// The word for the status in results and tables.
    pub fn word(self) -> &'static str {
        match self {
            Status::Completed => "completed",
            Status::Stalled => "stalled",
            Status::Failed => "failed",
        }
    }
}

/// The metrics of one run. They are of the measured connections' receivers unless said otherwise.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
    /// In-order data delivered to the application over the measured time, 10⁶ bit/s.
    pub goodput_mbps: f64,
    /// Aggregation benefit (CP eq. 9): 0 is the best single path alone, 1 the sum of all, −1 nothing at all. `None` if the
    /// plain TCP runs of the same seed are not known.
    pub aggregation_benefit: Option<f64>,
    /// Time from the start of the connection to the delivery of the last byte, seconds; `None` for runs of a fixed
    /// duration.
    pub completion_s: Option<f64>,
    /// Data segments retransmitted on their own subflow.
    pub retransmitted_segments: u64,
    /// Data segments sent on a second subflow after a timeout or because of a dead path.
    pub reinjected_segments: u64,
    /// Segments that opportunistic retransmission sent (`pr`).
    pub opportunistic_retransmissions: u64,
    /// Windows halved by penalisation (`pr`).
    pub penalisations: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Time in which later data had arrived and earlier data was missing, seconds.
    pub head_of_line_blocked_s: f64,
    /// Time in which the sender had data and window space on some subflow, but the receive window was full, seconds.
    pub window_limited_s: f64,
    /// Data waiting out of order at the receiver, as the maximum of every 10 ms.
    pub out_of_order_bytes: OutOfOrder,
    /// Times between two deliveries of in-order data to the application, ms (CP §4.2). All data that is released at the
    /// same time is one delivery, so data that waits for a slow path makes these times long. The maximum counts only
    /// times in which the application waited for data; it includes those before the first delivery and after the last
    /// one.
    #[serde(default)]
    pub arrival_interval_ms: Intervals,
    /// Segments sent and not acknowledged on all subflows together, the mean over the measured time (REMS §6).
    #[serde(default)]
    pub unacknowledged_segments: f64,
    /// Metrics of each path.
    pub per_path: Vec<PathMetrics>,
    /// Parts of the measured time.
    #[serde(default)]
    pub time: TimeSpent,
    /// Jain's fairness index over the goodput of all connections, (Σx)² / (n · Σx²): 1 if all get the same, 1/n if one
    /// gets everything. `None` with a single connection.
    #[serde(default)]
    pub fairness: Option<f64>,
    /// Time from the moment at which a message is due to be written, or a web page's object is requested, to the
    /// delivery of its last byte (BLEST §III). `None` for other workloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_delay_ms: Option<Delays>,
    /// Messages, and objects of web pages, that were due within the measured time, a second or more before its end, and
    /// did not arrive. `None` if a measured connection has a workload that sends as fast as the network allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undelivered_messages: Option<u64>,
}

impl Metrics {
    /// Fraction of the due messages, or objects of pages, that did not arrive, 0 to 1. `None` if none were due, or if a
    /// measured connection sends as fast as the network allows.
    pub fn undelivered_part(&self) -> Option<f64> {
        let undelivered = self.undelivered_messages?;
        let offered = self.message_delay_ms.map_or(0, |delays| delays.count) + undelivered;
        (offered > 0).then(|| undelivered as f64 / offered as f64)
    }
}

/// Times between events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Intervals {
    /// Mean.
    pub mean: f64,
    /// Maximum.
    pub max: f64,
}

/// Delays of messages, ms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Delays {
    /// Number of messages.
    pub count: u64,
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Maximum.
    pub max: f64,
}

/// Parts of the measured time at the measured connections' senders, seconds, sampled every two milliseconds. Times of
/// several measured connections are added. The parts outside of the lists by path add up to the measured time
/// ([`TimeSpent::total_s`]). The lists by path overlap with them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TimeSpent {
    /// The application had nothing to send, or the connection was not set up yet.
    pub no_data_s: f64,
    /// Some subflow had room in its congestion window, but the shared window (the peer's receive buffer) was full, or
    /// had no room for a whole segment (avoidance of silly windows).
    pub window_full_s: f64,
    /// Every subflow's congestion window was full, so the paths were busy.
    pub congestion_windows_full_s: f64,
    /// The scheduler waited although there was data, room in a congestion window and room in the shared window.
    pub scheduler_waits_s: f64,
    /// There was data and room, but a short segment was held back by Nagle's rule (setting `nagle`), or because the
    /// application has more data to come.
    #[serde(default)]
    pub nagle_s: f64,
    /// A paced segment waited for its time (setting `pacing`).
    #[serde(default)]
    pub pacing_s: f64,
    /// The application had more to write, and the send buffer (setting `send_buffer`) was full of data on its way.
    #[serde(default)]
    pub send_buffer_s: f64,
    /// Data was being sent, and none of the parts above held it back.
    pub sending_s: f64,
    /// Times by path in which the shared window was full and the first missing byte was on this path.
    pub window_full_by_path_s: Vec<f64>,
    /// Times by path in which the receiver held later data back because the first missing byte was on this path.
    pub blocked_by_path_s: Vec<f64>,
    /// Times by path in which the path's subflow was in slow start.
    pub slow_start_by_path_s: Vec<f64>,
    /// Times by path in which the path's subflow repaired losses, in fast recovery or after a timeout.
    pub recovery_by_path_s: Vec<f64>,
}

impl TimeSpent {
    /// The measured time.
    pub fn total_s(&self) -> f64 {
        let windows = self.window_full_s + self.congestion_windows_full_s;
        let kept = self.scheduler_waits_s + self.nagle_s + self.pacing_s + self.send_buffer_s;
        self.no_data_s + windows + kept + self.sending_s
    }
}

/// One connection of a scenario.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ConnectionResult {
    /// The connection's name.
    pub name: String,
    /// Whether the metrics count this connection.
    pub measured: bool,
    /// Whether Multipath TCP was in use at the end, and not plain TCP.
    pub mptcp: bool,
    /// In-order data delivered over the measured time, 10⁶ bit/s.
    pub goodput_mbps: f64,
    /// In-order data delivered over the whole run, bytes.
    pub received_bytes: u64,
    /// Time from the connection's start to the delivery of its last byte, seconds; `None` if it did not end by itself.
    pub completion_s: Option<f64>,
    /// The reason why the connection ended early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A source of UDP packets, over the whole run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrafficResult {
    /// The source's name.
    pub name: String,
    /// Packets sent.
    pub sent_packets: u64,
    /// Packets that arrived.
    pub delivered_packets: u64,
    /// Payload of the packets that arrived, over the whole run, 10⁶ bit/s.
    pub goodput_mbps: f64,
}

/// Data that waits out of order, bytes: the distribution of the maxima of each 10 ms, and the mean at single times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OutOfOrder {
    /// Mean.
    pub mean: f64,
    /// 95th percentile.
    pub p95: u64,
    /// Maximum.
    pub max: u64,
    /// Mean of the data that waits at each multiple of 100 ms (DPSAF §IV).
    #[serde(default)]
    pub looked_at: f64,
}

/// Metrics of one path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PathMetrics {
    /// Data bytes sent on the path, retransmissions included.
    pub sent_bytes: u64,
    /// The path's share of the goodput, 10⁶ bit/s. The goodput is divided in proportion to the new data that arrived
    /// over each path first.
    pub goodput_mbps: f64,
    /// Mean smoothed round-trip time of the path's usable subflow, ms (CP Fig. 6 compares those of two paths); 0
    /// without a sample.
    #[serde(default)]
    pub mean_rtt_ms: f64,
}

/// Values over time, in equal steps from the start of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Length of a step, seconds.
    pub step_s: f64,
    /// In-order data delivered in each step, 10⁶ bit/s.
    pub goodput_mbps: Vec<f64>,
    /// Most data waiting out of order in each step, bytes.
    pub out_of_order_bytes: Vec<u64>,
    /// New data that arrived over each path in each step, 10⁶ bit/s: one list per path.
    pub per_path_mbps: Vec<Vec<f64>>,
    /// The senders' subflows of the measured connections at the end of each step.
    #[serde(default)]
    pub subflows: Vec<SubflowSeries>,
    /// Internal values of the measured connections' schedulers at the end of each step, if the schedulers have any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scheduler: Vec<QuantitySeries>,
    /// The links of the paths in the direction of the data.
    #[serde(default)]
    pub links: Vec<LinkSeries>,
}

/// A subflow of a measured connection over time. If another subflow replaces it on its path, the lists continue.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SubflowSeries {
    /// The connection's name.
    pub connection: String,
    /// The path, an index into the result's `paths`.
    pub path: usize,
    /// Congestion window, segments; 0 while there is no subflow.
    pub cwnd_segments: Vec<u32>,
    /// Smoothed round-trip time, ms; 0 before the first sample.
    pub srtt_ms: Vec<f64>,
    /// Segments in flight.
    pub in_flight_segments: Vec<u32>,
}

/// An internal value of a scheduler over time: BLEST's lambda, CP's pauses and guard times.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QuantitySeries {
    /// The connection's name.
    pub connection: String,
    /// The value's name, with its unit at the end if it has one.
    pub name: String,
    /// The path of the subflow that the value belongs to, an index into the result's `paths`; `None` for a value of the
    /// connection.
    pub path: Option<usize>,
    /// The value at each step; `None` while there is none.
    pub values: Vec<Option<f64>>,
}

/// A link over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkSeries {
    /// The link's name: `NAME.up` or `NAME.down`.
    pub link: String,
    /// The paths that use the link, indices into the result's `paths`.
    pub paths: Vec<usize>,
    /// Bytes that wait in the link's queue at the end of each step.
    pub queue_bytes: Vec<u64>,
    /// The link's capacity in each step, 10⁶ bit/s; empty if the rate is unlimited.
    pub capacity_mbps: Vec<f64>,
}

/// The inputs of a run. The host and the date are left out, so equal runs give equal bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Pathweave's version.
    pub version: String,
    /// The commit of the sources, if the program knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Hash of the scenario as it was run, overrides included, 32 hexadecimal digits.
    pub scenario_hash: String,
    /// Every setting that was overridden, as written.
    pub overrides: BTreeMap<String, String>,
    /// Every parameter of the scheduler and its value.
    pub scheduler_parameters: BTreeMap<String, String>,
    /// The scenario as it was run, overrides and scheduler included: a scenario file that gives the same run again.
    #[serde(default)]
    pub scenario: String,
}

impl Manifest {
    /// Version and commit, for people: `0.1.0 (3c35406)`.
    pub fn program(&self) -> String {
        match &self.commit {
            Some(commit) => format!("{} ({commit})", self.version),
            None => self.version.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_runs_numbers_are_null_and_are_read_as_nothing() {
        let run = |status: Status| {
            let metrics = Metrics { goodput_mbps: 7.5, ..Metrics::default() };
            RunResult { status, reason: Some("\"metrics\":{".into()), metrics, ..RunResult::default() }
        };
        let value = |run: &RunResult| -> serde_json::Value {
            serde_json::from_str(&run.to_json().expect("JSON")).expect("it is JSON")
        };
        assert_eq!(value(&run(Status::Stalled))["metrics"]["goodput_mbps"], 7.5);
        assert!(value(&run(Status::Stalled))["series"].is_object());
        let failed = run(Status::Failed);
        assert_eq!(value(&failed)["metrics"], serde_json::Value::Null);
        assert_eq!(value(&failed)["series"], serde_json::Value::Null);
        assert_eq!(value(&failed)["reason"], "\"metrics\":{");
        let read: RunResult = serde_json::from_str(&failed.to_json().expect("JSON")).expect("it is a result");
        assert_eq!((read.status, read.metrics), (Status::Failed, Metrics::default()));
        // A line of version 3 has numbers.
        let old = serde_json::to_string(&failed).expect("JSON");
        assert!(serde_json::from_str::<RunResult>(&old).is_ok());
    }
}
