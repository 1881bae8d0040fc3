//! A subflow's state in groups, as schedulers ([`SubflowView`](crate::scheduler::SubflowView)) and snapshots see it.

use crate::congestion::{Growth, Phase};
use pathweave_units::{Duration, Instant};

/// Measured round-trip times.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RoundTrip {
    /// Smoothed round-trip time (SRTT of RFC 6298); `None` before the first sample.
    pub smoothed: Option<Duration>,
    /// Round-trip time variation (RTTVAR of RFC 6298).
    pub variation: Duration,
    /// Smallest round-trip time since the subflow began.
    pub min: Option<Duration>,
    /// Largest round-trip time since the subflow began.
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

/// The congestion window and the segments in it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WindowState {
    /// Congestion window, segments.
    pub cwnd: u32,
    /// Slow start threshold, segments.
    pub ssthresh: u32,
    /// Segments sent that are thought to be in the network.
    pub in_flight: u32,
    /// Segments sent that are not cumulatively acknowledged (in flight, SACKed or lost).
    pub unacked: u32,
    /// Whether the congestion window was not full at the last check.
    pub app_limited: bool,
    /// Phase of congestion control.
    pub phase: Phase,
    /// How the controller will grow the window.
    pub growth: Growth,
}

/// Data that was assigned to a subflow and is not acknowledged, and room for more.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct QueueState {
    /// Segments assigned and not yet sent.
    pub unsent: u32,
    /// Bytes assigned and not acknowledged, sent or not.
    pub bytes: u64,
    /// The same bytes with the buffer overhead that a kernel counts (`sk_wmem_queued`).
    pub memory: u64,
    /// Bytes that still fit into the subflow's send buffer.
    pub space: u64,
}

/// Losses and rates of a subflow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Delivery {
    /// Fraction of the sent segments that was lost, smoothed, 0 to 1.
    pub loss: f64,
    /// Rate of newly acknowledged data over the last round, bytes per second; 0 before the first round ends.
    pub rate: f64,
    /// Rate at which the window would be sent, bytes per second (the kernel's pacing rate).
    pub pacing_rate: f64,
    /// When the current round's first segment was sent; `None` while nothing is in flight.
    pub round_start: Option<Instant>,
    /// When new data was last sent.
    pub last_sent: Option<Instant>,
}

/// Settings of a subflow's path.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PathTerms {
    /// Priority; a lower number is preferred.
    pub priority: u32,
    /// Cost per gigabyte.
    pub cost: f64,
    /// Bytes left of the path's quota, if it has one.
    pub quota_left: Option<u64>,
}

/// The connection's judgement of a subflow's path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathHealth {
    /// The handshake is not complete; the path carries no data yet.
    Opening,
    /// The peer answers.
    Working,
    /// An answer is overdue. Other subflows send this one's data again.
    Late,
    /// There was no sign of life since a timeout. The subflow gets no new data while another one is alive.
    Stale,
    /// The subflow has ended.
    Down,
}
