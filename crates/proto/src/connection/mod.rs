//! One Multipath TCP connection, or plain TCP: the data stream, its subflows, and who carries what.
//!
//! Submodules by concern: `handshake` (MP_CAPABLE, MP_JOIN, fallback), `input` (segments and timers), `output` (segments to
//! send), `fallback` (to plain TCP), `addresses` (ADD_ADDR), `schedule` (asking the scheduler and carrying out its decisions),
//! `blocking` (what holds data back, and telling the scheduler),
//! `delegate` (grants that wait for the end of an instant), `reinject` (reinjection, opportunistic retransmission, failure
//! detection), `trace` (decisions, for people to read), `progress` (what keeps the sender from sending), `joins` (further subflows), `close` (DATA_FIN and the end).

mod addresses;
mod blocking;
mod close;
mod delegate;
mod errors;
mod fallback;
mod handshake;
mod input;
mod joins;
mod messages;
mod output;
mod progress;
mod reinject;
mod schedule;
mod send_memory;
mod trace;

pub use crate::paths::subflow::{PathMeta, SubflowInfo};
pub use crate::sender::send_map::SendMap;
pub use errors::{ConnectionError, ReadError, UnknownConnection, WriteError};
pub(crate) use handshake::{join, names_capable};
pub use output::Transmit;
pub use progress::Progress;
pub use schedule::ScheduleError;
pub use trace::{Carried, Decided, Given, Saw, Trace};

use crate::config::{ConnectionConfig, FailureDetection};
use crate::congestion::PathState;
use crate::host::HostState;
use crate::paths::addresses::AddressBook;
use crate::paths::joins::JoinPlan;
use crate::paths::subflow::Subflow;
use crate::paths::table::SubflowTable;
use crate::rate_limiter::RateLimiter;
use crate::receiver::Receiver;
use crate::scheduler::{Event, Scheduler, SubflowView};
use crate::sender::send_buffer::SendBuffer;
use crate::seq::{DataSeq, SubflowId};
use crate::tcp::Changes;
use blocking::Blocked;
use core::net::SocketAddr;
use core::ops::Range;
use handshake::Mode;
use messages::Messages;
use pathweave_units::{Duration, Instant};
use pathweave_wire::{Payload, Segment};
use std::collections::VecDeque;

/// How long a kernel's reader takes until the acknowledgement that it causes leaves. The acknowledgements that the kernel sends by itself
/// while it takes segments leave earlier, and so not in the same instant.
const READING: Duration = Duration::from_nanos(500);

/// For so many times the close timeout living subflows keep a connection alive whose stream stands still.
const STANDSTILLS: u64 = 3;

/// Which side opened the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// This side.
    Client,
    /// The peer.
    Server,
}

/// Something that the application, or the endpoint, should know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionEvent {
    /// Data can be written.
    Connected,
    /// There is data to read, or the end of the stream.
    Readable,
    /// The send buffer has room again.
    Writable,
    /// A subflow can carry data.
    SubflowUp(SubflowId),
    /// A subflow is over.
    SubflowDown(SubflowId),
    /// Both directions ended in order.
    Closed,
    /// The connection is over for this reason.
    Failed(ConnectionError),
}

/// What counts over a connection's life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionCounters {
    /// Segments assigned again after a timeout or with a dead subflow.
    pub reinjected_segments: u64,
    /// Segments that opportunistic retransmission assigned.
    pub opportunistic_retransmissions: u64,
    /// Windows halved by penalisation.
    pub penalisations: u64,
    /// Decisions asked of the scheduler.
    pub decisions: u64,
    /// Decisions that were not possible, where the default took over.
    pub invalid_decisions: u64,
    /// Time in which there was data, and room in some subflow's congestion window, and the send window was full.
    pub window_limited: Duration,
    /// Data bytes that arrived more than once at the data level.
    pub duplicate_bytes: u64,
}

/// Where our DATA_FIN is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DataFin {
    NotRequested,
    /// The application has closed; data is still unassigned.
    Requested,
    /// Sent; sent again at this time unless it is acknowledged.
    Sent(Instant),
    Acked,
}

/// One connection.
pub struct Connection {
    config: ConnectionConfig,
    role: Role,
    mode: Mode,
    connected: bool,
    error: Option<ConnectionError>,
    subflows: SubflowTable,
    /// What the host remembers of this connection beyond what the RFCs ask for.
    host: HostState,

    // Sending.
    send: SendMap,
    buffer: SendBuffer,
    /// Where the application's messages end.
    messages: Messages,
    scheduler: Box<dyn Scheduler>,
    /// The first byte beyond the peer's window, and the size of the window that the peer last announced.
    send_window_end: DataSeq,
    send_window: u64,
    /// What holds data back although some subflow has window space, as the scheduler was told.
    blocked: Option<Blocked>,
    /// Until when the peer's window has been counted as holding data back.
    window_limited_since: Option<Instant>,
    /// The scheduler asked to be asked again.
    scheduler_wake: Option<Instant>,
    /// The subflow whose segment is being processed.
    acknowledged_now: Option<SubflowId>,
    /// Ranges that another subflow must carry again.
    reinject: VecDeque<Range<DataSeq>>,
    /// Some subflow is late: others carry what it carries.
    passing_by: bool,
    /// The last decision that could not be carried out.
    schedule_error: Option<ScheduleError>,
    data_fin: DataFin,
    /// When a peer's window is probed, and how often it was; or when a piece of a small window goes out after all.
    window_probe: Option<(Instant, u32)>,
    window_override: bool,
    /// Mainline's connection-level retransmission timer.
    data_timer: Option<Instant>,
    /// When to check whether the stream has come to a halt.
    check: Option<Instant>,
    /// When the first unacknowledged byte last moved on, or when data was first outstanding.
    moved_at: Instant,
    largest_send_window: u64,
    /// The last sign of life that something outstanding got, or when it became outstanding.
    progress_at: Instant,
    /// When the peer last acknowledged anything at the data level, refused more for want of room, or had nothing to
    /// acknowledge.
    stream_moved_at: Instant,
    write_blocked: bool,

    receiver: Receiver,
    addresses: AddressBook,
    joins: JoinPlan,

    challenges: RateLimiter,
    /// DSS checksums are in use: one of both sides has asked for them.
    checksum: bool,
    /// The peer has acknowledged data, or the end of the stream, by a DATA_ACK.
    data_ack_seen: bool,
    signals: fallback::FallbackSignals,
    /// Another subflow has proved what it is: from then on the peer may use it, so that the first one's sequence need not be
    /// that of the peer's stream any more.
    peer_may_use_joins: bool,
    /// Another subflow has joined, as the peer knows too: it will not take the first one's sequence for our stream's.
    ever_joined: bool,

    /// Segments outside of any subflow's stream: resets.
    control: VecDeque<Segment>,
    events: VecDeque<ConnectionEvent>,
    counters: ConnectionCounters,
    next_output: SubflowId,
    closed_reported: bool,
    /// The application has closed a connection that failed, or aborted it.
    abandoned: bool,
    /// Recorded decisions that have not been polled yet; none unless [`Connection::trace_decisions`] was called.
    trace: Option<VecDeque<Trace>>,

    // Reused, so that nothing is allocated per segment.
    changes: Option<Box<Changes>>,
    views: Vec<SubflowView>,
    paths: Vec<PathState>,
}

impl Connection {
    /// Whether the handshake of the first subflow is complete.
    pub fn is_connected(&self) -> bool {
        self.connected
    }
    /// Whether Multipath TCP is in use (after the handshake).
    pub fn is_mptcp(&self) -> bool {
        matches!(self.mode, Mode::Mptcp(_))
    }
    /// Plain TCP is in use, for good.
    pub(crate) fn is_plain(&self) -> bool {
        matches!(self.mode, Mode::Plain)
    }
    /// Our address of the first subflow: its port is the connection's.
    pub fn local_address(&self) -> SocketAddr {
        self.addresses.initial_local()
    }
    /// The peer's address of the first subflow.
    pub fn remote_address(&self) -> SocketAddr {
        self.addresses.remote()[0].1
    }
    /// Why the connection ended early.
    pub fn error(&self) -> Option<ConnectionError> {
        self.error
    }
    /// What was counted.
    pub fn counters(&self) -> ConnectionCounters {
        ConnectionCounters { duplicate_bytes: self.receiver.duplicate_bytes(), ..self.counters }
    }
    /// Why the scheduler's last decision that could not be carried out was wrong; the default took over then.
    pub fn schedule_error(&self) -> Option<ScheduleError> {
        self.schedule_error
    }
    /// The settings.
    pub fn config(&self) -> &ConnectionConfig {
        &self.config
    }
    /// Bytes that wait out of order at the data level.
    pub fn out_of_order_bytes(&self) -> u64 {
        self.receiver.held_bytes()
    }
    /// Bytes that wait for a hole in their subflow's own sequence.
    pub fn held_bytes(&self) -> u64 {
        self.subflows.iter().map(|s| s.tcp.held_bytes()).sum()
    }
    /// Bytes received in order so far, at the data level.
    pub fn received_bytes(&self) -> u64 {
        self.receiver.next().0
    }
    /// Bytes written so far.
    pub fn written_bytes(&self) -> u64 {
        self.send.written_end().0
    }
    /// Bytes acknowledged by the peer so far.
    pub fn acked_bytes(&self) -> u64 {
        self.send.first_unacked().0
    }
    /// All subflows that exist, dead ones too until their names are given again.
    pub fn subflows(&self) -> impl Iterator<Item = SubflowInfo> + '_ {
        self.subflows.iter().map(Subflow::info)
    }
    /// The first byte beyond the window offered to the peer.
    pub fn offered_edge(&self) -> u64 {
        self.receiver.window.edge().0
    }
    /// Whether everything is over: both directions closed, or an error.
    pub fn is_finished(&self) -> bool {
        self.error.is_some() || (self.closed_reported && self.subflows.iter().all(|s| s.tcp.is_closed()))
    }

    /// Whether nothing more will come of it: every subflow closed, everything sent, all data read or never to be read.
    pub(crate) fn is_released(&self) -> bool {
        let closed = self.subflows.iter().all(|s| s.tcp.is_closed());
        // After a failure what came in order before it can still be read, until the application closes.
        let failed = self.error.is_some() && (self.abandoned || self.receiver.ready_bytes() == 0);
        // Without any subflow it may still be joined: only what was told to be over is.
        let over = self.closed_reported && self.receiver.drained();
        closed && self.control.is_empty() && self.events.is_empty() && (failed || over)
    }

    /// Appends data to the stream; takes as much as the send buffer has room for and returns the number of bytes taken.
    ///
    /// A virtual payload must start where the stream ends.
    ///
    /// # Errors
    /// When there is no room for a single byte, and when nothing can be written any more.
    pub fn write(&mut self, now: Instant, payload: Payload) -> Result<u64, WriteError> {
        self.append(now, payload, false)
    }

    /// Why nothing can be written any more.
    fn check_writing(&self) -> Result<(), WriteError> {
        match (self.error, self.data_fin) {
            (Some(error), _) => Err(WriteError::Failed(error)),
            (None, DataFin::NotRequested) => Ok(()),
            (None, _) => Err(WriteError::Closed),
        }
    }

    fn append(&mut self, now: Instant, payload: Payload, ends_message: bool) -> Result<u64, WriteError> {
        self.check_writing()?;
        let take = self.writable().min(u64::from(payload.len()));
        self.write_blocked = take < u64::from(payload.len()) || self.writable() == take;
        if take == 0 {
            return if payload.is_empty() { Ok(0) } else { Err(WriteError::Blocked) };
        }
        if self.host.delegation.due().is_some() {
            // The kernel's writer comes after its packets.
            self.schedule(now);
        }
        let start = self.send.written_end();
        self.buffer.append(start, payload.slice(0, take as u32));
        if self.config.host.tunes_send_buffer() {
            self.host.fragments.append(start, take, self.send.unassigned_bytes() > 0);
        }
        self.send.append(take);
        if ends_message && take == u64::from(payload.len()) {
            self.messages.append(start + take);
        }
        self.tell(now, |_| Event::DataWritten(start..start + take));
        self.schedule(now);
        self.host.writer_looks_again = self.config.host.tunes_send_buffer();
        Ok(take)
    }

    /// Reads at most `max` bytes in order: as much as is in one piece.
    ///
    /// # Errors
    /// When there is nothing to read yet, or never again. A `max` of 0 reads nothing.
    pub fn read(&mut self, now: Instant, max: u64) -> Result<Payload, ReadError> {
        let Some(out) = self.receiver.read(max, &mut self.host.received) else { return Err(self.nothing_read()) };
        let (kernel, mptcp) = (self.config.host.has_kernel_windows(), self.is_mptcp());
        let longest = self.subflows.established().filter_map(|s| s.tcp.receiver_rtt()).max();
        let fresh = kernel && mptcp && self.subflows.established().any(|s| !s.tcp.saw_full_segment());
        let mut tuned = false;
        if let Some(clamp) = self.receiver.window.tune(now, self.receiver.read_position(), longest, fresh) {
            for subflow in self.subflows.iter_mut() {
                // Its first full segment takes the clamp away.
                subflow.window.clamp = if fresh && subflow.tcp.saw_full_segment() { clamp } else { u64::MAX };
            }
            tuned = true;
        }
        let occupied = self.occupied(0);
        let at = kernel.then_some(now + READING);
        let worth_telling = tuned || self.receiver.is_worth_telling(occupied, mptcp);
        for subflow in self.subflows.established_mut() {
            // With its buffer a kernel looks at each subflow, which holds only what waits for a hole of its own.
            let empty = occupied == 0 || (tuned && kernel && subflow.tcp.held_bytes() == 0);
            subflow.tcp.after_read(at, empty);
            if worth_telling && self.receiver.window_doubles(&subflow.tcp, &subflow.window, occupied) {
                subflow.tcp.ack_by(at);
            }
        }
        // Subflows tell of it in their order.
        self.next_output = SubflowId(0);
        Ok(out)
    }

    /// Why nothing was read.
    fn nothing_read(&self) -> ReadError {
        match self.error {
            _ if self.receiver.drained() => ReadError::Finished,
            Some(error) if self.receiver.ready_bytes() == 0 => ReadError::Failed(error),
            _ => ReadError::Blocked,
        }
    }

    /// See [`Receiver::occupied`].
    fn occupied(&self, held: u64) -> u64 {
        let memory = self.config.host.has_kernel_windows().then_some(&self.host.received);
        self.receiver.occupied(held, self.is_mptcp(), memory)
    }

    /// Whether some subflow is to send an acknowledgement, at once or when a reader would have read.
    pub(crate) fn acknowledges_reading(&self, now: Instant) -> bool {
        self.subflows.iter().any(|s| s.tcp.acknowledges_by(now + READING))
    }

    /// Whether the peer's stream has ended and all of it was read.
    pub fn at_end(&self) -> bool {
        self.receiver.drained()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<ConnectionEvent> {
        self.events.pop_front()
    }

    /// When the next timer is due.
    pub fn poll_timeout(&self) -> Option<Instant> {
        // Asked after every segment: one pass, and the test that looks at more only where it can matter.
        let mut next = Instant::FAR_FUTURE;
        let mut consider = |timer: Option<Instant>| next = next.min(timer.unwrap_or(Instant::FAR_FUTURE));
        for subflow in self.subflows.iter() {
            consider(Some(subflow.tcp.next_timer()));
            consider(subflow.third_ack_again);
            if !subflow.tcp.is_closed() {
                consider(subflow.mappings.deadline());
                consider(subflow.next_probe(self.config.keep_alive));
            }
        }
        consider(self.addresses.next_timer());
        consider(self.data_timer);
        consider(self.scheduler_wake);
        consider(self.host.delegation.due());
        consider(self.window_probe.map(|(t, _)| t));
        consider(self.joins.next_timer());
        if let DataFin::Sent(again) = self.data_fin {
            consider(Some(again));
        }
        if self.progress_at + self.config.close_timeout < next {
            next = next.min(self.death_deadline().unwrap_or(Instant::FAR_FUTURE));
        }
        (next < Instant::FAR_FUTURE).then_some(next)
    }

    /// Subflows live. That is a sign of the connection's life too, but not for ever where the stream stands still meanwhile:
    /// a middlebox may let everything through but what makes sense of it.
    fn note_living_subflow(&mut self, now: Instant) {
        let waits = self.send.assigned_bytes() > 0;
        if !waits || now.since(self.stream_moved_at) < self.config.close_timeout.saturating_mul(STANDSTILLS) {
            self.progress_at = now;
        }
    }

    /// When the connection is given up because no answer comes.
    fn death_deadline(&self) -> Option<Instant> {
        let waiting = self.connected
            && self.error.is_none()
            && (self.send.assigned_bytes() > 0
                || matches!(self.data_fin, DataFin::Sent(_))
                || self.window_probe.is_some()
                || self.is_orphaned()
                || self.is_closing());
        waiting.then(|| self.progress_at + self.config.close_timeout)
    }

    /// The subflows by their names.
    pub(crate) fn table(&self) -> &SubflowTable {
        &self.subflows
    }

    fn fast_detection(&self) -> bool {
        self.config.failure_detection == FailureDetection::Fast
    }

    /// Tells the scheduler what happened.
    fn tell(&mut self, now: Instant, event: impl FnOnce(&Connection) -> Event<'static>) {
        let event = event(self);
        self.tell_event(now, &event);
    }

    fn tell_event(&mut self, now: Instant, event: &Event<'_>) {
        if !self.scheduler.wants_events() {
            return;
        }
        let mut views = core::mem::take(&mut self.views);
        self.fill_views(&mut views);
        let mut scheduler = core::mem::replace(&mut self.scheduler, Box::new(schedule::NoScheduler));
        scheduler.on_event(event, &self.view(now, &views));
        self.scheduler = scheduler;
        self.views = views;
    }
}
