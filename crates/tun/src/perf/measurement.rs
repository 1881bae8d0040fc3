//! The result of a measurement, taken by the client.

use super::{Processor, Totals};
use pathweave_units::{Duration, Instant};
use rustix::rand::{GetRandomFlags, getrandom};
use rustix::time::{ClockId, clock_gettime};
use std::net::SocketAddr;

/// Figures of a subflow during an interval.
#[derive(Clone, Debug, PartialEq)]
pub struct SubflowFigures {
    /// The subflow's own address.
    pub local: SocketAddr,
    /// The peer's address.
    pub remote: SocketAddr,
    /// Data bytes sent, retransmissions included.
    pub sent_bytes: u64,
    /// Data bytes that arrived on this subflow before any other subflow delivered them.
    pub received_bytes: u64,
    /// Segments retransmitted.
    pub retransmitted_segments: u64,
    /// Congestion window at the end of the interval, bytes.
    pub window_bytes: u64,
    /// Window of the whole connection that the peer offers at the end of the interval, bytes.
    pub offered_bytes: u64,
    /// Smoothed round-trip time at the end of the interval.
    pub round_trip: Duration,
    /// Variation of the round-trip time at the end of the interval.
    pub round_trip_variation: Duration,
    /// Data bytes of a full segment.
    pub segment_bytes: u32,
    /// Size of the largest packet, bytes.
    pub path_mtu: u32,
}

/// Figures of an interval of about one second.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    /// Begin of the interval, from the connection's start.
    pub from: Duration,
    /// End of the interval, from the connection's start.
    pub to: Duration,
    /// New bytes of the stream that the peer acknowledged; bytes written if the kernel does not report acknowledgements.
    pub sent_bytes: u64,
    /// New bytes of the stream that arrived.
    pub received_bytes: u64,
    /// Figures of each subflow. With the kernel's sockets, of those that it reports: all of them to an administrator, else
    /// the first.
    pub subflows: Vec<SubflowFigures>,
}

/// The wall-clock time, seconds since 1970.
pub(super) fn unix_seconds() -> u64 {
    clock_gettime(ClockId::Realtime).tv_sec.try_into().unwrap_or(0)
}

/// Name of the system, the host's name and the kernel's version, as in iperf3's `system_info`.
pub fn system() -> String {
    let word = |name: &str| std::fs::read_to_string(format!("/proc/sys/kernel/{name}")).unwrap_or_default();
    ["ostype", "hostname", "osrelease"].map(|name| word(name).trim().to_owned()).join(" ")
}

/// A random name for a test, as in iperf3's `cookie`.
pub fn cookie() -> String {
    const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let mut random = [0; 36];
    // If the system has no random bytes, the name is not unique. Nothing depends on it.
    let _ = getrandom(&mut random, GetRandomFlags::empty());
    random.iter().map(|byte: &u8| char::from(LETTERS[usize::from(*byte) % LETTERS.len()])).collect()
}

/// The result of a measurement. An interrupted one has the figures up to the interruption.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// Start of the measurement, seconds since 1970.
    pub began: u64,
    /// Own and peer's address of each subflow; with the kernel's sockets, those of the connection.
    pub addresses: Vec<(SocketAddr, SocketAddr)>,
    /// Whether Multipath TCP was in use until the end. `None` with the kernel's sockets, which do not report it.
    pub multipath: Option<bool>,
    /// Totals of the client.
    pub client: Totals,
    /// Totals of the server, as reported by the server. `None` if the connection ended before the report.
    pub server: Option<Totals>,
    /// Bytes of the client's data that the peer has acknowledged. `None` if the kernel does not report it.
    pub acknowledged: Option<u64>,
    /// The error, if there was one. The measurement is complete nevertheless if `server` has totals.
    pub trouble: Option<String>,
    /// Time from the first byte to the end of the stream.
    pub duration: Duration,
    /// Processor time of the client.
    pub processor: Processor,
    /// Figures of each interval.
    pub intervals: Vec<Interval>,
    /// Sorted round-trip times of an echo; otherwise empty.
    pub round_trips: Vec<Duration>,
}

/// The result of one client, as its server has it.
#[derive(Clone, Copy, Debug)]
pub struct Served<'a> {
    /// Totals of the server.
    pub totals: &'a Totals,
    /// The error, if the connection failed. Without one, the client has acknowledged all of the server's data.
    pub error: Option<&'a str>,
}

impl Measurement {
    /// Whether the measurement is complete and all data arrived unchanged.
    pub fn is_right(&self) -> bool {
        self.server.is_some_and(|server| self.client.agree_with(&server))
    }
}

impl Totals {
    /// Length of the period whose received data counts, seconds.
    pub fn counted_seconds(&self) -> f64 {
        Duration::from_nanos(self.counted_nanoseconds).as_secs_f64()
    }
}

/// A rate in bits per second.
pub fn rate(bytes: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { bytes as f64 * 8.0 / seconds } else { 0.0 }
}

/// The time from `start` to `now`.
pub(super) fn since(start: Instant, now: Instant) -> Duration {
    now.since(start)
}
