//! A subflow as its connection sees it.

use super::health::KeepAlive;
use super::health::{Health, Silence};
use crate::receiver::mappings::Mappings;
use crate::receiver::window::SubflowWindow;
use crate::scheduler::SubflowView;
use crate::seq::{DataSeq, SubflowId};
use crate::subflow_state::{Delivery, PathHealth, PathTerms, QueueState, RoundTrip, WindowState};
use crate::tcp::{Counters, Tcp, TcpInfo};
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
    /// When it was penalised; on an mptcp.org host: when it made another one be.
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
    /// The last DATA_ACK that left here, without a DATA_FIN's octet.
    pub(crate) told: DataSeq,
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
            told: DataSeq(0),
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
        SubflowView {
            id: self.id,
            backup: self.backup,
            stale: self.health.is_stale(),
            mss: self.tcp.mss(),
            path: self.path_terms(),
            rtt: self.tcp.rtt().state(),
            window: self.window_state(),
            queue: self.queue_state(send_buffer),
            delivery: self.delivery(),
        }
    }

    pub(crate) fn snapshot(&self, send_buffer: u64) -> SubflowSnapshot {
        SubflowSnapshot {
            id: self.id,
            local: self.tcp.local,
            remote: self.tcp.remote,
            backup: self.backup,
            usable: self.usable(),
            closed: self.tcp.is_closed(),
            health: self.health.shown(),
            mss: self.tcp.mss(),
            rto: self.tcp.rto(),
            first_bytes: self.first_bytes,
            held_bytes: self.tcp.held_bytes(),
            path_mtu: self.tcp.path_mtu(),
            path: self.path_terms(),
            rtt: self.tcp.rtt().state(),
            window: self.window_state(),
            queue: self.queue_state(send_buffer),
            delivery: self.delivery(),
            tcp: self.tcp.info(),
            counters: self.tcp.counters,
        }
    }

    fn path_terms(&self) -> PathTerms {
        let sent = self.tcp.counters.data_bytes_sent;
        let PathMeta { priority, cost, quota, .. } = self.meta;
        PathTerms { priority, cost, quota_left: quota.map(|q| q.saturating_sub(sent)) }
    }

    fn window_state(&self) -> WindowState {
        let tcp = &self.tcp;
        let window = tcp.window();
        WindowState {
            cwnd: window.cwnd,
            ssthresh: window.ssthresh,
            in_flight: tcp.in_flight(),
            unacked: tcp.queue().packets_out(),
            app_limited: !tcp.cwnd_limited(),
            phase: tcp.phase(),
            growth: tcp.growth(),
        }
    }

    fn queue_state(&self, send_buffer: u64) -> QueueState {
        let (tcp, memory) = (&self.tcp, self.tcp.queued_memory());
        QueueState {
            unsent: tcp.queue().unsent(),
            bytes: tcp.queue().queued_bytes(),
            memory,
            space: tcp.send_buffer(send_buffer).saturating_sub(memory),
        }
    }

    fn delivery(&self) -> Delivery {
        let tcp = &self.tcp;
        Delivery {
            loss: tcp.loss_estimate(),
            rate: tcp.delivery_rate(),
            pacing_rate: tcp.pacing_rate(),
            round_start: tcp.round_start(),
            last_sent: tcp.last_sent(),
        }
    }
}

/// A subflow's state at one time. The groups are those that schedulers see.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SubflowSnapshot {
    /// Its name.
    pub id: SubflowId,
    /// Our address.
    pub local: SocketAddr,
    /// The peer's address.
    pub remote: SocketAddr,
    /// Carries data only while no other subflow can (RFC 8684 §3.3.8).
    pub backup: bool,
    /// Data may be assigned to it.
    pub usable: bool,
    /// It is over, and does not even wait for old segments any more.
    pub closed: bool,
    /// What the connection takes its path for.
    pub health: PathHealth,
    /// Data bytes of a full segment.
    pub mss: u32,
    /// The retransmission timeout in force.
    pub rto: Duration,
    /// Data bytes that arrived here before they arrived on any other subflow.
    pub first_bytes: u64,
    /// Data bytes that wait for a hole in the subflow's own sequence.
    pub held_bytes: u64,
    /// Size of the largest IP packet on its path, as far as that is known, bytes.
    pub path_mtu: u32,
    /// What is configured about its path.
    pub path: PathTerms,
    /// How long a round trip takes.
    pub rtt: RoundTrip,
    /// Its congestion window and what is in it.
    pub window: WindowState,
    /// What it was given and has not been acknowledged.
    pub queue: QueueState,
    /// What comes of sending.
    pub delivery: Delivery,
    /// Its TCP, beside all that.
    pub tcp: TcpInfo,
    /// What was counted.
    pub counters: Counters,
}
