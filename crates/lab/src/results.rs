//! What a run leaves behind: one line of JSON each.

use crate::scenario::HostModel;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of the result's fields; it changes when a field changes its meaning or goes away. `docs/results-format.md` says what
/// each version changed.
pub const SCHEMA_VERSION: u32 = 3;

/// Why a run has no data of which every measured connection starts after its end.
pub const STARTS_AFTER_THE_END: &str = "the measured connections start after the run's end";

/// One run: a scenario, a scheduler, a seed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RunResult {
    /// [`SCHEMA_VERSION`].
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
    /// Why, where it did not complete.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
    /// Hash of everything that a wire would show, 32 hexadecimal digits.
    pub digest: String,
    /// The scenario's paths, in the order of every list that goes by path.
    #[serde(default)]
    pub paths: Vec<PathInfo>,
    /// The path, an index into `paths`, where the run is plain TCP on one path.
    #[serde(default)]
    pub plain_tcp: Option<usize>,
    /// What the scheduler should be warned about, in sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The numbers.
    pub metrics: Metrics,
    /// Every connection of the scenario by itself, measured or not.
    #[serde(default)]
    pub connections: Vec<ConnectionResult>,
    /// The sources of UDP packets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traffic: Vec<TrafficResult>,
    /// The numbers over time.
    pub series: Series,
    /// What the run was made from.
    pub manifest: Manifest,
}

impl RunResult {
    /// Whether this is plain TCP on a path that is a backup.
    pub fn is_on_backup(&self) -> bool {
        self.plain_tcp.and_then(|path| self.paths.get(path)).is_some_and(|path| path.backup)
    }
}

/// A path of the scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathInfo {
    /// Its name.
    pub name: String,
    /// The measured connection uses it only while no other path works.
    pub backup: bool,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// As the scenario says: the time is over, or all data has arrived.
    #[default]
    Completed,
    /// Data was left and nothing more would ever have happened, or the run's time limit came first.
    Stalled,
    /// The connection ended with an error.
    Failed,
}

/// The numbers of one run, over the measured connection's receiving side unless said otherwise.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
    /// In-order data delivered to the application over the measured time, 10⁶ bit/s.
    pub goodput_mbps: f64,
    /// Aggregation benefit (CP eq. 9): 0 is the best single path alone, 1 the sum of all, −1 nothing at all. `None` if the
    /// plain TCP runs of the same seed are not known.
    pub aggregation_benefit: Option<f64>,
    /// From the start of the connection to the last byte's delivery, seconds; nothing for runs of a fixed duration.
    pub completion_s: Option<f64>,
    /// Data segments sent again on their own subflow.
    pub retransmitted_segments: u64,
    /// Data segments sent on a subflow though another one already carried their bytes, after a timeout or a dead path.
    pub reinjected_segments: u64,
    /// Segments that opportunistic retransmission sent (`pr`).
    pub opportunistic_retransmissions: u64,
    /// Windows halved by penalisation (`pr`).
    pub penalisations: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Time in which later data was there and earlier data was missing, seconds.
    pub head_of_line_blocked_s: f64,
    /// Time in which the sender had data and window space on some subflow, and the receive window held it back, seconds.
    pub window_limited_s: f64,
    /// Data waiting out of order at the receiver, the maximum of every 10 ms.
    pub out_of_order_bytes: OutOfOrder,
    /// Times between two deliveries of in-order data to the application, ms (CP §4.2). What becomes in order at one time is one delivery,
    /// so data that waits for a slow path makes these times long.
    #[serde(default)]
    pub arrival_interval_ms: Intervals,
    /// Segments sent and not acknowledged on their subflows, the mean over the measured time (REMS §6). The sum of all subflows.
    #[serde(default)]
    pub unacknowledged_segments: f64,
    /// By path.
    pub per_path: Vec<PathMetrics>,
    /// Where the measured time went.
    #[serde(default)]
    pub time: TimeSpent,
    /// Jain's fairness index over the goodput of all connections, (Σx)² / (n · Σx²): 1 when all get the same, 1/n when one gets
    /// everything. Nothing with a single connection.
    #[serde(default)]
    pub fairness: Option<f64>,
    /// From the time at which a message is there to be written, or at which a web page's object is asked for, to the delivery of its
    /// last byte (BLEST §III). Nothing for other workloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_delay_ms: Option<Delays>,
    /// Messages, and objects of web pages, that were due within the measured time, a second or more before its end, and did not arrive.
    /// Nothing if a measured connection has another workload: one that sends as fast as the network lets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undelivered_messages: Option<u64>,
}

/// Times between events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Intervals {
    /// Mean.
    pub mean: f64,
    /// Maximum.
    pub max: f64,
}

/// How long messages were on their way, ms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Delays {
    /// How many there were.
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

/// Where the measured time went at the measured connections' senders, seconds, sampled every two milliseconds. Times of several
/// measured connections are added. All but the lists by path share the time among them: they add up to it ([`TimeSpent::total_s`]). The lists
/// by path are times of their own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TimeSpent {
    /// The application had nothing to send, or the connection was not set up yet.
    pub no_data_s: f64,
    /// Some subflow had room in its congestion window, and the shared window (the peer's receive buffer) was full, or had no room for
    /// a whole segment (avoidance of silly windows).
    pub window_full_s: f64,
    /// Every subflow's congestion window was full: the paths were busy.
    pub congestion_windows_full_s: f64,
    /// Data, room in a congestion window and room in the shared window were there, and the scheduler waited.
    pub scheduler_waits_s: f64,
    /// Data and room were there, and Nagle's rule (setting `nagle`), or an application that has more to come, kept a short segment.
    #[serde(default)]
    pub nagle_s: f64,
    /// A paced segment waited for its time (setting `pacing`).
    #[serde(default)]
    pub pacing_s: f64,
    /// The application had more to write, and the send buffer (setting `send_buffer`) was full of data on its way.
    #[serde(default)]
    pub send_buffer_s: f64,
    /// None of these: data was on its way out.
    pub sending_s: f64,
    /// By path: the shared window was full, and the first missing byte was on this path.
    pub window_full_by_path_s: Vec<f64>,
    /// By path: the receiver held later data back because the first missing byte was on this path.
    pub blocked_by_path_s: Vec<f64>,
    /// By path: its subflow was in slow start.
    pub slow_start_by_path_s: Vec<f64>,
    /// By path: its subflow repaired losses, in fast recovery or after a timeout.
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
    /// Its name.
    pub name: String,
    /// The metrics are its.
    pub measured: bool,
    /// Multipath TCP was in use at the end; otherwise plain TCP.
    pub mptcp: bool,
    /// In-order data delivered over the measured time, 10⁶ bit/s.
    pub goodput_mbps: f64,
    /// In-order data delivered over the whole run, bytes.
    pub received_bytes: u64,
    /// From its start to its last byte's delivery, seconds; `None` if it did not end by itself.
    pub completion_s: Option<f64>,
    /// Why it ended early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A source of UDP packets, over the whole run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrafficResult {
    /// Its name.
    pub name: String,
    /// Packets that it sent.
    pub sent_packets: u64,
    /// Packets that arrived.
    pub delivered_packets: u64,
    /// Payload of the packets that arrived, over the whole run, 10⁶ bit/s.
    pub goodput_mbps: f64,
}

/// Data that waits out of order, bytes: the distribution of the maxima of each 10 ms, and looks at single times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OutOfOrder {
    /// Mean.
    pub mean: f64,
    /// 95th percentile.
    pub p95: u64,
    /// Maximum.
    pub max: u64,
    /// Mean of what is there each 100 ms (DPSAF §IV).
    #[serde(default)]
    pub looked_at: f64,
}

/// One path's part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PathMetrics {
    /// Data bytes sent on the path, repeated ones included.
    pub sent_bytes: u64,
    /// The path's part of the goodput, 10⁶ bit/s: the whole goodput, divided by the new data that arrived over each path first.
    pub goodput_mbps: f64,
    /// The mean of the smoothed round-trip time while the path's subflow can be used, ms (CP Fig. 6 compares those of two paths); 0 without
    /// a sample.
    #[serde(default)]
    pub mean_rtt_ms: f64,
}

/// Numbers over time: equal steps from the start of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Length of a step, seconds.
    pub step_s: f64,
    /// In-order data delivered in each step, 10⁶ bit/s.
    pub goodput_mbps: Vec<f64>,
    /// Most data waiting out of order in each step, bytes.
    pub out_of_order_bytes: Vec<u64>,
    /// New data that arrived over each path in each step, 10⁶ bit/s: one list a path.
    pub per_path_mbps: Vec<Vec<f64>>,
    /// The senders' subflows of the measured connections, as they are at the end of each step.
    #[serde(default)]
    pub subflows: Vec<SubflowSeries>,
    /// What the schedulers of the measured connections carry along, where they do, as it is at the end of each step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scheduler: Vec<QuantitySeries>,
    /// The links of the paths in the direction of the data.
    #[serde(default)]
    pub links: Vec<LinkSeries>,
}

/// A subflow of a measured connection over time; a subflow that takes another one's place on its path continues its lists.
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

/// A number that a scheduler carries along, over time: BLEST's lambda, CP's pauses and guard times.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QuantitySeries {
    /// The connection's name.
    pub connection: String,
    /// Its name, with its unit at the end where it has one.
    pub name: String,
    /// The path of the subflow that it is about, an index into the result's `paths`; nothing for one of the connection.
    pub path: Option<usize>,
    /// Its values; nothing where there is none yet, or none any more.
    pub values: Vec<Option<f64>>,
}

/// A link over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkSeries {
    /// Its name: `NAME.up` or `NAME.down`.
    pub link: String,
    /// The paths that use it, indices into the result's `paths`.
    pub paths: Vec<usize>,
    /// Bytes that wait in its queue at the end of each step.
    pub queue_bytes: Vec<u64>,
    /// What it could carry in each step, 10⁶ bit/s; empty where the rate is unlimited.
    pub capacity_mbps: Vec<f64>,
}

/// What a run was made from. No host and no date: equal runs are equal bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Pathweave's version.
    pub version: String,
    /// The commit of the sources, where the program knows it.
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
