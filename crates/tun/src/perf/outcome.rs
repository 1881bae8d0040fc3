//! What a client measured.

use super::Totals;
use pathweave_units::{Duration, Instant};
use rustix::time::{ClockId, clock_gettime};
use std::net::SocketAddr;

/// A subflow during an interval.
#[derive(Clone, Debug, PartialEq)]
pub struct SubflowFigures {
    /// Our address.
    pub local: SocketAddr,
    /// The peer's.
    pub remote: SocketAddr,
    /// Data bytes sent, retransmissions included.
    pub sent_bytes: u64,
    /// Data bytes that arrived here before they arrived on any other subflow.
    pub received_bytes: u64,
    /// Segments sent again.
    pub retransmitted_segments: u64,
    /// Congestion window at the end, bytes.
    pub window_bytes: u64,
    /// The window that the peer offers at the end, of the whole connection, bytes.
    pub offered_bytes: u64,
    /// Smoothed round-trip time at the end.
    pub round_trip: Duration,
}

/// An interval of about a second.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    /// Its begin and end, from the connection's start.
    pub from: Duration,
    /// Its end.
    pub to: Duration,
    /// New bytes of the stream that the peer acknowledged; over the kernel, bytes written.
    pub sent_bytes: u64,
    /// New bytes of the stream that were received.
    pub received_bytes: u64,
    /// Each subflow; none over the kernel, which does not tell.
    pub subflows: Vec<SubflowFigures>,
}

/// Processor time of this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Processor {
    /// Of all its threads, nanoseconds.
    pub nanoseconds: u64,
}

impl Processor {
    /// So far.
    pub fn now() -> Self {
        let time = clock_gettime(ClockId::ProcessCPUTime);
        Processor { nanoseconds: time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64 }
    }
}

/// A whole measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Whether Multipath TCP was used to the end; the kernel does not tell.
    pub multipath: Option<bool>,
    /// What the client sent and received.
    pub client: Totals,
    /// What the server says that it sent and received.
    pub server: Totals,
    /// From the first byte to the end of the stream.
    pub duration: Duration,
    /// Processor time of the client.
    pub processor: Duration,
    /// All intervals.
    pub intervals: Vec<Interval>,
    /// Round-trip times of an echo, sorted; empty otherwise.
    pub round_trips: Vec<Duration>,
}

impl Outcome {
    /// How long the time is in which received data counts: of the server, and of the client.
    pub fn receiver_seconds(&self) -> (f64, f64) {
        let seconds = |totals: &Totals| Duration::from_nanos(totals.counted_nanoseconds).as_secs_f64();
        (seconds(&self.server), seconds(&self.client))
    }
}

/// Bits per second.
pub fn rate(bytes: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { bytes as f64 * 8.0 / seconds } else { 0.0 }
}

/// From a start to a time.
pub(super) fn since(start: Instant, now: Instant) -> Duration {
    now.since(start)
}
