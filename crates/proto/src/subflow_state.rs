//! A subflow's state in groups: what schedulers see of it ([`SubflowView`](crate::scheduler::SubflowView)) and what snapshots
//! show.

use crate::congestion::{Growth, Phase};
use pathweave_units::{Duration, Instant};

/// How long a round trip takes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RoundTrip {
    /// Smoothed round-trip time (SRTT of RFC 6298); nothing before the first sample.
    pub smoothed: Option<Duration>,
    /// Round-trip time variation (RTTVAR of RFC 6298).
    pub variation: Duration,
    /// Smallest round-trip time of the subflow's life.
    pub min: Option<Duration>,
    /// Largest round-trip time of the subflow's life.
    pub max: Option<Duration>,
    /// The latest sample.
    pub latest: Option<Duration>,
}

impl RoundTrip {
    /// The smoothed round-trip time, or zero before the first sample.
    pub fn smoothed_or_zero(&self) -> Duration {
        self.smoothed.unwrap_or(Duration::ZERO)
    }
}

/// The congestion window and what is in it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WindowState {
    /// Congestion window, segments.
    pub cwnd: u32,
    /// Slow start threshold, segments.
    pub ssthresh: u32,
    /// Segments sent and thought to be in the network.
    pub in_flight: u32,
    /// Segments sent and not yet cumulatively acknowledged (in flight, SACKed or lost).
    pub unacked: u32,
    /// The window was not filled when last checked.
    pub app_limited: bool,
    /// Phase of congestion control.
    pub phase: Phase,
    /// How the controller will grow the window.
    pub growth: Growth,
}

/// What a subflow was given and has not been acknowledged, and how much more it takes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct QueueState {
    /// Segments assigned and not yet sent.
    pub unsent: u32,
    /// Bytes assigned and not yet acknowledged: sent or not.
    pub bytes: u64,
    /// The same with the buffer overhead that a kernel counts (`sk_wmem_queued`).
    pub memory: u64,
    /// Bytes that the subflow's send buffer still takes.
    pub space: u64,
}

/// Losses and rates of a subflow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Delivery {
    /// Part of the segments sent that were lost, smoothed, 0 to 1.
    pub loss: f64,
    /// Rate of newly acknowledged data over the last round, bytes per second; 0 before the first.
    pub rate: f64,
    /// The rate at which the window would be sent, bytes per second (the kernel's pacing rate).
    pub pacing_rate: f64,
    /// When the current round's first segment was sent; nothing while nothing is out.
    pub round_start: Option<Instant>,
    /// When the last new data was sent.
    pub last_sent: Option<Instant>,
}

/// What is configured about a subflow's path.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PathTerms {
    /// Lower is preferred.
    pub priority: u32,
    /// Cost per gigabyte.
    pub cost: f64,
    /// Bytes left of the path's quota, where it has one.
    pub quota_left: Option<u64>,
}

/// What a connection thinks of a subflow's path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathHealth {
    /// It carries no data yet: its handshake is not complete.
    Opening,
    /// It answers.
    Working,
    /// An answer is overdue. Other subflows send again what this one carries.
    Late,
    /// There has been no sign of life since a timeout. It gets no new data while another subflow is alive.
    Stale,
    /// The subflow is over.
    Down,
}
