//! What a run leaves behind: one line of JSON each.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of the result's fields; it changes when a field changes its meaning or goes away.
pub const SCHEMA_VERSION: u32 = 1;

/// One run: a scenario, a scheduler, a seed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunResult {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The scenario's name.
    pub scenario: String,
    /// The scheduler with its parameters as written, or `tcp-path0`, `tcp-path1`, ... for plain TCP on one path.
    pub scheduler: String,
    /// The congestion controller with its parameters as written.
    pub congestion: String,
    /// The run's seed.
    pub seed: u64,
    /// How the run ended.
    pub status: Status,
    /// Why, where it did not complete.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
    /// Hash of everything that a wire would show, 32 hexadecimal digits.
    pub digest: String,
    /// The numbers.
    pub metrics: Metrics,
    /// The numbers over time.
    pub series: Series,
    /// What the run was made from.
    pub manifest: Manifest,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// As the scenario says: the time is over, or all data has arrived.
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
    /// Aggregation benefit (CP eq. 9): 0 is the best single path alone, 1 the sum of all, −1 nothing at all. Nothing where the
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
    /// By path.
    pub per_path: Vec<PathMetrics>,
}

/// A distribution, bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OutOfOrder {
    /// Mean.
    pub mean: f64,
    /// 95th percentile.
    pub p95: u64,
    /// Maximum.
    pub max: u64,
}

/// One path's part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PathMetrics {
    /// Data bytes sent on the path, repeated ones included.
    pub sent_bytes: u64,
    /// New data that arrived over the path first, 10⁶ bit/s.
    pub goodput_mbps: f64,
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
}

/// What a run was made from. No host and no date: equal runs are equal bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Pathweave's version.
    pub version: String,
    /// Hash of the scenario as it was run, overrides included, 32 hexadecimal digits.
    pub scenario_hash: String,
    /// Every setting that was overridden, as written.
    pub overrides: BTreeMap<String, String>,
    /// Every parameter of the scheduler and its value.
    pub scheduler_parameters: BTreeMap<String, String>,
}
