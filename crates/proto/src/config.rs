//! Settings of endpoints, connections and subflows. Everything that can change a result is here.

use crate::congestion::ChosenController;
use crate::host::{Host, timer_wheel};
use crate::scheduler::ChosenScheduler;
use pathweave_units::{Bitrate, Duration, Instant};

/// The receive buffer of a connection, which is also the largest window that it offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiveBuffer {
    /// Always this many bytes.
    Fixed(u64),
    /// Grows with the measured need, up to `max` (CP §2: 2 · Σ bandwidth · largest RTT).
    Auto {
        /// Bytes at the start.
        initial: u64,
        /// The most bytes.
        max: u64,
    },
}

/// How a subflow finds and repairs losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossRecovery {
    /// RACK-TLP (RFC 8985) on SACK, the default. Without SACK from the peer: NewReno.
    RackTlp,
    /// SACK with duplicate-acknowledgement counting (RFC 6675).
    Sack,
    /// NewReno (RFC 6582), no SACK offered.
    NewReno,
}

/// How quickly a path that went dark is noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureDetection {
    /// As slow as mainline Linux: a subflow is stale after four retransmission intervals, there is a connection-level
    /// retransmission timer, and everything that is not acknowledged is sent again when a subflow ends. There are no
    /// joins once a direction is closed.
    Linux,
    /// Data is reinjected at the first retransmission timeout, and a dark subflow is probed at least every second.
    Fast,
}

/// Which subflows a client opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathManager {
    /// From each further local address to one remote address; the kernel's in-kernel manager with endpoints `subflow`.
    Default,
    /// Between every local and every remote address.
    FullMesh,
    /// This many subflows over the initial pair of addresses, from different source ports.
    NDiffPorts(u8),
}

/// The smallest path MTU that is believed, bytes. IPv6: RFC 8200 §5. IPv4 has no useful one (RFC 791: 68); segments of 512
/// bytes are small enough for every link in use, and large enough that nobody can make us send mostly headers.
const LEAST_MTU_V4: u32 = 552;
const LEAST_MTU_V6: u32 = 1280;

/// The smallest path MTU that is believed of an address family, bytes.
pub(crate) const fn least_mtu(ipv4: bool) -> u32 {
    if ipv4 { LEAST_MTU_V4 } else { LEAST_MTU_V6 }
}

/// Bytes of a TCP header without options, and of the timestamps option with its padding.
const TCP_HEADER: u32 = 20;
pub(crate) const TIMESTAMP_BYTES: u32 = 12;

/// How a subflow finds out that its path takes smaller packets than expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathMtuDiscovery {
    /// By the messages of routers ([`Endpoint::handle_packet_too_big`](crate::Endpoint::handle_packet_too_big)).
    Messages,
    /// If no message comes, also by trying smaller ones after several timeouts (RFC 4821 §7.7).
    BlackHoles,
    /// The same, and every ten minutes a larger one is tried (RFC 4821 §7).
    Probing,
}

/// Whether data segments leave one after the other at a rate, or as soon as the windows let them (RFC 9002 §7.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacing {
    /// As soon as the windows let them.
    Off,
    /// At the congestion controller's rate if it has one, otherwise at the host's: 1.25 congestion windows in a round
    /// trip, or, as in the Linux kernel, 2 in slow start and 1.2 after it.
    On {
        /// The highest rate of a subflow, counted in bytes of data.
        limit: Option<Bitrate>,
        /// A segment is given out up to this long before it is to leave
        /// ([`Transmit::departure`](crate::connection::Transmit)). This is for drivers whose device holds packets until
        /// their time; it is zero for all others.
        horizon: Duration,
    },
}

/// The transport settings of each subflow, and of plain TCP.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpConfig {
    /// Largest IP packet on a path of which the endpoint knows nothing else
    /// ([`Endpoint::set_path_mtu`](crate::Endpoint::set_path_mtu)), bytes.
    pub mtu: u32,
    /// How a smaller size is discovered.
    pub path_mtu_discovery: PathMtuDiscovery,
    /// Whether data is paced.
    pub pacing: Pacing,
    /// Initial congestion window, segments (RFC 6928).
    pub initial_window: u32,
    /// Smallest retransmission timeout (RFC 6298 says 1 s, Linux has 200 ms).
    pub min_rto: Duration,
    /// Largest retransmission timeout.
    pub max_rto: Duration,
    /// Timestamps (RFC 7323).
    pub timestamps: bool,
    /// Window scaling (RFC 7323).
    pub window_scaling: bool,
    /// The window scale is at least this, even if a smaller one would do. That makes the window coarser, like that of a
    /// host with large buffers.
    pub least_window_shift: u32,
    /// Delayed acknowledgements (RFC 9293 §3.8.6.3); off: each segment is acknowledged.
    pub delayed_ack: bool,
    /// The longest that an acknowledgement is delayed (Linux: 40 ms).
    pub delayed_ack_timeout: Duration,
    /// How many segments are acknowledged at once at the start (Linux: 16).
    pub quick_acks: u32,
    /// Loss detection and recovery.
    pub recovery: LossRecovery,
    /// Proportional rate reduction (RFC 9937); off: the window halves at once.
    pub prr: bool,
    /// Limited transmit (RFC 3042) where recovery counts duplicate acknowledgements.
    pub limited_transmit: bool,
    /// The window restarts from the initial one after an idle period (RFC 5681 §4.1).
    pub restart_after_idle: bool,
    /// Explicit congestion notification (RFC 3168).
    pub ecn: bool,
    /// Retransmissions of a SYN, or of data, before the subflow is given up.
    pub max_retransmissions: u32,
    /// Each subflow's send buffer grows with its congestion window, and the connection's is as large as theirs together, at
    /// most [`ConnectionConfig::send_buffer`]. Off: the connection's send buffer has that size from the start.
    pub send_buffer_tuning: bool,
    /// The step of the clock that timers run on (Linux: 1 ms or 4 ms), as on Linux's timer wheel. Zero: timers are exact.
    pub timer_tick: Duration,
    /// How long a closed subflow keeps its addresses and ports from new ones: twice the longest time that a segment may live (RFC 9293
    /// §3.6.1). The RFC takes that to be 2 minutes and leaves it to experience; 30 s is what hosts use. With FINs that come again: at
    /// most five times as long.
    pub time_wait: Duration,
    /// The most memory that a packet keeps alive while its data waits, bytes: the size of the blocks that the device
    /// reads packets into. Waiting data is charged with it; beyond twice the receive buffer, data is copied out of its
    /// packets.
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
    /// Data bytes of the largest segment of a path, and of one with the timestamps that are asked for.
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

/// Data and option bytes of the largest segment on a path whose largest IP packet has `mtu` bytes: at least 64.
//= RFC 9293 §3.7.1 (MUST-67): "where MMS_R is the maximum size for a transport-layer message that can be received (and reassembled
//= at the IP layer)"
//= tests: handshake::options_are_offered_and_agreed, handshake::addresses_of_version_6_take_20_bytes_more
pub(crate) fn largest_segment(mtu: u32, ipv4: bool) -> u32 {
    let ip_header = if ipv4 { 20 } else { 40 };
    mtu.saturating_sub(ip_header + TCP_HEADER).max(64)
}

/// The settings of one connection.
///
/// `S` and `C` stand for the scheduler and the controller. A running connection has the factories that make them. A
/// description of one can have their names, until [`ConnectionConfig::with_algorithms`] puts the algorithms in their
/// place.
#[derive(Clone, Debug, PartialEq)]
pub struct ConnectionConfig<S = ChosenScheduler, C = ChosenController> {
    /// Multipath TCP; off: plain TCP.
    pub mptcp: bool,
    /// Transport settings of each subflow.
    pub tcp: TcpConfig,
    /// Which host's habits this side has, beyond the RFCs.
    pub host: Host,
    /// The packet scheduler of this side's sending direction.
    pub scheduler: S,
    /// The congestion controller of each subflow.
    pub congestion: C,
    /// Send buffer: bytes that the application can write beyond the first unacknowledged one.
    pub send_buffer: u64,
    /// Receive buffer, shared by all subflows.
    pub receive_buffer: ReceiveBuffer,
    /// Whether the stream's last bytes wait while earlier ones are unacknowledged (RFC 9293 §3.7.4).
    pub nagle: bool,
    /// Opportunistic retransmission and penalisation (NSDI 2012; the papers' PR, OR&P).
    pub pr: bool,
    /// How quickly a dark path is noticed.
    pub failure_detection: FailureDetection,
    /// Which subflows the client opens.
    pub path_manager: PathManager,
    /// Further local addresses join the peer's initial address where it announces no other.
    pub join_initial_address: bool,
    /// The peer may not join our initial address and port: the C flag (RFC 8684 §3.1).
    pub protect_initial_address: bool,
    /// A further subflow is opened only when no living one is left (RFC 6897 §3: single-path mode).
    pub single_path: bool,
    /// DSS checksums are asked for (RFC 8684 §3.3).
    pub checksum: bool,
    /// A subflow on which nothing has arrived for this long is probed (RFC 9293 §3.8.4); zero: never. Without any
    /// answer the connection ends after `close_timeout`.
    pub keep_alive: Duration,
    /// How long a connection survives without any living subflow, and how long a close may take.
    pub close_timeout: Duration,
    /// The most subflows.
    pub max_subflows: u8,
    /// How many addresses of the peer's announcements are used, for joins, at once. Linux calls it `add_addr_accepted`.
    pub accepted_addresses: u8,
    /// The peer may make a subflow a backup, or one like the others, while it lives (MP_PRIO, RFC 8684 §3.3.8). Off: a subflow
    /// stays what it was when it was opened.
    pub accept_priorities: bool,
    /// The peer may remove addresses (REMOVE_ADDR, RFC 8684 §3.4.2), for which it needs no key. Off: they are joined, and count among
    /// the `accepted_addresses`, as before.
    pub accept_removals: bool,
    /// A DATA_ACK also leaves on the subflow that brings it back soonest, where the window is small enough for that to count. Kernels
    /// acknowledge where the data came, so their hosts never do it.
    pub share_data_acks: bool,
}

impl<S, C> ConnectionConfig<S, C> {
    /// Multipath TCP with large buffers and these two algorithms, without anything that only some papers or kernels
    /// add.
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

    /// The same settings with other algorithms.
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
