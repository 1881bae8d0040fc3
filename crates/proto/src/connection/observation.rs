//! What happens on a connection, for people and programs that want to know: where data goes and why, which paths come
//! and go, what is sent and acknowledged.
//!
//! Nothing is recorded, copied or formatted until somebody asks for it
//! ([`Endpoint::observe`](crate::Endpoint::observe)), and then only the kinds that were asked for. Recording does not
//! change what the connection does. Events that an application has to act on come as [`ConnectionEvent`], whether
//! anybody observes or not.

use super::{Connection, ConnectionError, ConnectionEvent, HeldBy, ScheduleError};
use crate::congestion::LossKind;
use crate::scheduler::{BlockedBy, ClippedBy, Decision, Reason, SubflowView, View};
use crate::seq::{DataSeq, SubflowId, SubflowSet};
use crate::subflow_state::PathHealth;
use core::ops::Range;
use pathweave_units::Instant;
use std::collections::VecDeque;

/// Kinds of observations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kinds(u8);

impl Kinds {
    /// None.
    pub const NONE: Kinds = Kinds(0);
    /// What happens to the connection and its subflows, and what holds it back: seldom more than a few per second.
    pub const CONNECTION: Kinds = Kinds(1);
    /// Where the scheduler and the connection want data to go, and why: some for each segment.
    pub const DECISIONS: Kinds = Kinds(2);
    /// What is sent, lost, acknowledged and received: some for each segment.
    pub const SEGMENTS: Kinds = Kinds(4);
    /// All of them.
    pub const ALL: Kinds = Kinds(7);

    /// These and others.
    #[must_use]
    pub const fn and(self, others: Kinds) -> Kinds {
        Kinds(self.0 | others.0)
    }

    /// Whether some of `others` are among these.
    pub const fn intersects(self, others: Kinds) -> bool {
        self.0 & others.0 != 0
    }
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// When.
    pub at: Instant,
    /// What.
    pub what: Happening,
}

/// What happened. Positions in the stream count from its first byte.
#[derive(Clone, Debug, PartialEq)]
pub enum Happening {
    /// The first subflow's handshake is complete. `multipath`: with Multipath TCP.
    Established {
        /// With Multipath TCP, not plain TCP.
        multipath: bool,
    },
    /// A subflow can carry data.
    SubflowUp(SubflowId),
    /// A subflow is over.
    SubflowDown(SubflowId),
    /// A subflow's path answers, or does not answer any more.
    SubflowHealth {
        /// Which subflow.
        subflow: SubflowId,
        /// What the connection takes its path for from now on.
        health: PathHealth,
    },
    /// From now on data waits and some subflow has window space, but the send window or the send buffer is full; recorded
    /// again when the first unacknowledged byte, who carries it, or who has space changes.
    WindowBlocked {
        /// Which of the two is full.
        by: BlockedBy,
        /// The subflows that carry the first unacknowledged byte.
        holders: SubflowSet,
    },
    /// There is room again, or nothing waits for it any more.
    WindowUnblocked,
    /// The connection was Multipath TCP and is plain TCP from now on, on this subflow.
    FellBack(SubflowId),
    /// Both directions ended in order.
    Closed,
    /// The connection is over for this reason.
    Failed(ConnectionError),

    /// The scheduler was asked. Boxed, so that what is recorded for each segment stays small.
    Decision(Box<Decided>),
    /// The connection gave data that was assigned before to one more subflow: reinjection, opportunistic
    /// retransmission, its retransmission timer.
    Reinjected {
        /// To whom.
        subflow: SubflowId,
        /// What.
        range: Range<DataSeq>,
        /// Which mechanism. Boxed, as a decision is.
        reason: Box<Reason>,
    },
    /// The window of a subflow that held others up was halved.
    Penalised {
        /// Which subflow.
        subflow: SubflowId,
        /// Its congestion window now, segments.
        cwnd: u32,
    },

    /// A segment with data is on its way.
    Sent {
        /// On which subflow.
        subflow: SubflowId,
        /// Its data.
        range: Range<DataSeq>,
        /// The subflow has sent it before.
        again: bool,
    },
    /// A subflow found a segment lost.
    Lost {
        /// Which subflow.
        subflow: SubflowId,
        /// How it was found.
        kind: LossKind,
    },
    /// The peer acknowledged data that it had not acknowledged before.
    Acknowledged {
        /// On which subflow the acknowledgement came.
        subflow: SubflowId,
        /// How much of the subflow's own sequence is new, bytes.
        subflow_bytes: u64,
        /// How much of the stream is new, bytes.
        stream_bytes: u64,
        /// The first byte of the stream that is not acknowledged.
        first_unacked: DataSeq,
    },
    /// Data arrived that had not arrived before.
    Received {
        /// On which subflow.
        subflow: SubflowId,
        /// How much of it is new, bytes.
        new_bytes: u64,
        /// The first byte of the stream that has not arrived.
        next: DataSeq,
    },
}

impl Happening {
    /// The kind that it belongs to.
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

/// One decision.
#[derive(Clone, Debug, PartialEq)]
pub struct Decided {
    /// What the scheduler saw.
    pub saw: Saw,
    /// What it answered, and why.
    pub decision: Decision,
    /// What the connection made of it.
    pub carried: Carried,
}

/// What a scheduler saw: the parts of [`View`] that rules read.
#[derive(Clone, Debug, PartialEq)]
pub struct Saw {
    /// The subflows that could carry data.
    pub subflows: Vec<SubflowView>,
    /// The whole send window that the peer offers, bytes.
    pub send_window: u64,
    /// Room between the highest assigned byte and the end of the send window, bytes.
    pub send_window_free: u64,
    /// First byte not acknowledged at the data level.
    pub first_unacked: DataSeq,
    /// First byte that no subflow was given yet, where there is one.
    pub first_unassigned: Option<DataSeq>,
    /// Bytes written and given to no subflow.
    pub unassigned_bytes: u64,
    /// Bytes assigned and not acknowledged at the data level.
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
    /// To whom.
    pub subflow: SubflowId,
    /// What.
    pub range: Range<DataSeq>,
    /// Why it was less than the scheduler asked for.
    pub clipped_by: Option<ClippedBy>,
}

/// What the connection made of a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Carried {
    /// The data was given.
    Assigned(Given),
    /// The assignment was possible, but its segment is held back: it would be cut short by the send window
    /// (RFC 9293 §3.8.6.2.1), or it is the stream's short end (Nagle's rule).
    HeldBack(HeldBy),
    /// The subflow gets the data when all packets of this instant have been taken, as in the kernel.
    Delegated,
    /// The connection waits.
    Waiting,
    /// The default scheduler took over for this decision.
    Replaced {
        /// Why the decision could not be carried out; nothing where data goes in order because the peer has not
        /// confirmed Multipath TCP yet.
        error: Option<ScheduleError>,
        /// What the default gave, if anything.
        by: Option<Given>,
    },
}

impl Carried {
    /// Whether data was given to a subflow, so that the scheduler is asked again.
    pub(super) fn gave_data(&self) -> bool {
        matches!(self, Carried::Assigned(_) | Carried::Replaced { by: Some(_), .. })
    }
}

/// What a connection reports: the application's events, and the observations that were asked for.
#[derive(Default)]
pub(super) struct News {
    pub(super) events: VecDeque<ConnectionEvent>,
    kinds: Kinds,
    observations: VecDeque<Observation>,
}

impl News {
    /// Whether somebody wants to know of these.
    #[inline]
    pub(super) fn wants(&self, kinds: Kinds) -> bool {
        self.kinds.intersects(kinds)
    }

    /// Keeps what `what` makes, if somebody wants to see that kind.
    #[inline]
    pub(super) fn record(&mut self, at: Instant, kind: Kinds, what: impl FnOnce() -> Happening) {
        if self.wants(kind) {
            self.keep(at, kind, what());
        }
    }

    /// Gives back the memory that is kept for what may come.
    pub(super) fn shrink(&mut self) {
        self.events.shrink_to_fit();
        self.observations.shrink_to_fit();
    }

    #[cold]
    fn keep(&mut self, at: Instant, kind: Kinds, what: Happening) {
        debug_assert_eq!(what.kind(), kind, "it is recorded as what it is");
        self.observations.push_back(Observation { at, what });
    }
}

impl Connection {
    /// Records these kinds from now on, for [`Connection::poll_observation`].
    pub(crate) fn observe(&mut self, kinds: Kinds) {
        self.news.kinds = kinds;
        for subflow in self.subflows.iter_mut() {
            subflow.shown_health = subflow.health.shown();
        }
    }

    /// Whether there are events or observations to poll.
    #[inline]
    pub(crate) fn has_news(&self) -> bool {
        !self.news.events.is_empty() || !self.news.observations.is_empty()
    }

    /// The next thing that was recorded, in the order in which it happened.
    pub(crate) fn poll_observation(&mut self) -> Option<Observation> {
        self.news.observations.pop_front()
    }

    /// Records each path of which the connection thinks differently than at the last call.
    #[inline]
    pub(super) fn record_health(&mut self, now: Instant) {
        if self.news.wants(Kinds::CONNECTION) {
            self.record_changes_of_health(now);
        }
    }

    #[cold]
    fn record_changes_of_health(&mut self, now: Instant) {
        for subflow in self.subflows.iter_mut() {
            let health = subflow.health.shown();
            let before = core::mem::replace(&mut subflow.shown_health, health);
            // That a subflow comes up or goes down is told by itself.
            if health != before
                && !matches!(health, PathHealth::Opening | PathHealth::Down)
                && before != PathHealth::Opening
            {
                let subflow = subflow.id;
                self.news.record(now, Kinds::CONNECTION, || Happening::SubflowHealth { subflow, health });
            }
        }
    }
}
