//! A subflow's state in groups, as [`SubflowView`](crate::SubflowView) has it.

use pathweave_units::{Duration, Instant};

/// Measured round-trip times. QUIC measures the same (RFC 9002 §5).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RoundTrip {
    /// Smoothed round-trip time (SRTT of RFC 6298); `None` before the first sample.
    pub smoothed: Option<Duration>,
    /// Round-trip time variation (RTTVAR of RFC 6298); zero if it is unknown.
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
    #[inline]
    pub fn smoothed_or_zero(&self) -> Duration {
        self.smoothed.unwrap_or(Duration::ZERO)
    }
}

/// The congestion window and the segments in it. A transport that counts bytes, as QUIC does (RFC 9002 §7), divides by
/// [`SubflowView::mss`](crate::SubflowView::mss).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WindowState {
    /// Congestion window, segments.
    pub cwnd: u32,
    /// Slow start threshold, segments; [`WindowState::NO_THRESHOLD`] until the first loss.
    pub ssthresh: u32,
    /// Segments sent that are thought to be in the network.
    pub in_flight: u32,
    /// Segments sent that are not cumulatively acknowledged (in flight, SACKed or lost). A transport without cumulative
    /// acknowledgements gives those in flight.
    pub unacked: u32,
    /// Whether the last round left room in the congestion window, because there was too little data for the subflow
    /// (Linux: `tcpi_delivery_rate_app_limited`). [`Delivery::rate`] then says only "at least".
    pub app_limited: bool,
    /// Phase of congestion control, as far as it is known.
    pub phase: Phase,
    /// How the controller will grow the window; [`Growth::default`] if that is unknown.
    pub growth: Growth,
}

impl WindowState {
    /// [`WindowState::ssthresh`] before any loss.
    pub const NO_THRESHOLD: u32 = 0x7fff_ffff;
}

/// The phase of a subflow's congestion control.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// The window doubles each round.
    #[default]
    SlowStart,
    /// Congestion avoidance.
    Avoidance,
    /// Fast recovery.
    Recovery,
    /// Recovery from a retransmission timeout, until all data sent before it is acknowledged.
    Loss,
}

/// How a controller will grow a filled window while no segment is lost (CP §3.2, eqs. 3–7).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Growth {
    /// By this many segments per round after slow start (CP eqs. 3–6; for a coupled controller, its share).
    PerRound(f64),
    /// To this window, in segments, one round from now (CP eq. 7: time-based control such as CUBIC).
    ToWindow(f64),
    /// The window follows this sending rate, in bytes per second (CP eq. 2: rate-based control such as wVegas).
    AtRate(f64),
}

impl Default for Growth {
    fn default() -> Self {
        Growth::PerRound(1.0)
    }
}

/// Data that was assigned to a subflow and is not acknowledged, and room for more.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct QueueState {
    /// Segments assigned and not yet sent.
    pub unsent: u32,
    /// Bytes assigned and not acknowledged, sent or not.
    pub bytes: u64,
    /// The same bytes with the buffer overhead that a kernel counts (`sk_wmem_queued`). Only rules that model a kernel's
    /// scheduler read it; a program without such a count gives `bytes`.
    pub memory: u64,
    /// Bytes that still fit into the subflow's send buffer. At least a full segment if there is no such buffer.
    pub space: u64,
}

/// Losses and rates of a subflow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Delivery {
    /// Fraction of the sent segments that was lost, smoothed, 0 to 1.
    pub loss: f64,
    /// Rate of newly acknowledged data over the last round, bytes per second; 0 before the first round ends. The path
    /// may deliver more if [`WindowState::app_limited`] is set.
    pub rate: f64,
    /// Rate at which the window would be sent, bytes per second (the kernel's pacing rate). A program that does not pace
    /// gives the window divided by the smoothed round-trip time.
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
