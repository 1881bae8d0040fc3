//! What a segment or the time changed.

use super::receive::Arrival;
use crate::congestion::LossKind;
use crate::seq::DataSeq;
use core::ops::Range;
use pathweave_units::Duration;

/// What a segment's numbers said of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// There was none, or nothing comes of it.
    #[default]
    Ignored,
    /// It belongs to no connection that we know: a reset answers it.
    Refused,
    /// It is a SYN that came while ours was out.
    Crossing,
    /// It may be a blind attack: an acknowledgement tells an honest peer where we are (RFC 5961).
    Challenged,
    /// It passed every check of its numbers, but it may be a repetition.
    Acceptable,
    /// It is no repetition either: its signals count.
    Current,
}

impl Verdict {
    /// The segment is taken, be it a repetition or not.
    pub(crate) fn is_acceptable(self) -> bool {
        matches!(self, Verdict::Acceptable | Verdict::Current)
    }
}

/// What the peer told of what it has.
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
    /// Nothing answered.
    Unanswered,
    /// Nothing answered our answer to its handshake.
    NeverEstablished,
}

/// What one call changed, for the connection to act on. Reused, so that nothing is allocated per segment.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    pub(crate) verdict: Verdict,
    /// Data that is now in order on the subflow.
    pub(crate) arrived: Vec<Arrival>,
    /// Data ranges newly acknowledged on the subflow, in order.
    pub(crate) acked: Vec<Range<DataSeq>>,
    /// The peer has data of which it had not told before.
    pub(crate) told: Told,
    pub(crate) has_sack: bool,
    pub(crate) rtt: Option<Duration>,
    pub(crate) loss: Option<LossKind>,
    /// The handshake is complete on this side.
    pub(crate) established: bool,
    /// The peer's FIN is in order.
    pub(crate) fin: bool,
    /// Nothing answered a tail loss probe's worth of time (RFC 8985 §7.2).
    pub(crate) late: bool,
    pub(crate) ended: Option<Ended>,
    /// The segment has no data, and its number is one that was acknowledged before: who sent it may not know where we are.
    pub(crate) outdated: bool,
    /// The segment acknowledges less than was acknowledged before.
    pub(crate) overtaken_ack: bool,
    /// The segment's data found no memory: its sender is to hear that there is no room.
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

    /// The subflow's cumulative acknowledgement advanced.
    pub(crate) fn una_advanced(&self) -> bool {
        self.told == Told::Acknowledged
    }
}
