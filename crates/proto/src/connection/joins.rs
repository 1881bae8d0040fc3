//! Further subflows: which ones a client wants, and the four segments of an MP_JOIN handshake (RFC 8684 §3.2) on either
//! side: SYN, SYN/ACK, the third ACK with the client's HMAC, and the fourth ACK, which lets the client send data.
//!
//! A join takes one of the names of subflows when it is answered. An attacker can take all names with a flood of joins,
//! because the connection's token is sent in clear. Further joins then wait apart, in bounded number, and the first
//! that proves to come from the peer takes the name of one that has not proved it.

use super::handshake::{HandshakeStep, REFUSED, join};
use super::{Connection, Role, Shared};
use crate::keys::Keys;
use crate::paths::health::PROBE_INTERVAL;
use crate::paths::joins::{NewSubflow, wanted};
use crate::paths::subflow::{Join, Subflow};
use crate::paths::table::LATE_JOIN;
use crate::tcp::{Outgoing, Tcp, TcpState};
use core::net::{IpAddr, SocketAddr};
use pathweave_scheduler::SubflowId;
use pathweave_units::Instant;
use pathweave_wire::mptcp::{MpJoin, MptcpOption, ResetReason};
use pathweave_wire::{Flags, Segment, crypto};

impl Connection {
    /// Whether [`Connection::wanted_joins`] may return any.
    pub(crate) fn wants_joins(&self) -> bool {
        self.shared.joins.is_requested()
    }

    /// The joins that the path manager wants now, as local and remote addresses.
    pub(crate) fn wanted_joins(&mut self) -> Vec<(SocketAddr, SocketAddr)> {
        // Only the client of a Multipath TCP connection joins.
        let (true, Role::Client, Some(keys)) =
            (self.shared.joins.is_requested(), self.shared.role, self.shared.mode.keys())
        else {
            return Vec::new();
        };
        self.shared.joins.answered();
        // A further subflow is useless after both directions have ended.
        let ended = matches!(self.shared.life.data_fin, super::DataFin::Sent { .. } | super::DataFin::Acked)
            && self.shared.receiver.complete();
        //= RFC 8684 §3.1: "new subflows MUST NOT be established (using the process documented in Section 3.2) until a
        //= DSS option has been successfully received across the path"
        //= tests: mp_join::four_segments_join_a_subflow
        if self.shared.is_unconfirmed() || self.shared.life.error().is_some() || ended || self.shared.closes_to_joins()
        {
            return Vec::new();
        }
        if self.shared.config.single_path && self.subflows.iter().any(Subflow::is_alive) {
            return Vec::new();
        }
        //= RFC 8684 §3.1: "the receiver MUST NOT try to open any additional subflows toward this address and port"
        //= tests: mp_join::a_join_of_the_initial_address_despite_the_c_flag_is_refused_and_none_is_tried
        let closed_initial = keys.no_join_to_initial || self.shared.addresses.initial_is_removed();
        let config = &self.shared.config;
        wanted(
            &self.shared.joins,
            config.path_manager,
            &self.shared.addresses,
            &self.subflows,
            closed_initial,
            config.join_initial_address,
        )
    }

    /// Starts a further subflow; returns its name if there is room for one.
    pub(crate) fn join(
        &mut self,
        now: Instant,
        addresses: (SocketAddr, SocketAddr),
        new: NewSubflow,
    ) -> Option<SubflowId> {
        // The connection has as many subflows as it may have.
        let id = self.subflows.free_name(self.shared.config.max_subflows)?;
        let (local, remote) = (addresses.0.ip(), addresses.1);
        let proved = !self.shared.addresses.is_unproved(remote);
        if !self.shared.is_path_of_peer(local, remote) && !self.shared.joins.may_ask(now, local, remote, proved) {
            return None;
        }
        // A factory of the application may refuse, although it made the first subflow's controller.
        let controller = self.shared.config.congestion.build().ok()?;
        let mut tcp = Tcp::connect(
            self.shared.tcp_config(&new),
            self.shared.config.host,
            controller,
            addresses,
            new.origin,
            self.shared.receiver.window.largest(),
        );
        if self.shared.sender.fixed_buffer {
            tcp.fix_send_buffer();
        }
        let meta = self.shared.addresses.meta_of(addresses.0.ip());
        let pending = Join::Pending { local_nonce: new.nonce, remote_nonce: 0 };
        let mut subflow = Subflow::new(id, tcp, pending, meta);
        subflow.local_id = self.shared.addresses.id_of(addresses.0.ip());
        if self.shared.fast_detection() {
            // Frequent probes find the path soon after it begins to work.
            subflow.tcp.probe_at_least_every(Some(PROBE_INTERVAL));
        }
        self.subflows.insert(subflow);
        Some(id)
    }

    /// Answers a SYN with MP_JOIN that carries our token. Returns the subflow's name, or [`LATE_JOIN`].
    ///
    /// # Errors
    /// If the join is refused; the option goes into the reset.
    pub(crate) fn accept_join(
        &mut self,
        now: Instant,
        syn: &Segment,
        new: NewSubflow,
    ) -> Result<SubflowId, MptcpOption> {
        let refused = |reason, transient| MptcpOption::Reset { transient, reason };
        let Some(MpJoin::Syn { backup, address_id, nonce, .. }) = join(syn).copied() else {
            return Err(refused(ResetReason::MptcpError, false));
        };
        if !self.is_mptcp() || self.error().is_some() {
            return Err(refused(ResetReason::MptcpError, false));
        }
        //= RFC 8684 §3.1: "the sender of this option will not accept additional MPTCP subflows to the source address
        //= and port"
        //= tests: mp_join::a_join_of_the_initial_address_despite_the_c_flag_is_refused_and_none_is_tried, mp_join::a_join_to_a_port_that_was_not_announced_is_refused
        let protected = self.shared.config.protect_initial_address && syn.dst == self.shared.addresses.initial_local();
        let taken = self.subflows.iter().filter(|s| !s.has_ended() && !s.is_unproved()).count();
        let limit = usize::from(self.shared.config.max_subflows).min(SubflowId::MAX_SUBFLOWS);
        //= RFC 8684 §3.2: "If the token received at Host B is unknown or local policy prohibits the acceptance of the new subflow,
        //= the recipient MUST respond with a TCP RST for the subflow"
        //= tests: mp_join::an_unknown_token_is_refused, mp_join::a_join_over_the_limit_is_refused, mp_join::a_join_to_a_port_that_was_not_announced_is_refused
        if protected || !self.shared.addresses.takes_joins(&syn.dst) {
            return Err(refused(ResetReason::Prohibited, false));
        }
        if taken >= limit {
            // Another subflow may end, so a later join can succeed.
            return Err(refused(ResetReason::Prohibited, true));
        }
        let controller =
            self.shared.config.congestion.build().map_err(|_| refused(ResetReason::LackOfResources, true))?;
        let mut tcp = Tcp::accept(
            now,
            self.shared.tcp_config(&new),
            self.shared.config.host,
            controller,
            syn,
            new.origin,
            self.shared.receiver.window.largest(),
        );
        if self.shared.sender.fixed_buffer {
            tcp.fix_send_buffer();
        }
        let pending = Join::Pending { local_nonce: new.nonce, remote_nonce: nonce };
        let id = self.subflows.free_name(self.shared.config.max_subflows);
        let mut subflow =
            Subflow::new(id.unwrap_or(LATE_JOIN), tcp, pending, self.shared.addresses.meta_of(syn.dst.ip()));
        subflow.backup |= backup;
        subflow.local_id = self.shared.addresses.id_of(syn.dst.ip());
        subflow.remote_id = address_id;
        if let Some(id) = id {
            self.subflows.insert(subflow);
            return Ok(id);
        }
        self.shared.answer_late_join(now, &mut subflow);
        self.subflows.add_late_join(subflow);
        Ok(LATE_JOIN)
    }

    /// Takes a segment for a join that waits for a name. Returns the name if the HMAC is right.
    pub(crate) fn take_late_join(&mut self, now: Instant, segment: &Segment) -> Option<SubflowId> {
        if self.is_plain() {
            // All joins were forgotten when the connection fell back.
            self.shared.refuse_segment(segment);
            return None;
        }
        // Newer joins may have displaced this one.
        let mut subflow = self.subflows.take_late_join(&segment.dst, &segment.src)?;
        if segment.flags.contains(Flags::SYN) {
            // The SYN/ACK was lost.
            self.shared.answer_late_join(now, &mut subflow);
            self.subflows.add_late_join(subflow);
            return None;
        }
        let plausible = subflow.tcp.is_plausible(segment, self.shared.receiver.window.promised());
        let proof = (subflow.join, self.shared.mode.keys(), join(segment));
        let (Join::Pending { local_nonce, remote_nonce }, Some(keys), Some(MpJoin::Ack { hmac })) = proof else {
            // A sender that did not see our answer cannot end the join.
            if !(segment.flags.contains(Flags::RST) && subflow.tcp.is_next(segment)) {
                self.subflows.add_late_join(subflow);
            }
            return None;
        };
        if !plausible || segment.flags.contains(Flags::RST) {
            self.subflows.add_late_join(subflow);
            return None;
        }
        //= RFC 8684 §3.2: "If Host B does not receive the expected HMAC or the MP_JOIN option is missing from the ACK,
        //= it MUST close the subflow with a TCP RST"
        //= tests: mp_join::a_flood_of_joins_takes_bounded_memory_and_the_peers_own_succeeds, mp_join::a_wrong_hmac_is_refused, late_joins::a_wrong_hmac_takes_no_name
        // The join may have waited until after the connection's end.
        if self.error().is_some() || !is_proved(&keys, local_nonce, remote_nonce, hmac) {
            let mut reset = segment.resetting_answer();
            reset.options.mptcp.push(MptcpOption::Reset { transient: false, reason: ResetReason::MptcpError });
            self.shared.control.push_back(reset);
            return None;
        }
        let unproved = self.subflows.iter().find(|s| s.is_unproved()).map(|s| s.id);
        let Some(id) = self.subflows.free_name(self.shared.config.max_subflows).or(unproved) else {
            let mut reset = segment.resetting_answer();
            reset.options.mptcp.push(MptcpOption::Reset { transient: true, reason: ResetReason::Prohibited });
            self.shared.control.push_back(reset);
            return None;
        };
        subflow.id = id;
        self.subflows.insert(subflow);
        Some(id)
    }
}

impl Shared {
    /// Whether further joins are refused: with failure detection `linux`, once a direction is closed, even if data is
    /// still to be sent.
    pub(super) fn closes_to_joins(&self) -> bool {
        !self.fast_detection() && (self.life.data_fin != super::DataFin::NotRequested || self.receiver.complete())
    }

    /// Whether the peer has answered on this path, as it has on that of the first subflow.
    pub(super) fn is_path_of_peer(&self, local: IpAddr, remote: SocketAddr) -> bool {
        let first = (self.addresses.initial_local().ip(), self.remote_address());
        (local, remote) == first || self.joins.has_answered(local, remote)
    }

    fn answer_late_join(&mut self, now: Instant, subflow: &mut Subflow) {
        let mut answer = Segment::default();
        subflow.tcp.header(now, &Outgoing::Syn, self.receiver.window.first(), &mut answer);
        self.syn_options(subflow, &mut answer);
        subflow.tcp.finish(&mut answer);
        // Once it has a name, the subflow has no other SYN/ACK to send, and the round trip of this one is unknown.
        subflow.tcp.has_answered();
        self.control.push_back(answer);
    }
}

/// Whether the HMAC of the third ACK, which covers both nonces, proves that the join comes from the peer.
pub(super) fn is_proved(keys: &Keys, local_nonce: u32, remote_nonce: u32, hmac: &[u8; 20]) -> bool {
    let expected = crypto::join_hmac(keys.remote, keys.local, remote_nonce, local_nonce);
    crypto::constant_time_eq(&crypto::join_hmac_160(&expected), hmac)
}

impl Shared {
    /// Takes the handshake options of a segment of a further subflow.
    pub(super) fn take_join_options(&mut self, subflow: &mut Subflow, segment: &Segment) -> HandshakeStep {
        match (subflow.join, subflow.tcp.state()) {
            (Join::Pending { local_nonce, .. }, TcpState::SynSent) => {
                self.take_join_answer(subflow, segment, local_nonce)
            }
            (Join::Pending { local_nonce, remote_nonce }, TcpState::SynReceived) => {
                self.take_third_ack(subflow, segment, local_nonce, remote_nonce)
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
                    // The third ACK was repeated: the fourth was lost (RFC 8684 §3.2).
                    subflow.tcp.ack_now();
                }
                HandshakeStep::GoOn
            }
            _ => HandshakeStep::GoOn,
        }
    }

    /// On the client: takes the SYN/ACK.
    fn take_join_answer(&mut self, subflow: &mut Subflow, segment: &Segment, local_nonce: u32) -> HandshakeStep {
        if !segment.flags.contains(Flags::SYN | Flags::ACK) {
            return HandshakeStep::GoOn;
        }
        //= RFC 8684 §3.2: "then the subflow is unusable and Host A MUST close it with a RST"
        //= tests: mp_join::an_answer_without_mp_join_is_refused
        let (Some(keys), Some(MpJoin::SynAck { hmac, nonce, address_id, backup })) =
            (self.mode.keys(), join(segment).copied())
        else {
            return REFUSED;
        };
        //= RFC 8684 §3.2: "If the SYN/ACK as received at Host A does not have an MP_JOIN option, Host A MUST
        //= close the subflow with a TCP RST"
        //= tests: mp_join::an_answer_without_mp_join_is_refused
        //= RFC 8684 §3.2: "If the token is accepted at Host B but the HMAC returned to Host A does not match the one expected, Host
        //= A MUST close the subflow with a TCP RST"
        //= tests: mp_join::a_wrong_hmac_is_refused
        let expected = crypto::join_hmac(keys.remote, keys.local, nonce, local_nonce);
        if !crypto::constant_time_eq(&crypto::join_hmac_64(&expected).to_be_bytes(), &hmac.to_be_bytes()) {
            return REFUSED;
        }
        if self.closes_to_joins() {
            return HandshakeStep::Reset(ResetReason::MptcpError);
        }
        subflow.remote_id = address_id;
        subflow.backup |= backup;
        self.addresses.prove(subflow.tcp.remote);
        self.joins.note_answer(subflow.tcp.local.ip(), subflow.tcp.remote);
        subflow.join = Join::AwaitFourthAck { local_nonce, remote_nonce: nonce };
        self.fallback.peer_may_use_joins = true;
        HandshakeStep::GoOn
    }

    /// On the server: takes the third ACK.
    fn take_third_ack(
        &mut self,
        subflow: &mut Subflow,
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
        subflow.join = Join::Done { carried: false };
        // The fourth ACK lets the client send data.
        subflow.tcp.ack_now();
        //= RFC 8684 §3.2: "receipt of this packet MUST trigger a regular TCP ACK in response"
        //= tests: mp_join::four_segments_join_a_subflow
        (self.fallback.peer_may_use_joins, self.fallback.ever_joined) = (true, true);
        HandshakeStep::GoOn
    }
}
