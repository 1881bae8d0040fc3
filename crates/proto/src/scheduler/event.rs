//! What a scheduler is told.

use super::decision::ClippedBy;
use crate::congestion::LossKind;
use crate::seq::{DataSeq, SubflowId, SubflowSet};
use core::ops::Range;
use pathweave_units::Duration;

/// Something that happened on the connection.
#[derive(Clone, Debug, PartialEq)]
pub enum Event<'a> {
    /// A subflow's cumulative acknowledgement advanced.
    Acked {
        /// On which subflow.
        subflow: SubflowId,
        /// The data ranges that were newly acknowledged on the subflow, in subflow order.
        mappings: &'a [Range<DataSeq>],
        /// The data acknowledgement that came with it: an older one than the connection's (`View::first_unacked`) where
        /// that of another subflow was sent later and overtook it.
        data_ack: DataSeq,
        /// The acknowledgement carried a SACK block.
        has_sack: bool,
    },
    /// A subflow found a segment lost.
    Lost {
        /// On which subflow.
        subflow: SubflowId,
        /// How it was found.
        kind: LossKind,
    },
    /// A subflow measured a round trip.
    RttSample {
        /// On which subflow.
        subflow: SubflowId,
        /// The sample.
        rtt: Duration,
    },
    /// Data is waiting and some subflow has window space, but the connection's send window or its send buffer is full. Told
    /// when that begins and again whenever the first unacknowledged byte, who carries it, or who has space changes; always
    /// before opportunistic retransmission copies that byte to another subflow.
    WindowBlocked {
        /// Which of the two is full.
        by: BlockedBy,
        /// The subflows that carry the first unacknowledged byte.
        holders: SubflowSet,
    },
    /// There is room again, or nothing waits for it any more.
    WindowUnblocked,
    /// A subflow can carry data from now on (again).
    SubflowUp(SubflowId),
    /// A subflow can carry no data from now on. Its name may be given to another subflow later.
    SubflowDown(SubflowId),
    /// The application wrote data.
    DataWritten(Range<DataSeq>),
    /// An assignment was carried out.
    Assigned {
        /// On which subflow.
        subflow: SubflowId,
        /// What was really assigned.
        range: Range<DataSeq>,
        /// Why it was less than asked for.
        clipped_by: Option<ClippedBy>,
    },
}

/// Which of the connection's limits holds data back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockedBy {
    /// The peer's receive window: data is written and does not fit.
    SendWindow,
    /// The connection's own send buffer: the application has more, and what is not acknowledged leaves no room.
    SendBuffer,
}
