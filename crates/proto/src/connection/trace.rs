//! Every decision with what the scheduler saw and what came of it, for people who want to know why.
//!
//! Nothing is recorded, copied or formatted until [`Connection::trace_decisions`] is called, and what is recorded changes
//! nothing that the connection does.

use super::{Connection, ScheduleError};
use crate::scheduler::{BlockedBy, ClippedBy, Decision, Reason, SubflowView, View};
use crate::seq::{DataSeq, SubflowId, SubflowSet};
use core::ops::Range;
use pathweave_units::Instant;

/// Something that decided where data goes, or held it back.
#[derive(Clone, Debug, PartialEq)]
pub enum Trace {
    /// The scheduler was asked.
    Decision(Decided),
    /// The connection gave data that was assigned before to one more subflow: reinjection, opportunistic
    /// retransmission, its retransmission timer.
    Repeated {
        /// When.
        at: Instant,
        /// To whom.
        subflow: SubflowId,
        /// What.
        range: Range<DataSeq>,
        /// Which mechanism.
        reason: Reason,
    },
    /// From now on data waits and some subflow has window space, but the send window or the send buffer is full; recorded
    /// again when the first unacknowledged byte, who carries it, or who has space changes.
    WindowBlocked {
        /// When.
        at: Instant,
        /// Which of the two is full.
        by: BlockedBy,
        /// The subflows that carry the first unacknowledged byte.
        holders: SubflowSet,
    },
    /// There is room again, or nothing waits for it any more.
    WindowUnblocked {
        /// When.
        at: Instant,
    },
}

/// One decision.
#[derive(Clone, Debug, PartialEq)]
pub struct Decided {
    /// When.
    pub at: Instant,
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
    HeldBack(ClippedBy),
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

impl Connection {
    /// Records every decision from now on, for [`Connection::poll_trace`].
    pub fn trace_decisions(&mut self) {
        self.scheduling.trace.get_or_insert_default();
    }

    /// The next thing that was recorded, in the order of time.
    pub fn poll_trace(&mut self) -> Option<Trace> {
        self.scheduling.trace.as_mut()?.pop_front()
    }

    /// Keeps `entry` where somebody wants to see it.
    pub(super) fn record(&mut self, entry: impl FnOnce() -> Trace) {
        if let Some(trace) = &mut self.scheduling.trace {
            trace.push_back(entry());
        }
    }
}
