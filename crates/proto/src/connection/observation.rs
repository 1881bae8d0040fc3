//! Observations of a connection, for people and programs: where data goes and why, which paths come and go, what is
//! sent and acknowledged.
//!
//! Only the kinds that were asked for ([`Endpoint::observe`](crate::Endpoint::observe)) are recorded, copied or
//! formatted. Recording does not change what the connection does. Events that the application must act on come as
//! [`ConnectionEvent`], whether or not a program observes.

use super::{Connection, ConnectionError, ConnectionEvent, HeldBy, ScheduleError};
use crate::paths::health::PathHealth;
use crate::paths::table::SubflowTable;
use core::ops::Range;
use pathweave_scheduler::{
    BlockedBy, ClippedBy, DataSeq, Decision, LossKind, Reason, SubflowId, SubflowSet, SubflowView, View,
};
use pathweave_units::Instant;
use std::collections::VecDeque;

/// A set of kinds of observations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kinds(u8);

impl Kinds {
    /// No kind.
    pub const NONE: Kinds = Kinds(0);
    /// Events of the connection and its subflows, and limits that hold data back: seldom more than a few observations
    /// per second.
    pub const CONNECTION: Kinds = Kinds(1);
    /// Decisions of the scheduler and the connection on where data goes, with reasons: several observations for each
    /// segment.
    pub const DECISIONS: Kinds = Kinds(2);
    /// Sent, lost, acknowledged and received data: several observations for each segment.
    pub const SEGMENTS: Kinds = Kinds(4);
    /// All kinds.
    pub const ALL: Kinds = Kinds(7);

    /// The union of both sets.
    #[must_use]
    pub const fn and(self, others: Kinds) -> Kinds {
        Kinds(self.0 | others.0)
    }

    /// Whether the sets have a kind in common.
    pub const fn intersects(self, others: Kinds) -> bool {
        self.0 & others.0 != 0
    }
}

/// One observation.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Observation {
    /// When the event happened.
    pub at: Instant,
    /// What happened.
    pub what: Happening,
}

/// An observed event. Positions in the stream count from its first byte.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Happening {
    /// The handshake of the first subflow is complete.
    Established {
        /// Whether Multipath TCP is in use, not plain TCP.
        multipath: bool,
    },
    /// A subflow can carry data.
    SubflowUp(SubflowId),
    /// A subflow has ended.
    SubflowDown(SubflowId),
    /// A subflow's path answers again, or does not answer any more.
    SubflowHealth {
        /// The subflow.
        subflow: SubflowId,
        /// The connection's judgement of its path from now on.
        health: PathHealth,
    },
    /// Data waits and some subflow has window space, but the send window or the send buffer is full. Recorded when that
    /// begins, and again when the first unacknowledged byte, the subflows that carry it, or the subflows with space
    /// change.
    WindowBlocked {
        /// The buffer or window that is full.
        by: BlockedBy,
        /// The subflows that carry the first unacknowledged byte.
        holders: SubflowSet,
    },
    /// There is room again, or no data waits for room any more.
    WindowUnblocked,
    /// The connection fell back from Multipath TCP to plain TCP, on this subflow.
    FellBack(SubflowId),
    /// Both directions were closed in order.
    Closed,
    /// The connection ended early, for this reason.
    Failed(ConnectionError),

    /// The scheduler made a decision. Boxed, so that the observations of each segment stay small.
    Decision(Box<Decided>),
    /// The connection gave data that was already assigned to one more subflow: by reinjection, opportunistic
    /// retransmission or its own retransmission timer.
    Reinjected {
        /// The subflow that got the data.
        subflow: SubflowId,
        /// The range of the stream.
        range: Range<DataSeq>,
        /// The mechanism. Boxed, as decisions are.
        reason: Box<Reason>,
    },
    /// Penalisation halved the window of a subflow that held others up.
    Penalised {
        /// The subflow.
        subflow: SubflowId,
        /// The subflow's congestion window after that, segments.
        cwnd: u32,
    },

    /// A segment with data was sent.
    Sent {
        /// The subflow.
        subflow: SubflowId,
        /// The range of the stream that it carries.
        range: Range<DataSeq>,
        /// Whether the subflow had sent it before.
        again: bool,
    },
    /// A subflow found a segment lost.
    Lost {
        /// The subflow.
        subflow: SubflowId,
        /// How the loss was found.
        kind: LossKind,
    },
    /// The peer acknowledged new data.
    Acknowledged {
        /// The subflow on which the acknowledgement came.
        subflow: SubflowId,
        /// Newly acknowledged bytes of the subflow's own sequence.
        subflow_bytes: u64,
        /// Newly acknowledged bytes of the stream.
        stream_bytes: u64,
        /// The first byte of the stream that is not acknowledged.
        first_unacked: DataSeq,
    },
    /// New data arrived.
    Received {
        /// The subflow.
        subflow: SubflowId,
        /// Number of new bytes.
        new_bytes: u64,
        /// The first byte of the stream that has not arrived.
        next: DataSeq,
    },
}

impl Happening {
    /// The kind of this event.
    pub fn kind(&self) -> Kinds {
        match self {
            Happening::Decision(_) | Happening::Reinjected { .. } | Happening::Penalised { .. } => Kinds::DECISIONS,
            Happening::Sent { .. }
            | Happening::Lost { .. }
            | Happening::Acknowledged { .. }
            | Happening::Received { .. } => Kinds::SEGMENTS,
            Happening::Established { .. }
            | Happening::SubflowUp(_)
            | Happening::SubflowDown(_)
            | Happening::SubflowHealth { .. }
            | Happening::WindowBlocked { .. }
            | Happening::WindowUnblocked
            | Happening::FellBack(_)
            | Happening::Closed
            | Happening::Failed(_) => Kinds::CONNECTION,
        }
    }
}

/// One decision of a scheduler.
#[derive(Clone, Debug, PartialEq)]
pub struct Decided {
    /// The state that the scheduler saw.
    pub saw: Saw,
    /// The decision, with its reason.
    pub decision: Decision,
    /// What the connection did with the decision.
    pub carried: Carried,
}

/// The state that a scheduler saw: the parts of [`View`] that rules read.
#[derive(Clone, Debug, PartialEq)]
pub struct Saw {
    /// The subflows that could carry data.
    pub subflows: Vec<SubflowView>,
    /// Size of the send window that the peer offers, bytes.
    pub send_window: u64,
    /// Room between the end of the assigned data and the end of the send window, bytes.
    pub send_window_free: u64,
    /// First byte that is not acknowledged at the data level.
    pub first_unacked: DataSeq,
    /// First byte that is assigned to no subflow, if there is one.
    pub first_unassigned: Option<DataSeq>,
    /// Bytes that are written and assigned to no subflow.
    pub unassigned_bytes: u64,
    /// Bytes that are assigned and not acknowledged at the data level.
    pub bytes_in_flight: u64,
}

impl Saw {
    pub(super) fn of(view: &View<'_>) -> Self {
        Saw {
            subflows: view.subflows.to_vec(),
            send_window: view.send_window,
            send_window_free: view.send_window_free(),
            first_unacked: view.first_unacked(),
            first_unassigned: view.queue.first_unassigned().map(|r| r.start),
            unassigned_bytes: view.queue.unassigned_bytes(),
            bytes_in_flight: view.bytes_in_flight(),
        }
    }
}

/// Data that was given to a subflow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// The subflow.
    pub subflow: SubflowId,
    /// The range of the stream.
    pub range: Range<DataSeq>,
    /// The limit that shortened the assignment, if one did.
    pub clipped_by: Option<ClippedBy>,
}

/// What the connection did with a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Carried {
    /// The subflow got the data.
    Assigned(Given),
    /// The assignment was possible, but its segment is held back: the send window would cut it short (RFC 9293
    /// §3.8.6.2.1), or it is the stream's short end (Nagle's rule).
    HeldBack(HeldBy),
    /// The subflow gets the data after all packets of this instant, as in the kernel.
    Delegated,
    /// The connection waits.
    Waiting,
    /// The default scheduler decided instead.
    Replaced {
        /// Why the decision could not be carried out. `None` if it was not asked for: until the peer has confirmed
        /// Multipath TCP, data goes in order.
        error: Option<ScheduleError>,
        /// The data that the default gave, if any.
        by: Option<Given>,
    },
}

impl Carried {
    /// Whether a subflow got data. If so, the scheduler is asked again.
    pub(super) fn gave_data(&self) -> bool {
        matches!(self, Carried::Assigned(_) | Carried::Replaced { by: Some(_), .. })
    }
}

/// A connection's unpolled reports: the application's events, and the observations that were asked for.
#[derive(Default)]
pub(super) struct News {
    pub(super) events: VecDeque<ConnectionEvent>,
    kinds: Kinds,
    observations: VecDeque<Observation>,
}

impl News {
    /// Whether any of these kinds was asked for.
    #[inline]
    pub(super) fn wants(&self, kinds: Kinds) -> bool {
        self.kinds.intersects(kinds)
    }

    /// Records the event that `what` makes, if its kind was asked for.
    #[inline]
    pub(super) fn record(&mut self, at: Instant, kind: Kinds, what: impl FnOnce() -> Happening) {
        if self.wants(kind) {
            self.keep(at, kind, what());
        }
    }

    /// Frees spare capacity.
    pub(super) fn shrink(&mut self) {
        self.events.shrink_to_fit();
        self.observations.shrink_to_fit();
    }

    /// Records each change of the connection's judgement of a path since the last call.
    #[inline]
    pub(super) fn record_health(&mut self, now: Instant, subflows: &mut SubflowTable) {
        if self.wants(Kinds::CONNECTION) {
            self.record_changes_of_health(now, subflows);
        }
    }

    #[cold]
    fn record_changes_of_health(&mut self, now: Instant, subflows: &mut SubflowTable) {
        for subflow in subflows.iter_mut() {
            let health = subflow.health.shown();
            let before = core::mem::replace(&mut subflow.shown_health, health);
            // The start and the end of a subflow have observations of their own.
            if health != before
                && !matches!(health, PathHealth::Opening | PathHealth::Down)
                && before != PathHealth::Opening
            {
                let subflow = subflow.id;
                self.record(now, Kinds::CONNECTION, || Happening::SubflowHealth { subflow, health });
            }
        }
    }

    #[cold]
    fn keep(&mut self, at: Instant, kind: Kinds, what: Happening) {
        debug_assert_eq!(what.kind(), kind, "an event is recorded under its own kind");
        self.observations.push_back(Observation { at, what });
    }
}

impl Connection {
    /// Records these kinds from now on, for [`Connection::poll_observation`].
    pub(crate) fn observe(&mut self, kinds: Kinds) {
        self.shared.news.kinds = kinds;
        for subflow in self.subflows.iter_mut() {
            subflow.shown_health = subflow.health.shown();
        }
    }

    /// Whether there are events or observations to poll.
    #[inline]
    pub(crate) fn has_news(&self) -> bool {
        !self.shared.news.events.is_empty() || !self.shared.news.observations.is_empty()
    }

    /// The next recorded observation, oldest first.
    pub(crate) fn poll_observation(&mut self) -> Option<Observation> {
        self.shared.news.observations.pop_front()
    }
}
