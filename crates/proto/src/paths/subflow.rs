//! A subflow as its connection sees it.

use super::health::{Health, Silence};
use super::keep_alive::KeepAlive;
use crate::congestion::Phase;
use crate::receiver::mappings::Mappings;
use crate::receiver::window::SubflowWindow;
use crate::scheduler::SubflowView;
use crate::seq::SubflowId;
use crate::subflow_state::{Delivery, PathHealth, PathTerms, QueueState, WindowState};
use crate::tcp::{Counters, Tcp};
use core::net::SocketAddr;
use pathweave_units::{Duration, Instant};
use pathweave_wire::mptcp::AddressId;

/// What is configured about a path and shown to schedulers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PathMeta {
    /// Lower is preferred.
    pub priority: u32,
    /// Cost per gigabyte.
    pub cost: f64,
    /// Bytes that may be sent.
    pub quota: Option<u64>,
    /// The path is a backup (RFC 8684 §3.3.8).
    pub backup: bool,
}

/// How far the Multipath TCP handshake of a subflow is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Join {
    /// The first subflow, or plain TCP.
    Initial,
    /// A SYN with MP_JOIN was sent (client), or answered (server).
    Pending { local_nonce: u32, remote_nonce: u32 },
    /// The client's third ACK is out; data waits for the fourth.
    AwaitFourthAck { local_nonce: u32, remote_nonce: u32 },
    /// Joined: data may flow. `carried`: some data has.
    Done { carried: bool },
}

pub(crate) struct Subflow {
    pub(crate) id: SubflowId,
    pub(crate) tcp: Tcp,
    pub(crate) join: Join,
    pub(crate) local_id: AddressId,
    pub(crate) remote_id: AddressId,
    pub(crate) meta: PathMeta,
    pub(crate) backup: bool,
    pub(crate) health: Health,
    /// What observers were last told that it is.
    pub(crate) shown_health: PathHealth,
    pub(crate) silence: Silence,
    /// When the client sends its third ACK again, unless the fourth comes first (RFC 8684 §3.2).
    pub(crate) third_ack_again: Option<Instant>,
    /// Data bytes that arrived here before they arrived elsewhere.
    pub(crate) first_bytes: u64,
    pub(crate) penalised_at: Option<Instant>,
    /// Acknowledge the peer's DATA_FIN, or send ours, on this subflow.
    pub(crate) send_data_fin: bool,
    pub(crate) keep_alive: KeepAlive,
    /// The priority that MP_PRIO still has to tell the peer.
    pub(crate) send_priority: Option<bool>,
    /// A data sequence signal has come on this subflow.
    pub(crate) data_signal_seen: bool,
    /// The last acknowledgement of new data had no such signal: the peer may have fallen back to plain TCP.
    pub(crate) answered_plainly: bool,
    pub(crate) mappings: Mappings,
    pub(crate) window: SubflowWindow,
}

impl Subflow {
    pub(crate) fn new(id: SubflowId, tcp: Tcp, join: Join, meta: PathMeta) -> Self {
        Subflow {
            id,
            tcp,
            join,
            local_id: AddressId(0),
            remote_id: AddressId(0),
            meta,
            backup: meta.backup,
            health: Health::default(),
            shown_health: PathHealth::Opening,
            silence: Silence::default(),
            third_ack_again: None,
            first_bytes: 0,
            penalised_at: None,
            send_data_fin: false,
            keep_alive: KeepAlive::default(),
            send_priority: None,
            data_signal_seen: false,
            answered_plainly: false,
            mappings: Mappings::default(),
            window: SubflowWindow::default(),
        }
    }

    /// Whether it runs between these addresses.
    #[inline]
    pub(crate) fn is_between(&self, local: &SocketAddr, remote: &SocketAddr) -> bool {
        crate::address_pair::is_same((&self.tcp.local, &self.tcp.remote), (local, remote))
    }

    /// Both directions have ended, or it was reset: what is left is to wait for old segments, if anything.
    pub(crate) fn has_ended(&self) -> bool {
        self.tcp.is_closed() || self.tcp.in_time_wait()
    }

    /// Data may be assigned to it, and its path does not seem dark.
    pub(crate) fn is_alive(&self) -> bool {
        self.usable() && !self.health.is_stale()
    }

    /// As [`Subflow::is_alive`], and no answer is overdue.
    pub(crate) fn answers(&self) -> bool {
        self.is_alive() && !self.health.is_late()
    }

    /// The Multipath TCP handshake of a further subflow is complete.
    pub(crate) fn has_joined(&self) -> bool {
        matches!(self.join, Join::Done { .. })
    }

    /// Data may be assigned to it.
    pub(crate) fn usable(&self) -> bool {
        self.tcp.can_send() && matches!(self.join, Join::Initial | Join::Done { .. })
    }

    /// As [`SubflowView::has_space`], without a view.
    pub(crate) fn has_space(&self, send_buffer: u64) -> bool {
        let (tcp, queue) = (&self.tcp, self.tcp.queue());
        tcp.window().cwnd > tcp.in_flight().saturating_add(queue.unsent())
            && tcp.send_buffer(send_buffer) > tcp.queued_memory()
    }

    pub(crate) fn view(&self, send_buffer: u64) -> SubflowView {
        let tcp = &self.tcp;
        let queue = tcp.queue();
        let window = tcp.window();
        SubflowView {
            id: self.id,
            backup: self.backup,
            stale: self.health.is_stale(),
            mss: tcp.mss(),
            path: PathTerms {
                priority: self.meta.priority,
                cost: self.meta.cost,
                quota_left: self.meta.quota.map(|q| q.saturating_sub(tcp.counters.data_bytes_sent)),
            },
            rtt: tcp.rtt().state(),
            window: WindowState {
                cwnd: window.cwnd,
                ssthresh: window.ssthresh,
                in_flight: tcp.in_flight(),
                unacked: queue.packets_out(),
                app_limited: !tcp.cwnd_limited(),
                phase: tcp.phase(),
                growth: tcp.growth(),
            },
            queue: QueueState {
                unsent: queue.unsent(),
                bytes: queue.queued_bytes(),
                memory: tcp.queued_memory(),
                space: tcp.send_buffer(send_buffer).saturating_sub(tcp.queued_memory()),
            },
            delivery: Delivery {
                loss: tcp.loss_estimate(),
                rate: tcp.delivery_rate(),
                pacing_rate: tcp.pacing_rate(),
                round_start: tcp.round_start(),
                last_sent: tcp.last_sent(),
            },
        }
    }

    pub(crate) fn info(&self) -> SubflowInfo {
        SubflowInfo {
            id: self.id,
            local: self.tcp.local,
            remote: self.tcp.remote,
            usable: self.usable(),
            stale: self.health.is_stale(),
            closed: self.tcp.is_closed(),
            counters: self.tcp.counters,
            first_bytes: self.first_bytes,
            held_bytes: self.tcp.held_bytes(),
            srtt: self.tcp.rtt().srtt(),
            rto: self.tcp.rto(),
            path_mtu: self.tcp.path_mtu(),
            cwnd: self.tcp.window().cwnd,
            in_flight: self.tcp.in_flight(),
            phase: self.tcp.phase(),
        }
    }
}

/// A subflow's state for the application and for measurements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SubflowInfo {
    /// Its name.
    pub id: SubflowId,
    /// Our address.
    pub local: SocketAddr,
    /// The peer's address.
    pub remote: SocketAddr,
    /// Data may be assigned to it.
    pub usable: bool,
    /// It shows no sign of life.
    pub stale: bool,
    /// It is over.
    pub closed: bool,
    /// What was counted.
    pub counters: Counters,
    /// Data bytes that arrived here before they arrived on any other subflow.
    pub first_bytes: u64,
    /// Data bytes that wait for a hole in the subflow's own sequence.
    pub held_bytes: u64,
    /// Smoothed round-trip time.
    pub srtt: Option<Duration>,
    /// The retransmission timeout in force.
    pub rto: Duration,
    /// Size of the largest IP packet on its path, as far as that is known, bytes.
    pub path_mtu: u32,
    /// Congestion window, segments.
    pub cwnd: u32,
    /// Segments in flight.
    pub in_flight: u32,
    /// Phase of its congestion control.
    pub phase: Phase,
}
