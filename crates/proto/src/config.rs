//! Settings of endpoints, connections and subflows. Every setting that can change a result is here.

use crate::congestion::ChosenController;
use crate::host::{Host, timer_wheel};
use pathweave_scheduler::ChosenScheduler;
use pathweave_units::{Bitrate, Duration, Instant};

/// The receive buffer of a connection, which is also the largest window that it offers. The window is rounded up to a
/// whole step of the window scale, so a small buffer can be offered with any scale. A buffer has at least two
/// bytes: some hosts offer only half of it at first, and a window of zero would never open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiveBuffer {
    /// Constant, in bytes.
    Fixed(u64),
    /// Grows with the measured need, up to `max` (CP §2: 2 · Σ bandwidth · largest RTT).
    Auto {
        /// Bytes at the start of the connection.
        initial: u64,
        /// Largest size, bytes.
        max: u64,
    },
}

/// How a subflow finds and repairs losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossRecovery {
    /// RACK-TLP (RFC 8985) on SACK, the default. Falls back to NewReno if the peer has no SACK.
    RackTlp,
    /// SACK with duplicate-acknowledgement counting (RFC 6675).
    Sack,
    /// NewReno (RFC 6582); SACK is not offered.
    NewReno,
}

/// How quickly the connection notices that a path went dark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureDetection {
    /// As slow as mainline Linux. A subflow is stale after four retransmission intervals. The connection has a
    /// retransmission timer of its own. When a subflow ends, all its unacknowledged data is sent again. Once a
    /// direction is closed, no subflow joins.
    Linux,
    /// Data is reinjected at the first retransmission timeout, and a dark subflow is probed at least every second.
    Fast,
}

/// Which subflows a client opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathManager {
    /// From each further local address to one remote address, as the kernel's path manager does with endpoints of type
    /// `subflow`.
    Default,
    /// Between every local and every remote address.
    FullMesh,
    /// This many subflows between the initial pair of addresses, each from its own source port.
    NDiffPorts(u8),
}

/// Smallest path MTUs that are accepted, bytes. IPv6: RFC 8200 §5. IPv4: a packet of this size has room for 512 bytes
/// of segment: small enough for every link in use, and large enough that an attacker cannot make us send mostly
/// headers. (The minimum of RFC 791, 68, is no useful bound.)
const LEAST_MTU_V4: u32 = 552;
const LEAST_MTU_V6: u32 = 1280;

/// Smallest path MTU that is accepted for an address family, bytes.
pub(crate) const fn least_mtu(ipv4: bool) -> u32 {
    if ipv4 { LEAST_MTU_V4 } else { LEAST_MTU_V6 }
}

/// Bytes of a TCP header without options, and of the timestamps option with its padding.
const TCP_HEADER: u32 = 20;
pub(crate) const TIMESTAMP_BYTES: u32 = 12;

/// How a subflow discovers that its path takes smaller packets than expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathMtuDiscovery {
    /// From routers' messages ([`Endpoint::handle_packet_too_big`](crate::Endpoint::handle_packet_too_big)).
    Messages,
    /// From routers' messages; if none comes, also by trying smaller packets after several timeouts (RFC 4821 §7.7).
    BlackHoles,
    /// As `BlackHoles`, and a larger packet is tried every ten minutes (RFC 4821 §7).
    Probing,
}

/// Whether data segments leave spread out at a rate, or as soon as the windows allow (RFC 9002 §7.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacing {
    /// Segments leave as soon as the windows allow.
    Off,
    /// At the congestion controller's rate if it has one, otherwise at the host's rate: 1.25 congestion windows per
    /// round trip, or, as in the Linux kernel, 2 in slow start and 1.2 after it.
    On {
        /// Highest rate of a subflow, counted in bytes of data.
        limit: Option<Bitrate>,
        /// Longest time by which a segment may be given out before it is to leave
        /// ([`Transmit::departure`](crate::connection::Transmit)). It is for drivers whose device holds packets until
        /// their departure; all others leave it at zero.
        horizon: Duration,
    },
}

/// Transport settings of each subflow, and of plain TCP.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpConfig {
    /// Largest IP packet on a path whose MTU was not set with
    /// [`Endpoint::set_path_mtu`](crate::Endpoint::set_path_mtu), bytes.
    pub mtu: u32,
    /// How the engine discovers that a path's MTU is smaller.
    pub path_mtu_discovery: PathMtuDiscovery,
    /// Whether data is paced.
    pub pacing: Pacing,
    /// Initial congestion window, segments (RFC 6928).
    pub initial_window: u32,
    /// Smallest retransmission timeout (RFC 6298 says 1 s, Linux has 200 ms).
    pub min_rto: Duration,
    /// Largest retransmission timeout.
    pub max_rto: Duration,
    /// Whether timestamps are offered (RFC 7323).
    pub timestamps: bool,
    /// Whether window scaling is offered (RFC 7323).
    pub window_scaling: bool,
    /// Least window scale, used even if a smaller one would do. A larger scale makes the window coarser, as on a host
    /// with large buffers.
    pub least_window_shift: u32,
    /// Whether acknowledgements are delayed (RFC 9293 §3.8.6.3). Off: each segment is acknowledged.
    pub delayed_ack: bool,
    /// Longest delay of an acknowledgement (Linux: 40 ms).
    pub delayed_ack_timeout: Duration,
    /// Number of segments at the start of a connection that are acknowledged at once (Linux: 16).
    pub quick_acks: u32,
    /// How losses are found and repaired.
    pub recovery: LossRecovery,
    /// Whether the window shrinks by proportional rate reduction (RFC 9937). Off: it halves at once.
    pub prr: bool,
    /// Whether limited transmit (RFC 3042) applies. It matters if recovery counts duplicate acknowledgements.
    pub limited_transmit: bool,
    /// Whether the window restarts from the initial one after an idle period (RFC 5681 §4.1).
    pub restart_after_idle: bool,
    /// Whether explicit congestion notification is offered (RFC 3168).
    pub ecn: bool,
    /// Retransmissions of a SYN, or of data, before the subflow is given up.
    pub max_retransmissions: u32,
    /// Whether each subflow's send buffer grows with its congestion window, and the connection's is as large as theirs
    /// together, at most [`ConnectionConfig::send_buffer`]. If not, the connection's send buffer has that size from the
    /// start.
    pub send_buffer_tuning: bool,
    /// Step of the clock that timers run on (Linux: 1 ms or 4 ms), as on Linux's timer wheel. With zero, timers are
    /// exact.
    pub timer_tick: Duration,
    /// How long new connections may not use a closed subflow's addresses and ports: twice the longest lifetime of a
    /// segment (RFC 9293 §3.6.1). The RFC takes that lifetime to be 2 minutes and lets experience correct it; hosts use
    /// 30 s. Retransmitted FINs extend the time to at most five times this value.
    pub time_wait: Duration,
    /// Largest memory that one packet keeps alive while its data waits, bytes: the size of the blocks into which the
    /// device reads packets. Waiting data is charged with this size. If the charge exceeds twice the receive buffer,
    /// data is copied out of its packets.
    pub packet_memory: u32,
}

impl Default for TcpConfig {
    fn default() -> Self {
        TcpConfig {
            mtu: 1500,
            path_mtu_discovery: PathMtuDiscovery::BlackHoles,
            pacing: Pacing::Off,
            initial_window: 10,
            min_rto: Duration::from_millis(200),
            max_rto: Duration::from_secs(120),
            timestamps: true,
            window_scaling: true,
            least_window_shift: 0,
            delayed_ack: true,
            delayed_ack_timeout: Duration::from_millis(40),
            quick_acks: 16,
            recovery: LossRecovery::RackTlp,
            prr: true,
            limited_transmit: true,
            restart_after_idle: true,
            ecn: false,
            max_retransmissions: 15,
            send_buffer_tuning: false,
            timer_tick: Duration::ZERO,
            time_wait: Duration::from_secs(60),
            packet_memory: 2048,
        }
    }
}

impl TcpConfig {
    /// Data bytes of the largest segment on a path: without options, and with the timestamps if they are asked for.
    pub(crate) fn segments(&self, mtu: u32, ipv4: bool) -> (u64, u64) {
        let largest = u64::from(largest_segment(mtu, ipv4));
        (largest, largest - if self.timestamps { u64::from(TIMESTAMP_BYTES) } else { 0 })
    }

    /// When a timer fires that is set now for `wait`.
    #[inline]
    pub(crate) fn expiry(&self, now: Instant, wait: Duration) -> Instant {
        if self.timer_tick.is_zero() { now + wait } else { timer_wheel::expiry(self.timer_tick, now, wait) }
    }
}

/// Data and option bytes of the largest segment if the largest IP packet has `mtu` bytes; at least 64.
//= RFC 9293 §3.7.1 (MUST-67): "where MMS_R is the maximum size for a transport-layer message that can be received (and reassembled
//= at the IP layer)"
//= tests: handshake::options_are_offered_and_agreed, handshake::addresses_of_version_6_take_20_bytes_more
pub(crate) fn largest_segment(mtu: u32, ipv4: bool) -> u32 {
    let ip_header = if ipv4 { 20 } else { 40 };
    mtu.saturating_sub(ip_header + TCP_HEADER).max(64)
}

/// The settings of one connection.
///
/// `S` and `C` are the scheduler and the congestion controller. A running connection holds their factories. A
/// description of a connection may hold their names, until [`ConnectionConfig::with_algorithms`] replaces them with the
/// algorithms.
#[derive(Clone, Debug, PartialEq)]
pub struct ConnectionConfig<S = ChosenScheduler, C = ChosenController> {
    /// Whether Multipath TCP is used. Off: plain TCP.
    pub mptcp: bool,
    /// Transport settings of each subflow.
    pub tcp: TcpConfig,
    /// Operating system whose habits, beyond the RFCs, this side imitates.
    pub host: Host,
    /// The packet scheduler of this side's sending direction.
    pub scheduler: S,
    /// The congestion controller of each subflow.
    pub congestion: C,
    /// Send buffer: bytes that the application can write beyond the first unacknowledged byte.
    pub send_buffer: u64,
    /// Receive buffer, shared by all subflows.
    pub receive_buffer: ReceiveBuffer,
    /// Whether the stream's last, short segment waits while earlier data is unacknowledged (Nagle, RFC 9293 §3.7.4).
    pub nagle: bool,
    /// Whether opportunistic retransmission and penalisation are on (NSDI 2012; the papers' PR, OR&P).
    pub pr: bool,
    /// How quickly a dark path is noticed.
    pub failure_detection: FailureDetection,
    /// Which subflows the client opens.
    pub path_manager: PathManager,
    /// Whether further local addresses join the peer's initial address if the peer announces no other.
    pub join_initial_address: bool,
    /// Whether the peer is forbidden to join our initial address and port: the C flag (RFC 8684 §3.1).
    pub protect_initial_address: bool,
    /// Single-path mode (RFC 6897 §3): a further subflow is opened only if no living one is left.
    pub single_path: bool,
    /// Whether DSS checksums are asked for (RFC 8684 §3.3).
    pub checksum: bool,
    /// Silence after which a subflow is probed (RFC 9293 §3.8.4); zero: never. If no probe is answered, the connection
    /// ends after `close_timeout`.
    pub keep_alive: Duration,
    /// How long a connection survives without any living subflow, and how long a close may take.
    pub close_timeout: Duration,
    /// Largest number of subflows.
    pub max_subflows: u8,
    /// Number of announced addresses of the peer that may be in use for joins at a time. Linux calls it
    /// `add_addr_accepted`.
    pub accepted_addresses: u8,
    /// Whether the peer may change a living subflow's priority, to a backup and back (MP_PRIO, RFC 8684 §3.3.8). Off: a
    /// subflow keeps the priority that it was opened with.
    pub accept_priorities: bool,
    /// Whether the peer may remove addresses (REMOVE_ADDR, RFC 8684 §3.4.2). The option carries no proof of a key. Off:
    /// removed addresses are joined, and count among the `accepted_addresses`, as before.
    pub accept_removals: bool,
    /// Whether a DATA_ACK also leaves on the subflow that delivers it soonest, if the window is so small that this
    /// matters. Kernels acknowledge on the subflow that brought the data, so hosts that imitate them never do it.
    pub share_data_acks: bool,
}

impl<S, C> ConnectionConfig<S, C> {
    /// Settings for Multipath TCP with large buffers and these two algorithms, without features that only some papers
    /// or kernels have.
    pub fn new(scheduler: S, congestion: C) -> Self {
        ConnectionConfig {
            mptcp: true,
            tcp: TcpConfig::default(),
            host: Host::Rfc,
            scheduler,
            congestion,
            send_buffer: 4 << 20,
            receive_buffer: ReceiveBuffer::Fixed(4 << 20),
            nagle: true,
            pr: false,
            failure_detection: FailureDetection::Fast,
            path_manager: PathManager::Default,
            join_initial_address: false,
            protect_initial_address: false,
            single_path: false,
            checksum: false,
            keep_alive: Duration::ZERO,
            close_timeout: Duration::from_secs(60),
            max_subflows: 8,
            accepted_addresses: 8,
            accept_priorities: true,
            accept_removals: true,
            share_data_acks: true,
        }
    }

    /// Returns the same settings with other algorithms.
    pub fn with_algorithms<S2, C2>(self, scheduler: S2, congestion: C2) -> ConnectionConfig<S2, C2> {
        ConnectionConfig {
            scheduler,
            congestion,
            mptcp: self.mptcp,
            tcp: self.tcp,
            host: self.host,
            send_buffer: self.send_buffer,
            receive_buffer: self.receive_buffer,
            nagle: self.nagle,
            pr: self.pr,
            failure_detection: self.failure_detection,
            path_manager: self.path_manager,
            join_initial_address: self.join_initial_address,
            protect_initial_address: self.protect_initial_address,
            single_path: self.single_path,
            checksum: self.checksum,
            keep_alive: self.keep_alive,
            close_timeout: self.close_timeout,
            max_subflows: self.max_subflows,
            accepted_addresses: self.accepted_addresses,
            accept_priorities: self.accept_priorities,
            accept_removals: self.accept_removals,
            share_data_acks: self.share_data_acks,
        }
    }
}
