//! One Multipath TCP connection, or one plain TCP connection.
//!
//! The rooms of a connection, the `Sender`, the `StreamReceiver`, the `SubflowTable` and the `AddressBook`, own their state
//! and their rules, and know nothing of the connection. The submodules here hold the rules that need several rooms:
//!
//! * `open` and `handshake`: MP_CAPABLE; `joins` and `addresses`: MP_JOIN and further subflows;
//! * `shared`: the state that all these rules share;
//! * `input`: a segment arrives; `acknowledgement`: the data that it acknowledges, and the changes on its subflow;
//!   `timers`: a timer expires;
//! * `application`: write, read, and how much can be written;
//! * `schedule`: asking the scheduler; `repair`: paths that do not answer; `output`: the next segment, or several that
//!   leave as one;
//! * `path_mtu`: the largest packet that a path takes;
//! * `fallback`: back to plain TCP; `close`: the end of the connection;
//! * `rest`: freeing memory while the connection is idle;
//! * `settings`: changes to a living connection's settings, its scheduler included;
//! * `observation` and `snapshot`: information for people and programs.

mod acknowledgement;
mod addresses;
mod application;
mod close;
mod data_acks;
mod deferral;
mod errors;
mod fallback;
mod fallback_state;
mod handshake;
mod input;
mod joins;
mod lifecycle;
mod mode;
mod observation;
mod open;
mod output;
mod path_mtu;
mod penalisation;
mod repair;
mod rest;
mod schedule;
mod scheduling;
mod settings;
mod shared;
mod snapshot;
mod timers;

pub use crate::paths::health::PathHealth;
pub use crate::paths::subflow::{PathMeta, SubflowSnapshot};
pub use crate::sender::dispatch::{HeldBy, ScheduleError};
pub use crate::tcp::Counters as SubflowCounters;
pub use crate::tcp::PacketTooBigVerdict;
pub use crate::tcp::{RecoveryState, TcpInfo, TcpState};
pub use application::Amount;
pub use errors::{ConnectionError, ReadError, UnknownConnection, WriteError};
pub(crate) use handshake::{echoed_keys, is_lone_data_fin, join, names_capable, offer};
pub use observation::{Carried, Decided, Given, Happening, Kinds, Observation, Saw};
pub use output::Transmit;
pub use settings::SettingError;
pub use snapshot::Progress;
pub use snapshot::{ConnectionSnapshot, ReceivingState, SendingState, SendingTime, SubflowSending};

use crate::config::ConnectionConfig;
use crate::paths::subflow::Subflow;
use crate::paths::table::SubflowTable;
use crate::tcp::TimeWait;
use core::net::SocketAddr;
use lifecycle::{DataFin, LifePhase};
use pathweave_scheduler::{BlockedBy, Event};
use pathweave_units::{Duration, Instant};
use shared::Shared;

/// Which side opened the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// This side opened it.
    Client,
    /// The peer opened it.
    Server,
}

/// An event that the application must act on. All other events can be observed
/// ([`Endpoint::observe`](crate::Endpoint::observe)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConnectionEvent {
    /// Data can be written.
    Connected,
    /// There is data to read, or the stream has ended.
    Readable,
    /// The send buffer has room again.
    Writable,
    /// Both directions were closed in order.
    Closed,
    /// The connection ended early, for this reason.
    Failed(ConnectionError),
}

/// Counters since the connection began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConnectionCounters {
    /// Segments assigned again after a timeout or because their subflow died.
    pub reinjected_segments: u64,
    /// Segments that opportunistic retransmission assigned again.
    pub opportunistic_retransmissions: u64,
    /// How often penalisation halved a window.
    pub penalisations: u64,
    /// Decisions that the scheduler was asked for.
    pub decisions: u64,
    /// Impossible decisions, which the default scheduler replaced.
    pub invalid_decisions: u64,
    /// Time during which data waited and some subflow's congestion window had room, but the send window was full.
    pub window_limited: Duration,
    /// Time during which all written data had left and some subflow's congestion window had room, but the writer waited
    /// for room in the send buffer.
    pub send_buffer_limited: Duration,
    /// Data bytes that arrived more than once at the data level.
    pub duplicate_bytes: u64,
}

impl ConnectionCounters {
    /// The counter of the time during which `by` held data back.
    fn limited_by(&mut self, by: BlockedBy) -> &mut Duration {
        match by {
            BlockedBy::SendWindow => &mut self.window_limited,
            BlockedBy::SendBuffer => &mut self.send_buffer_limited,
        }
    }
}

/// One connection: its subflows and the state that they share.
pub struct Connection {
    subflows: SubflowTable,
    shared: Shared,
}

impl Connection {
    /// Whether this side opened the connection.
    pub fn role(&self) -> Role {
        self.shared.role
    }
    /// Whether the handshake of the first subflow is complete.
    pub fn is_connected(&self) -> bool {
        self.shared.life.is_connected()
    }
    /// Whether Multipath TCP is in use; known after the handshake.
    pub fn is_mptcp(&self) -> bool {
        self.shared.is_mptcp()
    }
    /// Whether plain TCP is in use, and will be until the end.
    pub(crate) fn is_plain(&self) -> bool {
        self.shared.is_plain()
    }
    /// Our address of the first subflow. Its port is the connection's port.
    pub fn local_address(&self) -> SocketAddr {
        self.shared.addresses.initial_local()
    }
    /// The peer's address of the first subflow.
    pub fn remote_address(&self) -> SocketAddr {
        self.shared.remote_address()
    }
    /// Why the connection ended early, if it did.
    pub fn error(&self) -> Option<ConnectionError> {
        self.shared.life.error()
    }
    /// The settings.
    pub fn config(&self) -> &ConnectionConfig {
        &self.shared.config
    }
    /// Whether the connection is over: both directions are closed, or there was an error.
    pub fn is_finished(&self) -> bool {
        match self.shared.life.phase {
            LifePhase::Failed { .. } => true,
            LifePhase::Closed => self.subflows.iter().all(|s| s.tcp.is_closed()),
            LifePhase::Connecting | LifePhase::Connected => false,
        }
    }

    /// Whether the connection can be forgotten: every subflow is closed, everything is sent, and all data is read or
    /// will never be.
    pub(crate) fn is_released(&self) -> bool {
        let closed = self.subflows.iter().all(|s| s.tcp.is_closed());
        let over = match self.shared.life.phase {
            // Data that arrived in order before a failure can be read until the application closes.
            LifePhase::Failed { abandoned, .. } => abandoned || self.shared.receiver.ready_bytes() == 0,
            LifePhase::Closed => self.shared.receiver.drained(),
            // A connection without any subflow may still be joined.
            LifePhase::Connecting | LifePhase::Connected => false,
        };
        closed && over && self.shared.control.is_empty() && self.shared.news.events.is_empty()
    }

    /// Whether the connection is over and reported, and only waits for old segments (TIME-WAIT).
    pub(crate) fn lingers(&self) -> bool {
        self.shared.life.phase == LifePhase::Closed
            && self.shared.receiver.drained()
            && self.shared.control.is_empty()
            && !self.has_news()
            && self.subflows.iter().all(Subflow::has_ended)
    }

    /// TIME-WAIT state of each subflow that waits for old segments, with its addresses.
    pub(crate) fn time_waits(&self) -> impl Iterator<Item = ((SocketAddr, SocketAddr), TimeWait)> {
        self.subflows.iter().filter_map(|s| Some(((s.tcp.local, s.tcp.remote), s.tcp.time_wait()?)))
    }

    /// Whether both streams have ended: all data and both ends of the stream have arrived and are acknowledged, as far
    /// as this side knows. Nothing can be lost any more. [`ConnectionEvent::Closed`] comes later, when each subflow has
    /// ended too. A subflow whose path is dark delays that event by `close_timeout`
    /// ([`Connection::set_close_timeout`]); then the subflow is reset.
    pub fn has_ended(&self) -> bool {
        self.shared.is_over()
    }

    /// Whether the peer's stream has ended and all of it was read.
    pub fn at_end(&self) -> bool {
        self.shared.receiver.drained()
    }

    /// Recounts the memory that waiting data holds, at most, bytes: data that waits for the reader, or for missing data
    /// in front of it. If that exceeds the connection's limit, only data that fills a hole is accepted from now on.
    #[inline]
    pub(crate) fn count_waiting(&mut self) -> u64 {
        let packet_memory = self.shared.config.tcp.packet_memory;
        let mut waiting = self.shared.receiver.memory();
        for subflow in self.subflows.iter() {
            waiting += subflow.tcp.waiting_memory();
            waiting += subflow.mappings.memory(packet_memory);
        }
        self.shared.receiver.limit_memory(waiting);
        waiting.total()
    }

    /// If no data waits for the reader, accepts of the next segment only data that fills a hole. Returns whether that
    /// is so.
    pub(crate) fn takes_only_what_is_missing(&mut self) -> bool {
        let hole = self.waits_for_what_is_missing();
        if hole {
            self.shared.receiver.take_only_what_is_missing();
        }
        hole
    }

    /// Whether no data is ready for the reader.
    pub(crate) fn waits_for_what_is_missing(&self) -> bool {
        self.shared.receiver.ready_bytes() == 0
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<ConnectionEvent> {
        self.shared.news.events.pop_front()
    }

    /// The table of subflows.
    pub(crate) fn table(&self) -> &SubflowTable {
        &self.subflows
    }
}

impl Shared {
    /// Passes an event to the scheduler.
    fn tell(&mut self, now: Instant, event: &Event<'_>, subflows: &SubflowTable) {
        if !self.scheduling.scheduler.wants_events() {
            return;
        }
        let mut views = core::mem::take(&mut self.scheduling.views);
        self.fill_views(&mut views, subflows);
        let mut scheduler = core::mem::replace(&mut self.scheduling.scheduler, Box::new(schedule::NoScheduler));
        scheduler.on_event(event, &self.view(now, &views, subflows));
        self.scheduling.scheduler = scheduler;
        self.scheduling.views = views;
    }
}
