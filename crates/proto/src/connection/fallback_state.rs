//! The state of a fallback to plain TCP, and the signals that are still to be sent for it.

use crate::keys::Keys;
use pathweave_units::Instant;
use pathweave_wire::{Flags, Segment};

/// Whether plain TCP may continue the stream, and the signals that are still to be sent for that.
#[derive(Debug, Default)]
pub(super) struct Fallback {
    /// Whether the peer has acknowledged data, or the end of the stream, with a DATA_ACK.
    pub(super) data_ack_seen: bool,
    /// Whether another subflow has proved that it is the peer's. From then on the peer may use it, so the first
    /// subflow's sequence may differ from that of the peer's stream.
    pub(super) peer_may_use_joins: bool,
    /// Whether another subflow has joined, which the peer knows too. It then does not take the first subflow's sequence
    /// for our stream's.
    pub(super) ever_joined: bool,
    /// Whether the fallback has revived its subflow and the scheduler has not been told yet.
    pub(super) revived: bool,
    pub(super) signals: FallbackSignals,
}

/// The signals that are still to be sent for the fallback.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FallbackSignals {
    /// Data sequence number of an MP_FAIL that acknowledgements are to carry, and when it was last sent.
    pub(super) fail: Option<u64>,
    pub(super) said_at: Option<Instant>,
    pub(super) tries: u32,
    pub(super) infinite_mapping: Option<InfiniteMapping>,
    /// The keys from before the fallback: a mapping that a segment still carries must not contradict the stream.
    pub(super) keys: Option<Keys>,
}

/// An infinite mapping of the stream's start, for the next data or the end, and for retransmissions of that. If it were
/// lost for good, the peer would have data without a position.
#[derive(Clone, Copy, Debug)]
pub(super) struct InfiniteMapping {
    pub(super) dsn: u64,
    /// Sequence number of the segment that carries it.
    pub(super) on: Option<u64>,
}

impl FallbackSignals {
    /// Lets one acknowledgement carry MP_FAIL, and further ones from time to time until there is an answer.
    pub(super) fn say_fail(&mut self, dsn: u64) {
        (self.fail, self.said_at, self.tries) = (Some(dsn), None, 0);
    }

    /// Whether plain TCP still has to send MP_FAIL after this segment, which has data or a FIN and therefore no room
    /// for it.
    pub(super) fn waits_for_room(&self, segment: &Segment) -> bool {
        let more = !segment.payload.is_empty() || segment.flags.contains(Flags::FIN);
        self.fail.is_some() && self.keys.is_some() && more
    }
}
