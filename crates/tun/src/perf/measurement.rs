//! What a client measured.

use super::{Processor, Totals};
use pathweave_units::{Duration, Instant};
use rustix::rand::{GetRandomFlags, getrandom};
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
    /// Variation of the round-trip time at the end.
    pub round_trip_variation: Duration,
    /// Data bytes of a full segment.
    pub segment_bytes: u32,
    /// Size of the largest packet, bytes.
    pub path_mtu: u32,
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

/// Seconds since 1970.
pub(super) fn unix_seconds() -> u64 {
    clock_gettime(ClockId::Realtime).tv_sec.try_into().unwrap_or(0)
}

/// Names of the system, of the host and of the kernel's version, as in iperf3's `system_info`.
pub fn system() -> String {
    let word = |name: &str| std::fs::read_to_string(format!("/proc/sys/kernel/{name}")).unwrap_or_default();
    ["ostype", "hostname", "osrelease"].map(|name| word(name).trim().to_owned()).join(" ")
}

/// A random name of a test, as in iperf3's `cookie`.
pub fn cookie() -> String {
    const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let mut random = [0; 36];
    // If the system has no random bytes, the name is not unique. Nothing depends on it.
    let _ = getrandom(&mut random, GetRandomFlags::empty());
    random.iter().map(|byte: &u8| char::from(LETTERS[usize::from(*byte) % LETTERS.len()])).collect()
}

/// A whole measurement, or as much of it as there is.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// When it began, seconds since 1970.
    pub began: u64,
    /// The addresses of its connection, or of each subflow: ours and the peer's.
    pub addresses: Vec<(SocketAddr, SocketAddr)>,
    /// Whether Multipath TCP was used to the end; the kernel does not tell.
    pub multipath: Option<bool>,
    /// What the client sent and received.
    pub client: Totals,
    /// What the server says that it sent and received. `None` if the connection ended before it said so.
    pub server: Option<Totals>,
    /// Bytes of the client's data that the peer has acknowledged; the kernel does not tell.
    pub acknowledged: Option<u64>,
    /// What went wrong. If there is `server`, the measurement is complete all the same.
    pub trouble: Option<String>,
    /// From the first byte to the end of the stream.
    pub duration: Duration,
    /// Processor time of the client.
    pub processor: Processor,
    /// All intervals.
    pub intervals: Vec<Interval>,
    /// Round-trip times of an echo, sorted; empty otherwise.
    pub round_trips: Vec<Duration>,
}

impl Measurement {
    /// Whether the measurement is complete, and all data arrived as it was sent.
    pub fn is_right(&self) -> bool {
        self.server.is_some_and(|server| self.client.agree_with(&server))
    }
}

impl Totals {
    /// The length of the time in which received data counts, seconds.
    pub fn counted_seconds(&self) -> f64 {
        Duration::from_nanos(self.counted_nanoseconds).as_secs_f64()
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
