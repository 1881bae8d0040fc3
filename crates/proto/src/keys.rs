//! Keys of a Multipath TCP connection, and its data sequence numbers on the wire.

use pathweave_scheduler::DataSeq;
use pathweave_wire::crypto;
use pathweave_wire::mptcp::{DataNumber, Key, Token};

/// Keys and initial data sequence numbers of both sides of a Multipath TCP connection.
//= RFC 8684 §3.3.1: "Data sequence numbers are always 64-bit quantities and MUST be maintained as such in implementations"
//= tests: sequence_numbers::more_than_4_gib_on_one_subflow_and_on_two
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keys {
    pub(crate) local: Key,
    pub(crate) remote: Key,
    /// Initial data sequence numbers. The first byte's number is one more.
    local_idsn: u64,
    remote_idsn: u64,
    pub(crate) remote_token: Token,
    /// The peer's C flag: its initial address accepts no joins.
    pub(crate) no_join_to_initial: bool,
}

impl Keys {
    pub(crate) fn new(local: Key, remote: Key, no_join_to_initial: bool) -> Self {
        Keys {
            local,
            remote,
            //= RFC 8684 §3.1: "the IDSN of a host MUST be the least significant 64 bits of the SHA-256 hash of its key, i.e.,
            //= IDSN-A = Hash(Key-A) and IDSN-B = Hash(Key-B)"
            //= tests: dss::each_segment_is_one_mapping_and_the_stream_starts_after_the_initial_number
            local_idsn: crypto::initial_data_sequence(local),
            remote_idsn: crypto::initial_data_sequence(remote),
            remote_token: crypto::token(remote),
            no_join_to_initial,
        }
    }

    /// Wire data sequence number of the byte at `at` in our stream.
    pub(crate) fn wire_dsn(&self, at: DataSeq) -> u64 {
        self.local_idsn.wrapping_add(1).wrapping_add(at.0)
    }

    /// Position in our stream of a DATA_ACK. `una`, the first unacknowledged byte, resolves its upper bits.
    pub(crate) fn own_position(&self, number: DataNumber, una: DataSeq) -> Option<DataSeq> {
        let near = self.wire_dsn(una);
        let delta = number.expand(near).wrapping_sub(near) as i64;
        una.0.checked_add_signed(delta).map(DataSeq)
    }

    /// Position in the peer's stream of a data sequence number. `next`, the next expected byte, resolves its upper
    /// bits.
    pub(crate) fn peer_position(&self, number: DataNumber, next: DataSeq) -> Option<DataSeq> {
        let near = self.wire_data_ack(next.0);
        let delta = number.expand(near).wrapping_sub(near) as i64;
        next.0.checked_add_signed(delta).map(DataSeq)
    }

    /// DATA_ACK on the wire for position `next` of the peer's stream.
    pub(crate) fn wire_data_ack(&self, next: u64) -> u64 {
        self.remote_idsn.wrapping_add(1).wrapping_add(next)
    }
}
