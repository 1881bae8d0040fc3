//! Back to plain TCP where the peer, or a middlebox before it, has dropped Multipath TCP (RFC 8684 §3.7).

use super::handshake::Mode;
use super::subflow::Join;
use super::{Connection, DataFin};
use crate::seq::SubflowId;
use pathweave_wire::{Flags, Segment};

impl Connection {
    /// Nothing has shown yet that the peer takes data for Multipath TCP's. Until then data goes in order, so that the
    /// first subflow's sequence is that of the stream.
    pub(super) fn is_unconfirmed(&self) -> bool {
        matches!(self.mode, Mode::Mptcp(keys) if !keys.confirmed)
    }

    /// Plain TCP, or Multipath TCP that the peer has confirmed: no handshake option changes that.
    pub(super) fn is_settled(&self) -> bool {
        match self.mode {
            Mode::Negotiating { .. } => false,
            Mode::Mptcp(keys) => keys.confirmed,
            Mode::Plain => true,
        }
    }

    /// Whether plain TCP can still be taken up on subflow `id`.
    pub(super) fn may_fall_back(&self, id: SubflowId) -> bool {
        let mut living = self.subflows.iter().flatten().filter(|s| !s.tcp.is_closed());
        let only = living.next().is_some_and(|s| s.id == id && s.join == Join::Initial) && living.next().is_none();
        self.is_unconfirmed() && only
    }

    /// A client's data, or its handshake, is answered as plain TCP answers.
    pub(super) fn is_answered_as_plain(&self, id: SubflowId, segment: &Segment) -> bool {
        let options = &segment.options;
        let plain = options.dss.is_none() && options.mptcp.is_empty();
        let Some(subflow) = self.subflows.get(id.index()).and_then(Option::as_ref) else { return false };
        let answers = !segment.payload.is_empty() || subflow.tcp.acknowledges_data(segment);
        plain && answers && !segment.flags.intersects(Flags::SYN | Flags::RST) && self.may_fall_back(id)
    }

    /// From now on the subflow is a plain TCP connection.
    pub(super) fn fall_back(&mut self) {
        self.mode = Mode::Plain;
        self.announce.clear();
        self.unechoed.clear();
        if let DataFin::Sent(_) = self.data_fin {
            self.data_fin = DataFin::Requested;
        }
    }
}
