//! Fallback to plain TCP if the peer, or a middlebox on the way, has dropped Multipath TCP or changed its data (RFC
//! 8684 §3.7).
//!
//! Plain TCP can continue the stream only if the first subflow's sequence is the stream's own, that is, if no other
//! subflow ever carried data. Once others have, data in flight may not be contiguous, and the subflow is reset instead,
//! as the RFC says for that case.

use super::fallback_state::InfiniteMapping;
use super::mode::Mode;
use super::{Connection, DataFin, Happening, Kinds, Shared};
use crate::keys::Keys;
use crate::paths::joins::JoinPlan;
use crate::paths::subflow::{Join, Subflow};
use crate::paths::table::Split;
use crate::receiver::mappings::MappingError;
use pathweave_scheduler::{DataSeq, SubflowId};
use pathweave_units::{Duration, Instant};
use pathweave_wire::DataChecksum;
use pathweave_wire::mptcp::{DataNumber, Dss, Mapping, MptcpOption, ResetReason};
use pathweave_wire::{Flags, Segment};

/// Repetitions of an unanswered MP_FAIL, a second apart.
const FAIL_TRIES: u32 = 8;
/// The acknowledgements of one round trip carry MP_FAIL once; this time counts if the round trip is unknown.
const FAIL_INTERVAL: Duration = Duration::from_millis(200);

/// Whether the subflow is alive. A join that is not complete does not count.
fn is_living(subflow: &Subflow) -> bool {
    let pending = matches!(subflow.join, Join::Pending { .. } | Join::AwaitFourthAck { .. });
    !subflow.tcp.is_closed() && !pending
}

/// Whether this subflow is the first one and the only one alive.
fn only_first_lives(at: &Split<'_>) -> bool {
    at.subflow.join == Join::Initial && is_living(at.subflow) && !at.others().any(is_living)
}

impl Connection {
    /// Whether the peer may have fallen back to plain TCP without being able to say so: its acknowledgements come
    /// without data sequence signals, or we told it to with MP_FAIL. Data that is sent again under another mapping
    /// would then be new data to it.
    pub(super) fn may_have_left(&self) -> bool {
        let mut living = self.subflows.open();
        living.any(|s| (s.answered_plainly && !self.shared.fallback.ever_joined) || s.mappings.failed)
    }

    /// Handles data that cannot be delivered: resets the subflow, or begins the fallback with MP_FAIL.
    #[cold]
    pub(super) fn refuse_data(&mut self, now: Instant, id: SubflowId, error: MappingError) {
        match error {
            MappingError::Reset(reason) => self.refuse_subflow(now, id, reason),
            MappingError::NotContiguous { dsn } => self.reset_with_fail(now, id, dsn),
            //= RFC 8684 §3.7: "Failed data MUST NOT be DATA_ACKed and so will be retransmitted on other subflows"
            //= tests: checksums::a_wrong_one_with_several_subflows_resets_the_subflow_with_mp_fail_and_nothing_is_delivered
            MappingError::Checksum { dsn, ssn } => {
                let at = self.subflows.at(id);
                let place = match self.shared.mode {
                    Mode::Agreed(keys) | Mode::Confirmed(keys) => {
                        keys.peer_position(DataNumber::Long(dsn), self.shared.receiver.next())
                    }
                    _ => None,
                };
                // Our data that was sent twice is not contiguous, so the peer must not take it for plain TCP's.
                let alone = only_first_lives(&at) && self.shared.sends_in_order(at.subflow);
                if !alone || place != Some(DataSeq(ssn - 1)) {
                    //= RFC 8684 §3.7: "the affected subflow must be immediately closed with a RST that includes an
                    //= MP_FAIL option"
                    //= tests: checksums::a_wrong_one_with_several_subflows_resets_the_subflow_with_mp_fail_and_nothing_is_delivered, checksums::a_wrong_one_where_data_has_come_again_resets_the_subflow
                    return self.reset_with_fail(now, id, dsn);
                }
                //= RFC 8684 §3.7: "if a receiver identifies a checksum failure when there is only one path, it will
                //= send back an MP_FAIL option on the subflow-level ACK"
                //= tests: checksums::a_wrong_one_on_the_only_subflow_is_answered_by_mp_fail_and_an_infinite_mapping
                at.subflow.mappings.failed = true;
                self.shared.fallback.signals.say_fail(dsn);
                at.subflow.tcp.signal();
            }
        }
    }

    /// Resets a subflow; the reset says with MP_FAIL that the data from `dsn` on is lost.
    #[cold]
    fn reset_with_fail(&mut self, now: Instant, id: SubflowId, dsn: u64) {
        let reason = MptcpOption::Reset { transient: false, reason: ResetReason::Middlebox };
        self.reset_subflow(now, id, &[MptcpOption::Fail { dsn }, reason]);
    }

    /// Ends a subflow whose data has waited too long for its mapping, if another subflow can carry the data: "the
    /// subflow SHOULD be treated as broken and closed with a RST", with the reason "Middlebox interference" (RFC 8684
    /// §3.7). If a checksum was wrong, repeats MP_FAIL.
    pub(super) fn end_waiting_for_mappings(&mut self, now: Instant) {
        for id in self.subflows.ids() {
            let at = self.subflows.at(id);
            if at.subflow.tcp.is_closed() || at.subflow.mappings.deadline().is_none_or(|t| t > now) {
                continue;
            }
            let others = at.others().any(Subflow::usable);
            let (signals, subflow) = (&mut self.shared.fallback.signals, at.subflow);
            if subflow.mappings.failed && signals.tries < FAIL_TRIES {
                signals.tries += 1;
                signals.said_at = None;
                subflow.mappings.wait_again(now);
                subflow.tcp.signal();
            } else if subflow.mappings.failed || others {
                self.refuse_subflow(now, id, ResetReason::Middlebox);
            } else {
                subflow.mappings.wait_as_long_as_needed();
            }
        }
    }
}

impl Shared {
    /// Handles an MP_FAIL of the peer.
    ///
    /// # Errors
    /// If the subflow cannot continue as plain TCP.
    pub(super) fn take_fail(&mut self, now: Instant, at: &mut Split<'_>) -> Result<(), MappingError> {
        let Some(keys) = self.mode.keys() else {
            // The MP_FAIL came beside an infinite mapping, which was processed first, or after the fallback. A connection that
            // was plain TCP from the start ignores the option.
            if let Some(keys) = self.fallback.signals.keys {
                self.answer_fail(at.subflow, keys.wire_data_ack(self.receiver.next().0));
            }
            return Ok(());
        };
        if at.others().any(is_living) || at.subflow.tcp.is_closed() {
            // With several subflows a reset comes with it and is enough.
            return Ok(());
        }
        let next = keys.wire_data_ack(self.receiver.next().0);
        // Data without mappings during Multipath TCP may have come twice, so its position is unknown.
        let unclear = at.subflow.mappings.has_waiting() && !at.subflow.mappings.failed;
        //= RFC 8684 §3.7: "In the rare case that the data is not contiguous (which could happen when there is only one subflow but
        //= it is retransmitting data from a subflow that has recently been uncleanly closed), the receiver MUST close the subflow
        //= with a RST with MP_FAIL"
        //= tests: checksums::an_mp_fail_while_data_waits_for_its_mapping_resets_the_subflow, checksums::a_wrong_one_where_data_has_come_again_resets_the_subflow
        if unclear || !only_first_lives(at) || !self.sends_in_order(at.subflow) {
            // "In the rare case that the data is not contiguous ... MUST close the subflow with a RST with MP_FAIL"
            // (RFC 8684 §3.7).
            return Err(MappingError::NotContiguous { dsn: next });
        }
        self.fall_back(now, at)?;
        self.answer_fail(at.subflow, next);
        Ok(())
    }

    /// Whether data without a mapping, from position `ssn` of subflow `id` on, is plain TCP's: nothing has shown yet
    /// that the peer's data is Multipath TCP's, or it is the very first data.
    //= RFC 8684 §3.1: "If this option is not present, the connection SHOULD fall back to regular TCP"
    //= tests: fallback::options_lost_on_the_first_data_after_an_announcement
    pub(super) fn may_fall_back(&self, at: &Split<'_>, ssn: u64) -> bool {
        (self.is_unconfirmed() || ssn == 1) && !self.fallback.peer_may_use_joins && only_first_lives(at)
    }

    /// Whether our data, or the handshake, is answered as by plain TCP: "an ACK is received for data (not just for the
    /// SYN) without a DSS option containing a Data ACK" before there was any (RFC 8684 §3.7).
    pub(super) fn is_answered_as_plain(&self, at: &Split<'_>, segment: &Segment) -> bool {
        //= RFC 8684 §3.7: "If, however, an ACK is received for data (not just for the SYN) without a DSS option
        //= containing a Data ACK, the sender determines that the path is not MPTCP capable"
        //= tests: fallback::options_lost_on_the_way_back_only, fallback::options_lost_on_the_first_data_after_an_announcement, middleboxes::proactive_acknowledgements_from_the_start_are_plain_tcp
        //= RFC 8684 §3.7: "In the case of such an ACK being received on the first subflow (i.e., that started with MP_CAPABLE),
        //= before any additional subflows are added, the implementation MUST drop out of MPTCP mode and fall back to regular TCP"
        //= tests: fallback::options_lost_on_the_way_back_only
        let settled = self.fallback.data_ack_seen || self.fallback.peer_may_use_joins || !self.is_mptcp();
        if settled || segment.flags.intersects(Flags::SYN | Flags::RST) {
            return false;
        }
        let options = &segment.options;
        let plain = options.dss.is_none() && options.mptcp.is_empty();
        // After a data sequence signal, data may have come twice under two mappings, so the position of waiting data is
        // unknown.
        let answered = !at.subflow.data_signal_seen && at.subflow.tcp.acknowledges_data(segment);
        plain && answered && only_first_lives(at)
    }

    /// Resets a subflow that joined and is answered as by plain TCP: the "host MUST close the subflow with a RST, which
    /// SHOULD contain an MP_TCPRST option with a \"Middlebox interference\" reason code" (RFC 8684 §3.7).
    pub(super) fn miss_data_signal(&self, subflow: &Subflow, segment: &Segment) -> Result<(), MappingError> {
        let joined = subflow.has_joined() && !subflow.data_signal_seen;
        let plain = segment.options.mptcp.is_empty() && !segment.flags.intersects(Flags::SYN | Flags::RST);
        if joined && plain && subflow.tcp.acknowledges_data(segment) {
            //= RFC 8684 §3.7: "In the case of this occurring on an additional subflow (i.e., one started with MP_JOIN),
            //= the host MUST close the subflow with a RST"
            //= tests: fallback::a_subflow_that_joined_and_is_answered_without_options_is_reset
            return Err(MappingError::Reset(ResetReason::Middlebox));
        }
        Ok(())
    }

    /// Handles a FIN without any signal. Multipath TCP would have sent a DATA_FIN before it and a DATA_ACK beside it,
    /// so the peer has fallen back and the signal of that was lost. `plain`: the segment has no option of Multipath
    /// TCP.
    ///
    /// # Errors
    /// If we cannot fall back too, although the peer seems to have done so. The peer would take our own FIN for the end
    /// of the stream, so it gets a reset.
    pub(super) fn take_plain_fin(&mut self, now: Instant, at: &mut Split<'_>, plain: bool) -> Result<(), MappingError> {
        if !plain || at.subflow.mappings.has_waiting() || self.receiver.has_end() {
            return Ok(());
        }
        if !self.fallback.peer_may_use_joins && only_first_lives(at) {
            return self.fall_back(now, at);
        }
        // Plain TCP would run on the first subflow. A peer that has taken our data for Multipath TCP's ends only the
        // subflow.
        match at.subflow.join == Join::Initial && !self.fallback.data_ack_seen {
            true => Err(MappingError::Reset(ResetReason::Middlebox)),
            false => Ok(()),
        }
    }

    /// Makes the subflow a plain TCP connection, whose sequence is the stream's in both directions.
    ///
    /// # Errors
    /// If the subflow's sequence is not the stream's: bytes would be misplaced, or a direction that has ended on the
    /// subflow continues in the stream.
    #[cold]
    pub(super) fn fall_back(&mut self, now: Instant, at: &mut Split<'_>) -> Result<(), MappingError> {
        let Some(keys) = self.mode.keys() else {
            // No keys were agreed on, so nothing has to be undone.
            self.mode = Mode::Plain;
            return Ok(());
        };
        let not_plain = Err(MappingError::Reset(ResetReason::Middlebox));
        let next = self.receiver.next();
        let subflow = &mut *at.subflow;
        let ended_early = !subflow.tcp.can_send() && self.life.data_fin == DataFin::NotRequested;
        let waiting = subflow.mappings.take_waiting();
        let fin = subflow.tcp.fin_arrived().then(|| DataSeq(subflow.tcp.bytes_before_fin()));
        let mut place = next;
        let in_order = waiting.iter().all(|(ssn, payload)| {
            let follows = DataSeq(ssn - 1) == place;
            place = place + u64::from(payload.len());
            follows
        });
        let beyond_end = self.receiver.complete() && !waiting.is_empty();
        if ended_early || !in_order || beyond_end || self.receiver.held_bytes() > 0 || !self.sends_in_order(subflow) {
            return not_plain;
        }
        //= RFC 8684 §3.7: "The sender will send one final Data Sequence Mapping, with the Data-Level Length value of 0
        //= indicating an infinite mapping"
        //= tests: fallback::options_lost_on_the_way_back_only, fallback::an_infinite_mapping_that_is_lost_comes_again, checksums::a_wrong_one_on_the_only_subflow_is_answered_by_mp_fail_and_an_infinite_mapping
        self.fallback.signals.infinite_mapping = Some(InfiniteMapping { dsn: keys.wire_dsn(DataSeq(0)), on: None });
        self.fallback.signals.keys = Some(keys);
        self.mode = Mode::Plain;
        let id = subflow.id;
        self.news.record(now, Kinds::CONNECTION, || Happening::FellBack(id));
        for subflow in at.others_mut() {
            subflow.tcp.abort();
            subflow.health.end();
        }
        self.leave_multipath_behind(now, at);
        if let DataFin::Sent { .. } | DataFin::Acked = self.life.data_fin {
            // Plain TCP ends the stream with its FIN.
            self.life.data_fin = DataFin::Requested;
        }
        self.receiver.forget_missing_end();
        for (_, payload) in waiting {
            let place = self.receiver.next();
            self.insert_data(place, payload);
        }
        if fin == Some(self.receiver.next()) {
            // It came when it was only the end of a subflow.
            self.receiver.end_here();
        }
        self.report_data(next);
        Ok(())
    }

    /// Forgets what was announced or planned as Multipath TCP: this subflow is plain TCP from now on.
    /// `tests/it/after_fallback.rs` lists all that a connection may have kept, and what becomes of it.
    fn leave_multipath_behind(&mut self, now: Instant, at: &mut Split<'_>) {
        self.addresses.stop_announcing();
        self.joins = JoinPlan::default();
        at.forget_late_joins();
        self.sender.reinjection.clear();
        self.sender.stop_data_timer();
        // Plain TCP has one path: it is not probed as a dark one of several.
        self.fallback.revived = at.subflow.revive(now);
    }

    //= RFC 8684 §3.7: "the receiver of an MP_FAIL MUST also respond with an MP_FAIL in the reverse direction and entirely
    //= revert to a regular TCP session"
    //= tests: checksums::a_wrong_one_on_the_only_subflow_is_answered_by_mp_fail_and_an_infinite_mapping, middleboxes::edited_payload_with_checksums_is_mp_fail_and_an_infinite_mapping_on_the_only_subflow
    fn answer_fail(&mut self, subflow: &mut Subflow, next: u64) {
        if subflow.mappings.failed {
            return;
        }
        subflow.tcp.signal();
        self.fallback.signals.say_fail(next);
    }

    /// Whether the subflow carries the stream in order, so that its sequence is the stream's own.
    pub(super) fn sends_in_order(&self, subflow: &Subflow) -> bool {
        subflow.tcp.is_whole_stream(self.sender.map.assigned_end())
    }

    /// Handles an infinite mapping: the peer has fallen back to plain TCP.
    pub(super) fn take_infinite_mapping(
        &mut self,
        now: Instant,
        at: &mut Split<'_>,
        keys: &Keys,
        mapping: Mapping,
    ) -> Result<(), MappingError> {
        //= RFC 8684 §3.7: "When a connection has fallen back with an infinite mapping, only one subflow can send data;
        //= otherwise, the receiver would not know how to reorder the data"
        //= tests: mappings::an_infinite_mapping_with_several_subflows_is_reset
        let place = keys.peer_position(mapping.dsn, self.receiver.next());
        let same = place.is_some_and(|p| (p.0 as u32).wrapping_add(1) == mapping.ssn);
        if !only_first_lives(at) || !same {
            return Err(MappingError::Reset(ResetReason::MptcpError));
        }
        self.fall_back(now, at)
    }

    /// Adds MP_FAIL to an acknowledgement.
    pub(super) fn add_signals(&mut self, now: Instant, subflow: &Subflow, segment: &mut Segment) {
        // No MP_FAIL waits.
        let Some(dsn) = self.fallback.signals.fail else { return };
        // MP_FAIL is about one subflow. If that has died, other subflows send its data again.
        if !self.is_plain() && !subflow.mappings.failed {
            return;
        }
        // Until an answer can arrive, further acknowledgements need not carry it.
        let round = subflow.tcp.rtt().srtt().unwrap_or(FAIL_INTERVAL);
        if !self.is_plain() && self.fallback.signals.said_at.is_some_and(|at| now.since(at) < round) {
            return;
        }
        let option = MptcpOption::Fail { dsn };
        if option.wire_len() <= segment.options.free_bytes() {
            segment.options.mptcp.push(option);
            self.fallback.signals.said_at = Some(now);
            if self.is_plain() {
                self.fallback.signals.fail = None;
            }
        }
    }

    /// Whether nothing has shown yet that the peer takes our data for Multipath TCP's. Until then data goes in order,
    /// so that the first subflow's sequence is that of the stream.
    pub(super) fn is_unconfirmed(&self) -> bool {
        matches!(self.mode, Mode::Agreed(_))
    }

    /// Whether the subflow's sequence must be the stream's: with plain TCP, and as long as no other subflow has joined,
    /// because segments that lose their options can make either side fall back.
    pub(super) fn needs_order(&self) -> bool {
        !self.is_mptcp() || !self.fallback.ever_joined
    }

    /// Whether no handshake option changes the mode any more: plain TCP, or Multipath TCP that the peer has confirmed.
    pub(super) fn is_settled(&self) -> bool {
        match self.mode {
            Mode::Negotiating { .. } | Mode::Agreed(_) => false,
            Mode::Confirmed(_) => self.fallback.data_ack_seen || self.sender.map.written_end() == DataSeq(0),
            //= RFC 8684 §3.7: "Once MPTCP falls back to regular TCP, it MUST NOT revert to MPTCP later in the connection"
            //= tests: fallback::what_has_fallen_back_stays_plain_tcp
            Mode::Plain => true,
        }
    }

    /// Checks a data sequence signal on a segment after the fallback to plain TCP; the peer may not have fallen back.
    /// `fin`: the segment has a FIN.
    ///
    /// # Errors
    /// If a FIN ends only the subflow, not the stream.
    pub(super) fn check_signal_of_plain(&self, dss: &Dss, fin: bool) -> Result<(), MappingError> {
        if self.fallback.signals.keys.is_none() {
            return Ok(());
        }
        let infinite = dss.mapping.is_some_and(|m| m.len == 0);
        if fin && !infinite {
            // The peer continues with Multipath TCP: the FIN ends a subflow, not the stream.
            return Err(MappingError::Reset(ResetReason::Middlebox));
        }
        Ok(())
    }

    /// Checks the mapping of data after the fallback to plain TCP.
    ///
    /// # Errors
    /// If the mapping contradicts the subflow's sequence.
    pub(super) fn check_mapping_of_plain(&self, mapping: Mapping) -> Result<(), MappingError> {
        // The connection was plain TCP from the start and does not read mappings.
        let Some(keys) = self.fallback.signals.keys else { return Ok(()) };
        let place = keys.peer_position(mapping.dsn, self.receiver.next());
        match place.is_some_and(|p| (p.0 as u32).wrapping_add(1) == mapping.ssn) {
            true => Ok(()),
            false => Err(MappingError::Reset(ResetReason::Middlebox)),
        }
    }

    /// Verifies a DATA_FIN without data by its pseudo-header alone.
    pub(super) fn verify_data_fin(&self, keys: &Keys, mapping: Mapping) -> Result<(), MappingError> {
        if !self.checksum {
            return Ok(());
        }
        let dsn = mapping.dsn.expand(keys.wire_data_ack(self.receiver.next().0));
        let right = mapping.checksum.is_some_and(|c| DataChecksum::default().matches(dsn, mapping.ssn, mapping.len, c));
        if right { Ok(()) } else { Err(MappingError::Reset(ResetReason::Middlebox)) }
    }

    /// Adds the infinite mapping of the fallback to data or the end.
    pub(super) fn add_infinite_mapping(&mut self, ssn: u64, again: bool, segment: &mut Segment) {
        // The connection was plain TCP from the start.
        let Some(infinite) = &mut self.fallback.signals.infinite_mapping else { return };
        if !again {
            infinite.on.get_or_insert(ssn);
        }
        // A retransmission is the same as the original, so that no mapping ever changes.
        if infinite.on == Some(ssn) {
            let checksum = self.checksum.then_some(0);
            // The short form leaves room for timestamps and MP_FAIL beside it.
            let mapping = Mapping { dsn: DataNumber::Short(infinite.dsn as u32), ssn: 1, len: 0, checksum };
            segment.options.dss = Some(Dss { data_ack: None, mapping: Some(mapping), data_fin: false });
        }
    }
}
