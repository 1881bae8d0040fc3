//! One Multipath TCP connection, or plain TCP.
//!
//! The rooms of a connection, the `Sender`, the `Receiver`, the `SubflowTable` and the `AddressBook`, own their state
//! and their rules, and know nothing of the connection. The submodules here have the rules that need several rooms:
//!
//! * `open` and `handshake`: MP_CAPABLE; `joins` and `addresses`: MP_JOIN and further subflows;
//! * `input`: a segment arrives; `acknowledgement`: what it acknowledges, and what it means for its subflow; `timers`: time passes;
//! * `application`: write, read, and how much can be written;
//! * `schedule`: asking the scheduler; `repair`: paths that do not answer; `output`: the next segment, or several that leave as one;
//! * `path_mtu`: how large a packet a path takes;
//! * `fallback`: back to plain TCP; `close`: the end;
//! * `rest`: nothing happens for a while;
//! * `settings`: what a living connection can change, its scheduler too;
//! * `observation` and `snapshot`: for people and programs that want to know.

mod acknowledgement;
mod addresses;
mod application;
mod close;
mod data_acks;
mod errors;
mod fallback;
mod handshake;
mod input;
mod joins;
mod observation;
mod open;
mod output;
mod path_mtu;
mod penalisation;
mod repair;
mod rest;
mod schedule;
mod settings;
mod snapshot;
mod timers;

pub use crate::paths::subflow::{PathMeta, SubflowSnapshot};
pub use crate::sender::dispatch::ScheduleError;
pub use crate::stream::send_map::SendMap;
pub use crate::tcp::Counters as SubflowCounters;
pub use crate::tcp::PacketTooBigVerdict;
pub use crate::tcp::{RecoveryState, State as TcpState, TcpInfo};
pub use application::Amount;
pub use errors::{ConnectionError, ReadError, UnknownConnection, WriteError};
pub(crate) use handshake::{echoed_keys, is_lone_data_fin, join, names_capable, offer};
pub use observation::{Carried, Decided, Given, Happening, Kinds, Observation, Saw};
pub use output::Transmit;
pub use settings::SettingError;
pub use snapshot::Progress;
pub use snapshot::{ConnectionSnapshot, ReceivingState, SendingState, SendingTime};

use crate::config::{ConnectionConfig, FailureDetection};
use crate::congestion::PathState;
use crate::host::ConnectionHost;
use crate::paths::addresses::AddressBook;
use crate::paths::joins::JoinPlan;
use crate::paths::subflow::Subflow;
use crate::paths::table::SubflowTable;
use crate::rate_limiter::RateLimiter;
use crate::receiver::Receiver;
use crate::scheduler::{BlockedBy, Event};
use crate::sender::Sender;
use crate::seq::SubflowId;
use crate::tcp::{Changes, TimeWait, Waiting};
use close::{DataFin, Lifecycle, Phase};
use core::net::SocketAddr;
use fallback::Fallback;
use handshake::Mode;
use observation::News;
use pathweave_units::{Duration, Instant};
use pathweave_wire::Segment;
use schedule::Scheduling;
use std::collections::VecDeque;
use std::sync::Arc;

/// Which side opened the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// This side.
    Client,
    /// The peer.
    Server,
}

/// Something that the application must act on. Everything else that happens can be observed
/// ([`Endpoint::observe`](crate::Endpoint::observe)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionEvent {
    /// Data can be written.
    Connected,
    /// There is data to read, or the end of the stream.
    Readable,
    /// The send buffer has room again.
    Writable,
    /// Both directions ended in order.
    Closed,
    /// The connection is over for this reason.
    Failed(ConnectionError),
}

/// Counters over a connection's life.
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
    /// Time in which everything written was out, there was room in some subflow's congestion window, and the writer waited for room in
    /// the send buffer.
    pub send_buffer_limited: Duration,
    /// Data bytes that arrived more than once at the data level.
    pub duplicate_bytes: u64,
}

impl ConnectionCounters {
    /// The time in which data was held back by this.
    fn limited_by(&mut self, by: BlockedBy) -> &mut Duration {
        match by {
            BlockedBy::SendWindow => &mut self.window_limited,
            BlockedBy::SendBuffer => &mut self.send_buffer_limited,
        }
    }
}

/// One connection.
pub struct Connection {
    config: Arc<ConnectionConfig>,
    role: Role,
    mode: Mode,
    /// DSS checksums are in use: one of both sides has asked for them.
    checksum: bool,
    life: Lifecycle,
    subflows: SubflowTable,
    addresses: AddressBook,
    joins: JoinPlan,
    sender: Sender,
    scheduling: Scheduling,
    receiver: Receiver,
    fallback: Fallback,
    /// What the host remembers of this connection, beyond what the RFCs require.
    host: ConnectionHost,
    challenges: RateLimiter,
    /// Segments outside of any subflow's stream: resets.
    control: VecDeque<Segment>,
    /// The subflow that is asked first for the next segment.
    next_output: SubflowId,
    news: News,
    counters: ConnectionCounters,

    // Reused, so that nothing is allocated per segment.
    changes: Option<Box<Changes>>,
    paths: Vec<PathState>,
}

impl Connection {
    /// Whether this side opened the connection.
    pub fn role(&self) -> Role {
        self.role
    }
    /// Whether the handshake of the first subflow is complete.
    pub fn is_connected(&self) -> bool {
        self.life.is_connected()
    }
    /// Whether Multipath TCP is in use (after the handshake).
    pub fn is_mptcp(&self) -> bool {
        self.mode.keys().is_some()
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
        self.addresses.remote()[0].address
    }
    /// Why the connection ended early.
    pub fn error(&self) -> Option<ConnectionError> {
        self.life.error()
    }
    /// The settings.
    pub fn config(&self) -> &ConnectionConfig {
        &self.config
    }
    /// Whether everything is over: both directions closed, or an error.
    pub fn is_finished(&self) -> bool {
        match self.life.phase {
            Phase::Failed { .. } => true,
            Phase::Closed => self.subflows.iter().all(|s| s.tcp.is_closed()),
            Phase::Connecting | Phase::Connected => false,
        }
    }

    /// Whether nothing more will come of it: every subflow closed, everything sent, all data read or never to be read.
    pub(crate) fn is_released(&self) -> bool {
        let closed = self.subflows.iter().all(|s| s.tcp.is_closed());
        let over = match self.life.phase {
            // What came in order before a failure can still be read, until the application closes.
            Phase::Failed { abandoned, .. } => abandoned || self.receiver.ready_bytes() == 0,
            Phase::Closed => self.receiver.drained(),
            // Without any subflow it may still be joined.
            Phase::Connecting | Phase::Connected => false,
        };
        closed && over && self.control.is_empty() && self.news.events.is_empty()
    }

    /// It is over, everybody has heard of it, and nothing is left but to wait for old segments.
    pub(crate) fn lingers(&self) -> bool {
        self.life.phase == Phase::Closed
            && self.receiver.drained()
            && self.control.is_empty()
            && !self.has_news()
            && self.subflows.iter().all(Subflow::has_ended)
    }

    /// What has to be remembered of its subflows that wait for old segments, by their addresses.
    pub(crate) fn time_waits(&self) -> impl Iterator<Item = ((SocketAddr, SocketAddr), TimeWait)> {
        self.subflows.iter().filter_map(|s| Some(((s.tcp.local, s.tcp.remote), s.tcp.time_wait()?)))
    }

    /// Whether the peer's stream has ended and all of it was read.
    pub fn at_end(&self) -> bool {
        self.receiver.drained()
    }

    /// The memory that waiting data takes at most, bytes: data that waits for a reader or for what is missing before it. Where that is
    /// more than the connection may have, only what fills a hole is taken from now on.
    #[inline]
    pub(crate) fn count_waiting(&mut self) -> u64 {
        let packet_memory = self.config.tcp.packet_memory;
        let of_subflows = self.subflows.iter().flat_map(|s| [s.tcp.waiting_memory(), s.mappings.memory(packet_memory)]);
        let waiting: Waiting = of_subflows.chain([self.receiver.memory()]).sum();
        self.receiver.limit_memory(waiting);
        waiting.total()
    }

    /// Where nothing waits for the reader, only what fills a hole is taken of the next segment. Returns whether that is so.
    pub(crate) fn takes_only_what_is_missing(&mut self) -> bool {
        let hole = self.waits_for_what_is_missing();
        if hole {
            self.receiver.take_only_what_is_missing();
        }
        hole
    }

    /// Nothing waits for the reader.
    pub(crate) fn waits_for_what_is_missing(&self) -> bool {
        self.receiver.ready_bytes() == 0
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<ConnectionEvent> {
        self.news.events.pop_front()
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
        if !self.scheduling.scheduler.wants_events() {
            return;
        }
        let mut views = core::mem::take(&mut self.scheduling.views);
        self.fill_views(&mut views);
        let mut scheduler = core::mem::replace(&mut self.scheduling.scheduler, Box::new(schedule::NoScheduler));
        scheduler.on_event(event, &self.view(now, &views));
        self.scheduling.scheduler = scheduler;
        self.scheduling.views = views;
    }
}
