//! Changes that a segment or a timer caused on a subflow.

use super::receive::Arrival;
use core::ops::Range;
use pathweave_scheduler::{DataSeq, LossKind};
use pathweave_units::Duration;

/// Result of checking a segment's sequence and acknowledgement numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// There was no segment, or it has no effect.
    #[default]
    Ignored,
    /// The segment belongs to no known connection; a reset answers it.
    Refused,
    /// The segment is a SYN that crossed ours.
    Crossing,
    /// The segment may be a blind attack. An acknowledgement tells an honest peer our numbers (RFC 5961).
    Challenged,
    /// The numbers passed every check, but the segment may be a repetition.
    Acceptable,
    /// The numbers passed every check and the segment is no repetition, so its options count.
    Current,
}

impl Verdict {
    /// Whether the segment is accepted, even if it is a repetition.
    pub(crate) fn is_acceptable(self) -> bool {
        matches!(self, Verdict::Acceptable | Verdict::Current)
    }
}

/// Progress that the peer's acknowledgement reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Told {
    #[default]
    Nothing,
    /// Data beyond a hole, by SACK.
    Sacked,
    /// The cumulative acknowledgement advanced.
    Acknowledged,
}

/// How a subflow ended without an orderly close.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The peer reset it.
    Reset,
    /// The peer did not answer.
    Unanswered,
    /// The peer did not answer our SYN/ACK.
    NeverEstablished,
}

/// Changes that one call caused, on which the connection acts. The value is reused, so that no segment needs an
/// allocation.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    pub(crate) verdict: Verdict,
    /// Data that is now in order on the subflow.
    pub(crate) arrived: Vec<Arrival>,
    /// Data ranges newly acknowledged on the subflow, in order.
    pub(crate) acked: Vec<Range<DataSeq>>,
    /// Progress that the peer's acknowledgement reported.
    pub(crate) told: Told,
    pub(crate) has_sack: bool,
    pub(crate) rtt: Option<Duration>,
    pub(crate) loss: Option<LossKind>,
    /// Whether the handshake was completed on this side.
    pub(crate) established: bool,
    /// Whether the peer's FIN is now in order.
    pub(crate) fin: bool,
    /// Whether an answer is overdue by the time of a tail loss probe (RFC 8985 §7.2).
    pub(crate) late: bool,
    pub(crate) ended: Option<Ended>,
    /// Whether the segment has no data and an already acknowledged sequence number. Its sender may not know our
    /// numbers.
    pub(crate) outdated: bool,
    /// Whether the segment acknowledges less than was acknowledged before.
    pub(crate) overtaken_ack: bool,
    /// Whether there was no memory for the segment's data, so that the peer must be told.
    pub(crate) no_memory: bool,
}

impl Changes {
    pub(crate) fn clear(&mut self) {
        self.verdict = Verdict::Ignored;
        self.arrived.clear();
        self.acked.clear();
        self.told = Told::Nothing;
        self.has_sack = false;
        self.rtt = None;
        self.loss = None;
        self.established = false;
        self.fin = false;
        self.late = false;
        self.ended = None;
        self.outdated = false;
        self.overtaken_ack = false;
        self.no_memory = false;
    }

    /// Whether the subflow's cumulative acknowledgement advanced.
    pub(crate) fn una_advanced(&self) -> bool {
        self.told == Told::Acknowledged
    }
}
