//! A connection's state at one time, and the limit that keeps its sender from sending more, for people and programs.

use super::{Connection, ConnectionCounters, ConnectionError, HeldBy, Role, ScheduleError, SubflowSnapshot};
use crate::paths::subflow::Subflow;
use core::net::SocketAddr;
use pathweave_scheduler::{DataSeq, SubflowId, WindowState};
use pathweave_units::{Duration, Instant};

/// A connection's state at one time. Positions in the stream count bytes from its start.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ConnectionSnapshot {
    /// The side that opened the connection.
    pub role: Role,
    /// Whether the handshake of the first subflow is complete.
    pub connected: bool,
    /// Whether Multipath TCP is in use, not plain TCP; known after the handshake.
    pub multipath: bool,
    /// Why the connection ended early, if it did.
    pub error: Option<ConnectionError>,
    /// The stream to the peer.
    pub sending: SendingState,
    /// The stream from the peer.
    pub receiving: ReceivingState,
    /// The connection's counters.
    pub counters: ConnectionCounters,
    /// The error of the last scheduler decision that could not be carried out. The default scheduler decided instead.
    pub schedule_error: Option<ScheduleError>,
}

/// Progress of the stream to the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SendingState {
    /// Bytes that the application has written so far.
    pub written_bytes: u64,
    /// Bytes that the peer has acknowledged.
    pub acked_bytes: u64,
    /// Bytes assigned to subflows and not acknowledged.
    pub assigned_bytes: u64,
    /// Bytes written and not yet assigned to a subflow.
    pub unassigned_bytes: u64,
    /// Size of the window that the peer offers, bytes.
    pub window_bytes: u64,
    /// End of that window: position of the first byte that may not be sent yet.
    pub window_end: u64,
    /// Size of the connection's send buffer, bytes.
    pub buffer_bytes: u64,
}

impl SendingState {
    /// Whether the peer has acknowledged all written data.
    pub fn is_acked(&self) -> bool {
        self.acked_bytes == self.written_bytes
    }
}

/// How long a connection had data to deliver, and how long a limit held that data back (Linux: `tcpi_busy_time`,
/// `tcpi_rwnd_limited`, `tcpi_sndbuf_limited`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SendingTime {
    /// Time during which written data was not acknowledged.
    pub busy: Duration,
    /// See [`ConnectionCounters::window_limited`].
    pub window_limited: Duration,
    /// See [`ConnectionCounters::send_buffer_limited`].
    pub send_buffer_limited: Duration,
}

/// Progress of the stream from the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReceivingState {
    /// Bytes that have arrived in order so far.
    pub in_order_bytes: u64,
    /// Bytes that wait for earlier bytes of the stream.
    pub out_of_order_bytes: u64,
    /// Bytes that wait for earlier bytes in the sequence of their subflow.
    pub held_bytes: u64,
    /// End of the window that was offered to the peer.
    pub window_end: u64,
}

impl ReceivingState {
    /// Bytes that have arrived and wait for earlier bytes of the stream or of their subflow.
    pub fn waiting_bytes(&self) -> u64 {
        self.out_of_order_bytes + self.held_bytes
    }
}

/// The sending half of a subflow at one time: the part of a [`SubflowSnapshot`] for callers that ask often.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct SubflowSending {
    /// Name of the subflow.
    pub id: SubflowId,
    /// Smoothed round-trip time.
    pub smoothed_rtt: Option<Duration>,
    /// The congestion window and the segments in it.
    pub window: WindowState,
    /// Data bytes sent, including retransmissions.
    pub sent_bytes: u64,
}

impl Connection {
    /// The connection's state now.
    pub fn snapshot(&self) -> ConnectionSnapshot {
        let (map, peer) = (&self.shared.sender.map, &self.shared.sender.peer);
        ConnectionSnapshot {
            role: self.shared.role,
            connected: self.shared.life.is_connected(),
            multipath: self.is_mptcp(),
            error: self.shared.life.error(),
            sending: SendingState {
                written_bytes: map.written_end().0,
                acked_bytes: map.first_unacked().0,
                assigned_bytes: map.assigned_bytes(),
                unassigned_bytes: map.unassigned_bytes(),
                window_bytes: peer.size,
                window_end: peer.end.0,
                buffer_bytes: self.shared.send_buffer(&self.subflows),
            },
            receiving: self.receiving(),
            counters: ConnectionCounters {
                duplicate_bytes: self.shared.receiver.duplicate_bytes(),
                ..self.shared.counters
            },
            schedule_error: self.shared.scheduling.error,
        }
    }

    /// How long there was data to deliver until now, and how long a limit ([`ConnectionCounters`]) held it back.
    pub fn sending_time(&self, now: Instant) -> SendingTime {
        let mut counters = self.shared.counters;
        if let (Some(since), Some(blocked)) = (self.shared.sender.limited_since, self.shared.sender.blocked) {
            *counters.limited_by(blocked.by) += now.since(since);
        }
        SendingTime {
            busy: self.shared.sender.busy.until(now),
            window_limited: counters.window_limited,
            send_buffer_limited: counters.send_buffer_limited,
        }
    }

    /// Progress of the stream from the peer. This costs less than [`Connection::snapshot`] and suits callers that ask
    /// at each segment.
    #[inline]
    pub fn receiving(&self) -> ReceivingState {
        ReceivingState {
            in_order_bytes: self.shared.receiver.next().0,
            out_of_order_bytes: self.shared.receiver.held_bytes(),
            held_bytes: self.subflows.iter().map(|s| s.tcp.held_bytes()).sum(),
            window_end: self.shared.receiver.window.edge().0,
        }
    }

    /// The local and the remote address of a subflow; `None` if no subflow has this name.
    #[inline]
    pub fn addresses(&self, id: SubflowId) -> Option<(SocketAddr, SocketAddr)> {
        self.subflows.get(id).map(|s| (s.tcp.local, s.tcp.remote))
    }

    /// [`SubflowSnapshot::first_bytes`] of each subflow, without the rest of the snapshot: data bytes that the subflow
    /// delivered before any other did.
    #[inline]
    pub fn first_bytes(&self) -> impl Iterator<Item = (SubflowId, u64)> + '_ {
        self.subflows.iter().map(|s| (s.id, s.first_bytes))
    }

    /// The sending half of each subflow to which data may be assigned.
    #[inline]
    pub fn sending_subflows(&self) -> impl Iterator<Item = SubflowSending> + '_ {
        self.subflows.usable().map(|s| SubflowSending {
            id: s.id,
            smoothed_rtt: s.tcp.rtt().srtt(),
            window: s.window_state(),
            sent_bytes: s.tcp.counters.data_bytes_sent,
        })
    }

    /// The state of all subflows. A dead subflow is included until its name is used again.
    pub fn subflows(&self) -> impl Iterator<Item = SubflowSnapshot> + '_ {
        self.subflows.iter().map(|s| s.snapshot(self.shared.config.send_buffer))
    }
}

/// The limit that keeps a sender from sending more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// There is no new data, or no subflow yet to send it on.
    NoData,
    /// Some subflow has room in its congestion window, but the window that the peer offers is full, or has no room for
    /// a whole segment.
    WindowFull,
    /// Every subflow's congestion window, or its send buffer, is full.
    CongestionWindowsFull,
    /// There is data, room in a congestion window and room in the peer's window, but nothing was assigned: the
    /// scheduler waits.
    SchedulerWaits,
    /// A short segment waits although there is room for it: Nagle's rule holds it back, before or after it is queued on
    /// a subflow, or the application has announced more data.
    ShortSegmentWaits,
    /// A paced segment waits for its time, and there is no other data that the scheduler could assign now.
    Paced,
    /// The application has more data, and the connection's send buffer is full of data that is assigned or that Nagle's
    /// rule holds back because the segment is short; or a subflow's send buffer is full. The congestion window of some
    /// subflow has room.
    SendBufferFull,
}

impl Connection {
    /// The limit that keeps this connection from sending more. Call this when the connection is drained, so that
    /// everything that could be sent has left. `has_more`: whether the application has data that
    /// [`Endpoint::write`](crate::Endpoint::write) did not accept.
    pub fn progress(&self, has_more: bool) -> Progress {
        let usable = || self.subflows.usable();
        if !self.shared.life.is_connected() || usable().next().is_none() {
            return Progress::NoData;
        }
        let is_paced = || usable().any(|s| s.tcp.waits_for_its_time());
        // More data would wait behind a paced segment of the same subflow.
        let could_send = |s: &Subflow| s.has_window() && !s.tcp.waits_for_its_time();
        if self.shared.sender.map.unassigned_bytes() == 0 {
            let has_more = has_more && self.shared.sender.map.assigned_bytes() > 0;
            let nagle_holds = || usable().any(|s| s.tcp.nagle_holds());
            return match () {
                () if has_more && self.first_choice().any(could_send) => Progress::SendBufferFull,
                () if is_paced() => Progress::Paced,
                () if has_more && nagle_holds() => Progress::SendBufferFull,
                () if has_more => Progress::CongestionWindowsFull,
                () if nagle_holds() => Progress::ShortSegmentWaits,
                () => Progress::NoData,
            };
        }
        if self.shared.sender.is_held_back_by_window() {
            return Progress::WindowFull;
        }
        let room = self.first_choice().any(|s| s.has_space(self.shared.config.send_buffer));
        let is_last = self.shared.scheduling.held_decision == self.shared.counters.decisions;
        match self.shared.scheduling.held_by.filter(|_| is_last) {
            Some(HeldBy::SillyWindow) if room => Progress::WindowFull,
            Some(_) if room && has_more => Progress::SendBufferFull,
            Some(_) if room => Progress::ShortSegmentWaits,
            _ if room => Progress::SchedulerWaits,
            // The window has room, so the subflow's send buffer has none.
            _ if self.first_choice().any(could_send) => Progress::SendBufferFull,
            _ if is_paced() => Progress::Paced,
            _ => Progress::CongestionWindowsFull,
        }
    }

    /// The subflows that may be chosen. A backup is not used while another subflow is alive.
    fn first_choice(&self) -> impl Iterator<Item = &Subflow> {
        let is_first = |s: &&Subflow| !s.backup && s.is_alive();
        let none = self.subflows.usable().find(is_first).is_none();
        self.subflows.usable().filter(move |s| none || is_first(s))
    }

    /// A subflow that carries the byte at `at`; `None` if the byte is acknowledged or unassigned.
    pub fn holder_of(&self, at: DataSeq) -> Option<SubflowId> {
        let (_, owners) = self.shared.sender.map.span_at(at)?;
        owners.iter().next()
    }
}
