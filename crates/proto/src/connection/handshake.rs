//! Opening: MP_CAPABLE on the first subflow, MP_JOIN on the others, plain TCP if the peer has no Multipath TCP.

use super::lifecycle::{DataFin, LifePhase};
use super::mode::Mode;
use super::{Connection, ConnectionEvent, Happening, Kinds, Role, Shared};
use crate::keys::Keys;
use crate::paths::health::PathHealth;
use crate::paths::subflow::{Join, Subflow};
use crate::paths::table::Split;
use crate::tcp::{Tcp, TcpState};
use pathweave_units::{Duration, Instant};
use pathweave_wire::mptcp::DataNumber;
use pathweave_wire::mptcp::{
    CapableContent, CapableFlags, Dss, Key, Mapping, MpCapable, MpJoin, MptcpOption, ResetReason, Token,
};
use pathweave_wire::{Flags, Segment, crypto};

/// Unanswered SYNs with MP_CAPABLE before plain TCP is tried.
//= RFC 8684 §3.1: "It is expected that a sender will eventually fall back to single-path TCP (i.e., without the MP_CAPABLE
//= option) in order to work around middleboxes that may drop packets with unknown options"
//= tests: mp_capable::a_syn_that_is_dropped_twice_goes_out_as_plain_tcps
//= RFC 8684 §3.1: "an implementation MAY choose to attempt sending MPTCP options more than one time before making this decision to
//= operate as regular TCP"
//= tests: mp_capable::a_syn_that_is_dropped_twice_goes_out_as_plain_tcps
//= RFC 8684 §3.9.3: "a host SHOULD fall back to trying regular TCP SYNs after one or more failures of MPTCP SYNs for a connection"
//= tests: mp_capable::a_syn_that_is_dropped_twice_goes_out_as_plain_tcps
const CAPABLE_TRIES: u32 = 2;

/// The protocol version that we speak.
const VERSION: u8 = 1;

/// Bytes of the data sequence signal on a data segment: 4-byte DATA_ACK, 8-byte DSN (4 + 4 + 8 + 4 + 2, padded).
const DSS_BYTES: u32 = 24;

/// Additional bytes if the DATA_ACK has 8 bytes.
const LONG_DATA_ACK: u32 = 4;

/// Least time between repetitions of a third ACK.
pub(super) const THIRD_ACK_INTERVAL: Duration = Duration::from_millis(200);

/// How to proceed with a segment after its handshake options were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HandshakeStep {
    /// TCP processes the segment.
    GoOn,
    /// TCP processes the segment, with this data sequence signal, which its MP_CAPABLE implies.
    GoOnWith(Dss),
    /// The segment comes too early and is dropped; the peer will repeat it.
    Ignore,
    /// The subflow is reset.
    Reset(ResetReason),
}

/// "MPTCP-specific error" (RFC 8684 §3.6), for a join without the right proof.
//= RFC 8684 §3.2: "the sender SHOULD send an MP_TCPRST option (Section 3.6) on this RST packet with the reason code for an "MPTCP-
//= specific error""
//= tests: mp_join::a_wrong_hmac_is_refused, mp_join::an_answer_without_mp_join_is_refused
//= RFC 8684 §3.9.3: "an incorrect handshake MUST lead to the subflow being closed with a RST"
//= tests: mp_join::a_wrong_hmac_is_refused, mp_join::an_answer_without_mp_join_is_refused
pub(super) const REFUSED: HandshakeStep = HandshakeStep::Reset(ResetReason::MptcpError);

/// Finds an MP_CAPABLE option that RFC 8684 §3.1 lets us accept.
pub(super) fn capable(segment: &Segment) -> Option<&MpCapable> {
    let join = segment.options.mptcp.iter().any(|o| matches!(o, MptcpOption::Join(_)));
    let found = segment.options.mptcp.iter().find_map(|o| match o {
        MptcpOption::Capable(c) => Some(c),
        _ => None,
    })?;
    let f = found.flags;
    // A SYN names the highest version that its sender speaks; later segments name the one in use.
    //= RFC 8684 §3.1: "the receiver will signal the version number it wishes to use, which MUST be equal to or lower
    //= than the version number indicated in the initial MP_CAPABLE"
    //= tests: mp_capable::version_0_is_plain_tcp_and_a_higher_version_is_answered_with_ours
    let version = if found.content == CapableContent::Syn { f.version >= VERSION } else { f.version == VERSION };
    //= RFC 8684 §3.1: "If flag bits "D" through "H" are all 0, the MP_CAPABLE option MUST be treated as invalid and
    //= ignored"
    //= tests: mp_capable::the_extensibility_flag_or_no_algorithm_is_plain_tcp
    //= RFC 8684 §3.1: "If receiving a message with the "B" flag set to 1 and this is not understood, then the MP_CAPABLE in this
    //= SYN MUST be silently ignored, which triggers a fallback to regular TCP"
    //= tests: mp_capable::the_extensibility_flag_or_no_algorithm_is_plain_tcp
    //= RFC 8684 §3.1: "If a responder does not support (or does not want to support) any of the initiator's proposals, it MUST
    //= respond without an MP_CAPABLE option, thus forcing a fallback to regular TCP"
    //= tests: mp_capable::the_extensibility_flag_or_no_algorithm_is_plain_tcp
    (!join && version && f.hmac_sha256 && !f.extensibility).then_some(found)
}

/// The Multipath TCP that a SYN offers, if we can accept it.
pub(crate) fn offer(syn: &Segment) -> Option<CapableFlags> {
    capable(syn).filter(|c| c.content == CapableContent::Syn).map(|c| c.flags)
}

/// Our key as a third segment returns it, and the flags beside it.
pub(crate) fn echoed_keys(segment: &Segment) -> Option<(Key, CapableFlags)> {
    match capable(segment)? {
        MpCapable { content: CapableContent::Ack { receiver, .. }, flags } => Some((*receiver, *flags)),
        _ => None,
    }
}

/// Whether the segment has an MP_CAPABLE option of any kind.
pub(crate) fn names_capable(segment: &Segment) -> bool {
    segment.options.mptcp.iter().any(|o| matches!(o, MptcpOption::Capable(_)))
}

/// Whether a segment without data ends its sender's stream (DATA_FIN) and says nothing of the client's key: the third segment of the
/// handshake, which names the key, was lost or comes later.
pub(crate) fn is_lone_data_fin(segment: &Segment) -> bool {
    let ends = segment.options.dss.is_some_and(|dss| dss.data_fin);
    ends && segment.sequence_len() == 0 && !names_capable(segment)
}

/// The MP_JOIN option of a segment.
pub(crate) fn join(segment: &Segment) -> Option<&MpJoin> {
    segment.options.mptcp.iter().find_map(|o| match o {
        MptcpOption::Join(j) => Some(j),
        _ => None,
    })
}

/// Whether `segment` carries options of Multipath TCP and cannot be the third one of the handshake, which alone
/// decides between Multipath TCP and plain TCP. The peer sends the third one again.
///
/// Only a segment at the first place of the subflow can be the third one. A client whose SYN had data, which we do
/// not accept, sends that data again at the first place without MP_CAPABLE, and MP_CAPABLE behind it.
fn misses_third(tcp: &Tcp, segment: &Segment) -> bool {
    let signals = segment.options.dss.is_some() || names_capable(segment);
    signals && (!tcp.is_next(segment) || is_lone_data_fin(segment))
}

impl Connection {
    /// Notes that the SYN/ACK left before this connection was made, so that its round trip is unknown.
    #[cold]
    pub(crate) fn has_answered(&mut self) {
        self.subflows.iter_mut().for_each(|s| s.tcp.has_answered());
    }

    /// The token by which the peer's joins name this connection.
    pub(crate) fn local_token(&self) -> Option<Token> {
        match self.shared.mode {
            Mode::Negotiating { local } => Some(crypto::token(local)),
            Mode::Agreed(keys) | Mode::Confirmed(keys) => Some(crypto::token(keys.local)),
            Mode::Plain => None,
        }
    }
}

impl Shared {
    /// Takes the Multipath TCP handshake options of an arriving segment, before TCP sees it. (RFC 8684 §3.2,
    /// §3.6).
    #[inline]
    pub(super) fn take_handshake_options(
        &mut self,
        now: Instant,
        at: &mut Split<'_>,
        segment: &Segment,
        acceptable: u64,
    ) -> HandshakeStep {
        let settled = at.subflow.has_joined() || (at.subflow.join == Join::Initial && self.is_settled());
        if settled && segment.options.mptcp.is_empty() {
            return HandshakeStep::GoOn;
        }
        self.take_new_handshake_options(now, at, segment, acceptable, settled)
    }

    /// Takes the options during the handshake, or options of it that are repeated later.
    #[inline(never)]
    fn take_new_handshake_options(
        &mut self,
        now: Instant,
        at: &mut Split<'_>,
        segment: &Segment,
        acceptable: u64,
        settled: bool,
    ) -> HandshakeStep {
        if !settled && !at.subflow.tcp.is_plausible(segment, acceptable) {
            // TCP answers segments that it does not accept.
            return HandshakeStep::GoOn;
        }
        let crossing = at.subflow.tcp.completes_crossing(segment);
        if at.subflow.join != Join::Initial {
            return if crossing { REFUSED } else { self.take_join_options(at.subflow, segment) };
        }
        if crossing {
            // Both sides opened at once, for which MP_CAPABLE has no form.
            self.mode = Mode::Plain;
        }
        if self.is_answered_as_plain(at, segment) && self.fall_back(now, at).is_err() {
            return HandshakeStep::Reset(ResetReason::Middlebox);
        }
        self.take_capable(&at.subflow.tcp, segment)
    }

    //= RFC 8684 §3.1: "If the third packet (the ACK) does not contain the MP_CAPABLE option, then the session MUST fall
    //= back to operating as a regular, single-path TCP session"
    //= tests: fallback::options_lost_on_one_segment_of_the_handshake, fallback::options_lost_on_a_syn, syn_data::data_of_a_syn_that_comes_again_without_mp_capable_is_plain_tcps
    //= RFC 8684 §3.7: "The handshake as described in Section 3.1 SHOULD fall back to regular TCP if either of the SYN messages does
    //= not have the MPTCP options"
    //= tests: fallback::options_lost_on_a_syn
    //= RFC 8684 §6: "If this is dropped, MPTCP SHOULD fall back to regular TCP"
    //= tests: middleboxes::options_stripped_on_a_syn_are_plain_tcp
    fn take_capable(&mut self, tcp: &Tcp, segment: &Segment) -> HandshakeStep {
        let found = capable(segment).copied();
        match (self.mode, tcp.state(), self.role) {
            (Mode::Negotiating { local }, TcpState::SynSent, Role::Client) => {
                if !segment.flags.contains(Flags::SYN | Flags::ACK) {
                    return HandshakeStep::GoOn;
                }
                self.mode = match found {
                    //= RFC 8684 §3.1: "If a SYN contains an MP_CAPABLE option but the SYN/ACK does not, it is assumed that the
                    //= sender of the SYN/ACK is not multipath capable; thus, the MPTCP session MUST operate as a regular,
                    //= single-path TCP session"
                    //= tests: mp_capable::a_server_that_does_not_speak_it_gets_plain_tcp
                    //= RFC 8684 §3.1: "The initiator MAY choose to immediately fall back to TCP"
                    //= tests: mp_capable::an_answer_of_another_version_or_without_the_algorithm_is_plain_tcp
                    Some(MpCapable { content: CapableContent::SynAck { sender }, flags }) => {
                        //= RFC 8684 §3.1: "if either host requires the use of checksums, checksums MUST be used"
                        //= tests: checksums::they_are_used_if_either_side_asks
                        self.checksum = self.config.checksum || flags.checksum_required;
                        Mode::Agreed(Keys::new(local, sender, flags.no_join_to_initial_address))
                    }
                    _ => Mode::Plain,
                };
            }
            (Mode::Negotiating { local }, TcpState::SynReceived, Role::Server) => {
                if segment.flags.intersects(Flags::SYN | Flags::RST) {
                    return HandshakeStep::GoOn;
                }
                if misses_third(tcp, segment) {
                    return HandshakeStep::Ignore;
                }
                self.mode = match found {
                    Some(MpCapable { content: CapableContent::Ack { sender, receiver, .. }, flags })
                        //= RFC 8684 §3.1: "the host MUST stop using MPTCP and no longer include MPTCP options in future TCP
                        //= packets"
                        //= tests: mp_capable::an_echoed_key_that_is_not_the_servers_is_plain_tcp_and_its_token_is_forgotten
                        if receiver == local =>
                    {
                        let keys = Keys::new(local, sender, flags.no_join_to_initial_address);
                        self.addresses.announce_all(&keys, self.host.announces_one_at_a_time());
                        Mode::Agreed(keys)
                    }
                    _ => Mode::Plain,
                };
                return self.map_first_data(found, segment);
            }
            (Mode::Agreed(_) | Mode::Confirmed(_), _, Role::Server) => {
                return self.map_first_data(found, segment);
            }
            _ => {}
        }
        HandshakeStep::GoOn
    }

    /// Handles the end of a subflow's TCP handshake on our side.
    #[cold]
    pub(super) fn subflow_established(&mut self, now: Instant, subflow: &mut Subflow) {
        let (mptcp, first_window, nagle) = (self.is_mptcp(), self.receiver.window.first(), self.config.nagle);
        let more = if self.receiver.peer_numbers_are_long { LONG_DATA_ACK } else { 0 };
        subflow.tcp.reserve_options(if mptcp { DSS_BYTES } else { 0 });
        subflow.tcp.reserve_more_options(more);
        subflow.tcp.probe_at_least_every(None);
        if subflow.join != Join::Initial {
            self.addresses.release_one();
        }
        if let Join::AwaitFourthAck { .. } = subflow.join {
            subflow.third_ack_again = Some(now + subflow.tcp.rto().max(THIRD_ACK_INTERVAL));
        }
        let peer_window = subflow.tcp.peer_window();
        subflow.window.limit = first_window;
        subflow.tcp.set_nagle(nagle);
        if subflow.join == Join::Initial && self.life.phase == LifePhase::Connecting {
            self.life.phase = LifePhase::Connected;
            self.receiver.window.begin(now);
            self.life.progress_at = now;
            self.sender.peer.begin(peer_window);
            self.news.events.push_back(ConnectionEvent::Connected);
            self.news.record(now, Kinds::CONNECTION, || Happening::Established { multipath: mptcp });
        }
    }

    /// Notes that a subflow can carry data. The caller tells the scheduler.
    #[cold]
    pub(super) fn raise(&mut self, now: Instant, subflow: &mut Subflow) {
        subflow.shown_health = PathHealth::Working;
        if let DataFin::Sent { .. } = self.life.data_fin {
            // The DATA_FIN on other subflows may take a longer way.
            subflow.send_data_fin = true;
            subflow.tcp.signal();
        }
        let id = subflow.id;
        self.news.record(now, Kinds::CONNECTION, || Happening::SubflowUp(id));
    }

    /// Notes the length of the data sequence number that came with data. Our DATA_ACKs have the same length, as in the
    /// kernel: a peer whose numbers have 8 bytes may compare all of them, and one whose numbers have 4 bytes needs no
    /// more.
    pub(super) fn note_length_of(&mut self, at: &mut Split<'_>, number: DataNumber) {
        let long = matches!(number, DataNumber::Long(_));
        if long == self.receiver.peer_numbers_are_long {
            return;
        }
        self.receiver.peer_numbers_are_long = long;
        let more = if long { LONG_DATA_ACK } else { 0 };
        for subflow in at.all_mut().filter(|s| s.tcp.is_established()) {
            subflow.tcp.reserve_more_options(more);
        }
    }

    /// Maps data that comes with MP_CAPABLE to the start of the stream (RFC 8684 §3.1).
    //= RFC 8684 §3.1: "the data parameters in an MP_CAPABLE are semantically equivalent to those in a DSS option and
    //= can be used interchangeably"
    //= tests: mp_capable::a_repeated_first_segment_maps_to_the_same_place
    fn map_first_data(&self, found: Option<MpCapable>, segment: &Segment) -> HandshakeStep {
        // Plain TCP, or a segment without MP_CAPABLE's data: there is nothing to map.
        let Some(keys) = self.mode.keys() else { return HandshakeStep::GoOn };
        let Some(MpCapable { content: CapableContent::Ack { data_len: Some(len), checksum, .. }, .. }) = found else {
            return HandshakeStep::GoOn;
        };
        let dsn = DataNumber::Long(keys.wire_data_ack(0));
        let mut dss = segment.options.dss.unwrap_or_default();
        dss.mapping.get_or_insert(Mapping { dsn, ssn: 1, len, checksum });
        HandshakeStep::GoOnWith(dss)
    }

    /// The flags of our MP_CAPABLE. A SYN asks for checksums if we want them; later segments say whether they are in
    /// use.
    //= RFC 8684 §3.1: "It MUST be set to 0 for current implementations"
    //= tests: mp_capable::keys_are_exchanged_in_three_steps_and_the_first_data_carries_them_again
    //= RFC 8684 §3.1: "An implementation that only supports this method MUST set bit "H" to 1 and bits "D" through "G" to 0"
    //= tests: mp_capable::keys_are_exchanged_in_three_steps_and_the_first_data_carries_them_again, codec::mp_capable_flags
    //= RFC 8684 §3.1: "A crypto algorithm MUST be specified"
    //= tests: mp_capable::keys_are_exchanged_in_three_steps_and_the_first_data_carries_them_again
    pub(super) fn capable_flags(&self) -> CapableFlags {
        CapableFlags {
            //= RFC 8684 §3.1: "checksums MUST be used in both directions, and the initiator will set A=1 in the ACK"
            //= tests: checksums::they_are_used_if_either_side_asks
            checksum_required: self.checksum || self.config.checksum,
            no_join_to_initial_address: self.config.protect_initial_address,
            ..CapableFlags::default()
        }
    }

    /// Adds the options of a SYN or SYN/ACK.
    pub(super) fn syn_options(&self, subflow: &Subflow, segment: &mut Segment) {
        let flags = self.capable_flags();
        let server = segment.flags.contains(Flags::ACK);
        match (subflow.join, self.mode) {
            // A late answer to an earlier SYN still decides.
            (Join::Initial, Mode::Negotiating { .. }) if !server && subflow.tcp.syns_unanswered() >= CAPABLE_TRIES => {}
            (Join::Initial, Mode::Negotiating { local }) => {
                let content = if server { CapableContent::SynAck { sender: local } } else { CapableContent::Syn };
                segment.options.mptcp.push(MptcpOption::Capable(MpCapable { flags, content }));
            }
            (Join::Pending { local_nonce, remote_nonce }, Mode::Agreed(keys) | Mode::Confirmed(keys)) => {
                let option = if server {
                    let hmac = crypto::join_hmac(keys.local, keys.remote, local_nonce, remote_nonce);
                    // The priority that this side asks for, not the one that the peer has asked of us.
                    //= RFC 8684 §3.2: "the recipient SHOULD respond with a SYN/ACK also containing an MP_JOIN option containing a
                    //= random number and a truncated (leftmost 64 bits) HMAC"
                    //= tests: mp_join::four_segments_join_a_subflow
                    MpJoin::SynAck {
                        backup: subflow.meta.backup,
                        address_id: subflow.local_id,
                        hmac: crypto::join_hmac_64(&hmac),
                        nonce: local_nonce,
                    }
                } else {
                    MpJoin::Syn {
                        backup: subflow.backup,
                        address_id: subflow.local_id,
                        token: keys.remote_token,
                        nonce: local_nonce,
                    }
                };
                segment.options.mptcp.push(MptcpOption::Join(option));
            }
            _ => {}
        }
    }

    /// Notes that the peer has shown that it takes the connection for Multipath TCP.
    pub(super) fn confirm(&mut self) {
        if let Mode::Agreed(keys) = self.mode {
            self.mode = Mode::Confirmed(keys);
            self.joins.request();
        }
    }
}
