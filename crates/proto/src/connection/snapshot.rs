//! A connection's state at one time, and what keeps its sender from sending more, for people and programs that want to
//! know.

use super::{Connection, ConnectionCounters, ConnectionError, HeldBy, Role, ScheduleError, SubflowSnapshot};
use crate::seq::{DataSeq, SubflowId};
use core::net::SocketAddr;
use pathweave_units::{Duration, Instant};

/// A connection's state at one time. All places in the stream are bytes from its first one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConnectionSnapshot {
    /// Which side opened it.
    pub role: Role,
    /// The handshake of the first subflow is complete.
    pub connected: bool,
    /// Multipath TCP is in use, not plain TCP (known after the handshake).
    pub multipath: bool,
    /// Why it ended early.
    pub error: Option<ConnectionError>,
    /// The stream to the peer.
    pub sending: SendingState,
    /// The stream from the peer.
    pub receiving: ReceivingState,
    /// What was counted.
    pub counters: ConnectionCounters,
    /// Why the scheduler's last decision that could not be carried out was wrong; the default took over then.
    pub schedule_error: Option<ScheduleError>,
}

/// How far the stream to the peer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendingState {
    /// Bytes that the application has written so far.
    pub written_bytes: u64,
    /// Of these, bytes that the peer has acknowledged.
    pub acked_bytes: u64,
    /// Bytes assigned to subflows and not acknowledged.
    pub assigned_bytes: u64,
    /// Bytes written and assigned to no subflow yet.
    pub unassigned_bytes: u64,
    /// The whole window that the peer offers, bytes.
    pub window_bytes: u64,
    /// The first byte that the peer does not take yet.
    pub window_end: u64,
    /// The connection's send buffer, bytes.
    pub buffer_bytes: u64,
}

impl SendingState {
    /// Whether the peer has acknowledged everything that was written.
    pub fn is_acked(&self) -> bool {
        self.acked_bytes == self.written_bytes
    }
}

/// How long a connection had something to deliver, and what held it back (Linux: `tcpi_busy_time`, `tcpi_rwnd_limited`,
/// `tcpi_sndbuf_limited`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendingTime {
    /// Something that was written was not acknowledged.
    pub busy: Duration,
    /// See [`ConnectionCounters::window_limited`].
    pub window_limited: Duration,
    /// See [`ConnectionCounters::send_buffer_limited`].
    pub send_buffer_limited: Duration,
}

/// How far the stream from the peer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceivingState {
    /// Bytes that have arrived in order so far.
    pub in_order_bytes: u64,
    /// Bytes that wait for earlier ones of the stream.
    pub out_of_order_bytes: u64,
    /// Bytes that wait for a hole in their subflow's own sequence.
    pub held_bytes: u64,
    /// The first byte beyond the window that was offered to the peer.
    pub window_end: u64,
}

impl ReceivingState {
    /// Bytes that have arrived and wait for earlier ones, of the stream or of their subflow.
    pub fn waiting_bytes(&self) -> u64 {
        self.out_of_order_bytes + self.held_bytes
    }
}

impl Connection {
    /// The connection's state now.
    pub fn snapshot(&self) -> ConnectionSnapshot {
        let (map, peer) = (&self.sender.map, &self.sender.peer);
        ConnectionSnapshot {
            role: self.role,
            connected: self.life.is_connected(),
            multipath: self.is_mptcp(),
            error: self.life.error(),
            sending: SendingState {
                written_bytes: map.written_end().0,
                acked_bytes: map.first_unacked().0,
                assigned_bytes: map.assigned_bytes(),
                unassigned_bytes: map.unassigned_bytes(),
                window_bytes: peer.size,
                window_end: peer.end.0,
                buffer_bytes: self.send_buffer(),
            },
            receiving: self.receiving(),
            counters: ConnectionCounters { duplicate_bytes: self.receiver.duplicate_bytes(), ..self.counters },
            schedule_error: self.scheduling.error,
        }
    }

    /// How long there was something to deliver until now, and what held it back ([`ConnectionCounters`]) in that time.
    pub fn sending_time(&self, now: Instant) -> SendingTime {
        let mut counters = self.counters;
        if let (Some(since), Some(blocked)) = (self.sender.limited_since, self.sender.blocked) {
            *counters.limited_by(blocked.by) += now.since(since);
        }
        SendingTime {
            busy: self.sender.busy.until(now),
            window_limited: counters.window_limited,
            send_buffer_limited: counters.send_buffer_limited,
        }
    }

    /// How far the stream from the peer is. It costs less than all of [`Connection::snapshot`], for those who ask at each segment.
    #[inline]
    pub fn receiving(&self) -> ReceivingState {
        ReceivingState {
            in_order_bytes: self.receiver.next().0,
            out_of_order_bytes: self.receiver.held_bytes(),
            held_bytes: self.subflows.iter().map(|s| s.tcp.held_bytes()).sum(),
            window_end: self.receiver.window.edge().0,
        }
    }

    /// The addresses of a subflow, ours first; `None` if there is none of this name.
    #[inline]
    pub fn addresses(&self, id: SubflowId) -> Option<(SocketAddr, SocketAddr)> {
        self.subflows.get(id).map(|s| (s.tcp.local, s.tcp.remote))
    }

    /// Data bytes that each subflow brought before any other did ([`SubflowSnapshot::first_bytes`]), without the rest of the snapshot.
    #[inline]
    pub fn first_bytes(&self) -> impl Iterator<Item = (SubflowId, u64)> + '_ {
        self.subflows.iter().map(|s| (s.id, s.first_bytes))
    }

    /// The state of all subflows that exist, dead ones too until their names are given again.
    pub fn subflows(&self) -> impl Iterator<Item = SubflowSnapshot> + '_ {
        self.subflows.iter().map(|s| s.snapshot(self.config.send_buffer))
    }
}

/// What keeps a sender from sending more, or that nothing does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// There is nothing new to send, or nobody to send it to yet.
    NoData,
    /// Some subflow has room in its congestion window, and the window that the peer offers is full, or has no room for a whole segment.
    WindowFull,
    /// Every subflow's congestion window, or its send buffer, is full.
    CongestionWindowsFull,
    /// There is data, room in a congestion window and room in the peer's window, and still nothing was assigned: the scheduler
    /// waits.
    SchedulerWaits,
    /// As before, but the scheduler has assigned what Nagle's rule, or an application that has more to come, keeps as a short segment. Also
    /// a short segment that a subflow was given and that Nagle's rule keeps there.
    ShortSegmentWaits,
    /// No data waits for a scheduler that could assign it, and a paced segment waits for its time.
    Paced,
}

impl Connection {
    /// What keeps this connection from sending more. Ask this when the connection is drained, so that everything that
    /// could be sent has left.
    pub fn progress(&self) -> Progress {
        let usable = || self.subflows.usable();
        if !self.life.is_connected() || usable().next().is_none() {
            return Progress::NoData;
        }
        let is_paced = || usable().any(|s| s.tcp.waits_for_its_time());
        if self.sender.map.unassigned_bytes() == 0 {
            return match () {
                () if is_paced() => Progress::Paced,
                () if usable().any(|s| s.tcp.nagle_holds()) => Progress::ShortSegmentWaits,
                () => Progress::NoData,
            };
        }
        if self.sender.is_held_back_by_window() {
            return Progress::WindowFull;
        }
        // A backup has room all the time, and it is not for use while another subflow lives.
        let first_choice = || usable().filter(|s| !s.backup && s.is_alive());
        let send_buffer = self.config.send_buffer;
        let room = match first_choice().next() {
            Some(_) => first_choice().any(|s| s.has_space(send_buffer)),
            None => usable().any(|s| s.has_space(send_buffer)),
        };
        let held = self.scheduling.held.filter(|(decision, _)| *decision == self.counters.decisions);
        match held.map(|(_, by)| by) {
            Some(HeldBy::SillyWindow) if room => Progress::WindowFull,
            Some(_) if room => Progress::ShortSegmentWaits,
            _ if room => Progress::SchedulerWaits,
            _ if is_paced() => Progress::Paced,
            _ => Progress::CongestionWindowsFull,
        }
    }

    /// The subflow that carries the byte at `at`; nothing for a byte that is acknowledged or assigned to nobody.
    pub fn holder_of(&self, at: DataSeq) -> Option<SubflowId> {
        let (_, owners) = self.sender.map.span_at(at)?;
        owners.iter().next()
    }
}
