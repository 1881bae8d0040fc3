//! The four segments of MP_JOIN (RFC 8684 §3.2), as each side takes them: SYN, SYN/ACK, the third ACK with the client's HMAC, and the
//! fourth, which lets the client send data.

use super::Connection;
use super::handshake::{HandshakeStep, REFUSED, join};
use crate::keys::Keys;
use crate::paths::subflow::Join;
use crate::seq::SubflowId;
use crate::tcp::State;
use pathweave_wire::mptcp::{MpJoin, ResetReason};
use pathweave_wire::{Flags, Segment, crypto};

/// Whether the third ACK proves that the join is the peer's: its HMAC covers both nonces.
pub(super) fn is_proved(keys: &Keys, local_nonce: u32, remote_nonce: u32, hmac: &[u8; 20]) -> bool {
    let expected = crypto::join_hmac(keys.remote, keys.local, remote_nonce, local_nonce);
    crypto::constant_time_eq(&crypto::join_hmac_160(&expected), hmac)
}

impl Connection {
    /// Takes the handshake options of a segment of a further subflow.
    pub(super) fn take_join_options(&mut self, id: SubflowId, segment: &Segment) -> HandshakeStep {
        let Some(subflow) = self.subflows.get_mut(id) else { return REFUSED };
        match (subflow.join, subflow.tcp.state()) {
            (Join::Pending { local_nonce, .. }, State::SynSent) => self.take_join_answer(id, segment, local_nonce),
            (Join::Pending { local_nonce, remote_nonce }, State::SynReceived) => {
                self.take_third_ack(id, segment, local_nonce, remote_nonce)
            }
            (Join::AwaitFourthAck { .. }, _) => {
                if !segment.flags.intersects(Flags::SYN | Flags::RST) && segment.flags.contains(Flags::ACK) {
                    subflow.join = Join::Done { carried: false };
                    subflow.third_ack_again = None;
                    self.fallback.ever_joined = true;
                }
                HandshakeStep::GoOn
            }
            (Join::Done { .. }, _) => {
                if let Some(MpJoin::Ack { .. }) = join(segment) {
                    // The third ACK again: the fourth was lost (RFC 8684 §3.2).
                    subflow.tcp.ack_now();
                }
                HandshakeStep::GoOn
            }
            _ => HandshakeStep::GoOn,
        }
    }

    /// The client takes the SYN/ACK.
    fn take_join_answer(&mut self, id: SubflowId, segment: &Segment, local_nonce: u32) -> HandshakeStep {
        if !segment.flags.contains(Flags::SYN | Flags::ACK) {
            return HandshakeStep::GoOn;
        }
        let (Some(keys), Some(MpJoin::SynAck { hmac, nonce, address_id, backup })) =
            (self.mode.keys(), join(segment).copied())
        else {
            return REFUSED;
        };
        //= RFC 8684 §3.2: "If the SYN/ACK as received at Host A does not have an MP_JOIN option, Host A MUST
        //= close the subflow with a TCP RST"
        //= tests: mp_join::an_answer_without_mp_join_is_refused
        let expected = crypto::join_hmac(keys.remote, keys.local, nonce, local_nonce);
        if !crypto::constant_time_eq(&crypto::join_hmac_64(&expected).to_be_bytes(), &hmac.to_be_bytes()) {
            return REFUSED;
        }
        if self.closes_to_joins() {
            return HandshakeStep::Reset(ResetReason::MptcpError);
        }
        let Some(subflow) = self.subflows.get_mut(id) else { return REFUSED };
        subflow.remote_id = address_id;
        subflow.backup |= backup;
        subflow.join = Join::AwaitFourthAck { local_nonce, remote_nonce: nonce };
        self.fallback.peer_may_use_joins = true;
        HandshakeStep::GoOn
    }

    /// The server takes the third ACK.
    fn take_third_ack(
        &mut self,
        id: SubflowId,
        segment: &Segment,
        local_nonce: u32,
        remote_nonce: u32,
    ) -> HandshakeStep {
        if segment.flags.intersects(Flags::SYN | Flags::RST) {
            return HandshakeStep::GoOn;
        }
        let (Some(keys), Some(MpJoin::Ack { hmac })) = (self.mode.keys(), join(segment)) else { return REFUSED };
        if !is_proved(&keys, local_nonce, remote_nonce, hmac) {
            return REFUSED;
        }
        if self.closes_to_joins() {
            return HandshakeStep::Reset(ResetReason::MptcpError);
        }
        let Some(subflow) = self.subflows.get_mut(id) else { return REFUSED };
        subflow.join = Join::Done { carried: false };
        // The fourth ACK: the client may send data from it on.
        subflow.tcp.ack_now();
        (self.fallback.peer_may_use_joins, self.fallback.ever_joined) = (true, true);
        HandshakeStep::GoOn
    }
}
