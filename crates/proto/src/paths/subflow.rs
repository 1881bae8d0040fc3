//! A subflow as its connection sees it.

use super::health::{Health, PROBE_INTERVAL, UnansweredTimeouts};
use super::keep_alive::KeepAlive;
use crate::paths::health::PathHealth;
use crate::receiver::mappings::Mappings;
use crate::receiver::window::SubflowWindow;
use crate::tcp::{Counters, Tcp, TcpInfo};
use core::net::SocketAddr;
use pathweave_scheduler::{DataSeq, Delivery, PathTerms, QueueState, RoundTrip, SubflowId, SubflowView, WindowState};
use pathweave_units::{Duration, Instant};
use pathweave_wire::mptcp::AddressId;

/// Settings of a path that schedulers see.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PathMeta {
    /// Priority; a lower number is preferred.
    pub priority: u32,
    /// Cost per gigabyte.
    pub cost: f64,
    /// Bytes that may be sent, if the path has a quota.
    pub quota: Option<u64>,
    /// Whether the path is a backup (RFC 8684 §3.3.8).
    pub backup: bool,
}

/// Progress of a subflow's Multipath TCP handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Join {
    /// The first subflow, or plain TCP.
    Initial,
    /// A SYN with MP_JOIN was sent (client) or answered (server).
    Pending { local_nonce: u32, remote_nonce: u32 },
    /// The client has sent its third ACK; data waits for the fourth.
    AwaitFourthAck { local_nonce: u32, remote_nonce: u32 },
    /// The subflow has joined: data may flow. `carried`: some data has.
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
    /// State of the path that observers were last told.
    pub(crate) shown_health: PathHealth,
    pub(crate) silence: UnansweredTimeouts,
    /// When the client repeats its third ACK, unless the fourth comes first (RFC 8684 §3.2).
    pub(crate) third_ack_again: Option<Instant>,
    /// Data bytes that arrived on this subflow before they arrived on others.
    pub(crate) first_bytes: u64,
    /// When the subflow was last penalised; on an mptcp.org host, when another one was last penalised for its benefit.
    pub(crate) penalised_at: Option<Instant>,
    /// Whether our DATA_FIN is to be sent on this subflow.
    pub(crate) send_data_fin: bool,
    pub(crate) keep_alive: KeepAlive,
    /// The priority that MP_PRIO still has to announce to the peer.
    pub(crate) send_priority: Option<bool>,
    /// Whether a data sequence signal has come on this subflow.
    pub(crate) data_signal_seen: bool,
    /// Whether the last acknowledgement of new data had no such signal, so that the peer may have fallen back to plain
    /// TCP.
    pub(crate) answered_plainly: bool,
    pub(crate) mappings: Mappings,
    pub(crate) window: SubflowWindow,
    /// The last DATA_ACK that left on this subflow, without the octet of a DATA_FIN.
    pub(crate) last_data_ack_sent: DataSeq,
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
            silence: UnansweredTimeouts::default(),
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
            last_data_ack_sent: DataSeq(0),
        }
    }

    /// Whether the subflow runs between these addresses.
    #[inline]
    pub(crate) fn is_between(&self, local: &SocketAddr, remote: &SocketAddr) -> bool {
        crate::address_pair::is_same((&self.tcp.local, &self.tcp.remote), (local, remote))
    }

    /// Whether both directions have ended or the subflow was reset, so that it can at most wait for old segments.
    pub(crate) fn has_ended(&self) -> bool {
        self.tcp.is_closed() || self.tcp.in_time_wait()
    }

    /// Whether data may be assigned to the subflow and its path does not seem dark.
    pub(crate) fn is_alive(&self) -> bool {
        self.usable() && !self.health.is_stale()
    }

    /// Whether the subflow is alive ([`Subflow::is_alive`]) and no answer is overdue.
    pub(crate) fn answers(&self) -> bool {
        self.is_alive() && !self.health.is_late()
    }

    /// Handles a retransmission timeout with failure detection `fast`: the subflow gets no new data until it shows a
    /// sign of life. `longest`: the longest time between probes of a closed window.
    pub(crate) fn time_out(&mut self, longest: Duration) {
        // A path on which the peer has closed its window is not dark. Its repetitions are window probes, and their
        // interval grows.
        let interval = if self.tcp.peer_window() == 0 { longest } else { PROBE_INTERVAL };
        self.tcp.probe_at_least_every(Some(interval));
        self.health.time_out();
    }

    /// Lets the subflow carry new data again because the peer has answered. Returns whether its path was stale.
    #[inline]
    pub(crate) fn revive(&mut self, now: Instant) -> bool {
        let was_stale = self.health.answer();
        if was_stale {
            self.tcp.answered_again(now);
        }
        was_stale
    }

    /// Whether data in flight, which is retransmitted in place of probes, has gone unanswered for this long.
    pub(crate) fn repeats_for(&self, now: Instant, timeout: Duration) -> bool {
        let stale = self.health.is_stale() && self.tcp.queue().packets_out() > 0;
        stale && now.since(self.keep_alive.heard_at()) >= timeout
    }

    /// Whether the Multipath TCP handshake of a further subflow is complete.
    pub(crate) fn has_joined(&self) -> bool {
        matches!(self.join, Join::Done { .. })
    }

    /// Whether data may be assigned to the subflow.
    pub(crate) fn usable(&self) -> bool {
        self.tcp.can_send() && matches!(self.join, Join::Initial | Join::Done { .. })
    }

    /// As [`SubflowView::has_space`], without a view.
    pub(crate) fn has_space(&self, send_buffer: u64) -> bool {
        self.has_window() && self.tcp.send_buffer(send_buffer) > self.tcp.queued_memory()
    }

    /// Whether the congestion window has room beyond the data that is queued.
    pub(crate) fn has_window(&self) -> bool {
        let (tcp, queue) = (&self.tcp, self.tcp.queue());
        tcp.window().cwnd > tcp.in_flight().saturating_add(queue.unsent())
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

    pub(crate) fn window_state(&self) -> WindowState {
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

/// A subflow's state at one time, in the groups that schedulers see.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct SubflowSnapshot {
    /// Name of the subflow.
    pub id: SubflowId,
    /// Our address.
    pub local: SocketAddr,
    /// The peer's address.
    pub remote: SocketAddr,
    /// Whether the subflow carries data only while no other can (RFC 8684 §3.3.8).
    pub backup: bool,
    /// Whether data may be assigned to the subflow.
    pub usable: bool,
    /// Whether the subflow has ended and no longer waits for old segments.
    pub closed: bool,
    /// The connection's judgement of the subflow's path.
    pub health: PathHealth,
    /// Data bytes of a full segment.
    pub mss: u32,
    /// The retransmission timeout in force.
    pub rto: Duration,
    /// Data bytes that arrived on this subflow before they arrived on any other.
    pub first_bytes: u64,
    /// Data bytes that wait for a hole in the subflow's own sequence.
    pub held_bytes: u64,
    /// Size of the largest IP packet on the subflow's path, as far as it is known, bytes.
    pub path_mtu: u32,
    /// Settings of the subflow's path.
    pub path: PathTerms,
    /// Measured round-trip times.
    pub rtt: RoundTrip,
    /// The congestion window and the segments in it.
    pub window: WindowState,
    /// Data that was assigned to the subflow and is not acknowledged.
    pub queue: QueueState,
    /// Losses and rates.
    pub delivery: Delivery,
    /// State of the subflow's TCP that is in none of the groups above.
    pub tcp: TcpInfo,
    /// Counters since the subflow began.
    pub counters: Counters,
}
